"""MCP client configuration: reads and writes ``{"mcpServers": {…}}``, the form in which clients keep their servers.

Secrets never leave: where one is, a placeholder ``${NAME}`` stands, and a placeholder that comes in is
no secret but a note that one has to be entered. What other clients do not know stands under a key of our own (`OWN`).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import text
from ..errors import ConfigError
from ..net import egress
from ..sentence import _lt
from . import address

MAX_SERVERS = 100  # of one document
MAX_NAME = 100  # characters of a server's name, 004 §3.1

OWN = "woow_paas_platform"
MAX_TEXT = 1000  # characters of a text there
MAX_TOOLS = 1000  # names of tools there
POLICIES = ("auto", "ask", "never")  # of a tool there: when it asks


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()


def _is_seconds(most: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and 0 < value <= most


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_TOOLS and all(map(_is_text, value))


def _are_policies(value: Any) -> bool:
    is_map = isinstance(value, dict) and len(value) <= MAX_TOOLS and all(map(_is_text, value))
    return is_map and all(policy in POLICIES for policy in value.values())


# How a server is asked and what is thought of it, beside its address, and which values fit. Versions keep it, too.
CONFIGURATION: Mapping[str, Callable[[Any], bool]] = {
    "title": _is_text,
    "trust_level": lambda value: value in ("none", "annotations", "full"),
    "review_new_tools": _is_switch,
    "connect_timeout": _is_seconds(60),
    "call_timeout": _is_seconds(600),
    "auto_start": _is_switch,
    "wants_own_keys": _is_switch,
    "api_key_env": _is_text,
    "authorization": lambda value: value in ("key", "oauth_server", "oauth_user", "oauth_client"),
    "oauth_client_id": _is_text,
    "oauth_issuer": _is_text,
    "oauth_scope": _is_text,
}
SETTINGS: Mapping[str, Callable[[Any], bool]] = {
    **CONFIGURATION,
    "active": _is_switch,
    "tools_off": _are_names,
    "tools_policy": _are_policies,
}
Transport = Literal["auto", "streamable_http", "sse"]

_TRANSPORTS: dict[str, Transport] = {
    "http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamableHttp": "streamable_http",
    "sse": "sse",
}
_TYPES = {"streamable_http": "http", "sse": "sse"}
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|<[^<>]*>")
_NO_WORD = re.compile(r"[^A-Z0-9]+")
_BEARER = re.compile(r"bearer\s++(.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """One entry that can be made a server: `settings` by `SETTINGS`, `missing` what a person has to enter still."""

    name: str
    url: str
    transport: Transport = "auto"
    description: str = ""
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def headers_json(self) -> str:
        return json.dumps(dict(self.headers)) if self.headers else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One entry that cannot, and why."""

    name: str
    message: str


def read(document: Any) -> tuple[list[ImportedServer], list[Skipped]]:
    """Every entry of the document, in one of the two lists.

    :raises ConfigError: it is no such document at all
    """
    entries = document
    if isinstance(document, Mapping):
        entries = document.get("mcpServers", document.get("servers", document))
    if not isinstance(entries, Mapping) or not entries:
        raise ConfigError(
            _lt('Paste a JSON object such as {"mcpServers": {"name": {"url": "…"}}}.')
        )
    if len(entries) > MAX_SERVERS:
        raise ConfigError(
            _lt("At most %(count)s servers can be imported at once.", count=MAX_SERVERS)
        )
    found: list[ImportedServer] = []
    skipped: list[Skipped] = []
    for name, entry in entries.items():
        shown = text.one_line(str(name), MAX_NAME)
        try:
            found.append(_server(shown, entry))
        except ConfigError as error:
            skipped.append(Skipped(name=shown, message=str(error)))
    return found, skipped


def _server(name: str, entry: Any) -> ImportedServer:
    if not name:
        raise ConfigError(_lt("A server needs a name."))
    if not isinstance(entry, Mapping):
        raise ConfigError(_lt("Each server must be a JSON object with a “url”."))
    if "command" in entry:
        raise ConfigError(
            _lt(
                "Servers started by a command can only be defined in the operator's configuration file."
            )
        )
    url = entry.get("url", entry.get("serverUrl"))
    if not isinstance(url, str):
        raise ConfigError(_lt("The “url” is missing."))
    kind = entry.get("type", entry.get("transport"))
    if kind is not None and not (isinstance(kind, str) and kind in _TRANSPORTS):
        raise ConfigError(_lt("The “type” must be “http” or “sse”."))
    headers = entry.get("headers") or {}
    egress.check_headers(headers)
    usable = {key: value for key, value in headers.items() if not _PLACEHOLDER.search(value)}
    missing = tuple(key for key in headers if key not in usable)
    url = egress.check_url(url)
    if _PLACEHOLDER.search(url):
        raise ConfigError(_lt("Replace the placeholder in the “url” first."))
    api_key = ""
    for key in [key for key in usable if key.lower() == "authorization"]:
        if bearer := _BEARER.fullmatch(usable[key].strip()):
            api_key = bearer[1]
            del usable[key]
    description = entry.get("description")
    return ImportedServer(
        name=name,
        url=url,
        transport=_TRANSPORTS[kind] if kind else "auto",
        description=text.clean(description) if isinstance(description, str) else "",
        api_key=api_key,
        headers=usable,
        settings=checked_settings(entry.get(OWN) or {}),
        missing=missing,
    )


def checked_settings(own: Any) -> dict[str, Any]:
    """Settings of a document by `SETTINGS`, without what is unknown.

    :raises ConfigError: a value does not fit, of which it makes no server that differs from the exported one"""
    if not isinstance(own, Mapping):
        raise ConfigError(_lt("The “%(key)s” is not valid.", key=OWN))
    for key, value in own.items():
        if key in SETTINGS and not SETTINGS[key](value):
            raise ConfigError(_lt("The “%(key)s” is not valid.", key=key))
    if own.get("oauth_client_id") and not own.get("oauth_issuer"):
        raise ConfigError(_lt("The “%(key)s” is not valid.", key="oauth_issuer"))
    if own.get("authorization") == "oauth_client" and not own.get("oauth_client_id"):
        raise ConfigError(_lt("The “%(key)s” is not valid.", key="oauth_client_id"))
    if own.get("wants_own_keys") and own.get("authorization", "key") != "key":
        raise ConfigError(_lt("The “%(key)s” is not valid.", key="wants_own_keys"))
    return {key: value for key, value in own.items() if key in SETTINGS}


def write(servers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The document for servers given as ``{name, url, transport, description, has_api_key, header_names, settings}``.

    >>> write([{"name": "a b", "url": "https://x/mcp", "transport": "auto", "has_api_key": True}])
    {'mcpServers': {'a b': {'url': 'https://x/mcp', 'headers': {'Authorization': 'Bearer ${A_B_API_KEY}'}}}}
    """
    entries: dict[str, Any] = {}
    for server in servers:
        name, kind = server["name"], _TYPES.get(server["transport"])
        headers = {header: _placeholder(name, header) for header in server.get("header_names", ())}
        if server.get("has_api_key"):
            headers.setdefault("Authorization", f"Bearer {_placeholder(name, 'API_KEY')}")
        entries[_free(name, entries)] = {
            **({"type": kind} if kind else {}),
            "url": without_secrets(name, server["url"]),
            **({"description": server["description"]} if server.get("description") else {}),
            **({"headers": headers} if headers else {}),
            **({OWN: server["settings"]} if server.get("settings") else {}),
        }
    return {"mcpServers": entries}


def without_secrets(name: str, url: str) -> str:
    """The address with placeholders for secrets.

    :param name: of the server, for the placeholder
    """
    return address.without_secrets(url, lambda secret: _placeholder(name, secret))


def has_placeholder(value: str) -> bool:
    """True if something has to be entered before this can be used."""
    return bool(_PLACEHOLDER.search(value))


def _placeholder(*names: str) -> str:
    words = [_NO_WORD.sub("_", name.upper()).strip("_") or "SERVER" for name in names]
    return "${" + "_".join(words) + "}"


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Servers of two scopes may have one name."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free
