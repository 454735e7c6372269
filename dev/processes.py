"""Child processes that end with their parent, whatever happens to it."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dev.progress import DevError

PR_SET_PDEATHSIG = 1  # prctl(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends; runs between fork and exec."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A program in a process group of its own, its output in a log file."""

    def __init__(
        self, name: str, popen: subprocess.Popen[bytes], log: Path, stop_signal: int
    ) -> None:
        self.name = name
        self.popen = popen
        self.log = log
        self._stop_signal = stop_signal

    @property
    def pid(self) -> int:
        return self.popen.pid

    def running(self) -> bool:
        return self.popen.poll() is None

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, timeout: float = 15.0) -> None:
        """End the whole group: politely first, by force after ``timeout`` seconds."""
        if self.running():
            self._signal(self._stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """End the whole group at once, as a crash of the machine would."""
        self._signal(signal.SIGKILL)
        self.popen.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, number)

    def wait_until(
        self, ready: Callable[[], bool], *, timeout: float, interval: float = 0.1
    ) -> None:
        """Return when ``ready()``; a :class:`DevError` when the program ends or ``timeout`` seconds pass before."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running():
                raise DevError(
                    f"{self.name} ended with {self.popen.returncode}:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise DevError(
                    f"{self.name} did not answer within {timeout:.0f} s:\n{self.log_tail()}"
                )
            time.sleep(interval)


class Service:
    """A server program on a port of the loopback."""

    ready_timeout = 60  # seconds; a cold Node.js on a busy machine takes a few

    def __init__(self, name: str, port: int, process: Process) -> None:
        self.name = name
        self.port = port
        self.process = process

    @property
    def address(self) -> str:
        """``host:port``, as the operator's egress list wants it."""
        return f"127.0.0.1:{self.port}"

    def wait(self) -> None:
        """Until it listens."""
        self.process.wait_until(lambda: listens(self.port), timeout=self.ready_timeout)

    def stop(self) -> None:
        self.process.stop(timeout=5)


def start(
    name: str,
    args: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stop_signal: int = signal.SIGTERM,
    append: bool = False,
) -> Process:
    """Start ``args`` so that it gets ``SIGKILL`` when this process dies. Call it in the main thread.

    :param env: the whole environment of the program; the current one when ``None``
    :param stop_signal: what asks this program to end in good order
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab" if append else "wb") as output:
        popen = subprocess.Popen(
            [str(arg) for arg in args],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, no lock
        )
    return Process(name, popen, log, stop_signal)


def bare_environment(**more: str) -> dict[str, str]:
    """Only what a program needs to start: nothing of the person's environment, so nothing can leak from it."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **more}


def port_is_free(port: int) -> bool:
    """True if a server could listen on the loopback's ``port`` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """True if somebody accepts connections on the loopback's ``port``."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
