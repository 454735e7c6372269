"""Operator settings: section ``[woow_ai]`` of odoo.conf, each key with an environment twin.

Odoo 19 reads only ``[options]``, so this module reads its own section. The environment
(``WOOW_AI_<KEY>``) wins over the file. Nothing here can be changed from the database.
"""

import configparser
import functools
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from odoo.tools import config

from ..services import const
from ..services.errors import ConfigError
from ..services.net.egress import EgressPolicy

_logger = logging.getLogger(__name__)

SECTION = "woow_ai"
KEYS = frozenset(
    {
        "secret_key",
        "egress_allow",
        "in_process_runner",
        "runner_capacity",
        "turns_per_person",
        "turns_per_database",
        "waits_per_person",
        "lease_seconds",
        "idle_seconds",
        "max_streams",
        "wakeup",
        "metrics_token",
        "metrics_port",
        "metrics_tenants",
        "traces",
        "traces_tenants",
        "released_env",
        "mcp_servers_file",
        "container_runtime",
        "tool_cache",
    }
)


@dataclass(frozen=True)
class Settings:
    """`secret_keys` newest first; `egress_allow` says where MCP servers may live.

    `turns_per_database` is the most that run at a time in one database, 0 for as many as there is room for.
    `wakeup` is the address of what carries the wake-up channel, PostgreSQL does without one.
    Who knows `metrics_token` may read what is measured, nobody without one: at `/metrics`, and at `metrics_port` of a
    runner; with the name of the database if `metrics_tenants`.
    `traces` is the address of the collector that they are sent to, nobody's without one; with the name of the database
    if `traces_tenants`.
    A database that had no turn for `idle_seconds` is let go by a process that serves all of them.
    `released_env` names the variables of the environment that a server's form may take its key from.
    `container_runtime` runs images of stdio servers, `tool_cache` is the folder of packages for them.
    """

    secret_keys: tuple[str, ...]
    egress_allow: EgressPolicy
    in_process_runner: bool
    runner_capacity: int
    turns_per_person: int
    turns_per_database: int
    waits_per_person: int
    lease_seconds: float
    idle_seconds: float
    max_streams: int
    wakeup: str
    metrics_token: str
    metrics_port: int
    metrics_tenants: bool
    traces: str
    traces_tenants: bool
    released_env: frozenset[str]
    mcp_servers_file: str
    container_runtime: str
    tool_cache: str


def _listed(text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(",")) if part]


def _is_true(text: str) -> bool:
    return text.strip().lower() not in ("false", "0", "no", "off")


def _read_section() -> dict[str, str]:
    values: dict[str, str] = {}
    path = config["config"]
    if path and os.path.isfile(path):
        parser = configparser.RawConfigParser()
        parser.read(path)
        if parser.has_section(SECTION):
            values = dict(parser.items(SECTION))
    for key in sorted(values.keys() - KEYS):
        _logger.warning("Unknown key %r in section [%s] of %s.", key, SECTION, path)
    for key in KEYS:
        if (value := os.environ.get(f"WOOW_AI_{key.upper()}")) is not None:
            values[key] = value
    return values


def _made_secret_key() -> str:
    """The key in `data_dir` for who set none; made once, readable by Odoo's user only."""
    from cryptography.fernet import Fernet  # noqa: PLC0415

    path = Path(config["data_dir"]) / "woow_ai_secret_key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(Fernet.generate_key())
    try:
        os.link(draft, path)  # whole or not at all, also when two processes start at once
        _logger.info("No secret_key is set in [%s]: one was made in data_dir.", SECTION)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()


@functools.lru_cache(maxsize=1)
def get() -> Settings:
    values = _read_section()
    keys = tuple(_listed(values.get("secret_key", "")))
    try:
        allow = EgressPolicy.parse(values.get("egress_allow", ""))
    except ConfigError as error:
        _logger.error("egress_allow: %s No internal address is allowed.", error)
        allow = EgressPolicy()
    return Settings(
        secret_keys=keys or (_made_secret_key(),),
        egress_allow=allow,
        in_process_runner=_is_true(values.get("in_process_runner", "True")),
        runner_capacity=int(values.get("runner_capacity", const.RUNNER_CAPACITY)),
        turns_per_person=int(values.get("turns_per_person", 24)),
        turns_per_database=int(values.get("turns_per_database", 0)),
        waits_per_person=int(values.get("waits_per_person", 8)),
        lease_seconds=float(values.get("lease_seconds", 15)),
        idle_seconds=float(values.get("idle_seconds", 60)),
        max_streams=int(values.get("max_streams", 2000)),
        wakeup=values.get("wakeup", "").strip(),
        metrics_token=values.get("metrics_token", "").strip(),
        metrics_port=int(values.get("metrics_port", 0)),
        metrics_tenants=_is_true(values.get("metrics_tenants", "False")),
        traces=values.get("traces", "").strip(),
        traces_tenants=_is_true(values.get("traces_tenants", "False")),
        mcp_servers_file=values.get("mcp_servers_file", "").strip(),
        container_runtime=values.get("container_runtime", "podman").strip(),
        tool_cache=values.get("tool_cache", "").strip()
        or str(Path(config["data_dir"]) / "woow_ai_tools"),
        released_env=frozenset(_listed(values.get("released_env", ""))),
    )
