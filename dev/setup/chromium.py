"""The browser of the browser tests: the machine's own, or Debian's package."""

import shutil

from dev.progress import DevError, step
from dev.setup import apt

NAMES = ("google-chrome", "chromium", "chromium-browser", "google-chrome-stable")  # Odoo's order


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def ensure() -> str:
    """The browser's path; installs Debian's ``chromium`` when there is none and this user may."""
    found = find()
    if found:
        return found
    with step("Installing Chromium for the browser tests"):
        apt.install("chromium", "fonts-liberation")
    found = find()
    if not found:
        raise DevError("The tests need Chromium or Google Chrome on PATH: install one, try again.")
    return found
