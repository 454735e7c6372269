"""Process supervisor: the command of a stdio server, nothing of which outlives us: ``stdio_child.py PARENT COMMAND …``.

A process of its own between us and the server, alone in the standard library. SIGTERM it passes on, so that the
server may end by itself. SIGUSR1, which the kernel sends when its parent dies, however that happens, kills the
server and whatever that has started, a ``npx`` or a daemon. Whoever is left behind becomes its child, so that
it can be killed and reaped; in a container without an init nobody else would. It is run as a script, never imported.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1  # prctl(2)
PR_SET_CHILD_SUBREAPER = 36
GRACE = 0.5  # s for what the server leaves behind to end by itself


def main(parent: int, command: list[str]) -> int:
    """Run a server until it ends or its parent does, then end what it has left behind.

    :param parent: process id of who started this
    :param command: program and arguments
    :return: the exit code
    """
    signal.signal(signal.SIGUSR1, lambda *_: _kill_all())
    is_sandboxed = Path(command[0]).name == "bwrap"
    signal.signal(signal.SIGTERM, lambda *_: _pass_on(is_sandboxed))
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)
    if os.getppid() != parent:  # it died before the kernel was asked
        return 1
    try:
        # Of open files it has those only that its sandbox reads first.
        server = subprocess.Popen(command, close_fds=False)  # noqa: S603 the operator's own configuration file names it
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    os.close(0)  # the server alone reads, and sees the end
    os.close(1)
    while (ended := os.wait())[0] != server.pid:
        pass
    _pass_on(is_sandboxed)
    until = time.monotonic() + GRACE
    with contextlib.suppress(OSError):  # nobody is left, or /proc is not there to tell
        while os.waitpid(-1, os.WNOHANG)[0] or time.monotonic() < until:
            time.sleep(0.01)
        _kill_children()
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 else 128 - code


def _pass_on(is_sandboxed: bool) -> None:
    """SIGTERM to the group, except ourselves; not to a sandbox, which would take the server along at once."""
    if is_sandboxed:
        with contextlib.suppress(OSError):
            for sandbox in _children_of(os.getpid()):
                _ask_below(sandbox)
    elif os.getpgrp() == os.getpid():
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)


def _ask_below(pid: int) -> None:
    for child in _children_of(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
            _ask_below(child)


def _children_of(pid: int) -> list[int]:
    """:raises OSError: it has ended"""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _kill_all() -> None:
    with contextlib.suppress(OSError):
        _kill_children()
    os._exit(137)


def _kill_children() -> None:
    """Kill and reap until nobody is left: the children of who dies become ours.

    :raises OSError: that is now
    """
    while True:
        for child in _children_of(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        os.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
