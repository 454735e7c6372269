"""OpenAPI documents as they are written: JSON or YAML."""

import json
from collections.abc import Mapping
from typing import Any

from .errors import ConfigError

MAX_DOCUMENT = 16 * 1024 * 1024  # bytes


def load(source: bytes | str) -> dict[str, Any]:
    """The document as a mapping, from JSON or YAML.

    :raises ConfigError: with a sentence
    """
    if len(source) > MAX_DOCUMENT:
        raise ConfigError("The OpenAPI document is too large.")
    try:
        written = source.decode("utf-8-sig") if isinstance(source, bytes) else source
        found = json.loads(written) if written.lstrip().startswith("{") else _yaml(written)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            "The OpenAPI document is neither valid JSON nor YAML.", detail=str(error)[:300]
        ) from error
    version = found.get("openapi") if isinstance(found, Mapping) else None
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        raise ConfigError("The document is not of OpenAPI 3.0 or 3.1.")
    return dict(found)


def _yaml(written: str) -> Any:
    import yaml  # noqa: PLC0415

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        """Without aliases: a few lines of them stand for gigabytes."""

        def compose_node(self, parent, index):
            if self.check_event(yaml.AliasEvent):
                raise ConfigError(
                    "The OpenAPI document uses YAML aliases, which are not supported."
                )
            return super().compose_node(parent, index)

    # Dates stay the texts that they are in JSON.
    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in Loader.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(written, Loader)  # noqa: S506 a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
