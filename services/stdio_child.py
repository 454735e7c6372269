"""Runs the command of a stdio server so that nothing of it outlives us: ``stdio_child.py PARENT COMMAND …``.

A process of its own between us and the server, alone in the standard library. The kernel tells it when
its parent dies, however that happens, and it then kills its whole process group, whatever a ``npx`` has
started. It is run as a script, never imported.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def main(parent: int, command: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: _kill_group())
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the kernel was asked
        return 1
    try:
        child = subprocess.Popen(command)  # noqa: S603 the operator's own configuration file names it
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    os.close(0)  # the server alone reads, and sees the end
    os.close(1)
    code = child.wait()
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(0, signal.SIGTERM)
    return code if code >= 0 else 128 - code


def _kill_group() -> None:
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
