"""Server programs of Debian's archive that tests run the addon beside, unpacked with what they need."""

import os
import platform
import shutil
from pathlib import Path

from dev.cache import build_once
from dev.progress import DevError, step, warn
from dev.setup import apt, debian
from dev.setup.environments import launch

SUITE = "bookworm"
LEFT_OUT = ("./usr/share", "./etc", "./var", "./lib/systemd")
LIBRARIES = "lib"  # what else is needed of other packages


def pgbouncer() -> Path:
    """A pooler of PostgreSQL's connections."""
    return _program("pgbouncer", "usr/sbin/pgbouncer", "3 MB")


def promtool() -> Path:
    """Checks alert rules, and what a program tells Prometheus; without dependencies, as what Go makes."""

    return _alone("prometheus", "usr/bin/promtool", "25 MB")


def offer_bubblewrap() -> None:
    """Let what is started from here find bubblewrap, the machine's own or an unpacked one."""
    if shutil.which("bwrap") or (apt.install("bubblewrap") and shutil.which("bwrap")):
        return
    try:
        program = _alone("bubblewrap", "usr/bin/bwrap", "50 kB")
    except DevError as error:
        warn(f"Owners' programs run without a sandbox: {error}")
        return
    os.environ["PATH"] += f":{program.parent}"


def _alone(package: str, path: str, size: str) -> Path:
    def build(entry: Path) -> None:
        for deb in debian.download(entry / "apt", SUITE, [package]):
            debian.unpack(deb, entry / "tree", LEFT_OUT)
            deb.unlink()

    with step(f"Fetching {package} from Debian's archive (about {size})"):
        return build_once(f"{package}-{SUITE}", build) / "tree" / path


def _program(package: str, path: str, size: str) -> Path:
    def build(entry: Path) -> None:
        for deb in debian.download(entry / "apt", SUITE, [package], dependencies=True):
            if deb.name.startswith((package.partition("-")[0], LIBRARIES)):
                debian.unpack(deb, entry / "tree", LEFT_OUT)
            deb.unlink()
        machine = f"{platform.machine()}-linux-gnu"
        folders = [entry / "tree" / root / machine for root in ("usr/lib", "lib")]
        libraries = ":".join(str(folder) for folder in folders if folder.exists())
        launch(entry / "bin" / package, entry / "tree" / path, libraries)

    with step(f"Fetching {package} from Debian's archive (about {size})"):
        return build_once(f"{package}-{SUITE}", build) / "bin" / package
