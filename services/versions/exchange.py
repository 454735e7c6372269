"""Configuration file: assistants and what they consist of as JSON, to be brought from one database into another.

``{"format", "version", "providers": [entry], …}``. An entry has an ``id`` that stays, a UUID, and all fields of its
section. What it refers to is ``{"id", "name"}``; the name is for people. The same state gives the same bytes.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import text
from ..errors import ConfigurationFileError
from ..sentence import _lt
from .difference import without_names

FORMAT = "woow_paas_platform.configuration"
VERSION = 1
MAX_BYTES = 16 * 1024 * 1024  # of a file
MAX_ENTRIES = 2_000  # of a section
MAX_ITEMS = 1_000  # of a list or an object in an entry
MAX_TEXT = 200_000  # characters of one text
MAX_KEY = 1_000  # characters of a name or of an id that refers to something
MAX_NUMBER = 2**31 - 1  # what a column holds
BESIDE = ("id", "company", "secrets")
"""Keys of an entry that are no part of the state: a difference in them is none."""

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Values that a field takes.

    :ivar kind: ``text``, ``words`` (by language), ``switch``, ``whole``, ``number``, ``choice``, ``names``,
        ``pairs``, ``reference``, ``references`` or ``lines``
    :ivar choices: of a ``choice``
    :ivar inside: fields of each line
    :ivar is_required: an empty value does not fit
    """

    kind: str
    choices: tuple[str, ...] = ()
    inside: Mapping[str, "Shape"] = field(default_factory=dict)
    is_required: bool = False


Shapes = Mapping[str, Shape]


def write(sections: Mapping[str, list[Entry]]) -> bytes:
    """The file of these entries, by section.

    >>> read(write({"rules": []}), {"rules": {}})
    {'rules': []}

    :raises ConfigurationFileError: more than `read` takes
    """
    document = {"format": FORMAT, "version": VERSION}
    for name, entries in sections.items():
        document[name] = sorted(entries, key=lambda entry: entry["id"])
    raw = json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True).encode() + b"\n"
    if len(raw) > MAX_BYTES or any(len(entries) > MAX_ENTRIES for entries in sections.values()):
        raise ConfigurationFileError(
            _lt("This is too much for one file. Choose fewer assistants."), "file_too_large"
        )
    return raw


def read(raw: bytes, sections: Mapping[str, Shapes]) -> dict[str, list[Entry]]:
    """Entries of a file by section, each with all of its fields and no others.

    :param sections: shapes of the fields of each section's entries
    :raises ConfigurationFileError: nothing of it can be taken
    """
    document = _parsed(raw)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigurationFileError(
            _lt("This is not a configuration file. Export one under AI ▸ Assistants."),
            "invalid_json",
        )
    if document.get("version") != VERSION:
        raise ConfigurationFileError(
            _lt(
                "The file has another format version. Export it again with this version of the app."
            ),
            "unsupported_version",
        )
    _check_keys(document, {"format", "version", *sections}, "")
    found = {}
    for name, shapes in sections.items():
        entries = document.get(name, [])
        if not isinstance(entries, list) or len(entries) > MAX_ENTRIES:
            raise _misfit(name)
        for number, entry in enumerate(entries):
            _check_entry(entry, shapes, f"{name}[{number}]")
        if len({entry["id"] for entry in entries}) < len(entries):
            raise ConfigurationFileError(
                _lt("The file has the same ID twice in “%(section)s”.", section=name)
            )
        found[name] = entries
    return found


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of the fields that differ, whatever the names of what they refer to.

    >>> changes({"id": "1", "model": "small"}, {"id": "2", "model": "large"})
    ['model']
    """
    return [
        name
        for name in now
        if name not in BESIDE and without_names(before.get(name)) != without_names(now[name])
    ]


def _parsed(raw: bytes) -> Any:
    if len(raw) > MAX_BYTES:
        raise ConfigurationFileError(
            _lt("The file is larger than %(limit)s MB.", limit=MAX_BYTES // 1024 // 1024),
            "file_too_large",
        )
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ConfigurationFileError(_lt("The file is not valid JSON."), "invalid_json") from error


def _misfit(place: str) -> ConfigurationFileError:
    return ConfigurationFileError(
        _lt("The file has an invalid value at “%(place)s”.", place=text.one_line(place, 200))
    )


def _check_keys(found: Mapping[str, Any], known: set[str], place: str) -> None:
    for key in found:
        if key not in known:
            name = text.one_line(f"{place}.{key}" if place else key, 200)
            raise ConfigurationFileError(
                _lt("The file has an unknown field: “%(place)s”.", place=name), "unknown_field"
            )


def _check_entry(entry: Any, shapes: Shapes, place: str) -> None:
    if not isinstance(entry, dict) or not _is_uuid(entry.get("id")):
        raise _misfit(f"{place}.id")
    _check_fields(entry, {"id": Shape("text"), **shapes}, place)


def _check_fields(found: Any, shapes: Shapes, place: str) -> None:
    if not isinstance(found, dict):
        raise _misfit(place)
    _check_keys(found, set(shapes), place)
    for name, shape in shapes.items():
        here = f"{place}.{name}"
        if name not in found:
            raise _misfit(here)
        _check(found[name], shape, here)


def _check(value: Any, shape: Shape, place: str) -> None:
    if shape.kind == "lines":
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise _misfit(place)
        for number, line in enumerate(value):
            _check_fields(line, shape.inside, f"{place}[{number}]")
    elif shape.kind == "choice":
        if not (isinstance(value, str) and value in shape.choices):
            raise _misfit(place)
    elif not FITS[shape.kind](value) or (shape.is_required and value in (None, "", {})):
        raise _misfit(place)


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False


def _is_text(value: Any, limit: int = MAX_TEXT) -> bool:
    return isinstance(value, str) and len(value) <= limit and text.storable(value) == value


def _is_key(value: Any) -> bool:
    return _is_text(value, MAX_KEY)


def _are_words(value: Any) -> bool:
    """By language, English first: Odoo keeps no others without it."""
    if not isinstance(value, dict) or len(value) > MAX_ITEMS:
        return False
    return (
        (not value or "en_US" in value)
        and all(map(_is_key, value))
        and all(map(_is_text, value.values()))
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= MAX_NUMBER


def _is_reference(value: Any) -> bool:
    return value is None or _is_named(value)


def _is_named(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"id", "name"}
        and all(map(_is_key, value.values()))
        and bool(value["id"])
    )


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, list) and len(value) <= MAX_ITEMS and all(map(fits, value))
    )


def _are_pairs(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= MAX_ITEMS and all(map(_is_key, _both(value)))


def _both(pairs: Mapping[str, Any]) -> Iterator[Any]:
    yield from pairs
    yield from pairs.values()


FITS: Mapping[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "words": _are_words,
    "switch": lambda value: isinstance(value, bool),
    "whole": lambda value: _is_number(value) and isinstance(value, int),
    "number": _is_number,
    "names": _all(_is_key),
    "pairs": _are_pairs,
    "reference": _is_reference,
    "references": _all(_is_named),
}
