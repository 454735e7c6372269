"""Result reader: a tool of our own, which the host answers, for results that were too long to be read whole.

A cut result names itself in the cut (`text.cap`). The host keeps the whole, so a later turn reads on too,
in any process, with the rights of its conversation.
"""

from typing import Any

from ..specs import CallResult, ToolSpec
from ..toolset import definition

NAME = "read_result"
PART = 20_000  # characters of one answer
TOOL = ToolSpec(
    id=0,
    server_id=0,
    name=NAME,
    alias=NAME,
    title="Read on",
    description="Reads on in the result of an earlier call that was cut.",
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "What the cut names"},
            "start": {
                "type": "integer",
                "minimum": 0,
                "description": "First character, counted from 0",
            },
        },
        "required": ["id", "start"],
    },
)
FUNCTION = definition.own(TOOL)


def part(whole: str, call_id: str, start: Any) -> CallResult:
    """The answer of the tool.

    >>> part("abc", "call_1", 1).text
    'bc\\n\\n[This is the end.]'

    :param whole: the text of the result that was cut
    :param start: characters before this part, as the model has written it
    """
    if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start < len(whole):
        content = f"“start” must be a number from 0 to {max(len(whole) - 1, 0)}."
        return CallResult(outcome="invalid_args", text=content, display=content)
    end = start + PART
    note = (
        f"Characters {start} to {end} of {len(whole)}. To read on: {NAME} with id {call_id!r} and start {end}."
        if end < len(whole)
        else "This is the end."
    )
    content = f"{whole[start:end]}\n\n[{note}]"
    return CallResult(outcome="ok", text=content, display=content, bytes=len(content.encode()))
