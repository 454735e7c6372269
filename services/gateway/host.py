"""Port that a host implements: what its caller has, and how a tool of it is called."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..errors import ElicitationRequired
from ..specs import ServerSpec, ToolSpec
from .approval import Answer, Question
from .questions import Asked
from .tasks import Task

Call_co = TypeVar("Call_co", covariant=True)
"""The host's own word for a call that it makes later."""

ToolResult = Mapping[str, Any]
"""MCP's ``CallToolResult``, as `results` makes it."""


class UnknownTool(LookupError):
    """The caller has no tool of this name."""


class UnknownState(LookupError):
    """No call of this kind waits for these answers of the caller."""


class MissingScope(Exception):
    """The caller's token lacks a scope that this tool needs.

    :ivar scope: of `services.oauth_server.const`
    """

    def __init__(self, scope: str):
        super().__init__(scope)
        self.scope = scope


class Unknown(LookupError):
    """The caller has no prompt, resource or task of this name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """In place of what a server was asked for.

    :ivar code: snake_case, stable
    :ivar is_callers: the server does not know, or does not take, what the client has sent
    """

    sentence: str
    code: str
    is_callers: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """In place of what a server was asked for: its questions, for a client that shows them.

    :ivar server: its name
    """

    server: str
    error: ElicitationRequired


class Host(Protocol[Call_co]):
    """One caller of the gateway, who is known by now.

    :ivar tells_changes: clients can be told that their tools have changed
    :ivar session_key: secret of this caller's sessions, see `sessions`
    :ivar listed_tokens: tokens of definitions beyond which tools are found, not listed; 0 for any number

    What is made later of the last six is what each of them says, or a `Failure`; of a call it is its result, a task, or
    `questions.Asked`. ``server`` is that of `uris.address`.
    """

    tells_changes: bool
    session_key: bytes
    listed_tokens: int

    def servers(self) -> Mapping[int, ServerSpec]:
        """Servers of the tools by id, of which nothing but names and descriptions is read."""
        ...

    def tools(self) -> Iterable[ToolSpec]:
        """The tools that this caller may call now, in any order; `ToolSpec.alias` is their name."""
        ...

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        answer: Answer | None,
        check: Callable[[Mapping[str, Any]], None],
    ) -> "Call_co | ToolResult | Question | Asked":
        """Decide on a call.

        :param name: an alias, not checked
        :param arguments: as the client sent them
        :param answer: of the user to the questions about this very call, not checked
        :param check: is given the schema of the tool's arguments before anything is done; may raise an `RpcError`
        :return: the call, to be made later; a result at once, such as that of a refusal; or what the user is asked
        :raises UnknownTool: the caller has none of this name
        :raises UnknownState: the answers are to nothing that was asked about this very call
        :raises MissingScope: the caller has it, the token does not allow it
        """
        ...

    def keep_log_level(self, session: str, level: str) -> None:
        """Keep the level of log messages that a legacy client takes.

        :param session: key of its `sessions.Session`
        :param level: of `services.mcp.session.logs`
        """
        ...

    def log_level(self, session: str) -> str:
        """The level that was kept, empty without one."""
        ...

    def answer(self, key: str, result: Mapping[str, Any]) -> None:
        """Take an answer of the user to a question for which its server waits.

        :param key: of `stream.Stream.question`, not checked
        :param result: MCP's ``ElicitResult``, not checked
        :raises Unknown: nobody waits for it
        """
        ...

    def as_task(self, question: Question) -> Task | None:
        """Make a task of the call that its user is asked about, None where this client can have none of it."""
        ...

    def task(self, task_id: str) -> Task:
        """State of a task; one that its user has allowed goes on.

        :param task_id: not checked
        :raises Unknown: this client of this caller has none
        """
        ...

    def update_task(self, task_id: str, responses: Mapping[str, Any]) -> None:
        """Answer questions of a task, see `task`.

        :param responses: by the keys of the questions, not checked
        """
        ...

    def cancel_task(self, task_id: str) -> None:
        """End a task unless it is over, see `task`."""
        ...

    def prompts(self) -> "Call_co":
        """Prompts of all servers: ``{"entries": [features.prompt()], "problems": […]}``, see `resources`."""
        ...

    def prompt(
        self, name: str, arguments: Mapping[str, str], more: Mapping[str, Any] | None
    ) -> "Call_co":
        """One prompt: ``(server, its GetPromptResult)``, which is untrusted; or what the server has `Wanted`.

        :param name: of `prompts`, not checked
        :param more: answers of the user, None where the client shows no questions
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

    def resource(self, uri: str, more: Mapping[str, Any] | None) -> "Call_co":
        """One resource: ``(server, its ReadResourceResult)``, as `prompt`.

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
