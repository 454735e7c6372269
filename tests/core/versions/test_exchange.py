"""Configuration files: what is written is read again, and nothing else is."""

import json

import pytest

from services.errors import ConfigurationFileError
from services.versions import exchange
from services.versions.exchange import Shape

ID, OTHER = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6fa459ea-ee8a-4ca4-894e-db77e160355e"
SECTIONS = {
    "things": {
        "name": Shape("words", is_required=True),
        "level": Shape("choice", ("low", "high")),
        "count": Shape("whole"),
        "weight": Shape("number"),
        "is_on": Shape("switch"),
        "notes": Shape("text"),
        "tools": Shape("names"),
        "policies": Shape("pairs"),
        "owner": Shape("reference"),
        "groups": Shape("references"),
        "rules": Shape("lines", inside={"tool": Shape("reference", is_required=True)}),
    }
}
THING = {
    "id": ID,
    "name": {"en_US": "One", "zh_TW": "一"},
    "level": "low",
    "count": 3,
    "weight": 0.5,
    "is_on": True,
    "notes": "",
    "tools": ["add"],
    "policies": {"add": "ask"},
    "owner": {"id": OTHER, "name": "Two"},
    "groups": [{"id": "base.group_user", "name": "User"}],
    "rules": [{"tool": {"id": f"{OTHER}/add", "name": "add"}}],
}


def read(**changes):
    document = {"format": exchange.FORMAT, "version": 1, "things": [{**THING, **changes}]}
    return exchange.read(json.dumps(document).encode(), SECTIONS)


def refusal(raw):
    with pytest.raises(ConfigurationFileError) as caught:
        exchange.read(raw, SECTIONS)
    assert str(caught.value)
    return caught.value.code


def test_what_is_written_is_read_again_and_the_same_bytes_are_the_same_state():
    other = {**THING, "id": OTHER}
    raw = exchange.write({"things": [other, THING]})
    assert exchange.read(raw, SECTIONS) == {"things": [THING, other]}
    assert raw == exchange.write({"things": [THING, other]})


def test_a_file_of_another_kind_is_refused():
    assert refusal(b" " * (exchange.MAX_BYTES + 1)) == "file_too_large"
    for raw in (b"", b"no JSON", b"[" * 200_000, b"\xff\xfe", b"[]", b"{}", b'{"format": "x"}'):
        assert refusal(raw) == "invalid_json", raw[:10]
    head = {"format": exchange.FORMAT, "version": 1}
    for version in (0, 2, "1", None):
        assert refusal(json.dumps({**head, "version": version}).encode()) == "unsupported_version"
    assert refusal(json.dumps({**head, "secrets": []}).encode()) == "unknown_field"
    for things in ({}, "x", [None], [THING, THING], [THING] * (exchange.MAX_ENTRIES + 1)):
        assert refusal(json.dumps({**head, "things": things}).encode()) == "invalid_field"
    assert exchange.read(json.dumps(head).encode(), SECTIONS) == {"things": []}


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "id": (None, 1, "base.main_company", ID.upper(), "{" + ID + "}", ""),
        "name": ({}, "One", {"zh_TW": "一"}, {"en_US": 1}, {"en_US": "a\0"}, {"en_US": "\ud800"}),
        "level": ("", "LOW", None, ["low"], {}),
        "count": (True, 1.0, "1", 2**31, -(2**31), None),
        "weight": (True, float("nan"), float("inf"), 1e300, "1"),
        "is_on": (1, "true", None),
        "notes": (None, 1, ["a"], "a" * (exchange.MAX_TEXT + 1)),
        "tools": ("add", [1], [None], ["a" * 2_000], ["a"] * 2_000),
        "policies": ([], {"add": 1}, {"a\0": "ask"}),
        "owner": ({}, {"id": ID}, {"id": 1, "name": "a"}, {"id": "", "name": ""}, ID, []),
        "groups": ({}, [None], [[]], [{"id": ID, "name": "a", "x": 1}]),
        "rules": ({}, [None], [{}], [{"tool": None}], [{"tool": "add"}]),
    }.items(),
)
def test_values_of_another_form_are_refused_with_their_place(name, values):
    for value in values:
        with pytest.raises(ConfigurationFileError) as caught:
            read(**{name: value})
        assert caught.value.code == "invalid_field", value
        assert f"things[0].{name}" in str(caught.value)


def test_fields_that_are_unknown_or_missing_are_refused():
    for changes in ({"api_key": "x"}, {"rules": [{"tool": THING["owner"], "user": 1}]}):
        with pytest.raises(ConfigurationFileError) as caught:
            read(**changes)
        assert caught.value.code == "unknown_field"
    document = {"format": exchange.FORMAT, "version": 1}
    for name in THING:
        lacking = {key: value for key, value in THING.items() if key != name}
        assert refusal(json.dumps({**document, "things": [lacking]}).encode()) == "invalid_field"


def test_a_name_of_what_is_referred_to_is_no_change():
    renamed = {**THING, "owner": {"id": OTHER, "name": "Renamed"}, "secrets": ["api_key"]}
    assert exchange.changes(THING, renamed) == []
    assert exchange.changes(THING, {**THING, "name": {"en_US": "Two"}, "count": 4}) == [
        "name",
        "count",
    ]
    assert exchange.changes({}, {"id": ID, "count": 1}) == ["count"]
