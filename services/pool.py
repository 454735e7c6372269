"""The MCP sessions of one process: one per server, credential and conversation, kept open between calls.

A pool belongs to the event loop it is first used on; after a fork the child needs a new one.
"""

import asyncio
import functools
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import connect, const, discovery, faults, inputs
from .breaker import Breaker, State
from .discovery import SYNC_MARGIN
from .egress import EgressPolicy
from .errors import (
    ConnectFailed,
    EngineError,
    PoolFull,
    ServerError,
    ServerRefused,
    ServerTimeout,
    SessionLost,
)
from .gate import Gate
from .inputs import OnInput
from .oauth import OAuth, TokenStore
from .sessions import OnProgress, ServerInfo, Session
from .specs import DiscoveredTool, ServerSpec
from .stdio import Process

CLOSE_TIMEOUT = 2.0  # s, for all sessions together

Key = tuple[str, Any]
OnState = Callable[[ServerSpec, State, str], None]
"""Called on the loop with the server, the breaker's state and a sentence; must not block."""

OnListChanged = Callable[[ServerSpec, str], None]
"""Called on the loop with the server and "tools", "prompts" or "resources"; must not block."""

OnOpened = Callable[[ServerSpec, ServerInfo], None]
"""Called on the loop with the server and what the handshake told; must not block."""

OnStderr = Callable[[ServerSpec, str], None]
"""Called on the loop with the server and the last that its process wrote; must not block."""

_LIST_CHANGED = re.compile(r"notifications/(tools|prompts|resources)/list_changed")


class Pool:
    """:param policy: where connections may go
    :param tokens: the host's store, for servers with `ServerSpec.oauth`
    :param can_ask: calls come with `on_input`, so servers may ask the user
    :param on_state: told when a server is left alone and when it is well again
    :param on_list_changed: told when a server offers other tools, prompts or resources
    :param on_opened: told of every session, so that the host remembers what the server speaks
    :param on_stderr: told what stdio servers write, a moment later
    :param idle: seconds without a call after which a session is closed
    :param max_sessions: open sessions; beyond it the one that is idle longest is closed
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        idle: float = const.SESSION_IDLE,
        max_sessions: int = const.MAX_SESSIONS,
        tokens: TokenStore | None = None,
        can_ask: bool = False,
        on_state: OnState | None = None,
        on_list_changed: OnListChanged | None = None,
        on_opened: OnOpened | None = None,
        on_stderr: OnStderr | None = None,
    ):
        self.opened = 0
        self.policy = policy
        self._idle = idle
        self._max = max_sessions
        self._tokens = tokens
        self._can_ask = can_ask
        self._gates: dict[tuple[str, int, str], Gate] = {}
        self._processes: dict[tuple[str, int, str], Process] = {}
        self._on_state = on_state
        self._on_list_changed = on_list_changed
        self._on_opened = on_opened
        self._on_stderr = on_stderr
        self._sessions: dict[Key, asyncio.Task[Session]] = {}
        self._alive: set[Session] = set()
        self._ways: dict[str, connect.Way] = {}

    async def call(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        tool_name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        schema: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        on_input: OnInput | None = None,
        may_repeat: bool = False,
        suspends: bool = False,
        resume: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Call a tool; the ``CallToolResult`` as a plain dict.

        A call that never reached the tool is made once more on a new session.

        :param timeout: seconds, a new connection included; while a person is asked it does not run
        :param schema: the tool's own, for the headers that it may ask for
        :param on_input: answers what the server asks the user; without it such questions are cancelled
        :param may_repeat: the tool has no side effects, so a call that may have happened is repeated too
        :param suspends: where the server need not be waited for, its questions end the call
        :param resume: the answers to such questions, see `inputs.answered`
        :raises InputRequired: the call goes on when it is made again with `resume`
        :raises EngineError: the call failed; a tool's own failure is a result with ``isError``
        """
        params = {"name": tool_name, "arguments": dict(arguments)}
        more = dict(resume or {})
        for _ in range(inputs.MAX_ROUNDS):
            try:
                result = await self.request(
                    spec,
                    conversation_id,
                    "tools/call",
                    params | more,
                    timeout=timeout,
                    schema=schema,
                    on_progress=on_progress,
                    on_input=on_input,
                    may_repeat=may_repeat,
                )
            except ServerRefused as error:
                if suspends and (wanted := inputs.required_by_error(error)):
                    raise wanted from error
                raise
            if result.get("resultType", "complete") != inputs.REQUIRED:
                return result
            wanted = inputs.required_by_result(result)
            if suspends and wanted.questions:
                raise wanted
            more = await inputs.answer_all(wanted, on_input)
        raise ServerRefused("The MCP server does not stop asking questions.")

    async def list_tools(self, spec: ServerSpec, conversation_id: Any) -> list[DiscoveredTool]:
        """All tools of a server, every page.

        :raises EngineError: within ``spec.sync_timeout`` seconds
        """
        try:
            async with (
                self.gate(spec).passage(spec.sync_timeout),
                asyncio.timeout(max(0.1, spec.sync_timeout - SYNC_MARGIN)),
            ):
                session = await self._session(spec, conversation_id)
                return await discovery.list_tools(session, spec.sync_timeout)
        except TimeoutError as error:
            raise ServerTimeout from error

    async def info(self, spec: ServerSpec, conversation_id: Any) -> ServerInfo:
        """What the server said of itself when the session of this conversation was opened.

        :raises EngineError: there is none and none can be opened
        """
        async with self.gate(spec).passage(spec.connect_timeout):
            return (await self._session(spec, conversation_id)).info

    async def request(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float,
        may_repeat: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """Any MCP request on the session of this conversation; `options` as for `Session.request`.

        :raises ServerPaused, ServerBusy: the server was not asked
        """
        deadline = time.monotonic() + timeout
        gate = self.gate(spec)
        async with gate.passage(timeout):
            if on_input := options.get("on_input"):
                options["on_input"] = gate.outside(on_input)
            return await self._request(
                spec, conversation_id, method, params, deadline, may_repeat, options
            )

    async def _request(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        method: str,
        params: Mapping[str, Any] | None,
        deadline: float,
        may_repeat: bool,
        options: dict[str, Any],
    ) -> dict[str, Any]:
        renew, repeat = True, may_repeat
        while True:
            reused = (spec.fingerprint, conversation_id) in self._sessions
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                    session = await self._session(spec, conversation_id)
            except TimeoutError as error:
                raise ConnectFailed(faults.CONNECT_TIMEOUT) from error
            left = max(0.0, deadline - time.monotonic())
            try:
                return await session.request(method, params, timeout=left, **options)
            except ServerError as error:
                if renew and reused and error.safe_to_retry and not session.is_open:
                    renew = False
                elif repeat and isinstance(error, SessionLost):
                    repeat = False
                else:
                    raise

    def oauth(self, spec: ServerSpec) -> OAuth | None:
        """The tokens for a server, None where it needs none."""
        return OAuth(spec, self.policy, self._tokens) if spec.oauth and self._tokens else None

    def gate(self, spec: ServerSpec) -> Gate:
        """What all requests to a server pass: its breaker and its limit."""
        if spec.address not in self._gates:
            tell = self._on_state and functools.partial(self._on_state, spec)
            self._gates[spec.address] = Gate(Breaker(tell))
        return self._gates[spec.address]

    def process(self, spec: ServerSpec) -> Process:
        """What is known about the processes of a stdio server."""
        if spec.address not in self._processes:
            tell = self._on_stderr and functools.partial(self._on_stderr, spec)
            self._processes[spec.address] = Process(tell)
        return self._processes[spec.address]

    def _heard(self, spec: ServerSpec, method: str) -> None:
        if match := _LIST_CHANGED.fullmatch(method):
            self._on_list_changed(spec, match[1])

    def is_connected(self, spec: ServerSpec, conversation_id: Any) -> bool:
        """Whether there is an open session for this conversation."""
        session = _opened(self._sessions.get((spec.fingerprint, conversation_id)))
        return session is not None and session.is_open

    def release(self, conversation_id: Any) -> None:
        """Close the sessions of a conversation that is over, calls in flight may end first."""
        for key in [key for key in self._sessions if key[1] == conversation_id]:
            self._retire(key)

    def drop(self, server_id: int) -> None:
        """Close the sessions of a server that is switched off, calls in flight too."""
        for key, task in list(self._sessions.items()):
            session = _opened(task)
            if session and session.spec.id == server_id:
                self._sessions.pop(key)
                session.close()

    def forgive(self, realm: str, server_id: int) -> None:
        """Somebody else has seen the server well: it is asked again at once."""
        for address, gate in self._gates.items():
            if address[:2] == (realm, server_id):
                gate.breaker.reset()

    async def close(self) -> None:
        """Close every session; ends within a few seconds whatever the servers do."""
        for key in list(self._sessions):
            self._retire(key)
        if self._alive:
            await asyncio.gather(*(session.closed(CLOSE_TIMEOUT) for session in list(self._alive)))

    # ------------------------------------------------------------ sessions

    async def _session(self, spec: ServerSpec, conversation_id: Any) -> Session:
        key = (spec.fingerprint, conversation_id)
        task = self._sessions.get(key)
        if task is not None and task.done() and not (_opened(task) and _opened(task).is_open):
            self._sessions.pop(key)
            task = None
        if task is None:
            self._make_room()
            task = asyncio.get_running_loop().create_task(self._open(spec, key))
            self._sessions[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(task)

    async def _open(self, spec: ServerSpec, key: Key) -> Session:
        process = self.process(spec)
        if spec.command:
            process.starts()
        first = self._ways.pop(spec.fingerprint, None) or spec.last_way
        try:
            session = await connect.open_session(
                spec,
                self.policy,
                first=first,
                idle=self._idle,
                oauth=self.oauth(spec),
                process=process,
                can_ask=self._can_ask,
                on_notification=self._on_list_changed and functools.partial(self._heard, spec),
            )
        except EngineError:
            process.ended(asked=False)
            raise
        self._ways[spec.fingerprint] = connect.way_of(session)
        if self._on_opened:
            self._on_opened(spec, session.info)
        self.opened += 1
        self._alive.add(session)
        session.on_closed(lambda: self._alive.discard(session))
        session.on_closed(lambda: process.ended(asked=not session.broke))
        session.on_closed(lambda: self._forget(key))
        return session

    def _forget(self, key: Key, failed: asyncio.Task | None = None) -> None:
        """Drop an entry whose session is over, or whose opening (`failed`) did not succeed."""
        task = self._sessions.get(key)
        if task is None or not task.done() or (failed is not None and task is not failed):
            return
        session = _opened(task)
        if session is None or not session.is_open:
            self._sessions.pop(key)

    def _retire(self, key: Key) -> None:
        task = self._sessions.pop(key)
        if session := _opened(task):
            session.retire()
        else:
            task.cancel()

    def _make_room(self) -> None:
        if len(self._sessions) < self._max:
            return
        opened = {key: _opened(task) for key, task in self._sessions.items()}
        idle = [
            (session.used, key)
            for key, session in opened.items()
            if session and not session.in_flight
        ]
        if not idle:
            raise PoolFull
        self._retire(min(idle, key=lambda item: item[0])[1])


def _opened(task: asyncio.Task[Session] | None) -> Session | None:
    """The session of an opening that has succeeded."""
    if task is None or not task.done() or task.cancelled() or task.exception():
        return None
    return task.result()
