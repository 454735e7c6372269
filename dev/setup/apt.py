"""Installs a package of the system where this user may; nothing else in the tooling touches the system."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from dev.commands import run

WAIT = ("-o", "DPkg::Lock::Timeout=300")  # s, while another installation runs
QUIET = {"DEBIAN_FRONTEND": "noninteractive"}


def install(*packages: str) -> bool:
    """Install Debian packages as root or through a password-less sudo; whether that was possible."""
    sudo = _sudo()
    if sudo is None or not shutil.which("apt-get"):
        return False
    what = f"Installing {', '.join(packages)}"
    run([*sudo, "apt-get", "-qq", "update"], what=what, env=QUIET)
    run(
        [*sudo, "apt-get", *WAIT, "-qq", "install", "-y", "--no-install-recommends", *packages],
        what=what,
        env=QUIET,
    )
    return True


def _sudo() -> Sequence[str] | None:
    """Command that makes apt-get work for this user; ``None`` when nothing does."""
    if os.geteuid() == 0:
        return ()
    if not shutil.which("sudo"):
        return None
    allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ("sudo", "-n") if allowed.returncode == 0 else None
