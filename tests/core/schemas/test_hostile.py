"""What a hostile server can send must never hold the loop that all turns share."""

import pytest
from processor_time import within

from services.schemas import arguments, schema

MAX_CPU = 2.0  # s of the processor, far above what the limits allow


@pytest.fixture(autouse=True)
def in_time():
    with within(MAX_CPU):
        yield


def fan_out(keyword, levels=40):
    """A schema of a few hundred bytes with 2 ** levels leaves."""
    definitions = {
        f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    definitions[f"a{levels}"] = {"type": "object"}
    return {"$defs": definitions, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_fan_out(keyword):
    assert arguments.problem({}, fan_out(keyword)) == ""
    assert schema.clean(fan_out(keyword))["type"] == "object"


def test_unevaluated_properties_over_references_that_fan_out():
    hostile = {**fan_out("allOf"), "unevaluatedProperties": False}
    assert arguments.problem({"city": "Bonn"}, hostile) == ""


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_patterns_of_names_are_not_tried(keyword):
    hostile = {"patternProperties": {"^(a+)+$": {}}, keyword: False}
    assert arguments.problem({"a" * 60 + "!": 1}, hostile) == ""


def test_additional_properties_are_still_refused():
    assert "town" in arguments.problem(
        {"town": 1}, {"properties": {"city": {}}, "additionalProperties": False}
    )


def test_a_long_chain_of_references_behind_many_properties():
    chain = {f"c{link}": {"$ref": f"#/$defs/c{link + 1}"} for link in range(1000)}
    hostile = {
        "type": "object",
        "$defs": {**chain, "c1000": {"type": "string"}},
        "properties": {f"p{number}": {"$ref": "#/$defs/c0"} for number in range(20_000)},
    }
    assert schema.clean(hostile)["type"] == "object"


@pytest.mark.parametrize(
    "items",
    [
        {"uniqueItems": True},
        {"items": {"enum": [str(number) for number in range(20_000)]}},
        {"items": {"required": [str(number) for number in range(20_000)]}},
        {"items": {"properties": {str(number): {} for number in range(20_000)}}},
    ],
    ids=lambda items: str(items)[:20],
)
def test_a_long_list_is_not_looked_at_for_ever(items):
    """The loop stands still meanwhile, and with it every turn of the process."""
    hostile = {"type": "object", "properties": {"rows": {"type": "array", **items}}}
    with within(1.0):
        arguments.misfits({"rows": [{"row": number} for number in range(4_000)]}, hostile)
