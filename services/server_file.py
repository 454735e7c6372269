"""What ``mcp_servers.toml``, the operator's own list of MCP servers, says: frozen data, see `server_file_reader`."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import const
from .errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class FileServer:
    """One ``[[mcp.servers]]``. `headers` and `env` may hold secrets."""

    name: str
    display_name: str = ""
    description: str = ""
    transport: str = "auto"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = const.CALL_TIMEOUT
    enabled: bool = True
    auto_start: bool = False
    env_type: str = "preinstalled"
    env_config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Changes with every value; reveals none."""
        raw = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(raw.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFile:
    """:ivar health_check_interval: seconds, None where the file does not say"""

    servers: Mapping[str, FileServer] = field(default_factory=dict)
    auto_reload: bool = True
    health_check_interval: float | None = None

    @property
    def digest(self) -> str:
        raw = json.dumps([server.digest for server in self.servers.values()])
        return hashlib.sha256(raw.encode()).hexdigest()


class FileError(ConfigError):
    """What is wrong with the file, and where: its name, the line and the key."""

    code = "server_file"
