"""Approval of a call by the client's user: asked by the client itself where it can, else where the host says.

Source: MCP 2026-07-28, basic/patterns/mrtr and client/elicitation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from .messages import Message

Action = Literal["accept", "decline", "cancel"]
KEY = "approval"  # of the question among those of a result
MAX_STATE = 100_000  # characters


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
    """Answers that a repeated request brings; nobody has checked that there were questions.

    :ivar state: of the question, empty where the client knows it without having been asked
    :ivar responses: of the user, by the keys of the questions
    """

    state: str
    responses: Mapping[str, Any]

    @property
    def action(self) -> Action | None:
        """The answer to a `Question`, None without one that can be read."""
        return action_of(self.responses)


def action_of(responses: Mapping[str, Any]) -> Action | None:
    """The answer to a `Question` among a client's answers, None without one that can be read.

    :param responses: ``inputResponses``, not checked
    """
    response = responses.get(KEY)
    action = response.get("action") if isinstance(response, Mapping) else None
    known = isinstance(action, str) and action in get_args(Action)
    return cast(Action, action) if known else None


def answer_of(message: Message) -> Answer | None:
    """The answers that a repeated request brings, None where it has none that can be read.

    :param message: of a client, not checked
    """
    state = message.params.get("requestState", "")
    responses = message.params.get("inputResponses", {})
    if not isinstance(state, str) or len(state) > MAX_STATE or not isinstance(responses, Mapping):
        return None
    return Answer(state, responses) if state or responses else None
