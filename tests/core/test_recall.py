from services import recall

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
    found = recall.described(LAYERED, {("body", "x"): "the x", ("query", "no"): "n", ("", "z"): "z"})
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
