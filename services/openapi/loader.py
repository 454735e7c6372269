"""OpenAPI loader: documents as they are written, in JSON or YAML."""

import itertools
import json
from collections.abc import Mapping
from json import scanner
from typing import Any

from .. import large
from ..errors import ConfigError, ResultTooLarge
from ..sentence import _lt

MAX_DOCUMENT = 16 * 1024 * 1024  # bytes
MAX_VALUES = 600_000  # of a document
TOO_LARGE = _lt("The OpenAPI document is too large.")
TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")
}


def load(source: bytes | bytearray | str) -> dict[str, Any]:
    """The document as a mapping, from JSON or YAML.

    :raises ConfigError: with a sentence
    """
    if len(source) > MAX_DOCUMENT:
        raise ConfigError(TOO_LARGE)
    try:
        written = source if isinstance(source, str) else source.decode("utf-8-sig")
        is_json = written[:1_000].lstrip()[:1] == "{"
        if is_json:
            large.check(written.encode(), MAX_DOCUMENT, MAX_VALUES)
        found = _Json().decode(written) if is_json else _yaml(written)
    except ResultTooLarge as error:
        raise ConfigError(TOO_LARGE, detail=error.detail) from error
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            _lt("The OpenAPI document is neither valid JSON nor YAML."), detail=str(error)[:300]
        ) from error
    version = found.get("openapi") if isinstance(found, Mapping) else None
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        raise ConfigError(_lt("The document is not an OpenAPI 3.0 or 3.1 document."))
    return dict(found)


class _Json(json.JSONDecoder):
    """Reads in Python, so that other threads go on: the scanner in C holds the interpreter's lock to the end."""

    def __init__(self):
        super().__init__()
        in_python: Any = scanner  # the stubs do not have it
        self.scan_once = in_python.py_make_scanner(self)


def _yaml(written: str) -> Any:
    import yaml  # noqa: PLC0415

    nodes = itertools.count()

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        """Loader without aliases: a few lines of them stand for gigabytes."""

        def compose_node(self, parent, index):
            if next(nodes) > MAX_VALUES:
                raise ConfigError(TOO_LARGE)
            if self.check_event(yaml.AliasEvent):
                raise ConfigError(
                    _lt("The OpenAPI document uses YAML aliases, which are not supported.")
                )
            return super().compose_node(parent, index)

    # Only what JSON has, too. The constructor without a tag refuses all others.
    Loader.yaml_constructors = {
        tag: make for tag, make in Loader.yaml_constructors.items() if tag is None or tag in TAGS
    }
    # Dates stay the texts that they are in JSON.
    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in Loader.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(written, Loader)  # noqa: S506 a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
