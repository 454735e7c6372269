"""Port that a host implements: what its caller has, and how a tool of it is called."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..specs import ToolSpec
from .approval import Answer, Question

Call_co = TypeVar("Call_co", covariant=True)
"""The host's own word for a call that it makes later."""

ToolResult = Mapping[str, Any]
"""MCP's ``CallToolResult``, as `results` makes it."""


class UnknownTool(LookupError):
    """The caller has no tool of this name."""


class Unknown(LookupError):
    """The caller has no prompt or resource of this name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """In place of what a server was asked for.

    :ivar code: snake_case, stable
    :ivar is_callers: the server does not know, or does not take, what the client has sent
    """

    sentence: str
    code: str
    is_callers: bool = False


class Host(Protocol[Call_co]):
    """One caller of the gateway, who is known by now.

    :ivar tells_changes: clients can be told that their tools have changed

    What is made later of the last six is what each of them says, or a `Failure`. ``server`` is that of `uris.address`.
    """

    tells_changes: bool

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

    def prompts(self) -> "Call_co":
        """Prompts of all servers: ``{"entries": [features.prompt()], "problems": […]}``, see `resources`."""
        ...

    def prompt(self, name: str, arguments: Mapping[str, str]) -> "Call_co":
        """One prompt: ``(server, its GetPromptResult)``, which is untrusted.

        :param name: of `prompts`, not checked
        :raises Unknown: no server has a prompt of this name
        """
        ...

    def resources(self) -> "Call_co":
        """Resources of all servers: ``{"entries": [features.resource()], "problems": […]}``.

        A problem is a server that did not answer: ``{"server", "code", "message"}``.
        """
        ...

    def templates(self) -> "Call_co":
        """Templates of all servers, see `resources`."""
        ...

    def resource(self, uri: str) -> "Call_co":
        """One resource: ``(server, its ReadResourceResult)``, which is untrusted.

        :param uri: of `resources`, not checked
        :raises Unknown: no server here is asked for it
        """
        ...

    def complete(
        self, ref: Mapping[str, str], argument: Mapping[str, str], given: Mapping[str, str]
    ) -> "Call_co":
        """Completions of an argument: ``Completion`` of `prompts_resources` as a dict.

        :param ref: ``{"name"}`` of a prompt or ``{"uri"}`` of a template, not checked
        :param argument: ``{"name", "value"}``
        :param given: the other arguments so far
        :raises Unknown: see `prompt` and `resource`
        """
        ...
