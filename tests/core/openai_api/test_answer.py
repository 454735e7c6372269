import json

from services import events
from services.openai_api.answer import Answer, Head, error_body

HEAD = Head("chatcmpl-7", 1_800_000_000, "helper-1")


def heard(answer, *told):
    return [answer.hear(event) for event in told]


def test_text_is_given_as_it_comes():
    answer = Answer()
    given = heard(
        answer,
        events.state("running"),
        events.text("Let me ", 0),
        events.text("look.", 0),
        events.text("It is late.", 1),
        events.usage({"input_tokens": 5, "output_tokens": 2}),
        events.done("done", 1),
    )
    assert "".join(given) == answer.text == "Let me look.\n\nIt is late."
    assert answer.ending == "done"
    body = HEAD.completion(answer)
    assert body["choices"][0]["message"]["content"] == answer.text
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def test_withdrawn_text_is_no_part_of_the_answer():
    answer = Answer()
    heard(answer, events.text("Wrong", 0), events.state("running", 0), events.text("Right", 0))
    assert answer.text == "Right"


def test_text_that_may_be_withdrawn_is_given_at_the_end():
    answer = Answer(is_held=True)
    given = heard(
        answer,
        events.text("Wrong", 0),
        events.state("running", 0),
        events.text("Right", 0),
        events.done("done", 1),
    )
    assert given == ["", "", "", "Right"]


def test_a_turn_that_waits_ends_the_answer():
    answer = Answer()
    heard(answer, events.text("I will send it.", 0), events.state("waiting"))
    assert answer.ending == "asks"
    assert answer.add("Decide here.") == "\n\nDecide here."
    assert answer.text == "I will send it.\n\nDecide here."


def test_a_failure_has_a_code():
    answer = Answer()
    heard(answer, events.error("llm_down", "The model is down.", None))
    assert (answer.ending, answer.error) == ("failed", ("llm_down", "The model is down."))
    assert error_body(502, *answer.error)["error"]["type"] == "server_error"


def test_a_chunk_is_an_event():
    frame = HEAD.chunk({"content": "é"}).decode()
    assert frame.startswith("data: ") and frame.endswith("\n\n")
    assert json.loads(frame[6:])["choices"][0] == {
        "index": 0,
        "delta": {"content": "é"},
        "logprobs": None,
        "finish_reason": None,
    }
