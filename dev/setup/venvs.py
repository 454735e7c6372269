"""Python environments, one for each set of pinned requirements, shared through the cache."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dev.cache import build_once, digest
from dev.commands import run
from dev.paths import REQUIREMENTS
from dev.progress import DevError, step
from dev.setup import apt

# The interpreter behind any environment that this code itself runs in, so that the cache's names stay the same.
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
# Options of pip only: the index and its certificates are the person's own set-up.
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


# Packages that are asked for and not installed: only AgentDojo's clients of models need these.
LEFT_OUT = {"injection": ("anthropic", "cohere", "google-genai", "langchain", "openai")}


def extra(kind: str, *, options: tuple[str, ...] = ()) -> Path:
    """A small environment of its own, made from ``<kind>.txt`` in ``dev/requirements`` or below it."""
    (requirements,) = REQUIREMENTS.rglob(f"{kind}.txt")

    def build(entry: Path) -> None:
        create(entry)
        run(
            [entry / "bin/python", *PIP, "--no-deps", *options, "-r", requirements],
            what=f"Installing {requirements.name}",
        )
        _check(entry, requirements.name, LEFT_OUT.get(kind, ()))

    with step(f"Installing {requirements.name}"):
        return build_once(name_of(f"venv-{kind}", [requirements]), build)


def _check(entry: Path, name: str, left_out: tuple[str, ...]) -> None:
    command = [str(entry / "bin/python"), "-m", "pip", "check"]
    if not left_out:
        run(command, what=f"Checking {name}")
        return
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    known = tuple(f"requires {package}, which is not installed." for package in left_out)
    wrong = [line for line in said.splitlines() if not line.endswith((*known, "found."))]
    if wrong:
        raise DevError("\n".join([f"Checking {name} failed:", *wrong]))


def name_of(kind: str, files: list[Path], *more: str) -> str:
    """The cache entry's name; comments in the files do not count."""
    lines = [re.sub(r"\s*#.*", "", file.read_text(), flags=re.M) for file in files]
    return f"{kind}-{digest(sys.version, PYTHON, *lines, *more)}"


def create(entry: Path) -> None:
    """An environment in ``entry``, also where Debian split parts of venv off into a package."""
    if _made_by_venv(entry):
        return
    if importlib.util.find_spec("pip"):
        with step("Fetching virtualenv, because Python's own venv is not complete here"):
            _made_by_virtualenv(entry)
        return
    with step("Installing python3-venv"):
        apt.install("python3-venv")
    if not _made_by_venv(entry):
        raise DevError(f"{PYTHON} can make no environment: install python3-venv, then try again.")


def _made_by_venv(entry: Path) -> bool:
    command = [PYTHON, "-m", "venv", "--clear", str(entry)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _made_by_virtualenv(entry: Path) -> None:
    shutil.rmtree(entry)
    helper = entry.withname_of(f"{entry.name}-virtualenv")
    run([PYTHON, *PIP, "--target", helper, "virtualenv"], what="Fetching virtualenv")
    run(
        [PYTHON, "-m", "virtualenv", "--quiet", entry],
        what="Making a Python environment",
        env={"PYTHONPATH": str(helper)},
    )
    shutil.rmtree(helper)
