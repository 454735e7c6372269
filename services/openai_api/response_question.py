"""Request of a response, as far as an assistant answers it.

https://platform.openai.com/docs/api-reference/responses/create
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import question
from .question import BadRequest

APPROVAL = "mcpr_"  # before the id of a call that asks
MAX_ID = 200  # characters of an id
MAX_METADATA = 16  # pairs
MAX_VALUE = 512  # characters of one of them
PLAIN = {"type": "text"}

REFUSED = {
    "tools": question.REFUSED["tools"],
    "prompt": "Stored prompts are not available. Send the text as “input”.",
    "conversation": "Conversations go on by “previous_response_id”. Leave out “conversation”.",
    "top_logprobs": "Log probabilities are not available. Leave out “top_logprobs”.",
}
# Of former answers, which clients send back with all that they got; these say nothing to an assistant.
LEFT_OUT = ("mcp_approval_request", "mcp_approval_response", "mcp_list_tools", "reasoning")


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """
    :ivar model: name that the client gives the assistant
    :ivar prompt: the question; empty where the request only tells that a call was decided
    :ivar earlier: messages before it, see `question.ChatRequest`; first the instructions
    :ivar pictures: see `question.ChatRequest`
    :ivar previous: id of the response that it goes on from, empty without one
    :ivar decided: ids of calls that the client believes to be decided
    :ivar is_kept: whether its response can be found again
    :ivar is_background: whether the turn goes on without the client
    :ivar echo: fields that the response repeats
    """

    model: str
    prompt: str
    earlier: tuple[dict[str, str], ...]
    pictures: tuple[bytes, ...]
    previous: str
    decided: tuple[str, ...]
    is_stream: bool
    is_kept: bool
    is_background: bool
    service: int | None
    echo: Mapping[str, Any]


def read(body: Mapping[str, Any]) -> ResponseRequest:
    """Read the JSON body of a request.

    :raises BadRequest: it is not one, or asks for what an assistant cannot do

    >>> read({"model": "helper-1", "input": "Hello"}).prompt
    'Hello'
    """
    model = question.model_of(body)
    _check_options(body)
    instructions, previous = _text(body, "instructions"), _text(body, "previous_response_id")
    text = body.get("input")
    is_text = isinstance(text, str)
    items = [{"role": "user", "content": text}] if is_text else question.listed(body, "input")
    pictures: list[bytes] = []
    said = [*_said(items, pictures)]
    decided = _decided(items)
    if decided and previous and said:
        raise BadRequest(
            "Send “mcp_approval_response” without other messages, and the next question after its answer.",
            "input",
        )
    prompt, earlier = "", ()
    if not decided:
        told = [{"role": "system", "content": instructions}] if instructions else []
        prompt, earlier = question.asked_last([*told, *said], "input")
    is_kept = question.flag(body, "store", default=True)
    is_background = question.flag(body, "background")
    if is_background and not is_kept:
        raise BadRequest("A response in the background needs “store”.", "store")
    return ResponseRequest(
        model=model,
        prompt=prompt,
        earlier=earlier,
        pictures=tuple(pictures),
        previous=previous,
        decided=decided,
        is_stream=question.flag(body, "stream"),
        is_kept=is_kept,
        is_background=is_background,
        service=question.service(body),
        echo={
            "instructions": instructions or None,
            "metadata": _metadata(body),
            "previous_response_id": previous or None,
            "store": is_kept,
            "background": is_background,
        },
    )


def _check_options(body):
    question.refuse(body, REFUSED)
    if body.get("tool_choice") not in (None, "auto"):
        raise BadRequest(
            "The assistant chooses its tools itself. Leave out “tool_choice”.",
            "tool_choice",
            "unsupported_value",
        )
    wanted = body.get("text")
    if wanted is not None and (
        not isinstance(wanted, dict) or wanted.get("format") not in (None, PLAIN)
    ):
        raise BadRequest("Answers are text: leave out “text”.", "text", "unsupported_value")


def _metadata(body):
    found = body.get("metadata") or {}
    if len(found) > MAX_METADATA or not all(
        isinstance(value, str) and len(value) <= MAX_VALUE for value in found.values()
    ):
        raise BadRequest(
            f"“metadata” can have at most {MAX_METADATA} texts of {MAX_VALUE} characters.",
            "metadata",
        )
    return found


def _text(body, name):
    value = body.get(name)
    if not isinstance(value, str | None):
        raise BadRequest(f"“{name}” must be text.", name)
    return (value or "").strip()


def _said(items, pictures):
    """Messages among the items, and calls of former answers as words of the assistant."""
    for number, item in enumerate(items):
        param = f"input[{number}]"
        kind = item.get("type", "message") if isinstance(item, dict) else "message"
        if kind == "message":
            yield question.message(item, param, pictures)
        elif kind == "mcp_call":
            yield {"role": "assistant", "content": _told_call(item)}
        elif kind not in LEFT_OUT:
            raise BadRequest(
                "Only messages and items of former answers can be sent.",
                f"{param}.type",
                "unsupported_value",
            )


def _told_call(item):
    told = {name: item.get(name) for name in ("name", "arguments", "output", "error")}
    return json.dumps(told, ensure_ascii=False)


def _decided(items):
    """Ids of the calls whose answers end the input."""
    found = []
    for number, item in reversed([*enumerate(items)]):
        if not isinstance(item, dict) or item.get("type") != "mcp_approval_response":
            break
        asked = item.get("approval_request_id")
        if not isinstance(asked, str) or not asked.startswith(APPROVAL) or len(asked) > MAX_ID:
            raise BadRequest(
                "“approval_request_id” must be the id of an “mcp_approval_request”.",
                f"input[{number}].approval_request_id",
            )
        found.append(asked.removeprefix(APPROVAL))
    return tuple(found)
