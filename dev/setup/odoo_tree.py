"""Gets Odoo 19: ``ODOO_HOME``, or Debian's package ``odoo-19`` unpacked into the cache."""

import os
import re
from pathlib import Path

from dev.cache import build_once
from dev.paths import cache_home
from dev.progress import DevError, say, step, warn
from dev.setup import debian, node

TESTED_VERSION = "19.0.0+dfsg-1"
ASSET_PACKAGES = (
    "libjs-jquery",
    "libjs-jquery-form",
    "libjs-underscore",
    "fonts-font-awesome",
    "fonts-roboto-unhinted",
    "fonts-montserrat",
    "fonts-inconsolata",
    "fonts-ocr-b",
)
# Translations are 70 % of the package's 1.2 GB; only the languages that the addon ships are kept.
# The package also carries a second, incomplete copy of the addons beside ``odoo/addons``.
LEFT_OUT = (
    "*/i18n/[!z]*.po",
    "*/i18n/z[!h]*.po",
    "*/addons/l10n_*",
    "./usr/lib/python3/dist-packages/addons",
)
# npm's tarball of the one library that Debian strips and that every backend page loads.
SELFIE_PACKAGE = "@mediapipe/selfie_segmentation"
SELFIE_FILE = "mail/static/lib/selfie_segmentation/selfie_segmentation.js"
RECIPE = "1"


def odoo_path() -> Path:
    """The folder to put on Python's path so that ``import odoo`` finds Odoo 19."""
    home = os.environ.get("ODOO_HOME")
    if home:
        return _existing(Path(home).expanduser().resolve())
    entry = build_once(f"odoo-19-{RECIPE}", _build)
    return entry / "tree/usr/lib/python3/dist-packages"


def _existing(home: Path) -> Path:
    """Accepts a source checkout, an unpacked package, a dist-packages folder or ``odoo`` itself."""
    for candidate in (home, home / "usr/lib/python3/dist-packages", home.parent):
        release = candidate / "odoo/release.py"
        if release.is_file():
            found = re.search(r"^version_info = \((\d+)", release.read_text(), re.M)
            if not found or found[1] != "19":
                raise DevError(
                    f"ODOO_HOME={home} holds Odoo {found and found[1]}, but this addon is for Odoo 19."
                )
            return candidate
    raise DevError(f"ODOO_HOME={home} holds no Odoo: there is no odoo/release.py in it.")


def addons_paths(path: Path) -> list[Path]:
    """Folders of Odoo's own addons that ``--addons-path`` needs: a source checkout keeps them beside ``odoo``."""
    extra = path / "addons"
    return [extra] if (extra / "web/static").is_dir() else []


def _build(entry: Path) -> None:
    with step("Fetching Odoo 19 from Debian's archive (about 130 MB)"):
        debs = _download(entry)
    with step("Unpacking Odoo 19"):
        for deb in debs:
            debian.unpack(deb, entry / "tree", LEFT_OUT)
    with step(f"Adding {SELFIE_PACKAGE}"):
        _add_selfie_segmentation(entry)
    for deb in debs:
        deb.unlink()


def _download(entry: Path) -> list[Path]:
    debs = debian.download(entry / "apt", "sid", ["odoo-19", *ASSET_PACKAGES])
    version = next(
        deb.name.split("_")[1].replace("%3a", ":")
        for deb in debs
        if deb.name.startswith("odoo-19_")
    )
    if not version.startswith("19.0."):
        raise DevError(f"Debian sid now holds Odoo {version}; point ODOO_HOME at an Odoo 19.0.")
    if version != TESTED_VERSION:
        warn(f"Debian sid holds Odoo {version}; this checkout was tested with {TESTED_VERSION}.")
    say(f"  Odoo {version}")
    (entry / "version").write_text(version + "\n")
    return debs


def _add_selfie_segmentation(entry: Path) -> None:
    target = entry / "tree/usr/lib/python3/dist-packages/odoo/addons" / SELFIE_FILE
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((node.node_modules() / SELFIE_PACKAGE / target.name).read_bytes())


def version() -> str:
    """Version that was unpacked, for the greeting; empty for an ``ODOO_HOME``."""
    stamp = cache_home() / f"odoo-19-{RECIPE}/version"
    return "" if os.environ.get("ODOO_HOME") or not stamp.exists() else stamp.read_text().strip()
