"""MCP prompts and resources of all servers that a person's MCP clients may use: read after the commit, as in
`prompts_resources`.

A server that fails costs only its own part of a list. Names and addresses are those of `services.gateway`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

from ...services import jsonrpc
from ...services.errors import ElicitationRequired, EngineError, ServerRefused
from ...services.gateway import features, uris
from ...services.gateway.host import Failure, Unknown, Wanted
from ...services.turn import names
from .. import process
from . import api_error
from .prompts_resources import CONNECT_ALLOWANCE

NOT_TAKEN = (jsonrpc.INVALID_PARAMS, -32002)  # what servers say to names that they do not know


@dataclass(frozen=True, slots=True)
class Read:
    """One question to servers.

    :ivar ask: ``await ask(engine)``
    :ivar timeout: s
    """

    ask: Callable[[Any], Awaitable[Any]]
    timeout: float


def make(reads, reader):
    """Ask side by side.

    :param reader: of errors
    :return: what each gave, or its `Failure`
    """

    async def safely(engine, read):
        try:
            return await read.ask(engine)
        except EngineError as error:
            return failure(error, reader)

    async def ask_all(engine):
        return await asyncio.gather(*(safely(engine, read) for read in reads))

    try:
        return process.wait_for(ask_all, max(read.timeout for read in reads)) if reads else []
    except EngineError as error:
        return [failure(error, reader)] * len(reads)


def failure(error, reader):
    said = api_error.of(error, reader)
    is_callers = isinstance(error, ServerRefused) and error.rpc_code in NOT_TAKEN
    return Failure(str(said.description), said.error_code, is_callers)


class ClientReads:
    """Part of a `services.gateway.host.Host`; each method gives a `Read`."""

    def __init__(self, env, gateway):
        self.env = env
        self.gateway = gateway
        self._by_kind = {}
        self._session_key = f"direct-{env.uid}"
        self._reader = api_error.request_reader()
        self._unknown = env._("There is no such prompt or resource here.")

    def _servers(self, kind):
        """``{name: specification}`` of the servers, an `EngineError` in its place where there is none.

        :param kind: "prompts" or "resources"
        """
        if kind not in self._by_kind:
            servers = self.gateway._servers(kind)
            called = servers._unambiguous_names() if servers else {}
            specs, problems = servers._server_specs(self.env.user)
            self._by_kind[kind] = {called[one]: (specs | problems)[one.id] for one in servers}
        return self._by_kind[kind]

    def _specs(self, kind):
        """``(name, specification)`` of each server that can be asked."""
        known = self._servers(kind).items()
        return [(called, spec) for called, spec in known if not isinstance(spec, EngineError)]

    def _problems(self, kind):
        known = self._servers(kind).items()
        return [(called, error) for called, error in known if isinstance(error, EngineError)]

    def prompts(self):
        return self._list("prompts", lambda server: server.prompts(), _prompts)

    def resources(self):
        return self._list("resources", lambda server: server.resources(), _resources)

    def templates(self):
        return self._list("resources", lambda server: server.templates(), _templates)

    def prompt(self, name, arguments, more):
        async def ask(engine):
            spec, known = await self._prompt_called(name, engine)
            server = engine.features(spec, self._session_key)
            return await _answered(
                spec, self._key("prompts", spec), server.prompt_as_sent(known, arguments, more)
            )

        return Read(ask, _patience(self._of_prompt(name)))

    def resource(self, uri, more):
        spec, own = self._of_uri(uri)

        async def ask(engine):
            server = engine.features(spec, self._session_key)
            return await _answered(
                spec, self._key("resources", spec), server.resource_as_sent(own, more)
            )

        return Read(ask, _patience([spec]))

    def complete(self, ref, argument, given):
        asked = {"argument": argument["name"], "value": argument["value"], "given": given}
        if "uri" in ref:
            spec, own = self._of_uri(ref["uri"])
            near = [spec]
        else:
            near = self._of_prompt(ref["name"])

        async def ask(engine):
            if "uri" in ref:
                found = await engine.features(spec, self._session_key).complete(**asked, uri=own)
            else:
                of, known = await self._prompt_called(ref["name"], engine)
                server = engine.features(of, self._session_key)
                found = await server.complete(**asked, prompt=known)
            return asdict(found)

        return Read(ask, _patience(near))

    # ------------------------------------------------------------ servers

    def _key(self, kind, spec):
        return next(names.server_key(called) for called, one in self._specs(kind) if one is spec)

    def _of_uri(self, uri):
        """:return: the server's specification and its own URI"""
        key, own = uris.split(uri)
        for called, spec in self._specs("resources"):
            if names.server_key(called) == key:
                return spec, own
        raise Unknown(self._unknown)

    def _of_prompt(self, name):
        """Specifications of the servers that could have this prompt."""
        near = [spec for called, spec in self._specs("prompts") if names.may_be_of(name, called)]
        if not near:
            raise Unknown(self._unknown)
        return near

    async def _prompt_called(self, name, engine):
        """:return: the server's specification and its own name of the prompt"""
        near = self._of_prompt(name)
        specs = [(called, spec) for called, spec in self._specs("prompts") if spec in near]
        found, failed = await self._ask(engine, specs, lambda server: server.prompts())
        for alias, called, entry in _aliased(found):
            if alias == name:
                return next(spec for other, spec in specs if other == called), entry.name
        for _called, error in failed:
            raise error
        raise ServerRefused(self._unknown, rpc_code=jsonrpc.INVALID_PARAMS)

    def _list(self, kind, read, shape):
        specs, known_problems = self._specs(kind), self._problems(kind)

        async def ask(engine):
            found, failed = await self._ask(engine, specs, read)
            problems = [
                {"server": called, **api_error.of(error, self._reader).item()}
                for called, error in [*known_problems, *failed]
            ]
            return {"entries": shape(found), "problems": problems}

        limit = max((spec.sync_timeout for _called, spec in specs), default=0)
        return Read(ask, limit + CONNECT_ALLOWANCE)

    async def _ask(self, engine, specs, read):
        """Ask these servers at once.

        :param specs: ``(name, specification)`` of each
        :return: ``(name, entries)`` of those that answered, ``(name, error)`` of the others
        """

        async def safely(called, spec):
            try:
                return called, await read(engine.features(spec, self._session_key)), None
            except EngineError as error:
                return called, [], error

        answers = await asyncio.gather(*(safely(called, spec) for called, spec in specs))
        return (
            [(called, entries) for called, entries, error in answers if not error],
            [(called, error) for called, _entries, error in answers if error],
        )


async def _answered(spec, key, answer):
    """Answer of a server with its key, or its questions."""
    try:
        return key, await answer
    except ElicitationRequired as wanted:
        return Wanted(spec.name, wanted)


def _patience(specs):
    """Seconds for a list of these servers and one request."""
    longest = max(spec.sync_timeout + spec.call_timeout for spec in specs)
    return longest + CONNECT_ALLOWANCE


def _aliased(found):
    """``(alias, server's name, entry)`` of each prompt."""
    pairs = [(called, entry) for called, entries in found for entry in entries]
    aliases = names.make_aliases((called, entry.name) for called, entry in pairs)
    return [(alias, *pair) for alias, pair in zip(aliases, pairs, strict=True)]


def _prompts(found):
    return [features.prompt(asdict(entry), alias) for alias, _called, entry in _aliased(found)]


def _resources(found, key="uri"):
    """Each address once: a server may list one twice."""
    shown = {}
    for called, entries in found:
        for entry in entries:
            described = features.resource(asdict(entry), names.server_key(called), key)
            shown.setdefault(described[key], described)
    return list(shown.values())


def _templates(found):
    return _resources(found, "uriTemplate")
