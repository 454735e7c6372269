"""Assistants of a host as tools: one question each, answered by the assistant with the rights of the caller."""

import re

from ..const import PROMPT_CHARS
from ..specs import ToolSpec
from . import results
from .host import ToolResult

MAX_NAME = 40  # characters of an assistant's name in that of its tool
MAX_RUNNING = 3  # questions of one user at once, so that assistants that reach this host by MCP do not ask in a circle
SCHEMA = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "minLength": 1,
            "maxLength": PROMPT_CHARS,
            "description": "complete in itself",
        },
        "conversation": {
            "type": "string",
            "description": "number that an earlier answer has named, to go on there",
        },
    },
    "required": ["question"],
}
_WORD = re.compile(r"[a-z0-9]+")


def tool_name(name: str, number: int) -> str:
    """Name of the tool that asks an assistant; none has two underscores in a row, unlike those of servers' tools.

    :param name: of the assistant
    :param number: of the assistant, for a name without Latin letters

    >>> tool_name("Sales (EU)", 5), tool_name("\u52a9\u7406", 5)
    ('ask_sales_eu', 'ask_assistant_5')
    """
    words = "_".join(_WORD.findall(name.lower()))[:MAX_NAME].rstrip("_")
    return f"ask_{words or f'assistant_{number}'}"


def tool_spec(name: str, title: str, description: str) -> ToolSpec:
    """Definition of the tool that asks an assistant.

    :param name: see `tool_name`
    :param title: name of the assistant
    :param description: of the assistant, for people; may be empty
    """
    about = f"Ask the assistant \u201c{title}\u201d of this Odoo one question."
    return ToolSpec(
        id=0,
        server_id=0,
        name=name,
        alias=name,
        title=title,
        description=f"{about} {description}".strip(),
        input_schema=SCHEMA,
    )


def answered(answer: str, conversation: int) -> ToolResult:
    """Result of a question.

    :param answer: of the assistant, Markdown
    :param conversation: in which the client may go on
    """
    going_on = f"To go on in this conversation, send conversation: \u201c{conversation}\u201d."
    blocks = [{"type": "text", "text": one} for one in (answer, going_on)]
    return results.of_tool({"content": blocks})
