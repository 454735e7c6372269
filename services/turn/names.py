"""Tool names as the LLM sees them.

MCP allows ``.`` and 128 characters in a tool's name (SEP-986), OpenAI's function names take
``[a-zA-Z0-9_-]{1,64}``. An alias is ``server__tool``; where something had to be cut, or where two
tools would share an alias, it ends in a hash of both original names.

Names of servers are made unambiguous first, see `server_names`.

Names that begin with ``record__`` are those of the actions on the record that a conversation is about: the
model is told to trust them with it, so no server's tool gets one.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

MAX_LENGTH = 64  # characters, OpenAI function names
SEPARATOR = "__"
RECORD = "record"  # stands for the server in the aliases of a record's actions, and of no others
RECORD_PREFIX = f"{RECORD}{SEPARATOR}"
_SERVER_LENGTH = 24  # characters that a server's name may take of an alias that is too long
_HASH_LENGTH = 8  # hexadecimal digits

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")

SYSTEM, OWN, OTHERS = range(
    3
)  # whose a server is, as a caller sees it; the first of them has a name


def server_names(servers: Iterable[tuple[int, str, int]]) -> dict[int, str]:
    """``{id: name}`` of these servers, ``(id, name, whose)``, unique without case and marks.

    A system server has its name as it is, then one of the person's own; the oldest where several share it. Of servers
    of others, which come and go as those like, none has a name that two of them share. All the rest are ``name#id``,
    which nobody can take who calls a server so.

    >>> server_names([(1, "time", OWN), (2, "time", SYSTEM), (3, "crm", OTHERS), (4, "CRM", OTHERS)])
    {2: 'time', 1: 'time#1', 3: 'crm#3', 4: 'CRM#4'}
    """
    servers = sorted(servers, key=lambda server: (server[2], server[0]))
    holders = {server_key(f"{name}#{number}"): number for number, name, _whose in servers}
    shared = Counter((whose, server_key(name)) for _number, name, whose in servers)
    found: dict[int, str] = {}
    taken: set[str] = set()
    for number, name, whose in servers:
        key = server_key(name)
        is_shared = whose == OTHERS and shared[whose, key] > 1
        if whose != SYSTEM and (is_shared or holders.get(key, number) != number):
            name = f"{name}#{number}"
        while server_key(name) in taken:
            name = f"{name}#{number}"
        taken.add(server_key(name))
        found[number] = name
    return found


def may_collide(one: str, other: str) -> bool:
    """Tell whether tools of servers of these names could have one alias.

    >>> may_collide("github", "GitHub"), may_collide("a", "a__b"), may_collide("a", "b")
    (True, True, False)
    """
    first, second = server_key(one), server_key(other)
    head, tail = first[:_SERVER_LENGTH], second[:_SERVER_LENGTH]
    return (
        head == tail
        or second.startswith(f"{head}{SEPARATOR}")
        or first.startswith(f"{tail}{SEPARATOR}")
    )


def may_be_of(name: str, server: str) -> bool:
    """Tell whether a tool of this server could be called so: ``server.tool`` or by its alias."""
    key = server_key(server)
    heads = (f"{key}{SEPARATOR}", f"{key[:_SERVER_LENGTH]}{SEPARATOR}")
    return name.startswith(f"{server}.") or name.lower().startswith(heads)


def is_in_full(name: str) -> bool:
    """Tell whether it looks as if it named a server, too."""
    return "." in name or SEPARATOR in name


def make_aliases(tools: Iterable[tuple[str | None, str]], taken: Collection[str] = ()) -> list[str]:
    """One legal alias for each ``(server_name, tool_name)``, unique among them.

    An action on the record has no server's name but None.

    :param taken: names that none of them may have, in lower case

    The alias of a tool depends on the order of the others only if the very same pair occurs twice.

    >>> make_aliases([("Time", "get_current_time"), ("weather", "now.hourly")])
    ['Time__get_current_time', 'weather__now_hourly']
    >>> make_aliases([(None, "send"), ("record", "send")])
    ['record__send', 'mcp_record__send']
    """
    tools = list(tools)
    plain = [_join(server, tool) for server, tool in tools]
    shared = Counter(alias.lower() for alias in plain)
    used = set(taken)
    aliases = []
    for (server, tool), alias in zip(tools, plain, strict=True):
        if len(alias) > MAX_LENGTH or shared[alias.lower()] > 1 or alias.lower() in used:
            alias = _hashed(server, tool)
        copy = 0
        while alias.lower() in used:
            copy += 1
            alias = _hashed(server, tool, copy)
        used.add(alias.lower())
        aliases.append(alias)
    return aliases


def server_key(name: str) -> str:
    """The part of a server's name in the aliases of its tools, which count without case.

    >>> server_key("My time") == server_key("my_time")
    True
    """
    return _prefix(name).lower()


def function_name(name: str) -> str:
    """A name that a function may have; the very same if it may.

    >>> function_name("get_forecast"), function_name("get forecast")
    ('get_forecast', 'get_forecast')
    """
    return name if LEGAL.fullmatch(name) else _slug(name, "tool")[:MAX_LENGTH]


def _join(server: str | None, tool: str) -> str:
    return f"{_prefix(server)}{SEPARATOR}{_slug(tool, 'tool')}"


def _hashed(server: str | None, tool: str, copy: int = 0) -> str:
    digest = _digest(f"{server or ''}\0{tool}\0{copy}")
    head = f"{_prefix(server)[:_SERVER_LENGTH]}{SEPARATOR}{_slug(tool, 'tool')}"
    return f"{head[: MAX_LENGTH - _HASH_LENGTH - 1]}_{digest}"


def _prefix(server: str | None) -> str:
    if server is None:
        return RECORD
    name, mark, number = server.rpartition("#")
    if mark and number.isascii() and number.isdecimal():  # as `server_names` makes it
        return f"{_prefix(name)}_{number}"
    slug = _slug(server, "server")
    is_reserved = f"{slug}{SEPARATOR}".lower().startswith(RECORD_PREFIX)
    return f"mcp_{slug}" if is_reserved else slug


def _slug(name: str, empty: str) -> str:
    folded = unicodedata.normalize("NFKD", name)
    marks_off = "".join(char for char in folded if not unicodedata.combining(char))
    slug = re.sub(r"[^a-zA-Z0-9_-]+", "_", marks_off).strip("_")
    return slug or f"{empty}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
