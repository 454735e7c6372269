"""What a server asks the user while it works (elicitation), in the engine's own words for both eras.

Legacy servers send ``elicitation/create`` during a call, modern ones answer the call with
``input_required``. Either way somebody is asked with a message and a flat JSON schema.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from . import text
from .errors import ProtocolError

MAX_MESSAGE = 2_000  # characters
MAX_FIELDS = 50
MAX_ROUNDS = 8  # times that one call may ask
REQUIRED = "input_required"  # resultType of a modern result that asks
CAPABILITIES = {"elicitation": {"form": {}}}  # what a modern server hears that we can do


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """`schema` is an object of strings, numbers, booleans and enums (MCP 2025-11-25, client/elicitation)."""

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAnswer:
    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = field(default_factory=dict)


OnInput = Callable[[InputRequest], Awaitable[InputAnswer]]
"""Asks somebody; may take as long as a person does."""


async def answer_all(result: Mapping[str, Any], on_input: OnInput | None) -> dict[str, Any]:
    """What goes into the params of the repeated call (MCP 2026-07-28, basic/patterns/mrtr).

    The state is opaque: it goes back as it came, and only if it came.
    """
    asked = result.get("inputRequests")
    more: dict[str, Any] = {}
    if isinstance(asked, Mapping):
        more["inputResponses"] = {
            key: await _respond(question, on_input) for key, question in asked.items()
        }
    if "requestState" in result:
        more["requestState"] = result["requestState"]
    if not more:
        raise ProtocolError("The MCP server asks for input without saying which.")
    return more


async def _respond(question: Any, on_input: OnInput | None) -> dict[str, Any]:
    if not isinstance(question, Mapping) or question.get("method") != "elicitation/create":
        raise ProtocolError("The MCP server asks for something that this client does not offer.")
    return await answer(question.get("params"), on_input)


async def answer(params: Any, on_input: OnInput | None) -> dict[str, Any]:
    """The ``ElicitResult`` for the params of an ``elicitation/create``; without somebody to ask it is cancelled."""
    params = params if isinstance(params, Mapping) else {}
    if on_input is None or params.get("mode", "form") != "form":
        return {"action": "cancel"}
    schema = params.get("requestedSchema")
    schema = dict(schema) if isinstance(schema, Mapping) else {}
    message = text.cap(text.clean(str(params.get("message", ""))), MAX_MESSAGE)
    said = await on_input(InputRequest(message=message, schema=schema))
    if said.action != "accept":
        return {"action": said.action}
    return {"action": "accept", "content": with_defaults(said.content, schema)}


def with_defaults(content: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that were left out take their default (SEP-1034).

    >>> with_defaults({"a": 1}, {"properties": {"a": {"default": 5}, "b": {"default": 2}, "c": {}}})
    {'a': 1, 'b': 2}
    """
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    defaults = {
        name: field["default"]
        for name, field in list(properties.items())[:MAX_FIELDS]
        if isinstance(field, Mapping) and "default" in field
    }
    return {**defaults, **content}
