"""Prometheus: the measures of all processes of this host, in a folder that they share, as text.

prometheus_client is optional, and imported on first use. Its values are files that each process maps into memory, so
whichever process is asked tells of all of them; see https://prometheus.github.io/client_python/multiprocess/.
"""

import contextlib
import functools
import hmac
import os
import re
import socket
from pathlib import Path

from odoo.tools import config

from ...services import measures, packages
from ...tools import settings
from . import queue

PREFIX = "woow_ai_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOLDER_KEY = "PROMETHEUS_MULTIPROC_DIR"
OF_PROCESS = re.compile(r"_(\d+)\.db$")


class PrometheusSink:
    def __init__(self):
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415

        registry = CollectorRegistry()  # of its own: what others measure stays theirs
        self._all = {}
        for name, measure in measures.MEASURES.items():
            about = (f"{PREFIX}{name}", measure.help, measure.labels)
            if measure.kind == "counter":
                made = Counter(*about, registry=registry)
            elif measure.kind == "level":
                made = Gauge(*about, registry=registry, multiprocess_mode="livesum")
            else:
                made = Histogram(*about, registry=registry, buckets=measure.buckets)
            self._all[name] = made

    def _of(self, name, labels):
        return self._all[name].labels(**labels) if labels else self._all[name]

    def add(self, name, value, labels):
        self._of(name, labels).inc(value)

    def set(self, name, value, labels):
        self._of(name, labels).set(value)

    def observe(self, name, value):
        self._all[name].observe(value)


def is_on() -> bool:
    return bool(settings.get().metrics_token)


@functools.cache
def begin() -> None:
    """Count from now on, in this process and those that it forks, if the operator wants it and the package is there."""
    if not is_on() or packages.missing(packages.METRICS):
        return
    folder = Path(os.environ.setdefault(FOLDER_KEY, str(_own_folder())))
    folder.mkdir(parents=True, exist_ok=True)
    if not any(map(_lives, _processes(folder))):  # what was counted before everything was restarted
        for file in folder.glob("*.db"):
            file.unlink(missing_ok=True)
    measures.install(PrometheusSink())


def _own_folder() -> Path:
    """Of this host: numbers of processes mean nothing elsewhere."""
    return Path(config["data_dir"]) / "woow_ai_metrics" / socket.gethostname()


def text(cr=None) -> str:
    """What all processes of this host have counted, and the queue of a database.

    :raises PackageMissing: prometheus_client is not installed
    """
    packages.check(packages.METRICS)
    begin()
    from prometheus_client import CollectorRegistry, generate_latest, multiprocess  # noqa: PLC0415

    folder = Path(os.environ[FOLDER_KEY])
    for process in _processes(folder):
        if not _lives(process):
            multiprocess.mark_process_dead(process, str(folder))  # its levels, not what it counted
    registry = CollectorRegistry()
    collected = multiprocess.MultiProcessCollector(None, str(folder)).collect()
    found = [one for one in collected if one.name.startswith(PREFIX)]
    if cr is not None:
        found += queue.families(cr, PREFIX, cr.dbname if settings.get().metrics_tenants else "")
    registry.register(_Collected(found))
    return generate_latest(registry).decode()


class _Collected:
    def __init__(self, metrics):
        self._metrics = metrics

    def collect(self):
        return self._metrics


def _processes(folder: Path) -> set[int]:
    found = (OF_PROCESS.search(file.name) for file in folder.glob("*.db"))
    return {int(match[1]) for match in found if match}


def _lives(process: int) -> bool:
    with contextlib.suppress(PermissionError):  # then it is somebody else's
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def allows(authorization: str) -> bool:
    """Whether this header holds the operator's token."""
    wanted = f"Bearer {settings.get().metrics_token}"
    return hmac.compare_digest(authorization.encode(), wanted.encode())
