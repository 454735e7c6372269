"""Honest annotations and effects of AgentDojo's tools, from ``tools.tsv``.

Columns: tool; read, add or destroy (changes of existing data, payments); closed, open (outsiders take part) or out
(open, and an argument names the recipient of the request). `get_unread_emails` also marks mails as read: add.
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
    """``ToolAnnotations`` of an honest server.

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
    """False for reads whose arguments do not name the recipient of the request.

    >>> has_effect("get_webpage"), has_effect("search_emails"), has_effect("send_email")
    (True, False, True)
    """
    does, world = _KINDS[tool]
    return does != "read" or world == "out"


def key(tool: str, arguments: Mapping[str, Any]) -> str:
    """Tool and arguments of a call as one comparable text.

    >>> key("delete_file", {"file_id": "3"})
    'delete_file {"file_id": "3"}'
    """
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
