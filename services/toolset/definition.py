"""Definition of a tool as a language model is told of it: an OpenAI function, and about how many tokens it costs."""

import json
from collections.abc import Mapping
from typing import Any

from .. import text
from ..openapi import recall
from ..schemas import schema
from ..specs import ToolSpec

MAX_DESCRIPTION = 1_024  # characters, OpenAI function description


def function(tool: ToolSpec) -> dict[str, Any]:
    """The OpenAI function of a tool.

    :raises UnusableSchema: the tool cannot be offered
    """
    description = text.squeezed(described(tool), MAX_DESCRIPTION)
    return _function(tool.alias, description, parameters(tool))


def is_cut(function: Mapping[str, Any]) -> bool:
    """True if the tool's own definition is longer than this one.

    :param function: that `of` has made
    """
    left: list[Any] = [function["function"]]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            description = value.get("description")
            if isinstance(description, str) and description.endswith("…"):
                return True
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return False


def parameters(tool: ToolSpec) -> dict[str, Any]:
    """:raises UnusableSchema: the tool cannot be offered"""
    cleaned = schema.clean(tool.input_schema)
    if tool.action_id:
        return recall.described(recall.hidden(cleaned, tool.fixed), tool.notes)
    return cleaned


def described(tool: ToolSpec) -> str:
    """All that the tool says of itself."""
    title = tool.title if tool.title.lower() not in tool.description.lower() else ""
    return text.clean(". ".join(filter(None, (title, tool.description))) or tool.name)


def own(tool: ToolSpec, description: str = "") -> dict[str, Any]:
    """The function of a tool of the host's, whose words and schema are ours."""
    return _function(tool.name, description or tool.description, tool.input_schema)


def tokens(function: Mapping[str, Any]) -> int:
    """About how many tokens a function adds to each request.

    >>> tokens({"type": "function", "function": {"name": "add"}})
    12
    """
    return text.tokens(json.dumps(function, ensure_ascii=False, separators=(",", ":")))


def _function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
