"""Tools of one turn: what the LLM is offered, and which tool a call means."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import large
from ..embeddings.index import EmbeddingIndex
from ..errors import EngineError
from ..mcp.pool.pool import Pool
from ..mcp.session.call_options import DEFAULTS, CallOptions
from ..sentence import _lt
from ..specs import (
    CallResult,
    Executed,
    ServerSpec,
    ToolCall,
    ToolSpec,
    TurnRequest,
)
from ..toolset import definition, lookup
from ..toolset.lookup import Lookup
from . import names, read_result
from .execution import elapsed_ms, execute, refusal

OURS = {tool.alias: tool for tool in (*lookup.TOOLS, read_result.TOOL)}
MAX_FUNCTIONS = 125  # OpenAI takes 128 tools of one request, three may be ours


class TurnTools:
    """The tools of a turn. What fits the budget of definitions is offered at once; else the model looks tools up.

    :ivar skipped: (tool, sentence) of those that cannot be offered
    :ivar lookup: None where all are offered
    :param vectors: of what tools mean; without them they are found by words alone
    """

    def __init__(self, request: TurnRequest, pool: Pool, vectors: EmbeddingIndex | None = None):
        self.skipped: list[tuple[ToolSpec, str]] = []
        self.lookup: Lookup | None = None
        self._request = request
        self._pool = pool
        self._vectors = vectors
        self._meanings: list[str] = []
        self._servers = {server.id: server for server in request.servers}
        self._tools: dict[str, ToolSpec] = {}
        self._offered: dict[str, dict[str, Any]] = {}  # functions in the order of a request
        self._wanted: dict[
            str, int
        ] = {}  # tokens of those that were looked up; at the end the last
        self._room = 0  # tokens that those may take
        self._taken_in = 0  # messages of the turn
        self._asked: dict[str, str] = {}  # aliases by call id
        sizes = {}
        for tool in request.tools:
            problem, size = self._admit(tool)
            if problem:
                self.skipped.append((tool, problem))
            else:
                self._tools[tool.alias] = tool
                if not tool.is_blocked:
                    sizes[tool.alias] = size
        self._offer_what_fits(sizes)
        for message in request.history:
            self._take_in(message)

    @property
    def functions(self) -> list[dict[str, Any]]:
        """OpenAI function definitions of what is offered now. What comes later stands at the end, so that endpoints
        find the beginning of a request in their cache."""
        return list(self._offered.values())

    @property
    def count(self) -> int:
        """Tools that can be called, those among them that have to be looked up."""
        return sum(not tool.is_blocked for tool in self._tools.values())

    def _admit(self, tool: ToolSpec) -> tuple[str, int]:
        """A sentence if the tool cannot be offered, and about how many tokens it costs."""
        if tool.problem:
            return tool.problem, 0
        if tool.server_id not in self._servers and not tool.is_builtin:
            return _lt("Its server is not available."), 0
        is_taken = tool.alias in self._tools or tool.alias in OURS
        if is_taken or not names.LEGAL.fullmatch(tool.alias):
            return _lt("Its name cannot be offered to a language model."), 0
        try:
            return "", tool.tokens or definition.tokens(definition.function(tool))
        except EngineError as error:
            return str(error), 0

    def _offer_what_fits(self, sizes: Mapping[str, int]) -> None:
        budget = self._request.limits.definition_tokens
        if not budget or (sum(sizes.values()) <= budget and len(sizes) <= MAX_FUNCTIONS):
            for alias in sizes:
                self._offer(alias)
            if budget and any(map(definition.is_cut, self.functions)):
                self._offered[lookup.DESCRIBE.alias] = definition.own(lookup.DESCRIBE)
            return
        room = budget // 2
        for alias, size in sizes.items():
            tool = self._tools[alias]
            if (tool.action_id or tool.is_builtin) and size <= room:
                room -= size
                self._offer(alias)
        hidden = [self._tools[alias] for alias in sizes if alias not in self._offered]
        self.lookup = Lookup(hidden, self._servers)
        if self._vectors and self._request.llm.embedding_model:
            self._meanings = self.lookup.meanings
        self._offered[lookup.FIND.alias] = self.lookup.function
        self._offered[lookup.DESCRIBE.alias] = definition.own(lookup.DESCRIBE)
        self._room = max(budget - sum(map(definition.tokens, self.functions)), budget // 4)

    def _offer(self, alias: str) -> bool:
        """Offer the tool from now on; True if it may be."""
        if alias in self._offered:
            return True
        try:
            self._offered[alias] = definition.function(self._tools[alias])
        except EngineError as error:
            self.skipped.append((self._tools.pop(alias), str(error)))
            return False
        return True

    def prepare(self) -> None:
        """Have made, beside the turn, what a look-up by meaning needs."""
        if self._vectors and self._meanings:
            self._vectors.prepare(self._request.llm, self._meanings, self._request.payer)

    def take_in(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Offer from now on what the turn's messages have made known: tools that were found or called by their
        names, and to read on where a result was cut. The same messages make the same offer, also after a crash.

        :param messages: as `TurnRequest.history` has them
        """
        for message in messages[self._taken_in :]:
            self._take_in(message)
            if self._asked.get(message.get("call_id", "")) == lookup.FIND.alias:
                for alias in lookup.found_names(message["content"]):
                    self._want(alias)
        self._taken_in = len(messages)

    def _take_in(self, message: Mapping[str, Any]) -> None:
        for call in message.get("tool_calls") or ():
            self._asked[call["id"]] = call["alias"]
            self._want(call["alias"])
            if call["alias"] == read_result.NAME:  # offered where a result was cut to fit
                self._offered.setdefault(read_result.NAME, read_result.FUNCTION)
            if call["alias"] == lookup.DESCRIBE.alias:
                for alias in lookup.requested_names(call.get("arguments")):
                    self._want(alias)
        self.offer_to_read_on([message])

    def offer_to_read_on(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Offer to read on from now on if the result of one of these is cut.

        :param messages: as `TurnRequest.history` has them
        """
        if any(message.get("truncated") for message in messages):
            self._offered.setdefault(read_result.NAME, read_result.FUNCTION)

    def _want(self, alias: str) -> None:
        """Offer a tool that has to be looked up; those that nobody wanted for longest make room."""
        if alias in self._wanted:
            self._wanted[alias] = self._wanted.pop(alias)
        elif self._is_known(alias) and alias not in self._offered and self._offer(alias):
            self._wanted[alias] = definition.tokens(self._offered[alias])
            while len(self._wanted) > 1 and not self._fit(self._wanted.values()):
                oldest = next(iter(self._wanted))
                del self._wanted[oldest], self._offered[oldest]

    def _is_known(self, alias: str) -> bool:
        return alias in self._tools and not self._tools[alias].is_blocked

    def _fit(self, sizes: Collection[int]) -> bool:
        return sum(sizes) <= self._room and len(sizes) <= MAX_FUNCTIONS // 2

    def resolve(self, alias: str) -> tuple[ToolSpec, ServerSpec | None] | None:
        """The tool that an alias means, None if there is none. Ours have no server."""
        tool = self._tools.get(alias)
        if tool is None and alias in self._offered:
            tool = OURS.get(alias)
        return (tool, self._servers.get(tool.server_id)) if tool else None

    def find(self, origin: list[Any]) -> tuple[ToolSpec, ServerSpec | None] | None:
        """The very tool of an earlier offer (see `ToolSpec.origin`), None if it is not offered any more.

        :param origin: of the earlier offer, as JSON
        """
        for alias, tool in (*self._tools.items(), *OURS.items()):
            if tool.origin == origin:
                return self.resolve(alias)
        return None

    def server_states(self) -> list[dict[str, str]]:
        """``{"name", "state"}`` of each server of the turn; "open" if a session is open already."""
        conversation = self._request.conversation_id
        return [
            {
                "name": server.name,
                "state": "open" if self._pool.is_connected(server, conversation) else "idle",
            }
            for server in self._request.servers
        ]

    @contextlib.asynccontextmanager
    async def place(self, call: ToolCall, stop: asyncio.Event) -> AsyncIterator[None]:
        """One of the person's places for calls, from before it begins until its result is on disk: results are large.
        Who stops does not wait for one.

        :param stop: set when the person stops the turn
        """
        if call.server is None:
            yield
            return
        places, quota_key = self._pool.calls_of_one, call.server.quota_key
        waiting = ()
        if not places.try_acquire(quota_key):
            waiting = [
                asyncio.ensure_future(one) for one in (places.acquire(quota_key), stop.wait())
            ]
        try:
            if waiting:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            if not waiting or waiting[0].done():
                places.release(quota_key)
            for one in waiting:
                one.cancel()

    async def call(
        self,
        call: ToolCall,
        *,
        timeout: float,
        options: CallOptions = DEFAULTS,
    ) -> Executed:
        """Run one call; where the server need not be kept waiting, its questions end it.
        Whatever happens, except being cancelled, is a result.

        :param timeout: seconds
        """
        if call.tool in lookup.TOOLS:
            return Executed(result=refusal(call) or await self._look_up(call))
        return await execute(
            call,
            self._pool,
            self._request.conversation_id,
            timeout=timeout,
            limits=self._request.limits,
            options=replace(options, suspends=True),
        )

    async def _look_up(self, call: ToolCall) -> CallResult:
        begun = time.monotonic()
        if call.tool == lookup.DESCRIBE:
            asked = lookup.requested_names(call.arguments)
            known = [self._tools[name] for name in asked if self._is_known(name)]
            unknown = [name for name in asked if not self._is_known(name)]
            cap = self._request.limits.llm_result_cap
            result = lookup.describe(known, unknown, call.id, cap)
        elif self.lookup is None:
            result = lookup.found((), ())
        else:
            queries = (call.arguments or {}).get("queries", [])
            near = await self._by_meaning(queries)
            result = await large.beside(self._found, self.lookup, queries, near)
        return replace(result, duration_ms=elapsed_ms(begun))

    @property
    def _question(self) -> str:
        return self._request.history[-1]["content"] if self._request.history else ""

    async def _by_meaning(self, queries: list[str]) -> list[list[int]] | None:
        if not self._vectors or not self._meanings:
            return None
        spec, payer = self._request.llm, self._request.payer
        return await self._vectors.rank(spec, self._meanings, queries, payer, self._question)

    def _found(
        self, hidden: Lookup, queries: list[str], near: list[list[int]] | None
    ) -> CallResult:
        """Found tools that can be offered together from now on, and the others."""
        ready, sizes, more = [], [], []
        budget = self._request.limits.definition_tokens
        for tool in hidden.find(queries, self._question, near):
            try:
                size = definition.tokens(definition.function(tool))
            except EngineError:
                continue
            if self._fit([*sizes, size]) or (not ready and size <= budget):
                ready.append(tool)
                sizes.append(size)
            else:
                more.append(tool)
        return lookup.found(ready, more)
