"""Approval of a call by the client's user: asked by the client itself where it can, else where the host says.

Source: MCP 2026-07-28, basic/patterns/mrtr and client/elicitation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from .. import const
from .messages import Message

Action = Literal["accept", "decline", "cancel"]
KEY = "approval"  # of the question among those of a result
MAX_STATE = 200  # characters


@dataclass(frozen=True, slots=True)
class Question:
    """A call that its user has to approve.

    :ivar state: opaque name of the call, which comes back with the answer
    :ivar message: question for the user, empty where only the host can show all of it
    :ivar sentence: for clients that ask nobody: where the user decides
    """

    state: str
    message: str
    sentence: str

    def result(self) -> dict[str, Any]:
        """MCP's ``InputRequiredResult``: a form without fields, which the user accepts or declines."""
        params = {
            "mode": "form",
            "message": self.message,
            "requestedSchema": {"type": "object", "properties": {}},
        }
        return {
            "resultType": "input_required",
            "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
            "requestState": self.state,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The user's answer to a question; nobody has checked that there is one."""

    state: str
    action: Action


def answer_of(message: Message) -> Answer | None:
    """The answer that a repeated request brings, None where it has none that can be read.

    :param message: of a client, not checked
    """
    state, responses = message.params.get("requestState"), message.params.get("inputResponses")
    if not isinstance(state, str) or len(state) > MAX_STATE or not isinstance(responses, Mapping):
        return None
    response = responses.get(KEY)
    action = response.get("action") if isinstance(response, Mapping) else None
    known = isinstance(action, str) and action in get_args(Action)
    return Answer(state, cast(Action, action)) if known else None


def can_ask(message: Message) -> bool:
    """True if the client of this modern request shows forms to its user.

    An empty capability means forms, too.
    """
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    capabilities = meta.get(f"{const.META_PREFIX}clientCapabilities")
    capabilities = capabilities if isinstance(capabilities, Mapping) else {}
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, Mapping) and (not elicitation or "form" in elicitation)
