"""Runs a program to its end and shows its output only when it fails."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.processes import die_with_parent
from dev.progress import DevError


def run(
    args: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Standard output of ``args``; a failure becomes a :class:`DevError` that begins with ``what``.

    :param env: variables on top of the current ones
    """
    try:
        done = subprocess.run(
            [str(arg) for arg in args],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=die_with_parent,
        )
    except FileNotFoundError as error:
        raise DevError(
            f"{what} needs the program {error.filename}, which is not installed."
        ) from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise DevError(f"{what} failed ({done.returncode}):\n{tail}")
    return done.stdout
