from dataclasses import replace

from fake_api import DOCUMENT, FakeApi
from processor_time import moments
from turns import tools_of, turn

from services.openapi import parser, recall
from services.specs import OperationSpec
from services.testing.scripted_llm import Reply, ScriptedLlm

FLAT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a", "b"],
}
LAYERED = {
    "type": "object",
    "properties": {
        "path": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        "body": {
            "type": "object",
            "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
            "required": ["x", "y"],
        },
    },
    "required": ["path", "body"],
}


def test_slots_are_the_arguments_one_by_one():
    assert [(s.location, s.name) for s in recall.slots(FLAT, layered=False)] == [
        ("", "a"),
        ("", "b"),
    ]
    assert [(s.location, s.name, s.required) for s in recall.slots(LAYERED, layered=True)] == [
        ("path", "id", True),
        ("body", "x", True),
        ("body", "y", True),
    ]


def test_three_levels_of_each_argument_are_kept():
    deep = {"type": "string"}
    for _ in range(6):
        deep = {"type": "object", "properties": {"n": deep}}
    schema = {"type": "object", "properties": {"a": deep}}
    for layered in (False, True):
        given = {"type": "object", "properties": {"body": schema}} if layered else schema
        found = recall.parameters(given, layered=layered)
        levels = 0
        node = found["properties"]["body"] if layered else found
        node = node["properties"]["a"]
        while node.get("properties"):
            node, levels = node["properties"]["n"], levels + 1
        assert levels == 3, layered


def test_a_conversion_takes_moments():
    leaf = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "text": FLAT}}
    items = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    named = {f"argument_{number}": items for number in range(200)}
    large = {"type": "object", "properties": named, "$defs": {"node": leaf}}
    assert moments(lambda: recall.parameters(large, layered=False), 0.1)  # 002, 3.1
    layers = {"type": "object", "properties": {"body": large}, "$defs": {"node": leaf}}
    assert moments(lambda: recall.parameters(layers, layered=True), 0.1)


def test_fixed_arguments_are_hidden_or_optional():
    assert recall.hidden(FLAT, [("", "a")]) == {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
    }
    assert recall.optional(FLAT, [("", "a"), ("", "b")]) == {
        "type": "object",
        "properties": FLAT["properties"],
    }
    hidden = recall.hidden(LAYERED, [("path", "id"), ("body", "y")])
    assert list(hidden["properties"]) == ["body"]
    assert hidden["required"] == ["body"]
    assert list(hidden["properties"]["body"]["properties"]) == ["x"]
    assert hidden["properties"]["body"]["required"] == ["x"]
    assert recall.optional(LAYERED, [("path", "id")])["required"] == ["body"]


def test_nothing_given_is_changed():
    before = repr((FLAT, LAYERED))
    recall.hidden(LAYERED, [("path", "id")])
    recall.described(FLAT, {("", "a"): "new"})
    recall.merged({"body": {"x": 1}}, {("body", "y"): 2})
    assert repr((FLAT, LAYERED)) == before


def test_own_descriptions_win():
    found = recall.described(
        LAYERED, {("body", "x"): "the x", ("query", "no"): "n", ("", "z"): "z"}
    )
    assert found["properties"]["body"]["properties"]["x"]["description"] == "the x"


def test_fixed_values_win_over_the_models():
    given = {"a": 1, "body": "text", "path": {"id": 666, "more": 1}}
    fixed = {("", "a"): 2, ("body", "x"): "y", ("path", "id"): 7}
    assert recall.merged(given, fixed) == {
        "a": 2,
        "body": {"x": "y"},
        "path": {"id": 7, "more": 1},
    }


def test_values_take_the_type_that_is_wanted():
    for value, described, wanted in (
        (True, {"type": "string"}, "true"),
        (7, {"type": ["string", "null"]}, "7"),
        (7, {"type": ["string", "integer"]}, 7),
        (7.0, {"type": "integer"}, 7),
        ("7.5", {"type": "number"}, 7.5),
        ("x", {"type": "array", "items": {"type": "string"}}, ["x"]),
        ([1, 2], {"type": "array", "items": {"type": "string"}}, ["1", "2"]),
        ("x", {}, "x"),
        (None, {"type": "string"}, None),
    ):
        assert recall.fitting(value, described) == wanted


async def test_the_model_cannot_override_a_fixed_value(fake):
    (add,) = tools_of(fake, only=["add"])
    action = replace(add, alias="record__add", action_id=5, fixed={("", "a"): 40})
    async with ScriptedLlm(
        Reply(calls=[("record__add", {"a": 666, "b": 2}), ("record__add", {"b": 3})]), Reply("42")
    ) as llm:
        done = await turn(llm, fake, tools=(action,))
    offered = llm.requests[0]["tools"][0]["function"]["parameters"]
    assert list(offered["properties"]) == ["b"] and offered["required"] == ["b"]
    assert sorted(r.display for r in done.journal.results) == ["42", "43"]
    assert [call["args"] for call in done.journal.of("tool_call")] == [
        {"a": 40, "b": 2},
        {"a": 40, "b": 3},
    ]
    assert [call[2] for call in fake.calls] == [{"a": 40, "b": 2}, {"a": 40, "b": 3}]


async def test_an_operation_is_a_tool_of_a_turn_like_any_other(fake):
    found = {operation.key: operation for operation in parser.read(DOCUMENT).operations}
    with FakeApi() as api:
        note = found["addNote"]
        (some,) = tools_of(fake, only=["echo"])
        tool = replace(
            some,
            name="addNote",
            alias="record__addNote",
            input_schema=note.input_schema,
            action_id=5,
            fixed={("path", "customer_id"): 7, ("body", "author"): "me@example.com"},
            operation=OperationSpec(
                method="POST",
                path=note.path,
                base_url=f"{api.url}/v1",
                content_type=note.content_type,
            ),
        )
        reply = Reply(calls=[("record__addNote", {"body": {"text": "hi", "author": "you"}})])
        async with ScriptedLlm(reply, Reply("Noted.")) as llm:
            done = await turn(llm, fake, tools=(tool,))
        (result,) = done.journal.results
        assert result.outcome == "ok"
        ((method, path, _headers, body),) = api.requests
    assert (method, path) == ("POST", "/v1/customers/7/notes")
    assert body == {"text": "hi", "author": "me@example.com"}


async def test_an_action_that_lacks_a_value_is_left_out_and_told(fake):
    (add,) = tools_of(fake, only=["add"])
    async with ScriptedLlm(Reply("ok")) as llm:
        done = await turn(llm, fake, tools=(replace(add, problem="The record has no e-mail."),))
    (notice,) = done.journal.of("notice")
    assert "The record has no e-mail." in notice["message"]
    assert "tools" not in llm.requests[0]
