import pytest

from services.openai_api.question import MAX_CHARS, MAX_MESSAGES, BadRequest, read

HELLO = {"role": "user", "content": "Hello"}


def request(*messages, **more):
    return {"model": "helper-1", "messages": list(messages or (HELLO,)), **more}


def seen(url):
    return {"type": "image_url", "image_url": {"url": url}}


def test_pictures_have_names():
    picture = "data:image/png;base64,YQ=="
    asked = read(
        request(
            {"role": "user", "content": [seen(picture), {"type": "text", "text": "This"}]},
            {"role": "user", "content": [{"type": "input_image", "image_url": picture}]},
        )
    )
    assert (asked.prompt, asked.earlier[0]["content"]) == ("[picture-2]", "[picture-1]\nThis")
    assert asked.pictures == (b"a", b"a")


def test_the_last_message_is_the_question():
    asked = read(
        request(
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}],
            },
            {"role": "assistant", "content": "Three."},
            HELLO,
            temperature=0.2,
            stream=True,
            stream_options={"include_usage": True},
            metadata={"cloud_service_id": "7"},
        )
    )
    assert asked.earlier == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One\nTwo"},
        {"role": "assistant", "content": "Three."},
    )
    assert (asked.prompt, asked.is_stream, asked.has_usage, asked.service) == (
        "Hello",
        True,
        True,
        7,
    )


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "model", "invalid_value"),
        ({"model": 7}, "model", "invalid_value"),
        ({"model": "a-1"}, "messages", "invalid_value"),
        (request() | {"messages": []}, "messages", "invalid_value"),
        (request(*[HELLO] * (MAX_MESSAGES + 1)), "messages", "too_many_messages"),
        (
            request({"role": "user", "content": "x" * (MAX_CHARS + 1)}),
            "messages",
            "string_too_long",
        ),
        (request({"role": "tool", "content": "x"}), "messages[0].role", "invalid_value"),
        (request("x"), "messages[0]", "invalid_value"),
        (request({"role": ["user"], "content": "x"}), "messages[0].role", "invalid_value"),
        (request({"role": "user", "content": 7}), "messages[0].content", "invalid_value"),
        (
            request({"role": "user", "content": [{"type": "file", "file": {}}]}),
            "messages[0].content",
            "unsupported_content",
        ),
        (
            request({"role": "assistant", "content": [seen("data:image/png;base64,YQ==")]}, HELLO),
            "messages[0].content",
            "unsupported_content",
        ),
        *(
            (request({"role": "user", "content": [seen(url)]}), "messages[0].content", code)
            for url, code in (
                ("https://example.com/a.png", "invalid_image_url"),
                ("data:image/png,YQ==", "invalid_image_url"),
                (None, "invalid_image_url"),
                ("data:image/png;base64,!", "invalid_base64"),
            )
        ),
        (
            request({"role": "assistant", "tool_calls": [{}]}, HELLO),
            "messages[0]",
            "unsupported_value",
        ),
        (request({"role": "user", "content": " "}), "messages", "invalid_value"),
        (request(HELLO, {"role": "assistant", "content": "x"}), "messages", "invalid_value"),
        (request(tools=[{}]), "tools", "unsupported_parameter"),
        (request(functions=[{}]), "functions", "unsupported_parameter"),
        (request(n=2), "n", "unsupported_value"),
        (request(response_format={"type": "json_object"}), "response_format", "unsupported_value"),
        (request(stream="yes"), "stream", "invalid_value"),
        (request(stream_options=[]), "stream_options", "invalid_value"),
        (request(metadata=[]), "metadata", "invalid_value"),
        (
            request(metadata={"cloud_service_id": "seven"}),
            "metadata.cloud_service_id",
            "invalid_value",
        ),
    ],
)
def test_what_an_assistant_cannot_do_is_refused(body, param, code):
    with pytest.raises(BadRequest) as refused:
        read(body)
    assert (refused.value.param, refused.value.code) == (param, code)
