import json

import pytest
from openai.types.responses import Response as Shape
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from services import events
from services.openai_api.answer import error_body
from services.openai_api.response import OUTPUT_CHARS, Response, ResponseHead

ANY_EVENT = TypeAdapter(ResponseStreamEvent)
HEAD = ResponseHead("resp_7", 1_800_000_000, "helper-1", {"instructions": "Be brief."})
ASKED = events.approval_required(
    "c1",
    tool="count",
    title="Count",
    server="counter",
    arguments={"id": "é"},
    fixed=(),
    schema={},
    choices=("approve_once", "deny"),
    reason="",
    description="",
    is_destructive=False,
    expires_at=None,
)


def called(call_id="c1"):
    return events.tool_call(
        call_id,
        tool="count",
        title="Count",
        server="counter",
        arguments={"id": "é"},
        fixed=(),
        round_=1,
        max_rounds=8,
    )


def result(call_id="c1", text="1", outcome="ok"):
    return events.tool_result(
        call_id,
        tool="count",
        result=text,
        outcome=outcome,
        is_error=outcome != "ok",
        duration_ms=1,
        truncated=False,
    )


def streamed(response, *told, ask=None, fail=None):
    """Events as a client reads them; each has the shape that the API describes, and its number."""
    frames = [*response.begin()]
    for event in told:
        frames += response.hear(event)
    if ask:
        frames += response.ask(ask)
    frames += response.fail(fail) if fail else response.end()
    read = []
    for number, frame in enumerate(frames):
        name, data = frame.decode().strip().split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert (name, event["sequence_number"]) == (f"event: {event['type']}", number)
        assert ANY_EVENT.validate_python(event, strict=True).type == event["type"]
        read.append(event)
    return read


def kinds(read):
    return [event["type"].removeprefix("response.") for event in read]


TURN = (
    events.state("running", 0),
    events.text("Let me ", 0),
    events.text("count.", 0),
    called(),
    result(),
    events.text("\n", 1),
    events.text("It is one.", 1),
    events.usage({"input_tokens": 5, "output_tokens": 2}),
    events.done("done", 1),
)


def test_a_turn_with_a_call():
    read = streamed(Response(HEAD), *TURN)
    assert kinds(read) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    whole = Shape.model_validate(read[-1]["response"])
    before, call, after = whole.output
    assert (before.content[0].text, after.content[0].text) == ("Let me count.", "\nIt is one.")
    assert (call.name, call.server_label, call.output) == ("count", "counter", "1")
    assert (json.loads(call.arguments), call.status) == ({"id": "é"}, "completed")
    assert (whole.status, whole.usage.total_tokens, whole.instructions) == (
        "completed",
        7,
        "Be brief.",
    )


def test_a_stream_of_text_that_is_held_ends_with_the_same():
    (open_,), (held,) = (
        [streamed(Response(HEAD, is_held=held), *TURN)[-1]] for held in (False, True)
    )
    assert open_["response"] == held["response"]


@pytest.mark.parametrize("is_held", [False, True])
def test_withdrawn_text(is_held):
    response = Response(HEAD, is_held=is_held)
    read = streamed(
        response,
        events.text("Wrong", 0),
        events.state("running", 0),
        events.text("Right", 0),
        events.done("done", 1),
    )
    said = [(one["content"][0]["text"], one["status"]) for one in read[-1]["response"]["output"]]
    assert said == [("Wrong", "incomplete")] * (not is_held) + [("Right", "completed")]


def test_a_call_that_asks_ends_the_response():
    read = streamed(
        Response(HEAD),
        events.text("I will.", 0),
        called(),
        ASKED,
        events.state("waiting"),
        ask="Decide here.",
    )
    whole = Shape.model_validate(read[-1]["response"])
    said, sentence, asked = whole.output
    assert (said.content[0].text, sentence.content[0].text) == ("I will.", "Decide here.")
    assert (asked.type, asked.id, asked.name) == ("mcp_approval_request", "mcpr_c1", "count")
    assert (whole.status, json.loads(asked.arguments)) == ("completed", {"id": "é"})


def test_the_call_that_was_allowed_comes_first():
    response = Response(HEAD, asked={"c1": called()})
    read = streamed(response, events.state("queued"), result(), events.done("done", None))
    (call,) = read[-1]["response"]["output"]
    assert (call["approval_request_id"], call["output"]) == ("mcpr_c1", "1")


def test_a_call_that_fails():
    read = streamed(Response(HEAD), called(), result(text="No.", outcome="denied"))
    assert "mcp_call.failed" in kinds(read)
    (call,) = read[-1]["response"]["output"]
    assert (call["status"], call["error"], call["output"]) == ("failed", "No.", None)


def test_a_long_result_is_cut():
    read = streamed(Response(HEAD), called(), result(text="x" * 2 * OUTPUT_CHARS))
    (call,) = read[-1]["response"]["output"]
    assert len(call["output"]) < OUTPUT_CHARS + 10


@pytest.mark.parametrize(
    ("told", "kind", "status"),
    [
        ((events.notice("answer_cut", "x"), events.done("done", 1)), "incomplete", "incomplete"),
        ((events.done("stopped", 1),), "incomplete", "cancelled"),
    ],
)
def test_a_turn_that_does_not_say_all(told, kind, status):
    read = streamed(Response(HEAD), events.text("So", 0), *told)
    assert (kinds(read)[-1], read[-1]["response"]["status"]) == (kind, status)


def test_a_turn_that_fails():
    response = Response(HEAD)
    told = (events.text("So", 0), events.error("llm_down", "The model is down.", None))
    body = error_body(502, "llm_down", "The model is down.")
    read = streamed(response, *told, fail=body)
    whole = Shape.model_validate(read[-1]["response"])
    assert (kinds(read)[-1], whole.status) == ("failed", "failed")
    assert whole.error.message == "The model is down."
    assert whole.output[0].status == "incomplete"
