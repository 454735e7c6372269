"""Tool annotations: the hints of MCP's ``ToolAnnotations``, with the schema's default for each that is missing.

Source: MCP 2026-07-28, schema.ts, ``ToolAnnotations``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints about the effect of a tool. They are the server's word: believe them only as far as the server is trusted.

    :ivar read_only: the tool changes nothing
    :ivar destructive: it may delete or overwrite; never true of a read-only tool
    :ivar idempotent: a second call with the same arguments changes nothing more
    :ivar open_world: it reaches entities outside the server's own domain, such as web pages, mail or other people
    :ivar says_destructive: `destructive` is the server's own word, not the default
    """

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    says_destructive: bool


def read(annotations: Mapping[str, Any]) -> Hints:
    """Read the hints; whatever is no boolean counts as missing.

    >>> read({})
    Hints(read_only=False, destructive=True, idempotent=False, open_world=True, says_destructive=False)
    >>> read({"readOnlyHint": True, "openWorldHint": False, "destructiveHint": True}).destructive
    False

    :param annotations: of a tool, as its server sent them
    """
    read_only = annotations.get("readOnlyHint") is True
    said = annotations.get("destructiveHint")
    return Hints(
        read_only=read_only,
        destructive=not read_only and said is not False,
        idempotent=annotations.get("idempotentHint") is True,
        open_world=annotations.get("openWorldHint") is not False,
        says_destructive=not read_only and said is True,
    )
