"""Server file: what ``mcp_servers.toml``, the operator's own list, says; frozen data, see `server_file_reader`."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import const
from ..sentence import _lt

FAULTY = _lt("The entry of this MCP server in the operator's file has an error. Settings show it.")
# Keys that came later do not change the digests of entries without them: an update would switch their servers on again.
LATER = ("owners", "workspace_root", "hosts", "environments", "is_owners", "is_offline")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileServer:
    """One ``[[mcp.servers]]``, or how servers of one of the ``[[mcp.templates]]`` start.

    :ivar env: may hold secrets, as `headers` may
    :ivar start_timeout: seconds that the program has to start, None where the file does not say
    :ivar roots: of a template: the folders below which those of its servers may be
    :ivar owners: of a template: whether cloud services may have servers of it, too
    :ivar workspace_root: where each workspace then has a folder of its own
    :ivar hosts: ``host:port`` that such servers may name as theirs
    :ivar environments: of a template: other ways to start its servers, among which administrators may choose
    :ivar is_owners: whether it is a cloud service's, of the release of a template
    :ivar is_offline: whether it then needs no network
    :ivar secrets: values that are not repeated in what the server's process says
    :ivar form: changes with what the file says, not with the values of its variables
    """

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
    start_timeout: float | None = None
    enabled: bool = True
    auto_start: bool = False
    env_type: str = "preinstalled"
    env_config: Mapping[str, Any] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    owners: bool = False
    workspace_root: str = ""
    hosts: tuple[str, ...] = ()
    environments: tuple[Mapping[str, Any], ...] = ()
    is_owners: bool = False
    is_offline: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    form: str = ""

    @property
    def time_to_start(self) -> float:
        """Seconds that a program has to start; longer by default where it may have to be fetched."""
        is_there = self.env_type == "preinstalled"
        return self.start_timeout or (const.START_TIMEOUT if is_there else const.FETCH_TIMEOUT)

    @property
    def blotted(self) -> tuple[str, ...]:
        """Values that nobody reads in what its program says."""
        values = {value for value in self.env.values() if len(value) >= const.SHORTEST_SECRET}
        return tuple(sorted(values.union(self.secrets), key=len, reverse=True))

    @property
    def digest(self) -> str:
        """Changes with every value; reveals none."""
        values = dataclasses.asdict(self)
        del values["form"]
        known = {key: value for key, value in values.items() if value or key not in LATER}
        raw = json.dumps(known, sort_keys=True)
        return hashlib.sha256(raw.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFile:
    """
    :ivar templates: of servers with a command, those that may be used
    :ivar enabled: the operator's switch for all MCP servers, those of the databases too
    :ivar health_check_interval: seconds, None where the file does not say
    :ivar problems: sentences on what of the file cannot be used
    :ivar faulty: names of servers whose entries cannot be used and of which nothing is known from before
    :ivar faulty_templates: the same of templates
    :ivar is_known: whether it was ever read, so that what it lacks is gone
    """

    enabled: bool = True
    servers: Mapping[str, FileServer] = field(default_factory=dict)
    templates: Mapping[str, FileServer] = field(default_factory=dict)
    auto_reload: bool = True
    health_check_interval: float | None = None
    problems: tuple[str, ...] = ()
    faulty: frozenset[str] = frozenset()
    faulty_templates: frozenset[str] = frozenset()
    is_known: bool = True

    def is_faulty(self, server: str) -> bool:
        """True where nobody knows how this server is asked, though the file may say it."""
        return server in self.faulty or not self.is_known

    def is_faulty_template(self, template: str) -> bool:
        """True if the file has this template, with a fault in it."""
        return template in self.faulty_templates or not self.is_known

    @property
    def digest(self) -> str:
        entries = (*self.servers.values(), *self.templates.values())
        raw = json.dumps([self.enabled, *(entry.digest for entry in entries)])
        return hashlib.sha256(raw.encode()).hexdigest()

    def to_json(self) -> str:
        """All that counts, with the values of variables: secrets among them."""
        values = dataclasses.asdict(self)
        del values["problems"], values["faulty"], values["faulty_templates"]
        return json.dumps(values)

    @classmethod
    def from_json(cls, raw: str) -> "ServerFile":
        """:raises ValueError: it was written by a version that had other keys"""
        values = json.loads(raw)
        try:
            for table in ("servers", "templates"):
                values[table] = {
                    name: FileServer(**_frozen(entry)) for name, entry in values[table].items()
                }
            return cls(**values)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("These are not the servers of a file.") from error


# Before anything was read: nobody knows whether the operator wants MCP.
UNKNOWN = ServerFile(enabled=False, is_known=False)


def _frozen(entry: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no tuples."""
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    values["environments"] = tuple(
        {**one, "args": tuple(one.get("args", ()))} for one in values["environments"]
    )
    return values
