"""Calls that a model makes again in the same turn: nothing has changed, so its answer is due, or another call.

Small models forget that they have read a result, and ask for it until their rounds are used up. Where something may
have changed since, by a write, a tool of somebody else, or the person who says so, they may ask again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .catalog import TOOLS

MADE = "This call was made already"  # how what they are told begins
READ_BEFORE = f"{MADE}, and its result is above. Answer the user with it."
REFUSED_BEFORE = f"{MADE}, and refused: {{why}}"
MAX_WHY = 500  # characters


def refusal(name: str, arguments: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
    """Refusal of a repeated reading call, ``""`` if it is to be made.

    :param messages: of this turn
    """
    if name not in TOOLS or TOOLS[name].is_write:
        return ""
    results = {one["call_id"]: one for one in messages if one["role"] == "tool"}
    first = None  # of the same calls since something may have changed
    for message in messages:
        if message["role"] == "user":  # it entered the turn meanwhile
            first = None
        for call in message.get("tool_calls") or ():
            result = results.get(call["id"])
            if result and call["alias"] == name and call["arguments"] == arguments:
                first = first or result
            elif _may_change(call):
                first = None
    if first is None:
        return ""
    if first["outcome"] == "ok":
        return READ_BEFORE
    return REFUSED_BEFORE.format(why=first["content"][:MAX_WHY])


def _may_change(call: Mapping[str, Any]) -> bool:
    """True if a call may change records: of a tool that writes, or of one that is not ours, see `ToolSpec.origin`."""
    if call["alias"] in TOOLS:
        return TOOLS[call["alias"]].is_write
    _kind, tool_id, server_id, *_ = call.get("origin") or ("", 0, 0)
    return bool(tool_id or server_id)
