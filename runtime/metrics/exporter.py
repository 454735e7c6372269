"""Prometheus: the metrics of all processes of this host, in a folder that they share, as text.

prometheus_client is optional, and imported on first use. Its values are files that each process maps into memory, so
whichever process is asked tells of all of them; see https://prometheus.github.io/client_python/multiprocess/.
"""

# pyright: reportMissingImports=false
# prometheus_client is an extra, which is not there where types are checked.

import contextlib
import fcntl
import functools
import hmac
import logging
import os
import re
import socket
from pathlib import Path
from typing import TextIO

from odoo.tools import config

from ...services import metrics, packages
from ...tools import settings
from . import queue

_logger = logging.getLogger(__name__)

PREFIX = "woow_ai_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOLDER_KEY = "PROMETHEUS_MULTIPROC_DIR"
OF_PROCESS = re.compile(r"_(\d+)\.db$")
LOCK = "in-use"  # file of a folder, locked by each process that counts there


class PrometheusSink:
    """:param lock: of the folder, held by this process and those that it forks"""

    def __init__(self, lock: TextIO):
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415

        self._lock = lock
        registry = CollectorRegistry()  # of its own: what others measure stays theirs
        self._all = {}
        for name, measure in metrics.MEASURES.items():
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
    """True if the operator wants metrics, and there is a place for them."""
    return bool(settings.get().metrics_token) and begin()


@functools.cache
def begin() -> bool:
    """Count from now on, in this process and those that it forks, if the operator wants it and the package is there.

    :return: False if there is no place for it
    """
    if not settings.get().metrics_token or packages.missing(packages.METRICS):
        return True
    folder = Path(os.environ.setdefault(FOLDER_KEY, str(_own_folder())))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for other in _own_folder().parent.glob("*/"):  # of containers that are gone
            with contextlib.suppress(OSError):
                _emptied(other).close()
        lock = _emptied(folder)
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(lock, fcntl.LOCK_SH)
        metrics.install(PrometheusSink(lock))
    except OSError as error:
        _logger.error("No metrics: %s", error)
        return False
    return True


def _emptied(folder: Path) -> TextIO:
    """The lock of a folder. What was counted there is gone if no process that did lives."""
    lock = (folder / LOCK).open("a")
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for file in folder.glob("*.db"):
            file.unlink(missing_ok=True)
    return lock


def _own_folder() -> Path:
    """Folder of the processes that this one sees: their numbers mean nothing on another host, nor in another
    container, be it called the same.
    """
    name = f"{socket.gethostname()}-{_namespace()}"
    return Path(config["data_dir"]) / "woow_ai_metrics" / name


def _namespace() -> str:
    """Namespace of numbers of processes, and the start of its kernel."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{start}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def text(cr=None) -> str:
    """Metrics of all processes of this host, and the queue of a database.

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
    """True if this header holds the operator's token."""
    wanted = f"Bearer {settings.get().metrics_token}"
    return hmac.compare_digest(authorization.encode(), wanted.encode())
