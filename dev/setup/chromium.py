"""The browser of the browser tests: the machine's own, or Debian's package."""

import shutil
import subprocess
from pathlib import Path

from dev.cache import build_once
from dev.progress import DevError, step, warn
from dev.setup import apt, debian

SHELL = "chromium-headless-shell"
CHINESE = "fonts-wqy-microhei"
SUITE = "bookworm"  # whose libraries the shell finds beside the browser of the same suite
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


def headless() -> str:
    """The path of a Chromium without a window, or of the whole browser where there is none.

    The whole one draws its own toolbars even when nobody can see them: 1.5 s of a core for each page, beside 0.2 s.
    """
    found = shutil.which(SHELL)
    if found:
        return found
    whole = ensure()  # first: its package brings the libraries that the shell needs
    try:
        shell = build_once(f"{SHELL}-{SUITE}", _unpack) / "tree/usr/lib/chromium" / SHELL
        subprocess.run([shell, "--version"], check=True, capture_output=True)
    except (DevError, OSError, subprocess.CalledProcessError) as error:
        warn(f"The tests take the whole browser, which is slower: {error}")
        return whole
    return str(shell)


def chinese_fonts() -> Path:
    """A folder for ``XDG_DATA_HOME``: with it Chromium draws Chinese, for which many machines have no font."""
    return build_once(f"{CHINESE}-{SUITE}", _unpack_fonts) / "tree/usr/share"


def _unpack_fonts(entry: Path) -> None:
    with step("Fetching a Chinese font from Debian's archive (2 MB)"):
        for deb in debian.download(entry / "apt", SUITE, [CHINESE]):
            debian.unpack(deb, entry / "tree")
            deb.unlink()


def _unpack(entry: Path) -> None:
    with step("Fetching Chromium's headless shell from Debian's archive (about 90 MB)"):
        for deb in debian.download(entry / "apt", SUITE, [SHELL, "chromium-common"]):
            debian.unpack(deb, entry / "tree")
            deb.unlink()
