"""Launch environments: how the process of a stdio server is started, by the kind of its environment (004, 9)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..specs import SandboxSpec
from .server_file import FileServer


def command(server: FileServer, *, container_runtime: str) -> tuple[str, ...]:
    """:param container_runtime: the operator's ``podman`` or ``docker``"""
    if server.env_type == "dynamic_injected":
        return _injected(server)
    if server.env_type == "custom_image":
        return _container(server, container_runtime)
    return server.command, *server.args


def variables(server: FileServer, *, cache: Path) -> Mapping[str, str]:
    """Environment variables of the process; packages are kept below `cache`."""
    if server.env_type != "dynamic_injected":
        return server.env
    return {
        "UV_CACHE_DIR": str(cache / "uv"),
        "UV_TOOL_DIR": str(cache / "uv-tools"),
        "npm_config_cache": str(cache / "npm"),
        **server.env,
    }


def sandbox(
    server: FileServer, *, mode: str, cache: Path, hidden: tuple[str, ...]
) -> SandboxSpec | None:
    """Access of a workspace's program to this host; None where it runs without a sandbox.

    Containers have walls of their own. What the operator's file starts for everybody is the operator's own choice.

    :param mode: ``required``, ``preferred`` or ``off``
    :param cache: the folder of packages
    :param hidden: what is Odoo's alone
    """
    if mode == "off" or not server.is_owners or server.env_type == "custom_image":
        return None
    package: dict[str, Any] = {}
    if server.env_type == "dynamic_injected":
        package = {
            "runtime": server.env_config["runtime"],
            "package": server.env_config["package"],
            "program": server.command,
            "args": server.args,
            "packages": str(cache / "sandbox"),
        }
    return SandboxSpec(
        required=mode == "required",
        network=not server.is_offline,
        folders=server.roots if server.workspace_root else (),
        readable=tuple(
            arg for arg in server.args if arg.startswith("/") and not _is_below(arg, server.roots)
        ),
        hidden=hidden,
        **package,
    )


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(os.path.commonpath([folder, path]) == folder for folder in folders)


def _injected(server: FileServer) -> tuple[str, ...]:
    package = server.env_config["package"]
    if server.env_config["runtime"] == "node":
        program = ("--", server.command) if server.command else ()
        return (
            "npx",
            "--yes",
            *(("--package", package) if program else (package,)),
            *program,
            *server.args,
        )
    program_name = server.command or package.split("==")[0].split("[")[0]
    return "uvx", "--from", package, program_name, *server.args


def _container(server: FileServer, runtime: str) -> tuple[str, ...]:
    """No network and no mounts but the listed ones, no capabilities, nothing stays. Values of the
    environment are named, not written, so that no process list shows them."""
    config = server.env_config
    options = ["--rm", "--interactive", "--init", "--read-only", "--cap-drop=ALL"]
    options += ["--security-opt=no-new-privileges", f"--network={config.get('network', 'none')}"]
    options += [f"--env={name}" for name in server.env]
    options += [f"--volume={mount}" for mount in config.get("mounts", ())]
    inside = (server.command,) if server.command else ()
    return runtime, "run", *options, config["image"], *inside, *server.args
