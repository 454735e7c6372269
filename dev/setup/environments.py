"""The Pythons and packages that Odoo 19 is run with: one table, each row built once into the cache.

Each row is made in two steps, as people do it: what Odoo asks for, then ``pip install -r requirements.txt``, whose
report is kept to tell what it would have changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from dev.cache import build_once, digest
from dev.commands import run
from dev.paths import REQUIREMENTS, ROOT
from dev.progress import DevError, step
from dev.setup import debian, odoo_tree, venvs

OURS = ROOT / "requirements.txt"
PINS = REQUIREMENTS / "odoo-pins.txt"
PACKAGES = {
    "debian": [],  # they are there
    "pins": [PINS],
    "ubuntu": [PINS, REQUIREMENTS / "ubuntu-24.04.txt"],
    "newest": [REQUIREMENTS / "odoo.txt"],
}
DEBIAN_LIST = REQUIREMENTS / "debian-12.txt"
# Odoo's tests use it to talk to Chromium; people who only use Odoo do not have it.
FOR_TESTS = ("websocket-client",)
OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
REPORT = "pip-report.json"
DEBIAN = "bookworm"
DEBIAN_PYTHON = "3.11"
DEBIAN_POSTGRES = 15
# The machine's own, which must be there anyway, and what nothing here needs.
DEBIAN_LEFT_OUT = re.compile(r"(libc6|libc-bin|libllvm\d+|libz3-4|perl|locales|dpkg|tar|passwd)\b")
LAUNCHER = """#!/bin/sh
export {variables}
exec {program} "$@"
"""


@dataclass(frozen=True)
class Environment:
    """One way in which Odoo 19 is installed.

    :param packages: Odoo's own, a key of `PACKAGES`
    :param lowest: take the lowest of each range of the addon's instead of the newest
    :param postgres: the version of the server beside it
    :param lived_in: the database has other modules with their data, and its people and websites Chinese only
    """

    name: str
    title: str
    python: str
    packages: str
    postgres: int
    lowest: bool = False
    # These say nothing of the packages.
    lived_in: bool = field(default=False, repr=False)
    note: str = field(default="", repr=False)

    def folder(self) -> Path:
        """Its place in the cache, built when it is not there.

        :raises DevError: this machine lacks the interpreter
        """
        interpreter, libraries = self._interpreter()
        texts = [file.read_text() for file in (OURS, *PACKAGES[self.packages])]
        today = time.strftime("%F") if self.packages == "newest" else ""
        parts = (*texts, str(interpreter), str(odoo_tree.odoo_path()), str(self), today)

        def build(entry: Path) -> None:
            self._build(entry, interpreter, libraries)

        with step(f"Installing {self.title}, Python {self.python}"):
            return build_once(f"odoo-{self.name}-{digest(*parts)}", build)

    def python_program(self) -> Path:
        return self.folder() / "bin/python"

    def postgres_programs(self) -> Path | None:
        """The folder of PostgreSQL's programs; ``None`` stands for the developers' own."""
        return debian_root() / "bin" if self.postgres == DEBIAN_POSTGRES else None

    def changed(self) -> list[str]:
        """Packages that Odoo asks for and the addon's requirements made pip replace."""
        report = json.loads((self.folder() / REPORT).read_text())
        names = [
            (item["metadata"]["name"], item["metadata"]["version"]) for item in report["install"]
        ]
        return [f"{name} {version}" for name, version in names if _canonical(name) in odoos()]

    def versions(self, *names: str) -> list[str]:
        """The versions of these distributions; a dash for what is not installed."""
        code = (
            "import sys\nfrom importlib import metadata\nfor name in sys.argv[1:]:\n"
            "    try: print(metadata.version(name))\n"
            "    except metadata.PackageNotFoundError: print('–')"
        )
        return run([self.python_program(), "-c", code, *names], what="Reading versions").split()

    def _interpreter(self) -> tuple[Path, str]:
        """The program, and where its shared libraries lie."""
        if self.packages == "debian":
            root = debian_root() / "root/usr"
            return root / f"bin/python{self.python}", f"{next(root.glob('lib/*-linux-gnu'))}"
        return find_python(self.python), ""

    def _build(self, entry: Path, interpreter: Path, libraries: str) -> None:
        if self.packages == "debian":
            # Debian's pip is among its packages, and its ensurepip looks outside of the unpacked root.
            options = ["--system-site-packages", "--without-pip"]
            environment = {"LD_LIBRARY_PATH": libraries}
        else:
            options, environment = [], {}
        if str(interpreter) == venvs.PYTHON:
            venvs.create(entry / "venv")
        else:
            run(
                [interpreter, "-m", "venv", *options, entry / "venv"],
                what="Making a Python environment",
                env=environment,
            )
        launch(entry / "bin/python", entry / "venv/bin/python", libraries)
        python = [entry / "bin/python", *venvs.PIP]
        for file in PACKAGES[self.packages]:
            run([*python, "-r", file], what="Installing what Odoo asks for")
        lowest = entry / "lowest.txt"
        lowest.write_text("".join(f"{bound}\n" for bound in lowest_bounds()) if self.lowest else "")
        run(
            [*python, "--report", entry / REPORT, "-r", OURS, "-c", lowest],
            what="Installing what the addon asks for",
        )
        run([*python, *FOR_TESTS], what="Installing what Odoo's tests ask for")
        run([entry / "bin/python", "-m", "pip", "check"], what="Checking the Python packages")
        site = next((entry / "venv/lib").glob("python3*/site-packages"))
        (site / "odoo-19.pth").write_text(f"{odoo_tree.odoo_path()}\n")


TABLE = (
    Environment(
        "debian-12",
        "Debian 12's own packages",
        DEBIAN_PYTHON,
        "debian",
        15,
        note="its Odoo: the unpacked package of another suite",
    ),
    Environment("ubuntu-24.04", "the versions of Ubuntu 24.04", "3.12", "ubuntu", 15),
    Environment("pins-3.11", "Odoo's own pins", "3.11", "pins", 15),
    Environment("pins-3.12", "Odoo's own pins", "3.12", "pins", 18),
    Environment("pins-3.13", "Odoo's own pins", "3.13", "pins", 18),
    Environment(
        "lowest", "Odoo's own pins, the lowest of ours", OWN_PYTHON, "pins", 18, lowest=True
    ),
    Environment("newest", "the newest of everything", OWN_PYTHON, "newest", 18),
    Environment(
        "lived-in",
        "the newest, in a database with data, in Chinese",
        OWN_PYTHON,
        "newest",
        18,
        lived_in=True,
    ),
)
SHORT = ("debian-12", "lowest")  # what `make test` tries: they differ most


def named(name: str) -> Environment:
    return next(row for row in TABLE if row.name == name)


def odoos() -> set[str]:
    """The names of the distributions that Odoo asks for."""
    lines = PINS.read_text().splitlines()
    return {_canonical(re.match(r"[\w.-]+", line)[0]) for line in lines if line[:1].isalpha()}


def lowest_bounds() -> list[str]:
    """``name==version`` for each requirement of the addon's that has a lower bound."""
    found = re.findall(r"^([\w.-]+)[^#\n]*?>=([\d.]+)", OURS.read_text(), re.M)
    return [f"{name}=={version}" for name, version in found]


def find_python(version: str) -> Path:
    """A CPython of this version: the one that runs, one on the path, or one of pyenv's.

    :raises DevError: this machine has none
    """
    if version == OWN_PYTHON:
        return Path(venvs.PYTHON)
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python3")]
    for candidate in filter(None, found):
        # A shim of pyenv's is there even if its version is not chosen.
        done = subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False)
        if done.returncode == 0:
            return Path(os.path.realpath(candidate))
    raise DevError(f"This machine has no Python {version}.")


def debian_root() -> Path:
    """Debian's Python, its packages and its PostgreSQL, unpacked; ``bin`` holds what starts PostgreSQL's programs."""
    names = [line for line in DEBIAN_LIST.read_text().splitlines() if line[:1].isalpha()]
    packages = [*names, f"postgresql-{DEBIAN_POSTGRES}"]

    def build(entry: Path) -> None:
        debs = debian.download(entry / "apt", DEBIAN, packages, dependencies=True)
        for deb in debs:
            if not DEBIAN_LEFT_OUT.match(deb.name):
                debian.unpack(deb, entry / "root", ("./usr/share/doc", "./usr/share/man"))
        libraries = next((entry / "root/usr/lib").glob("*-linux-gnu"))
        programs = entry / f"root/usr/lib/postgresql/{DEBIAN_POSTGRES}/bin"
        for program in programs.iterdir():
            launch(entry / "bin" / program.name, program, str(libraries))
        shutil.rmtree(entry / "apt")

    with step("Fetching Debian 12's Python packages and PostgreSQL (about 130 MB)"):
        return build_once(f"debian-12-{digest(*names)}", build)


def launch(script: Path, program: Path, libraries: str, **more: object) -> None:
    """A script that starts ``program`` with its own shared libraries, and with more variables."""
    script.parent.mkdir(exist_ok=True)
    variables = {"LD_LIBRARY_PATH": libraries, **more}
    words = " ".join(f"{name}={value}" for name, value in variables.items())
    script.write_text(LAUNCHER.format(variables=words, program=program))
    script.chmod(0o755)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
