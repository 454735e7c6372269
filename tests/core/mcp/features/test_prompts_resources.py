"""Prompts, resources and completion, over every HTTP transport of both eras."""

import asyncio
import contextlib

import pytest
from conftest import spec_of

from services.errors import (
    AuthRequired,
    ProtocolError,
    ServerPaused,
    ServerRefused,
    ServerTimeout,
)
from services.mcp.features.prompts_resources import ServerFeatures
from services.testing.fake_http import respond
from services.testing.fake_tools import PNG


@pytest.fixture
def features(any_fake, pool):
    return ServerFeatures(pool, any_fake.spec, 1)


def says(result):
    async def answer(call, writer):
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "result": result})

    return answer


async def test_prompts_are_read_page_by_page(any_fake, features):
    any_fake.page = 1
    greet, picture = await features.prompts()
    assert (greet.name, greet.title, picture.name) == ("greet", "Greeting", "picture")
    assert [(a.name, a.required) for a in greet.arguments] == [("who", True), ("tone", False)]
    assert any_fake.methods.count("prompts/list") == 2


async def test_a_prompt_is_filled_in(any_fake, features):
    filled = await features.prompt("greet", {"who": "台北"})
    assert [(m.role, m.text) for m in filled.messages] == [("user", "Greet 台北.")]
    if any_fake.eras == ("modern",):
        assert any_fake.headers[-1]["mcp-name"] == "greet"
    with pytest.raises(ServerRefused, match="Missing argument: who"):
        await features.prompt("greet", {})


async def test_a_picture_in_a_prompt_is_a_file(features):
    (message,) = (await features.prompt("picture", {})).messages
    (file,) = message.files
    assert (file["mimetype"], file["data"], message.text) == ("image/png", PNG, "")


async def test_text_of_a_prompt_says_nothing_of_its_files(fake, pool):
    blocks = [
        {"type": "text", "text": "Look:"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x://a.bin", "blob": "TVoAAA=="}},
        {"type": "image", "data": "no base64", "mimeType": "image/png"},
        {"type": "text", "text": "What is it?"},
    ]
    fake.faults["prompts/get"] = says({"messages": [{"role": "user", "content": blocks}]})
    (message,) = (await ServerFeatures(pool, fake.spec, 1).prompt("greet", {})).messages
    assert [file["name"] for file in message.files] == ["image-1.png", "a.bin"]
    unread = "[image: the server sent it in a form that cannot be read]"
    assert message.text == f"Look:\n{unread}\nWhat is it?"


async def test_resources_and_templates_are_listed(any_fake, features):
    any_fake.page = 2
    one, _two, red = await features.resources()
    assert (one.uri, one.name, one.mimetype) == ("note://one", "one", "text/plain")
    assert red.size == 32
    (template,) = await features.templates()
    assert (template.uri, template.variables) == ("note://{name}", ("name",))


async def test_resources_are_read_as_text_or_file_within_the_caps(any_fake, features):
    (note,) = await features.resource("note://one")
    assert (note.text, note.truncated, note.files) == ("第一", False, ())
    (long,) = await features.resource("note://two")
    assert len(long.text) <= 24_000 and long.truncated
    (picture,) = await features.resource("pic://red.png")
    assert [(f["name"], f["mimetype"]) for f in picture.files] == [("red.png", "image/png")]
    if any_fake.eras == ("modern",):
        assert any_fake.headers[-1]["mcp-name"] == "pic://red.png"
    with pytest.raises(ServerRefused, match="Resource not found"):
        await features.resource("note://none")


async def test_arguments_are_completed(features):
    found = await features.complete(
        prompt="greet", argument="tone", value="wa", given={"who": "me"}
    )
    assert (found.values, found.total, found.has_more) == (("warm", "wary"), 2, False)
    of_template = await features.complete(uri="note://{name}", argument="name", value="c", given={})
    assert of_template.values == ("cold",)


async def test_what_a_server_does_not_have_is_not_asked_for(any_fake, features):
    any_fake.capabilities = {"tools": {}}
    assert await features.prompts() == [] and await features.resources() == []
    assert (await features.complete(prompt="x", argument="a", value="", given={})).values == ()
    assert not {"prompts/list", "resources/list", "completion/complete"} & set(any_fake.methods)


async def test_templates_that_a_server_does_not_know(any_fake, features):
    async def unknown(call, writer):
        error = {"code": -32601, "message": "Method not found"}
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "error": error})

    any_fake.faults["resources/templates/list"] = unknown
    if any_fake.spec.transport != "sse":  # the fake's faults answer on the request's own line
        assert await features.templates() == []


HOSTILE = {
    "prompts": [
        "junk",
        {"name": 5},
        {"name": "a\u202eb"},
        {"name": "x" * 300},
        {"name": "ok", "title": ["no"], "description": "\x1b[31mred\u200b", "arguments": [1, {}]},
    ]
}


async def test_strange_prompts_cost_only_themselves(fake, pool):
    fake.faults["prompts/list"] = says(HOSTILE)
    (prompt,) = await ServerFeatures(pool, fake.spec, 1).prompts()
    assert (prompt.name, prompt.title, prompt.description) == ("ok", "", "red")
    assert prompt.arguments == ()


@pytest.mark.parametrize(
    ("method", "result", "ask"),
    [
        ("prompts/list", {"prompts": "no"}, lambda o: o.prompts()),
        ("prompts/get", {"messages": {}}, lambda o: o.prompt("greet", {})),
        ("resources/list", {}, lambda o: o.resources()),
        ("resources/read", {"contents": None}, lambda o: o.resource("note://one")),
        (
            "completion/complete",
            {"completion": []},
            lambda o: o.complete(prompt="greet", argument="tone", value="", given={}),
        ),
    ],
)
async def test_wrong_shapes_are_a_typed_error(fake, pool, method, result, ask):
    fake.faults[method] = says(result)
    with pytest.raises(ProtocolError):
        await ask(ServerFeatures(pool, fake.spec, 1))


async def test_faults_of_the_transport_are_typed_and_quick(fake, pool):
    features = ServerFeatures(pool, fake.spec, 1)
    await features.prompts()
    fake.faults["prompts/list"] = lambda call, writer: respond(writer, 401)
    async with asyncio.timeout(60):
        with pytest.raises(AuthRequired):
            await features.prompts()
        assert await features.resources()  # beside it


async def test_a_server_that_says_nothing_ends_at_the_limit(fake, pool):
    fake.faults["prompts/list"] = lambda call, writer: asyncio.Event().wait()
    with pytest.raises(ServerTimeout):
        await ServerFeatures(pool, spec_of(fake, sync_timeout=0.4), 1).prompts()


async def test_a_server_that_failed_repeatedly_is_not_asked(fake, pool):
    features = ServerFeatures(pool, fake.spec, 1)
    await features.prompts()
    fake.guard = lambda headers: (500, {})
    for _ in range(3):
        with pytest.raises(ServerRefused):
            await features.prompt("greet", {"who": "x"})
    with pytest.raises(ServerPaused):
        for _ in range(100):  # it is asked for a sign of life first
            with contextlib.suppress(ServerRefused):
                await features.prompts()
    fake.guard, asked = None, len(fake.methods)
    with pytest.raises(ServerPaused):
        await features.prompts()
    assert len(fake.methods) == asked


async def test_a_prompt_that_asks_questions_is_refused(modern_fake, pool):
    modern_fake.faults["prompts/get"] = says(
        {"resultType": "input_required", "inputRequests": {"a": {}}}
    )
    with pytest.raises(ServerRefused, match="requires more information"):
        await ServerFeatures(pool, modern_fake.spec, 1).prompt("greet", {})


async def test_a_restarted_server_is_asked_once_more(any_fake, features):
    await features.prompts()
    await any_fake.restart()
    assert len(await features.prompts()) == 2
    assert any_fake.methods.count("prompts/list") >= 2


async def test_a_lost_answer_is_asked_for_once_more(fake, pool):
    async def lose(call, writer):
        fake.faults.clear()
        writer.close()

    features = ServerFeatures(pool, fake.spec, 1)
    for method, ask in (
        ("prompts/list", features.prompts),
        ("resources/read", lambda: features.resource("note://one")),
    ):
        fake.faults[method] = lose
        assert await ask()
        assert fake.methods.count(method) == 2
