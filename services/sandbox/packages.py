"""Packages of programs in a sandbox: fetched before the program starts, each into a folder that it cannot change."""

import hashlib
import json
from pathlib import Path

from ..errors import ConfigError
from ..sentence import _lt
from ..specs import SandboxSpec
from .bubblewrap import PACKAGE

MAX_DESCRIPTION = 1_000_000  # bytes of a package.json


def folder(box: SandboxSpec) -> Path:
    """Folder of a program's package, once it has been fetched."""
    name = hashlib.sha256(":".join((box.runtime, box.package)).encode()).hexdigest()[:24]
    return Path(box.packages, name)


def fetching(box: SandboxSpec) -> tuple[list[str], dict[str, str]]:
    """The command that fetches a package into `PACKAGE`, and variables for it."""
    if box.runtime == "node":
        options = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        command = ["npm", "install", f"--prefix={PACKAGE}", *options, box.package]
        return command, {"npm_config_cache": "/tmp/npm"}  # noqa: S108 the sandbox's own
    return ["uv", "tool", "install", "--quiet", box.package], {
        "UV_CACHE_DIR": "/tmp/uv",  # noqa: S108
        "UV_TOOL_DIR": f"{PACKAGE}/tools",
        "UV_TOOL_BIN_DIR": f"{PACKAGE}/bin",
        "UV_PYTHON_INSTALL_DIR": f"{PACKAGE}/python",
    }


def program(box: SandboxSpec) -> str:
    """Path of a package's program in the sandbox.

    :raises ConfigError: the package has none, or several
    """
    if box.runtime == "python":
        return f"{PACKAGE}/bin/{box.program or box.package.split('==')[0].split('[')[0]}"
    return f"{PACKAGE}/node_modules/.bin/{box.program or _only_program(box)}"


def _only_program(box: SandboxSpec) -> str:
    """Find the program as `npx` does."""
    name = box.package.rpartition("@")[0]
    own = name.rpartition("/")[2]
    try:
        with (folder(box) / "node_modules" / name / "package.json").open("rb") as file:
            programs = json.loads(file.read(MAX_DESCRIPTION)).get("bin")
    except (OSError, ValueError, AttributeError):
        programs = None
    if isinstance(programs, str):
        return own
    if isinstance(programs, dict) and programs:
        return own if own in programs or len(programs) > 1 else str(next(iter(programs)))
    raise ConfigError(
        _lt("The package %(name)s of this MCP server has no program.", name=box.package)
    )
