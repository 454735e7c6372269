"""Test of a provider, step by step: name, connection, tls, http, key, model, tools, pictures, embeddings."""

import asyncio
import base64
import struct
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..errors import (
    LLM_CERTIFICATE_INVALID,
    LLM_HOST_UNKNOWN,
    ConnectFailed,
    EngineError,
    LlmAuthFailed,
    LlmContextTooLong,
    LlmModelNotFound,
    LlmNoTools,
    LlmRateLimited,
    LlmRejected,
    LlmTimeout,
    LlmUnavailable,
)
from ..money.counting import Account
from ..net.diagnostic_steps import Diagnosis, DiagnosticSteps
from ..sentence import _lt
from ..specs import LlmSpec
from . import client, llm_errors, model_names, tool_protocol, transcript
from .answer import Answer
from .connections import Connections

STEPS = ("name", "connection", "tls", "http", "key", "model", "tools", "pictures", "embeddings")
ADVICE = {
    "name": _lt("Check the spelling of the host in the address."),
    "connection": _lt(
        "Check the port, that the model's server is running, and that no firewall blocks the connection."
    ),
    "tls": _lt(
        "The server needs a valid certificate for this host. Self-signed certificates are not accepted."
    ),
    "http": _lt("Check the path of the address. It usually ends with the version, such as /v1."),
    "key": _lt("Enter a valid API key of this provider."),
    "model": _lt(
        "Choose one of the models that the provider offers, and check that it is running."
    ),
    "tools": _lt("Set Tool Protocol to “Detect automatically” or “In the prompt”."),
    "pictures": _lt("Switch off Supports Vision, or choose a model that sees pictures."),
    "embeddings": _lt("Choose one of the provider's embedding models, or leave the field empty."),
}
AT_CONNECTION = {
    "name": LLM_HOST_UNKNOWN,
    "connection": llm_errors.NOT_LISTENING,
    "tls": LLM_CERTIFICATE_INVALID,
}
QUESTION = "Reply with the single word: ready"
COLOUR_QUESTION = "Which colour is this picture? Reply with one English word."
COLOUR, COLOUR_NAME = (255, 0, 0), "red"
SIDE = 64  # pixels; some models refuse smaller pictures
CALLS = {"native": _lt("Function calling"), "prompt": _lt("In the prompt")}
NO_PICTURES = _lt("The model does not see pictures.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Findings of a test: names from `/models`, the entry of this model there, and how it calls tools."""

    models: list[str] = field(default_factory=list)
    context_length: int = 0
    protocol: str = ""


Embed = Callable[[LlmSpec, Connections, float, Account], Awaitable[int]]


async def diagnose(
    spec: LlmSpec,
    timeout: float,
    connections: Connections,
    account: Account,
    embed: Embed | None = None,
) -> Diagnosis:
    """Never raises for what an endpoint does.

    :param timeout: seconds for all steps
    :param account: counts what is sent
    :param embed: how large the vectors of the spec's embedding model are, see `embeddings.endpoint.size`
    :return: `found` is a `Found`, also when a later step fails
    """
    return await _ProviderSteps(spec, timeout, connections, account, embed).run(timeout)


class _ProviderSteps(DiagnosticSteps):
    def __init__(
        self,
        spec: LlmSpec,
        timeout: float,
        connections: Connections,
        account: Account,
        embed: Embed | None,
    ):
        super().__init__(STEPS, ADVICE)
        self.spec = spec
        self.connections = connections
        self.account = account
        self.embed = embed
        self.models: dict[str, int] = {}
        self.deadline = time.monotonic() + timeout
        self.result.found = Found()

    async def take(self) -> None:
        await self._reach()
        self.models = await self._listed()
        self.result.found = self._found()
        self.done("http")
        async with client.open_model(self.spec, self.connections) as model:
            protocol = await self._ask_with_tools(model)
            self.done("key")
            self.done("model", self.spec.model)
            self.result.found = self._found(protocol)
            if protocol != "native" and self.spec.tool_protocol == "native":
                raise LlmNoTools
            self.done("tools", CALLS[protocol])
            if self.spec.supports_vision:
                await self._show_picture(model)
                self.done("pictures")
            else:
                self.skip("pictures")
        if self.embed and self.spec.embedding_model:
            left = self.deadline - time.monotonic()
            await self.embed(self.spec, self.connections, left, self.account)
            self.done("embeddings", self.spec.embedding_model)
        else:
            self.skip("embeddings")

    async def _reach(self) -> None:
        try:
            await self.reach(self.spec.base_url, None, client.CONNECT_TIMEOUT)
        except ConnectFailed as error:
            step = self.names[len(self.result.steps)]
            raise LlmUnavailable(AT_CONNECTION[step], detail=error.detail) from error

    def _found(self, protocol: str = "") -> Found:
        length = self.models.get(self.spec.model, 0)
        return Found(models=list(self.models), context_length=length, protocol=protocol)

    async def _listed(self) -> dict[str, int]:
        """A list that is refused says nothing: some endpoints want other headers for it than for a question."""
        try:
            return await model_names.read(self.spec, self.connections) or {}
        except (LlmAuthFailed, LlmRejected, LlmRateLimited, LlmModelNotFound):
            return {}

    async def _ask_with_tools(self, model) -> str:
        """Ask with tools first, which proves the key and the model's name, too: lists of models may be open to all.

        :return: "native" or "prompt"
        """
        probe = Answer()
        protocol = await tool_protocol.find(
            model,
            self.spec,
            probe,
            sending=self.account.sending(self.spec, tool_protocol.PROBE_TOKENS, probe),
            stop=asyncio.Event(),
            deadline=self.deadline,
        )
        if protocol == "prompt":  # the endpoint may have refused more than the tools
            await self._ask(model, {"role": "user", "content": QUESTION})
        return protocol

    async def _show_picture(self, model) -> None:
        picture = {"mimetype": "image/png", "data": base64.b64encode(_png()).decode()}
        question = {"role": "user", "content": COLOUR_QUESTION, "pictures": [picture]}
        try:
            answer = await self._ask(model, question)
        except (LlmRejected, LlmUnavailable, LlmContextTooLong) as error:
            raise LlmRejected(NO_PICTURES, detail=error.detail) from error
        if COLOUR_NAME not in answer.text.lower():
            raise LlmRejected(
                NO_PICTURES, detail=f"asked for a colour, it said: {answer.text[:200]}"
            )

    async def _ask(self, model, question) -> Answer:
        answer = Answer()
        messages = transcript.to_langchain("", [question])
        await client.stream(
            model,
            messages,
            self.spec,
            answer,
            sending=self.account.sending(self.spec, transcript.tokens_of(messages), answer),
            stop=asyncio.Event(),
            deadline=self.deadline,
        )
        return answer

    def too_late(self) -> EngineError:
        return LlmTimeout()

    def explained(self, error: EngineError) -> EngineError:
        if isinstance(error, LlmModelNotFound) and (
            meant := model_names.nearest(self._asked_model(), self.models)
        ):
            return LlmModelNotFound(
                _lt(
                    "The provider does not know this model. Similar names: %(names)s.",
                    names=", ".join(meant),
                ),
                detail=error.detail,
            )
        return error

    def _asked_model(self) -> str:
        at = len(self.result.steps)
        return self.spec.embedding_model if STEPS[at] == "embeddings" else self.spec.model

    def step_of(self, error: EngineError) -> int:
        taken = len(self.result.steps)
        if taken <= self.names.index("key"):
            if isinstance(error, LlmAuthFailed):
                return self.names.index("key")
            if taken == self.names.index("key"):
                return self.names.index("model")
        return taken


def _png() -> bytes:
    """A square of one colour (https://www.w3.org/TR/png-3/)."""

    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = (b"\0" + bytes(COLOUR) * SIDE) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n"
    return start + part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
