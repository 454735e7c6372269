"""Test of a connection, step by step: it stops at the first that fails, and says what to do about it."""

import asyncio
import ssl
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import httpcore

from ..errors import BlockedAddress, ConnectFailed, EngineError, HostUnreachable
from ..sentence import _lt
from . import faults
from .egress import PORTS, EgressPolicy, check_url
from .transport import resolve, sockets, ssl_context

NETWORK_STEPS = ("name", "address", "connection", "tls")


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
    """Every step in order, those after a failed one skipped; `error` is what stopped it, `found` what it has read."""

    steps: list[Step] = field(default_factory=list)
    found: Any = None
    error: EngineError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class DiagnosticSteps:
    """Steps of one connection test; those that follow a failed one are skipped.

    :param names: of the steps, in order; the first are `NETWORK_STEPS` where there is a network
    :param advice: what to do about each that fails
    """

    def __init__(self, names: Sequence[str], advice: Mapping[str, str]):
        self.names = names
        self.advice = advice
        self.result = Diagnosis()
        self._began = time.monotonic()

    async def run(self, timeout: float) -> Diagnosis:
        """Never raises for what the other side does.

        :param timeout: seconds
        """
        try:
            async with asyncio.timeout(timeout):
                await self.take()
        except TimeoutError:
            self.fail(self.too_late())
        except EngineError as error:
            self.fail(error)
        return self.result

    async def take(self) -> None:
        """Take all steps.

        :raises EngineError: of the one that failed
        """
        raise NotImplementedError

    def too_late(self) -> EngineError:
        """Message of a step that takes too long."""
        raise NotImplementedError

    def step_of(self, _error: EngineError) -> int:
        """The step that this failure belongs to; of several that remain, the first that it may be."""
        return len(self.result.steps)

    async def reach(
        self, url: str, policy: EgressPolicy | None, timeout: float, owner: Hashable = None
    ) -> None:
        """Name, address, connection and TLS, as `transport` takes them for every connection.

        :param policy: None where any address may be reached
        :param timeout: seconds for the name, and for the connection
        :param owner: on whose account the name is looked up
        """
        parts = urlsplit(check_url(url))
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        try:
            addresses = await resolve(host, timeout, owner)
            if policy is not None:
                addresses = policy.check_addresses(host, port, addresses)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise HostUnreachable(detail=str(error)) from error
        except BlockedAddress:  # there is no name
            self.done("name", host)
            raise
        self.done("name", host)
        if "address" in self.names:
            self.done("address")
        stream = await self._connect(addresses, port, timeout)
        self.done("connection", f"{host}:{port}")
        try:
            if parts.scheme == "https":
                stream = await self._start_tls(stream, host, timeout)
                self.done("tls")
            else:
                self.skip("tls", message=_lt("Not encrypted (http)."))
        finally:
            await stream.aclose()

    @staticmethod
    async def _connect(addresses, port, timeout) -> httpcore.AsyncNetworkStream:
        backend, share = sockets(), timeout / len(addresses)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await backend.connect_tcp(address, port, share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise ConnectFailed(detail=str(failure)) from failure

    @staticmethod
    async def _start_tls(stream, host, timeout) -> httpcore.AsyncNetworkStream:
        try:
            return await stream.start_tls(ssl_context(), host, timeout)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, ssl.SSLError, OSError) as error:
            raise faults.of_exception(error) from error

    # ------------------------------------------------------------ what is told

    def done(self, name: str, message: str = "") -> None:
        """Record a step that went well; `message` is the fact that it has found."""
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

    def skip(self, *names: str, message: str = "") -> None:
        """Record steps that do not apply here; `names` of them, `message` is the reason."""
        self.result.steps += [Step(name=name, state="skipped", message=message) for name in names]

    def explained(self, error: EngineError) -> EngineError:
        """Explain a step by one who knows more about it."""
        return error

    def fail(self, error: EngineError) -> None:
        """Every step before the one that failed is fine, every later one was not taken."""
        error = self.explained(error)
        taken = len(self.result.steps)
        failed = max(self.step_of(error), taken)
        for name in self.names[taken:failed]:
            self.done(name)
        name = self.names[failed]
        self.result.error = error
        self.result.steps.append(
            Step(
                name=name,
                state="failed",
                message=error.full_message(),
                advice=self.advice[name],
                duration_ms=round((time.monotonic() - self._began) * 1000),
            )
        )
        self.skip(*self.names[failed + 1 :])
