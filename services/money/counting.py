"""Costs of requests to providers: each is written down before it is sent, and what it took when it has ended."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from .. import text
from ..errors import LlmError, LlmTimeout
from ..specs import LlmSpec, ModelRequest, Payer

Sending = Callable[[bool], contextlib.AbstractAsyncContextManager[None]]
"""Around each request to a provider; called with True for the second one, after the first has failed."""

MAX_TOOLS, MAX_NAME = 20, 128  # names, and characters of one, that are told with a request's cost


class Received(Protocol):
    """Answer as far as it has arrived, see `services.llm.answer.Answer`."""

    text: str
    thinking: str
    calls: list[Any]
    usage: dict[str, int]
    begun: bool


class Ledger(Protocol):
    """Costs of a host's requests outside of turns."""

    async def reserve(self, database: str, payer: Payer, request: ModelRequest) -> None:
        """Put a request on disk before it is sent.

        :raises EngineError: it must not be sent
        """

    async def settle(self, database: str, spent: dict[str, Any]) -> None:
        """Put down what a request took; never raises, and goes on where its caller is cancelled.

        :param spent: one of `TurnProgress.spent`
        """


@contextlib.contextmanager
def measured(
    key: str, tokens: int, answer: Received, spent: list[dict[str, Any]]
) -> Iterator[None]:
    """Add to `spent`, see `TurnProgress`, what the request inside has taken, however it ends.

    :param tokens: estimate of what is sent
    :param answer: takes the answer, as far as it comes, and the provider's count
    """
    is_refused = False
    try:
        yield
    except LlmTimeout:  # it was taken, and may be charged
        raise
    except LlmError:
        is_refused = not answer.begun
        raise
    finally:
        usage = dict(answer.usage)
        if not usage and not is_refused:
            said = text.tokens(answer.text) + text.tokens(answer.thinking)
            usage = {"input_tokens": tokens, "output_tokens": said, "is_estimated": True}
        tools = [call.name[:MAX_NAME] for call in answer.calls[:MAX_TOOLS]]
        spent.append({"key": key, "usage": usage, "tools": tools})


class Account:
    """Requests of one kind outside of turns.

    :param kind: see `ModelRequest`
    :param database: the host's
    """

    def __init__(self, ledger: Ledger, kind: str, payer: Payer, database: str):
        self._ledger = ledger
        self._kind = kind
        self._payer = payer
        self._database = database

    def sending(
        self,
        spec: LlmSpec,
        tokens: int,
        answer: Received,
        *,
        is_fallback: bool = False,
    ) -> Sending:
        """A `Sending` that counts.

        :param tokens: estimate of what is sent
        :param answer: see `measured`
        """
        request = ModelRequest(
            key="",
            kind=self._kind,
            llm_id=spec.id,
            model=spec.model,
            input_tokens=tokens,
            output_limit=spec.max_tokens,
            is_fallback=is_fallback,
        )
        return lambda is_second: self._counted(replace(request, is_retry=is_second), answer)

    @contextlib.asynccontextmanager
    async def _counted(self, request: ModelRequest, answer: Received) -> AsyncIterator[None]:
        key = await self.reserve(request)
        spent: list[dict[str, Any]] = []
        try:
            with measured(key, request.input_tokens, answer, spent):
                yield
        finally:
            await self.settle(spent)

    async def reserve(self, request: ModelRequest) -> str:
        """
        :param request: its key and kind do not count
        :return: its key
        :raises EngineError: it must not be sent
        """
        key = uuid.uuid4().hex
        request = replace(request, key=key, kind=self._kind)
        await self._ledger.reserve(self._database, self._payer, request)
        return key

    async def settle(self, spent: list[dict[str, Any]]) -> None:
        """Put down what these requests took, and forget them."""
        while spent:
            await self._ledger.settle(self._database, spent.pop(0))
