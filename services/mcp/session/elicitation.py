"""MCP elicitation: what a server asks the user while it works, in the engine's own words for both eras.

Legacy servers send ``elicitation/create`` during a call, or refuse the call until a page was visited; modern
ones answer the call with ``input_required``. Either way somebody is asked with a message, and a flat JSON
schema or a link.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from ... import jsonrpc, text
from ...errors import ElicitationRequired, ProtocolError, ServerRefused
from ...schemas import elicitation_form
from ...sentence import _lt

MAX_MESSAGE = 2_000  # characters
MAX_URL = 2_000  # characters
MAX_QUESTIONS = 10  # at once
MAX_ROUNDS = 8  # times that one call may ask
REQUIRED = "input_required"  # resultType of a modern result that asks
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}}  # what a modern server hears that we can do


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitRequest:
    """A question of a server for the user (MCP 2025-11-25, client/elicitation)."""

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)  # of strings, numbers, booleans, enums
    url: str = ""  # a page to visit; then there is nothing to fill in

    def takes(self, content: Mapping[str, Any]) -> bool:
        """True if the content of an answer fits the form.

        :param content: ``{field: value}``, not checked
        """
        return not elicitation_form.problems(content, self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitResult:
    """The user's answer."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = field(default_factory=dict)  # of "accept": ``{field: value}``

    def to_wire(self, request: ElicitRequest) -> dict[str, Any]:
        """The ``ElicitResult`` of the protocol.

        :param request: the question that this answers, whose defaults fill in what was left out
        """
        if self.action != "accept" or request.url:
            return {"action": self.action}
        return {"action": "accept", "content": with_defaults(self.content, request.schema)}


OnElicit = Callable[[ElicitRequest], Awaitable[ElicitResult]]
"""Asks somebody; may take as long as a person does."""


def required_by_result(result: Mapping[str, Any]) -> ElicitationRequired:
    """Questions of a modern result with ``input_required`` (MCP 2026-07-28, basic/patterns/mrtr).

    The state is opaque: it goes back as it came, and only if it came.

    :raises ProtocolError: it wants nothing, or what we do not offer
    """
    requests = result.get("inputRequests")
    requests = requests if isinstance(requests, Mapping) else {}
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    if not requests and not more:
        raise ProtocolError(_lt("The MCP server asks for input without specifying it."))
    if len(requests) > MAX_QUESTIONS:
        raise ProtocolError(_lt("The MCP server asks too many questions at once."))
    return ElicitationRequired(
        questions={key: _input_request(question) for key, question in requests.items()}, more=more
    )


def required_by_error(error: ServerRefused) -> ElicitationRequired | None:
    """The pages that the user has to visit before the call is made (MCP 2025-11-25, -32042).

    :return: None if the error asks for none
    :raises ProtocolError: they are too many, or one is not usable
    """
    data = error.data if isinstance(error.data, Mapping) else {}
    requests = data.get("elicitations")
    if error.rpc_code != jsonrpc.URL_REQUIRED or not isinstance(requests, list) or not requests:
        return None
    if len(requests) > MAX_QUESTIONS:
        raise ProtocolError(_lt("The MCP server asks too many questions at once."))
    questions = {str(number): elicit_request(params) for number, params in enumerate(requests)}
    return ElicitationRequired(questions=questions, more=None)


def retry_params(
    wanted: ElicitationRequired, answers: Mapping[str, ElicitResult]
) -> dict[str, Any]:
    """Params of the repeated call.

    :param answers: ``{key: ElicitResult}``, one for each question
    """
    more = dict(wanted.more or {})
    if not wanted.questions:
        return more
    responses = {key: answers[key].to_wire(request) for key, request in wanted.questions.items()}
    return {"inputResponses": responses, **more}


async def elicit_all(wanted: ElicitationRequired, on_elicit: OnElicit | None) -> dict[str, Any]:
    """Ask one question after the other; without somebody to ask they are cancelled.

    :param on_elicit: asks the person, None with nobody to ask
    :return: as `retry_params`
    """
    answers = {key: await _elicit(request, on_elicit) for key, request in wanted.questions.items()}
    return retry_params(wanted, answers)


async def elicit(params: Any, on_elicit: OnElicit | None) -> dict[str, Any]:
    """Ask the question of a legacy server; without somebody to ask it is cancelled.

    :param params: of its ``elicitation/create``
    :param on_elicit: asks the person, None with nobody to ask
    :return: the ``ElicitResult``
    :raises ProtocolError: the question is not usable
    """
    request = elicit_request(params)
    return (await _elicit(request, on_elicit)).to_wire(request)


async def _elicit(request: ElicitRequest, on_elicit: OnElicit | None) -> ElicitResult:
    return await on_elicit(request) if on_elicit else ElicitResult(action="cancel")


def _input_request(question: Any) -> ElicitRequest:
    if not isinstance(question, Mapping) or question.get("method") != "elicitation/create":
        raise ProtocolError(
            _lt("The MCP server requests something that this client does not support.")
        )
    return elicit_request(question.get("params"))


def elicit_request(params: Any) -> ElicitRequest:
    """Question of the params of an ``elicitation/create``.

    :raises ProtocolError: it leads to something that is no web page, or the form is too large
    """
    params = params if isinstance(params, Mapping) else {}
    message = text.cap(text.clean(str(params.get("message", ""))), MAX_MESSAGE)
    if params.get("mode", "form") == "url":
        return ElicitRequest(message=message, url=_page(params.get("url")))
    form = elicitation_form.clean(params.get("requestedSchema"))
    if form is None:
        raise ProtocolError(_lt("The MCP server asks for a form that is invalid or too large."))
    return ElicitRequest(message=message, schema=form)


def _page(url: Any) -> str:
    """Check a link before showing it: the displayed host must be the real one.

    >>> _page("https://example.com/pay?id=1")
    'https://example.com/pay?id=1'
    """
    url = url if isinstance(url, str) and len(url) <= MAX_URL else ""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ProtocolError(
            _lt("The MCP server asks the user to open an address that is not a web page.")
        )
    return url


def with_defaults(content: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that were left out take their default (SEP-1034).

    >>> with_defaults({"a": 1}, {"properties": {"a": {"default": 5}, "b": {"default": 2}, "c": {}}})
    {'a': 1, 'b': 2}
    """
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    defaults = {
        name: field["default"]
        for name, field in properties.items()
        if isinstance(field, Mapping) and "default" in field
    }
    return {**defaults, **content}
