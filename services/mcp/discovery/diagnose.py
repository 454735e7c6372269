"""Connection diagnosis: tests a server step by step.

Steps of a server with an address: name, address, connection, tls, http, authorization, protocol, tools.
Of a stdio server: process, protocol, tools.
"""

import asyncio
import functools

from ...errors import AuthRequired, EngineError, ProtocolError, ServerTimeout
from ...net.diagnostic_steps import NETWORK_STEPS, Diagnosis, DiagnosticSteps
from ...net.egress import EgressPolicy
from ...oauth.flow import OAuth
from ...sentence import _lt
from ...specs import ServerSpec
from ..session import connect
from . import discovery
from .discovery import SYNC_MARGIN
from .health import patiently

STEPS = (*NETWORK_STEPS, "http", "authorization", "protocol", "tools")
PROCESS_STEPS = ("process", "protocol", "tools")
TRANSPORTS = {"streamable_http": "Streamable HTTP", "sse": "HTTP+SSE"}  # as MCP calls them
ADVICE = {
    "name": _lt(
        "Check the spelling of the host in the address. Addresses that are not public must be "
        "allowed by the operator."
    ),
    "address": _lt("Use a public address, or ask the operator to allow this one."),
    "connection": _lt(
        "Check the port, that the server is running, and that no firewall blocks the connection."
    ),
    "tls": _lt(
        "The server needs a valid certificate for this host. Self-signed certificates are not accepted."
    ),
    "http": _lt("Check the path of the address and the server's log."),
    "authorization": _lt("Enter a key or a header that the server accepts, or sign in."),
    "protocol": _lt("Check the path: MCP servers often answer at /mcp or /sse."),
    "tools": _lt("The server answers but does not list its tools. Check its log for the cause."),
    "process": _lt(
        "Check the command in the configuration file, and that its program is installed."
    ),
}


async def diagnose(
    spec: ServerSpec,
    policy: EgressPolicy,
    *,
    oauth: OAuth | None = None,
    can_ask: bool = False,
) -> Diagnosis:
    """Never raises for what a server does; ends within ``spec.sync_timeout`` seconds.

    :param can_ask: as the pool that will make the calls
    :return: `found` is the `Discovery`
    """
    limit = max(0.1, spec.sync_timeout - SYNC_MARGIN)
    return await _ServerSteps(spec, policy, oauth, can_ask, limit).run(limit)


class _ServerSteps(DiagnosticSteps):
    def __init__(
        self,
        spec: ServerSpec,
        policy: EgressPolicy,
        oauth: OAuth | None,
        can_ask: bool,
        limit: float,
    ):
        super().__init__(PROCESS_STEPS if spec.command else STEPS, ADVICE)
        self.spec = spec
        self.policy = policy
        self.options = {"oauth": oauth, "can_ask": can_ask}
        # a last try has its time, so that its own failure is told
        self.last_try = asyncio.get_running_loop().time() + limit - spec.connect_timeout

    async def take(self) -> None:
        spec = self.spec
        if not spec.command:
            await self.reach(spec.url, self.policy, spec.connect_timeout, spec.owner)
        await self._speak()

    async def _connect(self, *where):
        return await patiently(functools.partial(super()._connect, *where), self.last_try)

    def too_late(self) -> EngineError:
        return ServerTimeout()

    async def _speak(self) -> None:
        """HTTP, authorization and protocol are told apart by how the opening of a session fails."""
        session = await connect.open_session(
            self.spec, self.policy, first=self.spec.last_variant, **self.options
        )
        try:
            for name in self.names[len(self.result.steps) : self.names.index("protocol")]:
                self.done(name)
            way = TRANSPORTS.get(session.info.transport, session.info.transport)
            self.done("protocol", f"{way}, MCP {session.info.protocol_version}")
            found = await discovery.read(session, self.spec.sync_timeout)
            self.done("tools", str(len(found.tools)))
            self.result.found = found
        finally:
            session.close()

    def step_of(self, error: EngineError) -> int:
        taken = len(self.result.steps)
        if self.spec.command or taken < self.names.index("http"):
            return taken
        if isinstance(error, AuthRequired):
            return self.names.index("authorization")
        if isinstance(error, ProtocolError):
            return self.names.index("protocol")
        return taken
