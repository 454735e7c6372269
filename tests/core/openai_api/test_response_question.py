import pytest

from services.openai_api.question import MAX_CHARS, MAX_MESSAGES, BadRequest
from services.openai_api.response_question import read

HELLO = {"role": "user", "content": "Hello"}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "mcpr_c1", "approve": True}


def request(items="Hello", **more):
    return {"model": "helper-1", "input": items, **more}


def test_text_is_the_question():
    asked = read(request(" Hello ", instructions="Be brief.", stream=True))
    assert (asked.prompt, asked.is_stream, asked.is_kept) == ("Hello", True, True)
    assert asked.earlier == ({"role": "system", "content": "Be brief."},)
    assert asked.echo["instructions"] == "Be brief."


def test_items_of_former_answers_are_what_was_said():
    asked = read(
        request(
            [
                {"role": "user", "content": [{"type": "input_text", "text": "One"}]},
                {"type": "reasoning", "summary": []},
                {"type": "mcp_call", "name": "count", "arguments": "{}", "output": "1"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Two", "annotations": []}],
                },
                HELLO,
            ],
            store=False,
        )
    )
    user, call, assistant = asked.earlier
    assert (user["content"], assistant["content"]) == ("One", "Two")
    assert (call["role"], '"output": "1"' in call["content"]) == ("assistant", True)
    assert (asked.prompt, asked.is_kept) == ("Hello", False)


def test_an_answer_to_a_call_that_asks_stands_last():
    asked = read(request([APPROVAL], previous_response_id="resp_7"))
    assert (asked.decided, asked.prompt, asked.previous) == (("c1",), "", "resp_7")
    assert read(request([HELLO, APPROVAL])).decided == ("c1",)
    assert read(request([APPROVAL, HELLO])).decided == ()


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "model", "invalid_value"),
        ({"model": "a-1"}, "input", "invalid_value"),
        (request([]), "input", "invalid_value"),
        (request(" "), "input", "invalid_value"),
        (request(7), "input", "invalid_value"),
        (request([HELLO] * (MAX_MESSAGES + 1)), "input", "too_many_messages"),
        (request("x" * (MAX_CHARS + 1)), "input", "string_too_long"),
        (request(["x"]), "input[0]", "invalid_value"),
        (request([{"type": ["message"]}]), "input[0].type", "unsupported_value"),
        (request([{"type": "function_call_output"}]), "input[0].type", "unsupported_value"),
        (request([{"role": "tool", "content": "x"}]), "input[0].role", "invalid_value"),
        (request([{"role": "assistant", "content": "x"}]), "input", "invalid_value"),
        (
            request([{**APPROVAL, "approval_request_id": "c1"}]),
            "input[0].approval_request_id",
            "invalid_value",
        ),
        (request([HELLO, APPROVAL], previous_response_id="resp_7"), "input", "invalid_value"),
        (request(tools=[{}]), "tools", "unsupported_parameter"),
        (request(prompt={"id": "p"}), "prompt", "unsupported_parameter"),
        (request(conversation="c"), "conversation", "unsupported_parameter"),
        (request(tool_choice="required"), "tool_choice", "unsupported_value"),
        (request(text={"format": {"type": "json_object"}}), "text", "unsupported_value"),
        (request(instructions=[]), "instructions", "invalid_value"),
        (request(previous_response_id=7), "previous_response_id", "invalid_value"),
        (request(store="no"), "store", "invalid_value"),
        (request(store=False, background=True), "store", "invalid_value"),
        (request(metadata=[]), "metadata", "invalid_value"),
        (request(metadata={"a": "x" * 513}), "metadata", "invalid_value"),
    ],
)
def test_what_an_assistant_cannot_do_is_refused(body, param, code):
    with pytest.raises(BadRequest) as refused:
        read(body)
    assert (refused.value.param, refused.value.code) == (param, code)
