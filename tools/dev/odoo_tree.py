"""Gets Odoo 19: ``ODOO_HOME``, or Debian's package ``odoo-19`` unpacked into the cache.

Nothing is installed on the system: apt works in a private root with one line for the suite *sid*,
at the mirror that this machine uses already, and the signature of Debian's archive is checked by apt.
"""

import os
import re
import subprocess
from pathlib import Path

from tools.dev.cache import build_once
from tools.dev.commands import run
from tools.dev.paths import cache_home
from tools.dev.progress import DevError, say, step, warn

TESTED_VERSION = "19.0.0+dfsg-1"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
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
            _unpack(deb, entry / "tree")
    with step(f"Adding {SELFIE_PACKAGE}"):
        _add_selfie_segmentation(entry)
    for deb in debs:
        deb.unlink()


def _mirror() -> str:
    """Address of the Debian mirror in this machine's own apt set-up."""
    seen = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(LABEL)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    for line in seen:
        uri, _, origin = line.partition("|")
        if origin == "Debian|Debian":
            return uri
    # Before the first "apt-get update" apt knows no targets, so its source files are read.
    folder = Path("/etc/apt")
    for source in sorted([*folder.glob("sources.list"), *folder.glob("sources.list.d/*")]):
        for found in re.finditer(
            r"^(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(\S+)", source.read_text(), re.M
        ):
            if re.search(r"/debian/?$", found[1]):
                return found[1]
    raise DevError(
        "No Debian mirror is set up on this machine: point ODOO_HOME at an Odoo 19 that you have."
    )


def _download(entry: Path) -> list[Path]:
    if not KEYRING.exists():
        raise DevError(
            f"{KEYRING} is missing: install debian-archive-keyring, or point ODOO_HOME at an Odoo 19."
        )
    apt = entry / "apt"
    for name in ("lists/partial", "cache/archives/partial", "etc/parts", "debs"):
        (apt / name).mkdir(parents=True)
    (apt / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {_mirror()} sid main\n")
    (apt / "status").touch()
    options = {
        "Dir::State::Lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "etc/sources.list",
        "Dir::Etc::sourceparts": apt / "etc/parts",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": apt / "etc/parts",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    }
    flags = [flag for key, value in options.items() for flag in ("-o", f"{key}={value}")]
    run(["apt-get", *flags, "update"], what="Reading the list of Debian sid")
    run(
        ["apt-get", *flags, "download", "odoo-19", *ASSET_PACKAGES],
        what="Downloading odoo-19",
        cwd=apt / "debs",
    )
    debs = sorted((apt / "debs").glob("*.deb"))
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


def _unpack(deb: Path, tree: Path) -> None:
    tree.mkdir(exist_ok=True)
    leave = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as data:
        done = subprocess.run(
            ["tar", "-x", "-C", str(tree), "--no-same-owner", "--wildcards", *leave],
            stdin=data.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode or data.returncode:
        raise DevError(f"Unpacking {deb.name} failed:\n{done.stderr}")


def _add_selfie_segmentation(entry: Path) -> None:
    from tools.dev import node

    target = entry / "tree/usr/lib/python3/dist-packages/odoo/addons" / SELFIE_FILE
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((node.node_modules() / SELFIE_PACKAGE / target.name).read_bytes())


def version() -> str:
    """What was unpacked, for the greeting; empty for an ``ODOO_HOME``."""
    stamp = cache_home() / f"odoo-19-{RECIPE}/version"
    return "" if os.environ.get("ODOO_HOME") or not stamp.exists() else stamp.read_text().strip()
