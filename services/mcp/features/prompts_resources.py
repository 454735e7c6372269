"""MCP server features beside tools: prompts, resources, and completion of their arguments.

The methods of MCP 2025-11-25, server/prompts, server/resources and server/utilities/completion; the same in
2026-07-28. Everything that comes back is untrusted: invisible characters are removed, wrong shapes are
passed over, long text is cut in the middle.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ... import const, jsonrpc, large, text
from ...errors import ProtocolError, ServerRefused
from ...sentence import _lt
from ...specs import ServerSpec
from ..discovery import content
from ..discovery.discovery import is_name
from ..pool.pool import Pool
from ..session import elicitation, paging
from ..session.call_options import CallOptions
from . import uri_template

_T = TypeVar("_T")

COMPLETION_TIMEOUT = 5.0  # s, later a person has typed on
MAX_COMPLETIONS = 100  # values of one answer (MCP 2025-11-25, server/utilities/completion)
MAX_ARGUMENTS = 50  # of one prompt
MAX_MESSAGES = 50  # of one prompt
MAX_CONTENTS = 50  # of one resource
MAX_URI = 2_000  # characters
MAX_DESCRIPTION = 2_000  # characters

READ = CallOptions(may_repeat=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    name: str
    title: str = ""
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A message that the server has prepared, for a person to choose."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """`files` are ``{"name", "mimetype", "data"}`` with base64 data, of which `text` says nothing."""

    role: str  # "user" or "assistant"
    text: str
    files: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPrompt:
    """A prompt with its arguments."""

    messages: tuple[PromptMessage, ...]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something to read. Of a template `uri` holds ``{names}`` to fill in (RFC 6570)."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mimetype: str = ""
    size: int | None = None  # bytes, as the server says
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContent:
    """One part of a resource: text, or a file."""

    uri: str
    mimetype: str = ""
    text: str = ""
    truncated: bool = False
    files: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False


class ServerFeatures:
    """Prompts and resources of one server for one conversation. Every method raises `EngineError` and nothing else."""

    def __init__(self, pool: Pool, spec: ServerSpec, conversation_id: Any):
        self._pool = pool
        self._spec = spec
        self._conversation_id = conversation_id

    async def prompts(self) -> list[Prompt]:
        """All of them; none from a server that has no prompts."""
        return await self._list("prompts", "prompts/list", "prompts", _prompt)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> FilledPrompt:
        """Fill in a prompt.

        :param arguments: ``{name: text}``
        """
        return await large.apply(_filled, await self.prompt_as_sent(name, arguments))

    async def prompt_as_sent(
        self, name: str, arguments: Mapping[str, str], more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The server's ``GetPromptResult``.

        :param arguments: ``{name: text}``
        :param more: see `_ask`
        """
        params = {"name": name, "arguments": dict(arguments)}
        return await self._ask("prompts/get", params, more=more)

    async def resources(self) -> list[Resource]:
        return await self._list("resources", "resources/list", "resources", _resource)

    async def templates(self) -> list[Resource]:
        return await self._list(
            "resources", "resources/templates/list", "resourceTemplates", _template
        )

    async def resource(self, uri: str, limit: int = const.LLM_RESULT_CAP) -> list[ResourceContent]:
        """:param limit: characters of each text"""
        return await large.apply(_contents, await self.resource_as_sent(uri), limit)

    async def resource_as_sent(
        self, uri: str, more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The server's ``ReadResourceResult``.

        :param uri: of `resources`, or a filled-in template
        :param more: see `_ask`
        """
        return await self._ask("resources/read", {"uri": uri}, more=more)

    async def complete(
        self,
        *,
        argument: str,
        value: str,
        given: Mapping[str, str],
        prompt: str = "",
        uri: str = "",
    ) -> Completion:
        """Completions of `value`, the beginning of an argument; none from a server that does not support them.

        :param prompt: name of the prompt, or
        :param uri: template of the resource
        :param given: the other arguments so far
        """
        ref = (
            {"type": "ref/prompt", "name": prompt}
            if prompt
            else {"type": "ref/resource", "uri": uri}
        )
        params = {
            "ref": ref,
            "argument": {"name": argument, "value": value},
            "context": {"arguments": dict(given)},
        }
        if not await self._has("completions"):
            return Completion()
        answer = await self._ask("completion/complete", params, COMPLETION_TIMEOUT)
        return await large.apply(_completion, answer)

    # ------------------------------------------------------------ requests

    async def _has(self, capability: str) -> bool:
        info = await self._pool.info(self._spec, self._conversation_id)
        return (info.capabilities or {}).get(capability) is not None

    async def _list(
        self, capability: str, method: str, key: str, read: Callable[[Mapping[str, Any]], _T | None]
    ) -> list[_T]:
        """Entries of a list, each made by `read`; none if the server has said that it has no such list."""
        request = functools.partial(
            self._pool.request, self._spec, self._conversation_id, options=READ
        )
        ask = paging.within(self._spec.sync_timeout, request)
        try:
            if not await self._has(capability):
                return []
            found: list[_T] = []
            async for page in paging.Listing(ask, method, key).pages():
                found += await large.apply(_each, page, read)
            return found
        except ServerRefused as error:
            if error.rpc_code == jsonrpc.METHOD_NOT_FOUND:  # resources without templates are common
                return []
            raise

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Reading has no side effects, so a request whose answer was lost is made once more.

        :param more: params of `elicitation.retry_params`, None where nobody can be asked
        :raises ElicitationRequired: the server asks somebody
        """
        result = await self._pool.request(
            self._spec,
            self._conversation_id,
            method,
            {**params, **(more or {})},
            timeout=min(timeout or self._spec.call_timeout, self._spec.call_timeout),
            options=READ,
        )
        if result.get("resultType", "complete") == elicitation.REQUIRED:
            if more is not None:
                raise elicitation.required_by_result(result)
            raise ServerRefused(
                _lt("The MCP server requires more information before it can show this.")
            )
        return result


def _each(
    page: list[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], _T | None]
) -> list[_T]:
    return [found for entry in page if (found := read(entry))]


def _filled(answer: Mapping[str, Any]) -> FilledPrompt:
    messages = answer.get("messages")
    if not isinstance(messages, list):
        raise ProtocolError(_lt("The MCP server sent a prompt without messages."))
    return FilledPrompt(
        messages=tuple(filter(None, map(_message, messages[:MAX_MESSAGES]))),
        description=_line(answer.get("description")),
    )


def _contents(answer: Mapping[str, Any], limit: int) -> list[ResourceContent]:
    parts = answer.get("contents")
    if not isinstance(parts, list):
        raise ProtocolError(_lt("The MCP server sent a resource without contents."))
    return [_content(part, limit) for part in parts[:MAX_CONTENTS] if isinstance(part, Mapping)]


def _completion(answer: Mapping[str, Any]) -> Completion:
    found = answer.get("completion")
    found = found if isinstance(found, Mapping) else {}
    values = found.get("values")
    if not isinstance(values, list):
        raise ProtocolError(_lt("The MCP server sent a completion without values."))
    total = found.get("total")
    return Completion(
        values=tuple(
            text.clean(v[:MAX_DESCRIPTION]) for v in values[:MAX_COMPLETIONS] if isinstance(v, str)
        ),
        total=total if isinstance(total, int) else None,
        has_more=found.get("hasMore") is True,
    )


def _prompt(entry: Mapping[str, Any]) -> Prompt | None:
    if not is_name(entry.get("name")):
        return None
    given = entry.get("arguments")
    return Prompt(
        name=entry["name"],
        title=_line(entry.get("title"), 200),
        description=_line(entry.get("description")),
        arguments=tuple(
            PromptArgument(
                name=argument["name"],
                title=_line(argument.get("title"), 200),
                description=_line(argument.get("description")),
                required=argument.get("required") is True,
            )
            for argument in (given[:MAX_ARGUMENTS] if isinstance(given, list) else [])
            if isinstance(argument, Mapping) and is_name(argument.get("name"))
        ),
    )


def _message(message: Any) -> PromptMessage | None:
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        return None
    blocks = message.get("content")
    read = content.read(
        {"content": blocks if isinstance(blocks, list) else [blocks]},
        llm_cap=const.LLM_RESULT_CAP,
        ui_cap=const.LLM_RESULT_CAP,
        are_files_told=False,
    )
    return PromptMessage(role=message["role"], text=read.text, files=tuple(read.attachments))


def _template(entry: Mapping[str, Any]) -> Resource | None:
    return _resource(entry, "uriTemplate")


def _resource(entry: Mapping[str, Any], key: str = "uri") -> Resource | None:
    uri = entry.get(key)
    if not isinstance(uri, str) or not 0 < len(uri) <= MAX_URI or text.clean(uri) != uri:
        return None
    size = entry.get("size")
    return Resource(
        uri=uri,
        name=_line(entry.get("name"), 200) or uri,
        title=_line(entry.get("title"), 200),
        description=_line(entry.get("description")),
        mimetype=_line(entry.get("mimeType"), 100),
        size=size if isinstance(size, int) and size >= 0 else None,
        variables=uri_template.variables(uri) if key == "uriTemplate" else (),
    )


def _content(part: Mapping[str, Any], limit: int) -> ResourceContent:
    uri = text.one_line(str(part.get("uri", "")), MAX_URI)
    written = part.get("text")
    if isinstance(written, str):
        written = text.clean(written[: limit * 2])
        return ResourceContent(
            uri=uri,
            mimetype=_line(part.get("mimeType"), 100),
            text=text.cap(written, limit),
            truncated=len(written) > limit,
        )
    read = content.read(
        {"content": [{"type": "resource", "resource": part}]},
        llm_cap=const.LLM_RESULT_CAP,
        ui_cap=const.LLM_RESULT_CAP,
    )
    mimetype = read.attachments[0]["mimetype"] if read.attachments else ""
    return ResourceContent(
        uri=uri, mimetype=mimetype, text=read.text, files=tuple(read.attachments)
    )


def _line(value: Any, limit: int = MAX_DESCRIPTION) -> str:
    return text.one_line(value, limit) if isinstance(value, str) else ""
