"""The browser of the browser tests: the machine's own, or Debian's package."""

import os
import shutil
import subprocess

from tools.dev.commands import run
from tools.dev.progress import DevError, step

NAMES = (
    "google-chrome",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
)  # in Odoo's own order


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def ensure() -> str:
    """The browser's path; installs Debian's ``chromium`` when there is none and this user may."""
    found = find()
    if found:
        return found
    sudo = _sudo()
    if sudo is None or not shutil.which("apt-get"):
        raise DevError(
            "The browser tests need Chromium or Google Chrome on PATH: install one, then try again."
        )
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with step("Installing Chromium for the browser tests"):
        run([*sudo, "apt-get", "-qq", "update"], what="apt-get update", env=quiet)
        run(
            [
                *sudo,
                "apt-get",
                "-qq",
                "install",
                "-y",
                "--no-install-recommends",
                "chromium",
                "fonts-liberation",
            ],
            what="Installing Chromium",
            env=quiet,
        )
    found = find()
    if not found:
        raise DevError("Debian's package chromium was installed, but no chromium is on PATH.")
    return found


def _sudo() -> list[str] | None:
    """What makes apt-get work for this user; ``None`` when nothing does."""
    if os.geteuid() == 0:
        return []
    allowed = shutil.which("sudo") and subprocess.run(
        ["sudo", "-n", "true"], capture_output=True, check=False
    )
    return ["sudo", "-n"] if allowed and allowed.returncode == 0 else None
