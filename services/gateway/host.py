"""Port that a host implements: which tools its caller has, and how one of them is called."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from ..specs import ToolSpec
from .approval import Answer, Question

Call_co = TypeVar("Call_co", covariant=True)
"""The host's own word for a call that it makes later."""

ToolResult = Mapping[str, Any]
"""MCP's ``CallToolResult``, as `results` makes it."""


class UnknownTool(LookupError):
    """The caller has no tool of this name."""


class Host(Protocol[Call_co]):
    """One caller of the gateway, who is known by now."""

    def tools(self) -> Iterable[ToolSpec]:
        """The tools that this caller may call now, in any order; `ToolSpec.alias` is their name."""
        ...

    def call(
        self, name: str, arguments: Mapping[str, Any], answer: Answer | None
    ) -> "Call_co | ToolResult | Question":
        """Decide on a call.

        :param name: an alias, not checked
        :param arguments: as the client sent them
        :param answer: of the user to the question about this very call, not checked
        :return: the call, to be made later; a result at once, such as that of a refusal; or what the user is asked
        :raises UnknownTool: the caller has none of this name
        """
        ...
