"""Server file parser: ``mcp_servers.toml``, the operator's list of MCP servers. Pure: text in, frozen data out."""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from .. import const, text
from ..errors import ConfigError, ServerFileError
from ..net import egress
from .server_file import UNKNOWN, FileServer, ServerFile
from .stdio_templates import TEMPLATES, StdioTemplate

ENTRIES = {"servers": list, "templates": list}
MCP_KEYS = {"enabled": bool, "auto_reload": bool, "health_check_interval": str, **ENTRIES}
SERVER_KEYS = {
    "name": str,
    "display_name": str,
    "description": str,
    "transport": str,
    "command": str,
    "args": list,
    "env": dict,
    "url": str,
    "headers": dict,
    "timeout": str,
    "start_timeout": str,
    "enabled": bool,
    "auto_start": bool,
    "env_type": str,
    "env_config": dict,
}
START_KEYS = {"command": str, "args": list, "env_type": str, "env_config": dict}
TEMPLATE_KEYS = {
    "name": str,
    "roots": list,
    "owners": bool,
    "workspace_root": str,
    "hosts": list,
    "environments": list,
    "env": dict,
    "timeout": str,
    "start_timeout": str,
    **START_KEYS,
}
TRANSPORTS = ("auto", "streamable_http", "sse", "stdio")
ENV_TYPES = ("preinstalled", "dynamic_injected", "custom_image")
ENV_CONFIG_KEYS = {
    "preinstalled": set(),
    "dynamic_injected": {"runtime", "package"},
    "custom_image": {"image", "network", "mounts"},
}
PINNED = {
    "python": re.compile(r"[\w.\[\]-]+==[\w.+!-]+"),
    "node": re.compile(r"(@[\w.-]+/)?[\w.-]+@\d[\w.+-]*"),
}
MAX_TIMEOUT = 600.0  # s, of one call
MAX_START = 300.0  # s, for a program to start
MIN_HEALTH_INTERVAL = 10.0  # s

_NAMES = {bool: "true or false", str: "a text", list: "a list", dict: "a table"}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FIRST_ENTRY = re.compile(r"^\s*\[\[", re.M)
_OFF = re.compile(r"^[^#\n]*\benabled\s*=\s*false\b", re.M)
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def parse(
    source: str, environ: Mapping[str, str], name: str, before: ServerFile | None = None
) -> ServerFile:
    """Read the file. A fault costs the key or the entry in which it stands, and is among `problems`.

    Nothing that cannot be read loosens anything: of a faulty entry, and of a file that is no TOML, what was read last
    stays, and MCP stays off where it is not known to be on.

    :param environ: for ``${VAR}`` and ``${VAR:-default}``
    :param name: of the file, for the problems
    :param before: what was read last, None if nothing ever was
    """
    return _Reader(source, environ, name, before or UNKNOWN).whole()


def unread(reason: str, before: ServerFile | None) -> ServerFile:
    """State while there is no file that can be read."""
    return replace(before or UNKNOWN, problems=(reason,))


def seconds(duration: str) -> float:
    """
    >>> seconds("30s"), seconds("2m"), seconds("500ms")
    (30.0, 120.0, 0.5)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", duration.strip())
    if not match:
        raise ValueError(duration)
    return float(match[1]) * _SECONDS[match[2]]


def _form(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True, default=str).encode()).hexdigest()


class _Reader:
    def __init__(self, source: str, environ: Mapping[str, str], name: str, before: ServerFile):
        self._source = source
        self._environ = environ
        self._name = name
        self._before = before
        self._problems: list[str] = []
        self._faulty: dict[str, frozenset[str]] = {}
        self._is_switch_unsure = False
        self._table = "servers"
        self._entry = -1  # the [[mcp.servers]] or [[mcp.templates]] that is read, -1 for [mcp]

    def whole(self) -> ServerFile:
        try:
            document = tomllib.loads(self._source)
        except tomllib.TOMLDecodeError as error:
            return self._without_entries(f"{self._name}: {error}")
        allowed = "only [mcp], [[mcp.servers]] and [[mcp.templates]] are allowed"
        for key in document.keys() - {"mcp"}:
            self._problems.append(str(self._error(key, f"is unknown; {allowed}")))
            self._is_switch_unsure = True
        mcp = document.get("mcp", {})
        if not isinstance(mcp, dict):
            return unread(str(self._error("mcp", "must be a table")), self._before)
        mcp = self._whole_keys(mcp)
        is_on = self._before.enabled if self._is_switch_unsure else True
        servers = self._entries(mcp, "servers", self._server)
        templates = self._entries(mcp, "templates", self._template)
        return ServerFile(
            enabled=mcp.get("enabled", is_on),
            servers=servers,
            templates=templates,
            auto_reload=mcp.get("auto_reload", True),
            health_check_interval=mcp.get("health_check_interval"),
            problems=tuple(self._problems),
            faulty=self._faulty["servers"],
            faulty_templates=self._faulty["templates"],
        )

    def _without_entries(self, problem: str) -> ServerFile:
        """Contents of a file that is no TOML: all as before, and MCP off if its own head says so."""
        head = _FIRST_ENTRY.split(self._source, maxsplit=1)[0]
        try:
            mcp = tomllib.loads(head).get("mcp", {})
            is_off = isinstance(mcp, dict) and mcp.get("enabled") is False
        except tomllib.TOMLDecodeError:
            is_off = bool(_OFF.search(head))
        before = self._before
        return replace(before, enabled=before.enabled and not is_off, problems=(problem,))

    def _whole_keys(self, mcp: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of [mcp], each with its value, or the one of before where it has none that can be used."""
        found: dict[str, Any] = {}
        for key, value in mcp.items():
            try:
                found |= self._checked({key: value}, MCP_KEYS)
                if key == "health_check_interval":
                    found[key] = self._interval(found)
            except ServerFileError as error:
                self._problems.append(str(error))
                if key in MCP_KEYS:
                    found[key] = getattr(self._before, key)
                # What is misspelt may be `enabled`, and what is switched there may be MCP.
                elif isinstance(value, bool) or difflib.get_close_matches(key, ["enabled"]):
                    self._is_switch_unsure = True
        return found

    def _interval(self, mcp: Mapping[str, Any]) -> float:
        interval = self._duration(mcp, "health_check_interval", None)
        if interval < MIN_HEALTH_INTERVAL:
            raise self._error("health_check_interval", "must be at least 10 seconds")
        return interval

    def _entries(
        self, mcp: Mapping[str, Any], table: str, read: Callable[[Any], FileServer]
    ) -> Mapping[str, FileServer]:
        entries = mcp.get(table, [])
        self._faulty[table] = frozenset()
        if not isinstance(entries, list):  # the ones of before
            return entries
        self._table = table
        found: dict[str, FileServer] = {}
        failed: dict[str, Any] = {}
        for self._entry, raw in enumerate(entries):
            try:
                entry = replace(read(raw), form=_form(raw))
                if entry.name in found:
                    raise self._error("name", f"“{entry.name}” is defined twice")
                found[entry.name] = entry
            except ServerFileError as error:
                self._problems.append(str(error))
                if isinstance(raw, dict) and isinstance(raw.get("name"), str):
                    failed.setdefault(raw["name"], raw)
        for name, raw in failed.items():
            before = getattr(self._before, table).get(name)
            if before and name not in found:
                is_on = before.enabled and raw.get("enabled") is not False
                found[name] = replace(before, enabled=is_on)
        self._faulty[table] = frozenset(failed.keys() - found.keys())
        return found

    def _server(self, entry: Any) -> FileServer:
        values = self._checked(entry, SERVER_KEYS)
        if not values.get("name"):
            raise self._error("name", "is missing")
        if values.get("transport", "auto") not in TRANSPORTS:
            raise self._error("transport", f"must be one of {', '.join(TRANSPORTS)}")
        is_stdio = values.get("transport") == "stdio"
        if is_stdio:
            self._check_environment(values)
            for key in ("url", "headers"):
                if key in values:
                    raise self._error(key, "cannot be used with stdio")
        else:
            for key in ("command", "args", "env", "start_timeout", "env_type", "env_config"):
                if key in values:
                    raise self._error(key, 'can only be used with transport = "stdio"')
            try:
                egress.check_url(values.get("url", ""))
                egress.check_headers(values.get("headers", {}))
            except ConfigError as error:
                key = "headers" if "url" in values and "eader" in str(error) else "url"
                raise self._error(key, f"is not usable: {error}") from error
        return self._frozen(values)

    def _template(self, entry: Any) -> FileServer:
        """Fill in from `stdio_templates` what the entry leaves out."""
        values = self._checked(entry, TEMPLATE_KEYS)
        template = TEMPLATES.get(values.get("name", ""))
        if not template:
            raise self._error("name", f"must be one of {', '.join(TEMPLATES)}")
        if values.keys() & START_KEYS.keys():
            self._check_environment(values)
        roots = values.get("roots", [])
        if bool(roots) != bool(template.folders):
            problem = "are needed" if template.folders else "cannot be used with this template"
            raise self._error("roots", problem)
        if not all(PurePosixPath(root).is_absolute() for root in roots):
            raise self._error("roots", "must be folders, such as [“/srv/files”]")
        self._check_owners(values, template)
        if "environments" in values:
            values["environments"] = self._environments(values["environments"])
        return self._frozen({**values, "transport": "stdio"})

    def _environments(self, entries: list[Any]) -> tuple[Mapping[str, Any], ...]:
        found = []
        for entry in entries:
            values = self._checked(entry, START_KEYS)
            self._check_environment(values)
            found.append({"env_type": "preinstalled", "env_config": {}, "command": "", **values})
            found[-1]["args"] = tuple(values.get("args", ()))
        known = [(one["env_type"], one["env_config"]) for one in found]
        if any(known.count(one) > 1 for one in known):
            raise self._error("environments", "must differ in env_type or env_config")
        return tuple(found)

    def _check_owners(self, values: Mapping[str, Any], template: StdioTemplate) -> None:
        """Check that owners' values are among those listed for them; there are none without use of the template."""
        for key, is_used in (
            ("workspace_root", bool(template.folders)),
            ("hosts", bool(template.hosted)),
        ):
            if values.get(key) and not (is_used and values.get("owners")):
                problem = "needs owners = true" if is_used else "cannot be used with this template"
                raise self._error(key, problem)
            if is_used and values.get("owners") and not values.get(key):
                raise self._error(key, "is needed with owners = true")
        own = PurePosixPath(values.get("workspace_root", "/srv"))
        if not own.is_absolute():
            raise self._error("workspace_root", "must be a folder, such as “/srv/workspaces”")
        if "workspace_root" in values and any(
            own.is_relative_to(root) or PurePosixPath(root).is_relative_to(own)
            for root in values["roots"]
        ):
            raise self._error("workspace_root", "must lie outside of the folders in roots")
        if not all(re.fullmatch(r"[\w.-]+(:\d{1,5})?", host) for host in values.get("hosts", ())):
            raise self._error("hosts", "must be a list such as [“db.example.com:5432”]")

    def _frozen(self, values: Mapping[str, Any]) -> FileServer:
        timeout = self._duration(values, "timeout", const.CALL_TIMEOUT)
        if not 0 < timeout <= MAX_TIMEOUT:
            raise self._error("timeout", f"must be positive and at most {MAX_TIMEOUT:g}s")
        start = self._duration(values, "start_timeout", None)
        if start is not None and not 0 < start <= MAX_START:
            raise self._error("start_timeout", f"must be positive and at most {MAX_START:g}s")
        lists = {key: tuple(values.get(key, ())) for key in ("args", "roots", "hosts")}
        return FileServer(**{**values, **lists, "timeout": timeout, "start_timeout": start})

    def _check_environment(self, values: Mapping[str, Any]) -> None:
        env_type = values.get("env_type", "preinstalled")
        if env_type not in ENV_TYPES:
            raise self._error("env_type", f"must be one of {', '.join(ENV_TYPES)}")
        config = values.get("env_config", {})
        for key in config.keys() - ENV_CONFIG_KEYS[env_type]:
            raise self._error("env_config", f"has an unknown key “{key}”")
        if env_type == "preinstalled" and not values.get("command"):
            raise self._error("command", "is missing")
        if env_type == "dynamic_injected":
            runtime = config.get("runtime")
            if runtime not in PINNED:
                raise self._error("env_config", 'requires runtime = "python" or "node"')
            if not PINNED[runtime].fullmatch(str(config.get("package", ""))):
                example = "name==1.2.3" if runtime == "python" else "name@1.2.3"
                raise self._error(
                    "env_config", f"requires a package with its version, such as {example}"
                )
        if env_type == "custom_image" and not config.get("image"):
            raise self._error("env_config", "needs an image")
        mounts = config.get("mounts", [])
        if not isinstance(mounts, list) or not all(
            isinstance(mount, str) and re.fullmatch(r"/[^:]*:/[^:]*(:ro|:rw)?", mount)
            for mount in mounts
        ):
            raise self._error("env_config", "mounts must be a list of “/here:/there:ro”")

    def _checked(self, table: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
        """Entry with variables put in; keys and types as they must be."""
        if not isinstance(table, dict):
            raise self._error("mcp", "must be a table")
        for key, value in table.items():
            if key not in kinds:
                raise self._error(key, f"is unknown; use one of {', '.join(kinds)}")
            if not isinstance(value, kinds[key]):
                raise self._error(key, f"must be {_NAMES[kinds[key]]}")
            is_texts = key in ("args", "roots", "hosts", "env", "headers")
            parts = (
                value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, list)
                else ()
            )
            if is_texts and not all(isinstance(part, str) for part in parts):
                raise self._error(key, "must only contain strings")
        return {
            key: value if key in ENTRIES else self._filled(key, value)
            for key, value in table.items()
        }

    def _filled(self, key: str, value: Any) -> Any:
        if isinstance(value, str):
            filled = _VARIABLE.sub(lambda match: self._variable(key, match), value)
            if text.storable(filled) != filled:
                raise self._error(key, "contains a character that cannot be stored")
            return filled
        if isinstance(value, list):
            return [self._filled(key, part) for part in value]
        if isinstance(value, dict):
            return {name: self._filled(key, part) for name, part in value.items()}
        return value

    def _variable(self, key: str, match: re.Match[str]) -> str:
        value = self._environ.get(match[1]) or match[2]
        if value is None:
            raise self._error(
                key, f"requires the variable {match[1]}, which is not set in the environment"
            )
        return value

    def _duration(self, values: Mapping[str, Any], key: str, default: Any) -> Any:
        if key not in values:
            return default
        try:
            return seconds(values[key])
        except ValueError as error:
            raise self._error(
                key, "must be a number with a unit (ms, s, m or h), such as “30s”"
            ) from error

    def _error(self, key: str, problem: str) -> ServerFileError:
        return ServerFileError(f"{self._name}, line {self._line(key)}: {key} {problem}.")

    def _line(self, key: str) -> int:
        """Line of the key in the entry that is read, else of the entry's head."""
        head, entry = 1, -1
        for number, line in enumerate(self._source.splitlines(), 1):
            if re.match(rf"\s*\[\[\s*mcp\.{self._table}\s*\]\]", line):
                entry += 1
                if entry == self._entry:
                    head = number
            if entry == self._entry and re.match(
                rf'\s*(\[+[\w.\s]*)?"?{re.escape(key)}"?\s*[=.\]]', line
            ):
                return number
        return head
