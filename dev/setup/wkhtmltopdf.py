"""The program with which Odoo's reports become PDF files: the machine's own, or Debian's package."""

import platform
import shutil
import subprocess
from pathlib import Path

from dev.cache import build_once
from dev.progress import DevError, step, warn
from dev.setup import debian
from dev.setup.environments import launch

NAME = "wkhtmltopdf"
SUITE = "bookworm"
RECIPE = "1"
CHINESE = "fonts-wqy-microhei"
# Without a screen it needs no drivers of screens, keyboards or printers; they are two thirds of all.
LEFT_OUT = (
    "debconf",
    "dpkg",
    "fontconfig",
    "iso-codes",
    "libc6",
    "libcups2",
    "libegl-mesa0",
    "libglx-mesa0",
    "libinput10",
    "shared-mime-info",
    "tar",
    "xkb-data",
)
NOT_UNPACKED = ("./etc", "./usr/share/[!f]*", "./var")
FONTS = """<?xml version="1.0"?>
<fontconfig>
  <dir>{folder}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


def folder() -> Path | None:
    """Folder for Odoo's ``bin_path``; ``None`` if the machine has the program, or none can be had."""
    if shutil.which(NAME):
        return None
    try:
        program = build_once(f"{NAME}-{SUITE}-{RECIPE}", _build) / "bin" / NAME
        subprocess.run([program, "--version"], check=True, capture_output=True)
    except (DevError, OSError, subprocess.CalledProcessError) as error:
        warn(f"Odoo makes no PDF files: {error}")
        return None
    return program.parent


def _build(entry: Path) -> None:
    tree, wanted = entry / "tree", [NAME, CHINESE]
    with step("Fetching wkhtmltopdf from Debian's archive (about 60 MB)"):
        for deb in debian.download(
            entry / "apt", SUITE, wanted, dependencies=True, without=LEFT_OUT
        ):
            debian.unpack(deb, tree, NOT_UNPACKED)
            deb.unlink()
        shutil.rmtree(entry / "apt")
    machine = f"{platform.machine()}-linux-gnu"
    (entry / "fonts.conf").write_text(FONTS.format(folder=tree / "usr/share/fonts"))
    launch(
        entry / "bin" / NAME,
        tree / "usr/bin" / NAME,
        f"{tree / 'usr/lib' / machine}:{tree / 'lib' / machine}",
        QT_QPA_PLATFORM="offscreen",
        QT_PLUGIN_PATH=tree / "usr/lib" / machine / "qt5/plugins",
        FONTCONFIG_FILE=entry / "fonts.conf",
    )
