"""Questions of a host's servers, passed on to the user of a client that can show them.

Sources: MCP 2026-07-28, basic/patterns/mrtr and client/elicitation.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast, get_args

from .. import jsonrpc, text
from ..errors import ElicitationRequired
from ..mcp.session.elicitation import ElicitRequest, ElicitResult
from . import envelope
from .approval import Action
from .messages import Message

Mode = str
"""Kind of a question: "form" or "url"."""
Questions = Mapping[str, ElicitRequest]
"""By the server's own keys."""

MAX_ANSWER = 64 * 1024  # bytes of one, about
MAX_KEY = 200  # characters
MAX_SEALED = 64 * 1024  # bytes of a state that the client keeps
SEALED = 3_600  # s in which it counts


@dataclass(frozen=True, slots=True)
class Asked:
    """Result of a call that goes on once these questions are answered.

    :ivar state: opaque name of the call, which comes back with the answers
    :ivar server: name of who asks
    """

    state: str
    questions: Questions
    server: str

    def result(self) -> dict[str, Any]:
        """MCP's ``InputRequiredResult``."""
        return {
            "resultType": "input_required",
            "inputRequests": requests(self.questions, self.server),
            "requestState": self.state,
        }


def modes(message: Message) -> frozenset[Mode]:
    """Kinds of questions that the client of this modern request shows."""
    return modes_of(envelope.capabilities(message).get("elicitation"))


def modes_of(elicitation: Any) -> frozenset[Mode]:
    """Kinds of questions that a client shows.

    :param elicitation: its capability, not checked; an empty one means forms
    """
    if not isinstance(elicitation, Mapping):
        return frozenset()
    return frozenset({"form", "url"} & elicitation.keys() if elicitation else {"form"})


def mode(question: ElicitRequest) -> Mode:
    """Kind of a question, which a client has to show.

    :param question: of a server
    """
    return "url" if question.url else "form"


def can_be_shown(questions: Questions, shown: Collection[Mode]) -> bool:
    """True if a client that shows these kinds can ask all of them.

    :param shown: of `modes`
    """
    return all(mode(one) in shown and len(key) <= MAX_KEY for key, one in questions.items())


def requests(questions: Questions, server: str) -> dict[str, Any]:
    """MCP's ``InputRequests``; each message says which server asks.

    :param server: its name
    """
    return {
        key: {"method": "elicitation/create", "params": _params(one, server)}
        for key, one in questions.items()
    }


def seal(wanted: ElicitationRequired, subject: str, key: bytes) -> str:
    """State that comes back with the answers, where nothing is kept of the request; empty if it is too large.

    :param subject: of the request; the answers are to no other one
    :param key: secret of the host, and of its caller
    """
    asked = {key: asdict(one) for key, one in wanted.questions.items()}
    told = jsonrpc.dump({"questions": asked, "more": wanted.more, "until": time.time() + SEALED})
    if len(told) > MAX_SEALED:
        return ""
    return f"{base64.urlsafe_b64encode(told).decode()}.{_mac(told, subject, key)}"


def opened(state: str, subject: str, key: bytes) -> ElicitationRequired | None:
    """The questions of a state; None where it is of nobody here, of somebody else, or too old.

    :param state: not checked
    :param subject: as `key`, see `seal`
    """
    told, _, mac = state.partition(".")
    try:
        raw = base64.b64decode(told, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if not mac.isascii() or not hmac.compare_digest(_mac(raw, subject, key), mac):
        return None
    found = json.loads(raw)
    if found["until"] < time.time():
        return None
    asked = {key: ElicitRequest(**one) for key, one in found["questions"].items()}
    return ElicitationRequired(questions=asked, more=found["more"])


def _mac(told: bytes, subject: str, key: bytes) -> str:
    digest = hashlib.sha256(subject.encode()).digest()
    return hmac.digest(key, b"mcp-state " + digest + told, hashlib.sha256).hex()


def _params(question: ElicitRequest, server: str) -> dict[str, Any]:
    said = {"mode": mode(question), "message": f"{server}: {question.message}"}
    if question.url:
        return {**said, "url": question.url}
    return {**said, "requestedSchema": dict(question.schema)}


def fitting(questions: Questions, responses: Any) -> dict[str, ElicitResult]:
    """Answers among what a client has sent that fit their questions; all else is left out.

    :param responses: ``inputResponses``, not checked
    """
    given = responses if isinstance(responses, Mapping) else {}
    found = {key: _answer(one, given.get(key)) for key, one in questions.items()}
    return {key: answer for key, answer in found.items() if answer is not None}


def _answer(question: ElicitRequest, response: Any) -> ElicitResult | None:
    response = response if isinstance(response, Mapping) else {}
    action = response.get("action")
    if not isinstance(action, str) or action not in get_args(Action):
        return None
    content = response.get("content", {})
    if action != "accept" or question.url:
        return ElicitResult(action=cast(Action, action))
    if not isinstance(content, Mapping) or text.weight(content, MAX_ANSWER) >= MAX_ANSWER:
        return None
    known = {name: content[name] for name in content if name in question.schema["properties"]}
    if not question.takes(known):
        return None
    return ElicitResult(action="accept", content=known)
