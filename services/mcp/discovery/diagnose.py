"""Connection diagnosis: tests a server step by step, stops at the first that fails, and says what to do about it.

Steps of a server with an address: name, address, connection, tls, http, authorization, protocol, tools.
Of a stdio server: process, protocol, tools.
"""

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import httpcore

from ...errors import (
    AuthRequired,
    BlockedAddress,
    ConnectFailed,
    EngineError,
    HostUnreachable,
    ProtocolError,
    ServerTimeout,
)
from ...net import faults
from ...net.egress import PORTS, EgressPolicy, check_url
from ...net.transport import resolve, ssl_context
from ...oauth.flow import OAuth
from ...specs import ServerSpec
from ..session import connect
from . import discovery
from .discovery import SYNC_MARGIN, Discovery

NETWORK_STEPS = (
    "name",
    "address",
    "connection",
    "tls",
    "http",
    "authorization",
    "protocol",
    "tools",
)
PROCESS_STEPS = ("process", "protocol", "tools")
ADVICE = {
    "name": "Check the spelling of the host in the address. Addresses that are not public must be "
    "allowed by the operator.",
    "address": "Use a public address, or ask the operator to allow this one.",
    "connection": "Check the port, that the server is running, and that no firewall blocks the connection.",
    "tls": "The server needs a valid certificate for this host. Self-signed certificates are not accepted.",
    "http": "Check the path of the address and the server's log.",
    "authorization": "Enter a key or a header that the server accepts, or sign in.",
    "protocol": "Check the path: MCP servers often answer at /mcp or /sse.",
    "tools": "The server answers but does not list its tools. Check its log for the cause.",
    "process": "Check the command in the configuration file, and that its program is installed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`message` is a fact or the sentence of the failure, `advice` what to do about it."""

    name: str
    state: Literal["ok", "failed", "skipped"]
    message: str = ""
    advice: str = ""
    duration_ms: int = 0


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """Every step in order, those after a failed one skipped; `error` is what stopped it."""

    steps: list[Step] = field(default_factory=list)
    discovery: Discovery | None = None
    error: EngineError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


async def diagnose(
    spec: ServerSpec,
    policy: EgressPolicy,
    *,
    oauth: OAuth | None = None,
    can_ask: bool = False,
) -> Diagnosis:
    """Never raises for what a server does; ends within ``spec.sync_timeout`` seconds.

    :param can_ask: as the pool that will make the calls
    """
    return await _Course(spec, policy, oauth, can_ask).run()


class _Course:
    def __init__(self, spec: ServerSpec, policy: EgressPolicy, oauth: OAuth | None, can_ask: bool):
        self.spec = spec
        self.policy = policy
        self.options = {"oauth": oauth, "can_ask": can_ask}
        self.names = PROCESS_STEPS if spec.command else NETWORK_STEPS
        self.result = Diagnosis()
        self._began = time.monotonic()

    async def run(self) -> Diagnosis:
        try:
            async with asyncio.timeout(max(0.1, self.spec.sync_timeout - SYNC_MARGIN)):
                if not self.spec.command:
                    await self._reach()
                await self._speak()
        except TimeoutError:
            self._fail(ServerTimeout())
        except EngineError as error:
            self._fail(error)
        return self.result

    # ------------------------------------------------------------ steps

    async def _reach(self) -> None:
        """Name, address, connection and TLS, as `network` takes them for every connection."""
        parts = urlsplit(check_url(self.spec.url))
        host, port = parts.hostname, parts.port or PORTS[parts.scheme]
        try:
            addresses = await resolve(host, self.spec.connect_timeout, self.spec.owner)
            addresses = self.policy.check_addresses(host, port, addresses)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise HostUnreachable(detail=str(error)) from error
        except BlockedAddress:  # there is no name
            self._done("name", host)
            raise
        self._done("name", host)
        self._done("address")
        stream = await self._connect(addresses, port)
        self._done("connection", f"{host}:{port}")
        try:
            if parts.scheme == "https":
                stream = await self._start_tls(stream, host)
                self._done("tls")
            else:
                self._skip("tls")
        finally:
            await stream.aclose()

    async def _connect(self, addresses: list[str], port: int) -> httpcore.AsyncNetworkStream:
        backend, share = httpcore.AnyIOBackend(), self.spec.connect_timeout / len(addresses)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await backend.connect_tcp(address, port, share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise ConnectFailed(detail=str(failure)) from failure

    async def _start_tls(self, stream: httpcore.AsyncNetworkStream, host: str):
        try:
            return await stream.start_tls(ssl_context(), host, self.spec.connect_timeout)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, ssl.SSLError, OSError) as error:
            raise faults.of_exception(error) from error

    async def _speak(self) -> None:
        """HTTP, authorization and protocol are told apart by how the opening of a session fails."""
        session = await connect.open_session(
            self.spec, self.policy, first=self.spec.last_variant, **self.options
        )
        try:
            for name in self.names[len(self.result.steps) : self.names.index("protocol")]:
                self._done(name)
            self._done("protocol", f"{session.info.transport}, {session.info.protocol_version}")
            found = await discovery.read(session, self.spec.sync_timeout)
            self._done("tools", str(len(found.tools)))
            self.result.discovery = found
        finally:
            session.close()

    # ------------------------------------------------------------ what is told

    def _done(self, name: str, message: str = "") -> None:
        now = time.monotonic()
        self.result.steps.append(
            Step(
                name=name,
                state="ok",
                message=message,
                duration_ms=round((now - self._began) * 1000),
            )
        )
        self._began = now

    def _skip(self, *names: str) -> None:
        self.result.steps += [Step(name=name, state="skipped") for name in names]

    def _fail(self, error: EngineError) -> None:
        """Every step before the one that failed is fine, every later one was not taken."""
        taken = len(self.result.steps)
        failed = max(self._step_of(error), taken)
        for name in self.names[taken:failed]:
            self._done(name)
        name = self.names[failed]
        self.result.error = error
        self.result.steps.append(
            Step(
                name=name,
                state="failed",
                message=error.at_length(),
                advice=ADVICE[name],
                duration_ms=round((time.monotonic() - self._began) * 1000),
            )
        )
        self._skip(*self.names[failed + 1 :])

    def _step_of(self, error: EngineError) -> int:
        """The step that this failure belongs to; of several that remain, the first that it may be."""
        taken = len(self.result.steps)
        if self.spec.command or taken < self.names.index("http"):
            return taken
        if isinstance(error, AuthRequired):
            return self.names.index("authorization")
        if isinstance(error, ProtocolError):
            return self.names.index("protocol")
        return taken
