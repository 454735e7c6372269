"""Session pool: MCP sessions of one process, one per server, credential and conversation, kept open between calls.

A pool belongs to the event loop it is first used on; after a fork the child needs a new one.
"""

import asyncio
import contextlib
import functools
import math
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from ... import const, metrics, packages, traces
from ...errors import (
    ConnectFailed,
    EngineError,
    ServerError,
    ServerRefused,
    ServerTimeout,
    SessionLost,
)
from ...net import faults
from ...net.egress import EgressPolicy
from ...net.intake import Intakes
from ...oauth.flow import OAuth, TokenStore
from ...semaphore import FairSemaphore
from ...sentence import _lt
from ...specs import DiscoveredTool, ServerSpec
from ..discovery import discovery, health
from ..discovery.discovery import SYNC_MARGIN
from ..session import connect, elicitation
from ..session.call_options import DEFAULTS, CallOptions
from ..session.session import ServerInfo, Session
from ..transport.stdio import Process
from . import limiter, server_tasks
from .breaker import Breaker, State
from .limiter import Admission, Limiter
from .open_sessions import OpenSessions

CALL = "tools/call"
CLOSE_TIMEOUT = 2.0  # s, for all sessions together

Address = tuple[str, int, str]
OnState = Callable[[ServerSpec, State, str], None]
"""Called on the loop with the server, the breaker's state and a sentence; must not block."""

OnListChanged = Callable[[ServerSpec, str], None]
"""Called on the loop with the server and "tools", "prompts" or "resources"; must not block."""

OnOpened = Callable[[ServerSpec, ServerInfo], None]
"""Called on the loop with the server and what the handshake told; must not block."""

OnStderr = Callable[[ServerSpec, str], None]
"""Called on the loop with the server and the last that its process wrote; must not block."""

SLOW_SHARE = (
    0.9  # of a server's own limit; a caller that waited for less says nothing about the server
)

_LIST_CHANGED = re.compile(r"notifications/(tools|prompts|resources)/list_changed")


class Pool:
    """:param policy: where connections may go
    :param tokens: the host's store, for servers with `ServerSpec.oauth`
    :param can_ask: calls come with `on_elicit`, so servers may ask the user
    :param on_state: told when a server is left alone and when it is well again
    :param on_list_changed: told when a server offers other tools, prompts or resources
    :param on_opened: told of every session, so that the host remembers what the server speaks
    :param on_stderr: told what stdio servers write, a moment later
    :param idle: seconds without a call after which a session is closed
    :param max_sessions: open HTTP sessions of everybody
    :param share: of them, those of one person; who has them all loses the one that is idle longest
    :param clock: of the breakers, in seconds
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        idle: float = const.SESSION_IDLE,
        max_sessions: int = const.MAX_SESSIONS,
        share: int = const.MAX_SESSIONS_OF_ONE,
        clock: Callable[[], float] = time.monotonic,
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
        self._tokens = tokens
        self._can_ask = can_ask
        self._clock = clock
        self.calls_of_one = FairSemaphore(sys.maxsize, const.MAX_CALLS_OF_ONE)
        self.intakes = Intakes()
        self._limiters: dict[tuple[str, int, str], Limiter] = {}
        self._capacities: WeakValueDictionary[Address, FairSemaphore] = WeakValueDictionary()
        self._processes: dict[Address, Process] = {}
        self._variants: dict[Address, connect.Variant] = {}
        self._on_state = on_state
        self._on_list_changed = on_list_changed
        self._on_opened = on_opened
        self._on_stderr = on_stderr
        self._sessions = OpenSessions(self._open, max_sessions=max_sessions, share=share)
        self._alive: set[Session] = set()
        self._behind: set[asyncio.Task[None]] = set()

    async def call(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        tool_name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        options: CallOptions = DEFAULTS,
    ) -> dict[str, Any]:
        """Call a tool; the ``CallToolResult`` as a plain dict.

        A call that never reached the tool is made once more on a new session; one that reached no server with
        an address is tried as long as a sync is, see `health.patiently`.

        :param timeout: seconds, a new connection included; while a person is asked it does not run
        :raises ElicitationRequired: `CallOptions.suspends`; the call goes on when it is made again with `resume`
        :raises EngineError: the call failed; a tool's own failure is a result with ``isError``
        """
        params: dict[str, Any] = {"name": tool_name, "arguments": dict(arguments)}
        if carrier := traces.carrier():  # https://modelcontextprotocol.io/seps/414
            params["_meta"] = carrier
        more = dict(options.resume or {})

        def ask(method: str, given: Mapping[str, Any], left: float) -> Awaitable[dict[str, Any]]:
            wishes = options if method == CALL else CallOptions(takes_task=True)
            return self.request(spec, conversation_id, method, given, timeout=left, options=wishes)

        for _ in range(elicitation.MAX_ROUNDS):
            try:
                result, task_id = await server_tasks.call(ask, params, more, timeout, self._leave)
            except ServerRefused as error:
                if options.suspends and (wanted := elicitation.required_by_error(error)):
                    raise wanted from error
                raise
            if result.get("resultType", "complete") != elicitation.REQUIRED:
                return result
            wanted = elicitation.required_by_result(result)
            if task_id:
                wanted.more = {server_tasks.TASK: task_id}
            if options.suspends and wanted.questions:
                raise wanted
            more = await elicitation.elicit_all(wanted, options.on_elicit)
        raise ServerRefused(_lt("The MCP server keeps asking questions."))

    def _leave(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run what nobody waits for."""
        task = asyncio.ensure_future(coroutine)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def list_tools(self, spec: ServerSpec, conversation_id: Any) -> list[DiscoveredTool]:
        """All tools of a server, every page.

        :raises EngineError: within ``spec.sync_timeout`` seconds
        """
        limit = max(0.1, spec.sync_timeout - SYNC_MARGIN)
        deadline = self._deadline(limit)
        try:
            async with (
                self._acquire(spec, limit) as admission,
                asyncio.timeout_at(deadline),
                self._session(spec, conversation_id, deadline, admission) as (session, _),
            ):
                return (await discovery.read(session, spec.sync_timeout)).tools
        except TimeoutError as error:
            raise ServerTimeout from error

    async def info(self, spec: ServerSpec, conversation_id: Any) -> ServerInfo:
        """Server info from the opening of this conversation's session.

        :raises EngineError: there is none and none can be opened
        """
        limit = spec.connect_timeout
        async with (
            self._acquire(spec, limit) as admission,
            self._session(spec, conversation_id, self._deadline(limit), admission) as (
                session,
                reused,
            ),
        ):
            admission.is_silent = reused  # it was not asked
            return session.info

    async def request(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float,
        options: CallOptions = DEFAULTS,
    ) -> dict[str, Any]:
        """Any MCP request on the session of this conversation.

        :raises ServerPaused, ServerBusy: the server was not asked
        """
        deadline = self._deadline(timeout)
        async with self._acquire(spec, timeout) as admission:
            if options.on_elicit:
                options = replace(options, on_elicit=admission.releasing(options.on_elicit))

            def once() -> Awaitable[dict[str, Any]]:
                return self._request(
                    spec, conversation_id, method, params, deadline, admission, options
                )

            # A program has a pace of its own at which it is started again.
            is_patient = method == CALL and not spec.command
            return await (health.patiently(once, deadline) if is_patient else once())

    async def _request(
        self,
        spec: ServerSpec,
        conversation_id: Any,
        method: str,
        params: Mapping[str, Any] | None,
        deadline: float,
        admission: Admission,
        options: CallOptions,
    ) -> dict[str, Any]:
        renew, repeat = True, options.may_repeat
        while True:
            async with self._session(spec, conversation_id, deadline, admission) as (
                session,
                reused,
            ):
                left = max(0.0, deadline - self._deadline(0))
                traces.note_request(method, session.info.transport, session.info.protocol_version)
                try:
                    return await session.request(method, params, timeout=left, options=options)
                except ServerError as error:
                    if isinstance(error, ServerTimeout):
                        admission.is_silent = left < _patience(spec, method)
                    if renew and reused and error.safe_to_retry and not session.is_open:
                        renew = False
                    elif repeat and isinstance(error, SessionLost):
                        repeat = False
                    else:
                        raise

    @staticmethod
    def _deadline(timeout: float) -> float:
        return asyncio.get_running_loop().time() + timeout

    @contextlib.asynccontextmanager
    async def _acquire(self, spec: ServerSpec, timeout: float) -> AsyncIterator[Admission]:
        limiter = self.limiter(spec)
        try:
            async with limiter.acquire(spec.quota_key, timeout) as admission:
                yield admission
        finally:
            if limiter.is_forgettable:
                self._limiters.pop((*spec.owner, spec.fingerprint), None)

    @contextlib.asynccontextmanager
    async def _session(
        self, spec: ServerSpec, conversation_id: Any, deadline: float, admission: Admission
    ) -> AsyncIterator[tuple[Session, bool]]:
        """See `OpenSessions.use`."""
        opened = False
        try:
            async with self._sessions.use(spec, conversation_id, deadline) as (session, reused):
                opened = True
                admission.ping = session.ping
                yield session, reused
        except TimeoutError as error:
            if opened:
                raise
            admission.is_silent = True  # the opening goes on and tells who waits for its end
            raise ConnectFailed(faults.not_opened_in_time(spec)) from error

    def oauth(self, spec: ServerSpec) -> OAuth | None:
        """The tokens for a server, None where it needs none."""
        return OAuth(spec, self.policy, self._tokens) if spec.oauth and self._tokens else None

    def limiter(self, spec: ServerSpec) -> Limiter:
        """Limiter of all requests to a server: a breaker for each credential, and the server's limit."""
        key = (*spec.owner, spec.fingerprint)
        if key not in self._limiters:
            tell = self._on_state and functools.partial(self._on_state, spec)
            capacity = self._capacities.setdefault(spec.address, limiter.server_capacity())
            self._limiters[key] = Limiter(Breaker(tell, self._clock), capacity)
        return self._limiters[key]

    def process(self, spec: ServerSpec) -> Process:
        """State of the processes of a stdio server."""
        if spec.address not in self._processes:
            tell = self._on_stderr and functools.partial(self._on_stderr, spec)
            self._processes[spec.address] = Process(tell)
        return self._processes[spec.address]

    def _heard(self, spec: ServerSpec, method: str) -> None:
        if self._on_list_changed and (match := _LIST_CHANGED.fullmatch(method)):
            self._on_list_changed(spec, match[1])

    def is_connected(self, spec: ServerSpec, conversation_id: Any) -> bool:
        """True if there is an open session for this conversation."""
        return self._sessions.is_open(spec, conversation_id)

    def release(self, database: str, conversation_id: Any) -> None:
        """Close the sessions of a conversation that is over, calls in flight may end first."""
        self._sessions.release(database, conversation_id)

    def drop(self, database: str, server_id: int) -> None:
        """Close the sessions of a server that is switched off, calls in flight too."""
        self._sessions.drop(database, server_id)

    def leave(self, database: str) -> None:
        """Close and forget everything of a database that is idle or dropped, without telling `on_state`.

        Its ids may come again.
        """
        self._sessions.drop(database)
        for key, process in self._processes.items():
            if key[0] == database:
                process.silence()
        for known in (self._limiters, self._processes, self._variants):
            for key in [key for key in known if key[0] == database]:
                del known[key]

    def reset_breaker(self, database: str, server_id: int) -> None:
        """Close the server's breaker, because another process has seen it well."""
        for key, limiter_ in self._limiters.items():
            if key[:2] == (database, server_id):
                limiter_.breaker.reset()

    async def close(self) -> None:
        """Close every session; ends within a few seconds whatever the servers do."""
        self._sessions.clear()
        if self._alive:
            await asyncio.gather(*(session.closed(CLOSE_TIMEOUT) for session in list(self._alive)))

    async def _open(self, spec: ServerSpec) -> Session:
        packages.check(packages.PROTOCOLS)
        process = self.process(spec)
        if spec.command:
            process.on_start()
        first = self._variants.pop(spec.address, None) or spec.last_variant
        try:
            with traces.opening(spec):
                session = await connect.open_session(
                    spec,
                    self.policy,
                    first=first,
                    idle=self._idle,
                    oauth=self.oauth(spec),
                    process=process,
                    intakes=self.intakes,
                    can_ask=self._can_ask,
                    on_notification=self._on_list_changed and functools.partial(self._heard, spec),
                    on_begun=self._watch,
                )
        except EngineError:
            process.on_end(asked=False)
            raise
        self._variants[spec.address] = connect.variant_of(session)
        if self._on_opened:
            self._on_opened(spec, session.info)
        self.opened += 1
        session.on_closed(lambda: process.on_end(asked=not session.broke))
        return session

    def _watch(self, session: Session) -> None:
        self._alive.add(session)
        metrics.level("sessions", len(self._alive))
        session.on_closed(lambda: self._forget(session))

    def _forget(self, session: Session) -> None:
        self._alive.discard(session)
        metrics.level("sessions", len(self._alive))


def _patience(spec: ServerSpec, method: str) -> float:
    """Seconds without an answer after which the server is slow, not its caller in a hurry.

    A program serves one conversation, so that this one waits says nothing about the others.
    """
    if spec.command:
        return math.inf
    is_call = method == CALL
    own = spec.call_timeout if is_call else min(spec.call_timeout, spec.sync_timeout)
    return own * SLOW_SHARE
