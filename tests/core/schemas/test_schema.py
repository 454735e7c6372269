import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from processor_time import within

from dev.checks.corpus import keywords
from services.errors import UnusableSchema
from services.schemas.schema import MAX_BYTES, clean, local_references

EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize("schema", [{}, True, None, {"type": "object"}, {"$schema": "x"}])
def test_schema_without_arguments(schema):
    assert clean(schema) == EMPTY


def test_an_object_of_which_nothing_is_known_may_hold_anything():
    """Grammars of llama.cpp take an empty list of properties for all that there may be: the model could only say {}."""
    parts = {
        "values": {"type": "object"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {}}},
        "said": {"type": "object", "additionalProperties": False},
        "known": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    cleaned = clean({"type": "object", "properties": parts})["properties"]
    free = {"type": "object", "properties": {}, "additionalProperties": True}
    assert cleaned["values"] == cleaned["rows"]["items"] == free
    assert cleaned["said"]["additionalProperties"] is False
    assert "additionalProperties" not in cleaned["known"]
    assert clean({"type": "object"}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "schema", [False, [], "object", 7, {"type": "array"}, {"$ref": "#/nowhere"}, {"type": "string"}]
)
def test_unusable_schema_is_a_typed_error(schema):
    with pytest.raises(UnusableSchema):
        clean(schema)


def test_references_are_inlined_and_keywords_beside_them_win():
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Point", "description": "where"}},
        "$defs": {
            "Point": {
                "type": "object",
                "description": "a point",
                "properties": {"x": {"$ref": "#/$defs/N"}},
            },
            "N": {"type": "number"},
        },
    }
    assert clean(schema)["properties"]["at"] == {
        "type": "object",
        "description": "where",
        "properties": {"x": {"type": "number"}},
    }


@pytest.mark.parametrize(
    "bad",
    [
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": 5},
        {"$ref": "#/properties/ok/type/0/x"},
        {"type": "nonsense"},
        {"type": {"a": 1}},
        {"enum": "x", "required": 7, "properties": [], "items": 3, "anyOf": {}},
        "text",
        True,
    ],
)
def test_one_bad_property_does_not_cost_the_tool(bad):
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "string"}, "bad": bad},
        "required": ["ok", "bad", "gone"],
    }
    cleaned = clean(schema)
    assert cleaned["properties"]["ok"] == {"type": "string"}
    assert "bad" in cleaned["properties"]
    assert cleaned["required"] == ["ok", "bad"]


def test_recursion_keeps_type_and_description():
    node = {
        "type": "object",
        "description": "a node",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
    }
    cleaned = clean(
        {
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": node},
        }
    )
    root = cleaned["properties"]["root"]
    assert root["properties"]["next"] == {
        "type": "object",
        "description": "a node",
        "properties": {},
        "additionalProperties": True,
    }


def test_self_reference_of_the_whole_schema():
    cleaned = clean(
        {"type": "object", "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}}}
    )
    assert cleaned["properties"]["child"]["type"] == "object"


def test_reference_loop_without_content():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    assert clean(schema)["properties"]["a"] == {}


def test_exponential_references_stay_small():
    defs = {
        f"d{i}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}, "b": {"$ref": f"#/$defs/d{i + 1}"}},
        }
        for i in range(40)
    }
    defs["d40"] = {"type": "string"}
    with within(1.0):
        cleaned = clean(
            {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}, depth=40
        )
    assert len(json.dumps(cleaned)) < 500_000


def test_top_level_union_becomes_one_object():
    schema = {
        "oneOf": [
            {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "kind": {"const": "a"}},
                "required": ["id", "kind"],
            },
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "kind": {"const": "b"}},
                "required": ["name", "kind"],
            },
        ]
    }
    cleaned = clean(schema)
    assert set(cleaned) == {"type", "properties", "required"}
    assert set(cleaned["properties"]) == {"id", "kind", "name"}
    assert cleaned["properties"]["kind"] == {"anyOf": [{"const": "a"}, {"const": "b"}]}
    assert cleaned["required"] == ["kind"]
    cleaned = clean({**schema, "properties": {"kind": {"type": "string"}}})
    assert cleaned["properties"]["kind"] == {"type": "string"}


def test_all_of_is_folded():
    schema = {
        "allOf": [
            {"$ref": "#/$defs/Base"},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
        "$defs": {
            "Base": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        },
    }
    cleaned = clean(schema)
    assert set(cleaned["properties"]) == {"a", "b"}
    assert sorted(cleaned["required"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"allOf": [{"type": "integer", "minimum": 1}]}, {"type": "integer", "minimum": 1}),
        ({"allOf": [{"type": "boolean"}]}, {"type": "boolean"}),
        (
            {"description": "which", "allOf": [{"$ref": "#/$defs/E"}]},
            {"type": "string", "description": "which", "enum": ["a", "b"]},
        ),
        (
            {"allOf": [{"$ref": "#/$defs/E"}]},
            {"type": "string", "description": "E", "enum": ["a", "b"]},
        ),
        (
            {"allOf": [{"type": "number", "maximum": 100}, {"type": "integer", "maximum": 50}]},
            {"type": "integer", "maximum": 50},
        ),
        (
            {"allOf": [{"minLength": 1}, {"minLength": 3, "type": "string"}]},
            {"minLength": 3, "type": "string"},
        ),
        ({"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 2]}]}, {"enum": [2, 3]}),
        ({"allOf": [{"type": "object"}]}, {**EMPTY, "additionalProperties": True}),
        (
            {
                "allOf": [
                    {"properties": {"n": {"minimum": 1}}},
                    {"properties": {"n": {"type": "integer"}}},
                ]
            },
            {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
        ),
    ],
)
def test_all_of_keeps_type_description_and_the_tightest_bounds(schema, expected):
    kinds = {"E": {"type": "string", "description": "E", "enum": ["a", "b"]}}
    cleaned = clean({"type": "object", "properties": {"x": schema}, "$defs": kinds})
    assert cleaned["properties"]["x"] == expected


def test_a_budget_of_bytes_is_spent_breadth_first():
    deep = {"type": "string", "description": "The deepest of all."}
    for level in range(8):
        deep = {
            "type": "object",
            "properties": {f"p{level}_{n}": deep for n in range(3)},
        }
    names = ("drive", "items", "operations", "permissions")
    inner = {"type": "object", "properties": {"id": {"type": "string"}, "name": {"enum": ["a"]}}}
    schema = {
        "type": "object",
        "properties": {"drive": deep, **dict.fromkeys(names[1:], inner)},
        "required": ["permissions"],
    }
    cleaned = clean(schema)
    assert len(json.dumps(cleaned, ensure_ascii=False)) < 1.1 * MAX_BYTES
    shown = cleaned["properties"]
    assert tuple(shown) == names and cleaned["required"] == ["permissions"]
    assert shown["items"] == shown["permissions"] == clean(inner), "what is shallow is whole"
    assert list(shown["drive"]["properties"]) == ["p7_0", "p7_1", "p7_2"]
    assert "…" in json.dumps(cleaned, ensure_ascii=False), "what is cut says so"


def test_texts_get_shorter_before_anything_is_lost():
    said = "This is what it does. " * 40
    many = {f"a{n}": {"type": "string", "description": said} for n in range(30)}
    cleaned = clean({"type": "object", "properties": many})["properties"]
    assert len(cleaned) == 30
    assert {one["description"] for one in cleaned.values()} == {
        "This is what it does. " * 12 + "This is what it does. …"
    }
    few = clean({"type": "object", "properties": {"a": {"description": said}}})
    assert few["properties"]["a"]["description"] == said.strip()


def test_a_list_of_values_that_is_too_long_is_left_to_the_server():
    cleaned = clean(
        {
            "type": "object",
            "properties": {"x": {"type": "string", "enum": [f"value {n}" for n in range(5_000)]}},
        }
    )
    assert cleaned["properties"]["x"] == {"type": "string", "description": "…"}


def test_arrays_always_have_items():
    properties = {
        "a": {"type": "array"},
        "b": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
    }
    cleaned = clean({"properties": properties})["properties"]
    assert cleaned["a"] == {"type": "array", "items": {}}
    assert cleaned["b"]["items"] == {"anyOf": [{"type": "string"}, {"type": "number"}]}


def test_patterns_that_endpoints_refuse_are_left_out():
    properties = {
        "a": {"type": "string", "pattern": "^[a-z]+$"},
        "b": {"type": "string", "pattern": "(?i)x"},
    }
    cleaned = clean({"properties": properties})["properties"]
    assert cleaned["a"]["pattern"] == "^[a-z]+$"
    assert "pattern" not in cleaned["b"]


def test_bounds_that_no_float_holds_are_left_out():
    bounds = {"type": "integer", "minimum": 1, "maximum": 10**400, "multipleOf": -(10**400)}
    cleaned = clean({"properties": {"a": bounds}})["properties"]
    assert cleaned["a"] == {"type": "integer", "minimum": 1}


def test_openapi_references_and_nullable():
    document = {
        "components": {
            "schemas": {
                "Pet": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "nullable": True}},
                }
            }
        }
    }
    cleaned = clean({"$ref": "#/components/schemas/Pet"}, resolve=local_references(document))
    assert cleaned["properties"]["name"] == {"type": ["string", "null"]}


def test_anchors_and_properties_named_like_keywords():
    schema = {
        "properties": {
            "$ref": {"type": "string"},
            "title": {"type": "string"},
            "p": {"$ref": "#here"},
        },
        "$defs": {"x": {"$anchor": "here", "type": "integer"}},
    }
    cleaned = clean(schema)["properties"]
    assert cleaned["$ref"] == cleaned["title"] == {"type": "string"}
    assert cleaned["p"] == {"type": "integer"}


def test_the_servers_schema_is_not_touched():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "array"}},
    }
    before = json.dumps(schema)
    clean(schema)
    assert json.dumps(schema) == before


KEYWORDS = {
    "type": st.sampled_from(["object", "array", "string", "null", ["string", "null"], ["x"], 5]),
    "$ref": st.sampled_from(
        ["#", "#/$defs/a", "#/definitions/b", "#/$defs/none", "#a", "https://x.example.com/s", 7]
    ),
    "$dynamicRef": st.just("#a"),
    "$anchor": st.just("a"),
    "$id": st.just("https://x.example.com/s"),
    "nullable": st.booleans(),
    "format": st.sampled_from(["date", "uuid", "made-up", 4]),
    "pattern": st.sampled_from(["^a$", "(?i)x", "[", 3]),
    "enum": st.lists(st.none() | st.integers() | st.text(max_size=2), max_size=3) | st.just("x"),
    "required": st.lists(st.sampled_from(["a", "b", 1]), max_size=3) | st.booleans(),
    "title": st.text(max_size=3) | st.integers(),
    "description": st.text(max_size=3),
    **dict.fromkeys(
        ["minimum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        st.integers(-2, 2) | st.floats() | st.booleans(),
    ),
    **dict.fromkeys(["minLength", "maxItems"], st.integers(-2, 5) | st.floats(0, 5) | st.none()),
}


def _schemas(inner):
    """Nested schemas, right and wrong ones of every draft."""
    named = st.dictionaries(st.sampled_from(["a", "b", "$ref", "type"]), inner, max_size=3)
    several = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            **KEYWORDS,
            **dict.fromkeys(
                ["properties", "$defs", "definitions", "patternProperties"], named | inner
            ),
            **dict.fromkeys(["anyOf", "oneOf", "allOf", "prefixItems"], several | inner),
            **dict.fromkeys(["items", "additionalProperties"], inner | several | st.booleans()),
            **dict.fromkeys(["not", "if", "then", "contains"], inner),
            **dict.fromkeys(["const", "default"], st.none() | st.integers() | st.text(max_size=2)),
        },
    )


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
any_schema = st.recursive(leaves, _schemas, max_leaves=12)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_schema)
@example({"properties": {"a": {"properties": {"a": False}}}})
def test_any_schema_gives_a_valid_one_or_the_typed_error(schema):
    try:
        cleaned = clean(schema)
    except UnusableSchema:
        return
    assert cleaned["type"] == "object" and isinstance(cleaned["properties"], dict)
    written = json.dumps(cleaned, allow_nan=False)
    for _, key, _ in keywords(cleaned):
        assert key not in ("$ref", "$defs", "definitions", "allOf", "oneOf"), written
    Draft202012Validator.check_schema(cleaned)
    assert clean(cleaned) == cleaned, "what is clean stays as it is"


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_schema, st.integers(0, 4))
def test_nothing_lies_deeper_than_the_limit(schema, depth):
    try:
        cleaned = clean(schema, depth=depth)
    except UnusableSchema:
        return
    # A union and the items of an array are a level each, so the limit is of schemas within schemas.
    assert max((level for level, _, _ in keywords(cleaned)), default=0) <= depth
