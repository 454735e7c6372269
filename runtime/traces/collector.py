"""The collector that the operator wants this process's traces to be sent to, see `services/traces.py`.

Its address is the operator's own, so no egress policy is asked. A process that runs turns
or makes calls begins with the first of them, after whatever fork made it.
"""

import logging
import threading
from typing import Any

from ...services import concurrency, packages, traces
from ...tools import settings

_logger = logging.getLogger(__name__)

OFF, ON, MISSING, UNREACHABLE = "off", "on", "package_missing", "unreachable"


class _Collector:
    """The state of one process id."""

    def __init__(self):
        self.lock = threading.Lock()
        self.tracer: Any = None  # `services.telemetry.otel.OpenTelemetry`
        self.is_away = False  # and nobody was told since


_collector = concurrency.renewed(_Collector())


def begin() -> None:
    """Trace from now on, in this process, if the operator wants it and the packages are there."""
    if not settings.get().traces:
        return
    if names := packages.missing(packages.TRACES):
        _logger.error("No traces: the Python package %s is not installed.", names[0])
        return
    with _collector.lock:
        if _collector.tracer is not None:
            return
        from ...services.telemetry import otel  # noqa: PLC0415

        options = settings.get()
        try:
            _collector.tracer = otel.to_collector(
                options.traces, _on_sent, tells_databases=options.traces_tenants
            )
        except Exception:  # of a variable OTEL_* that the SDK does not understand, for one
            _logger.exception("There are no traces: OpenTelemetry cannot be set up.")
            _collector.is_away = True
        else:
            traces.install(_collector.tracer)


def end() -> None:
    """Send what is left; this process ends."""
    traces.install(None)
    if _collector.tracer is not None:
        _collector.tracer.close()


def state() -> str:
    """State as this process knows it."""
    if not settings.get().traces:
        return OFF
    if packages.missing(packages.TRACES):
        return MISSING
    return UNREACHABLE if _collector.is_away else ON


def _on_sent(is_taken: bool) -> None:
    if is_taken != _collector.is_away:
        return
    _collector.is_away = not is_taken
    if is_taken:
        _logger.info("The collector of traces answers again.")
    else:
        _logger.warning(
            "The collector of traces does not take them. Turns go on; what does not find room until it does is dropped."
        )
