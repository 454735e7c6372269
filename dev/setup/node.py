"""Node.js and the pinned Node packages, shared through the cache."""

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dev.cache import build_once, digest
from dev.commands import run
from dev.paths import DEV, REQUIREMENTS, ROOT, link
from dev.progress import step
from dev.setup import venvs

OLDEST = 20
# dbhub would bring the drivers of six more databases
FLAGS = ("--omit=optional", "--no-audit", "--no-fund", "--loglevel=error")
LOCK_FILES = ("package.json", "package-lock.json", ".npmrc")


@functools.cache
def node(oldest: int = OLDEST) -> Path:
    """A Node.js of at least this version: this machine's own, else one from a Python wheel."""
    own = shutil.which("node")
    if own and shutil.which("npm"):
        found = subprocess.run(
            [own, "--version"], capture_output=True, text=True, check=False
        ).stdout
        major = re.match(r"v(\d+)", found)
        if major and int(major[1]) >= oldest:
            return Path(own)
    return venvs.extra("node") / "bin/node"


@functools.cache
def node_modules() -> Path:
    """The folder with the packages of ``package-lock.json``, as ``.dev/node_modules``."""
    files = [ROOT / name for name in LOCK_FILES]

    def build(entry: Path) -> None:
        for file in files:
            shutil.copy(file, entry / file.name)
        run(
            [node().with_name("npm"), "ci", *FLAGS],
            what="Installing the Node packages",
            cwd=entry,
            env={"PATH": f"{node().parent}:/usr/local/bin:/usr/bin:/bin"},
        )

    with step("Installing the Node packages"):
        entry = build_once(f"node-{digest(*(file.read_bytes() for file in files))}", build)
    modules = entry / "node_modules"
    link(modules, DEV / "node_modules")
    return modules


def template_packages() -> Path:
    """The packages of templates that nothing else here needs, with the binaries that are optional to them."""
    return _packages("templates")


def client_packages() -> Path:
    """MCP clients of others."""
    return _packages("clients", "--omit=optional")


@functools.cache
def _packages(kind: str, *flags: str) -> Path:
    """The packages of a folder in ``dev/requirements``."""
    files = [REQUIREMENTS / kind / name for name in LOCK_FILES[:2]]

    def build(entry: Path) -> None:
        for file in files:
            shutil.copy(file, entry / file.name)
        run(
            [node().with_name("npm"), "ci", *flags, "--ignore-scripts", "--no-audit", "--no-fund"],
            what=f"Installing the packages of {kind}",
            cwd=entry,
            env={"PATH": f"{node().parent}:/usr/local/bin:/usr/bin:/bin"},
        )

    with step(f"Installing the packages of {kind}"):
        name = f"{kind}-{digest(*(file.read_bytes() for file in files))}"
        return build_once(name, build) / "node_modules"


def command(program: str, *arguments: str) -> list[str | Path]:
    """The command line of a program that one of the packages brings."""
    return [node(), node_modules() / ".bin" / program, *arguments]


def main(arguments: Sequence[str]) -> int:
    """``python -m dev.setup.node PROGRAM …``, for pre-commit's hooks."""
    return subprocess.call([str(part) for part in command(*arguments)])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
