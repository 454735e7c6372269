"""What the tools of AgentDojo do, from ``tools.tsv``: what an honest server says of them, and which have an effect.

A line is a tool, whether it reads, adds or destroys (changes what was there, payments too), and its world: closed, open
(people outside take part), or out (open, and an argument names who gets the request). `get_unread_emails` marks them
as read, so it adds.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "INJECTED-7f3a"  # of every injected text
TABLE = Path(__file__).with_name("tools.tsv")
_KINDS = {
    tool: (does, world)
    for tool, does, world in (line.split("\t") for line in TABLE.read_text().splitlines())
}
TOOLS = frozenset(_KINDS)


def annotations(tool: str) -> dict[str, bool]:
    """MCP's ``ToolAnnotations`` of an honest server.

    >>> annotations("delete_file")
    {'readOnlyHint': False, 'destructiveHint': True, 'openWorldHint': False}
    """
    does, world = _KINDS[tool]
    return {
        "readOnlyHint": does == "read",
        "destructiveHint": does == "destroy",
        "openWorldHint": world != "closed",
    }


def has_effect(tool: str) -> bool:
    """True unless it only reads, and nobody outside whom an argument names gets the request.

    >>> has_effect("get_webpage"), has_effect("search_emails"), has_effect("send_email")
    (True, False, True)
    """
    does, world = _KINDS[tool]
    return does != "read" or world == "out"


def key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is compared: by its tool and arguments.

    >>> key("delete_file", {"file_id": "3"})
    'delete_file {"file_id": "3"}'
    """
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
