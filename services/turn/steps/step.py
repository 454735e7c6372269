"""State of a turn that its steps share, while its loop runs in this process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from ... import events, metrics
from ...context import budget, fitting
from ...llm import dialect, failover
from ...llm.answer import Answer
from ...money import counting
from ...money.counting import Sending
from ...sentence import dump
from ...specs import LlmSpec, ModelRequest, TurnProgress, TurnRequest

DEADLINE_MARGIN = 0.5  # s before the turn's own limit, so that the turn ends in order


class Step:
    """:param journal: `ports.Journal` of the turn
    :param tools: its `TurnTools`
    :param open_model: the chat model of an endpoint
    :ivar model: the chat model that is asked, once the loop has begun
    :ivar llm: its endpoint, another one than the request's after a fallback
    :ivar host: of that endpoint
    :ivar history: messages before those of `progress`
    :ivar summary_tokens: of `history`, those of a summary
    :ivar pictures: that calls have returned, by call id
    :ivar answer: the one that is being received
    :ivar deadline: of `clock`, the end of the turn
    :ivar blocks: finished Markdown blocks of the turn
    :ivar first_block: the first one of this step
    """

    def __init__(
        self,
        request: TurnRequest,
        progress: TurnProgress,
        journal: Any,
        tools: Any,
        stop: asyncio.Event,
        open_model: Callable[[LlmSpec], Awaitable[Any]],
        clock: Callable[[], float],
    ):
        self.request = request
        self.progress = progress
        self.journal = journal
        self.tools = tools
        self.stop = stop
        self.llm = failover.spec_of(request.llm, progress.llm)
        self.host = dialect.host_of(self.llm.base_url)
        self.model: Any = None
        self._open_model = open_model
        self.clock = clock
        self.history = (*request.preface, *request.history)
        self.summary_tokens = request.context.summary
        self.pictures = dict(request.pictures)

        self.answer = Answer()
        self.deadline = self.clock() + request.limits.turn_timeout - DEADLINE_MARGIN
        self.blocks = 0
        self.first_block = 0
        self._sent = 0

    def _notice(self, code: str, message: str) -> None:
        event = events.notice(code, message)
        stored = {**event, "message": dump(message)}
        self.progress.asides.append({"step": self.progress.step, "event": stored})
        self.journal.emit(event)

    def _is_last_word(self) -> bool:
        return self.progress.sum_up or self.progress.round >= self.request.limits.max_rounds

    def _sending(
        self, kind: str, tokens: int, answer: Answer, *, is_retry: bool = False
    ) -> Sending:
        """A `Sending` that counts.

        :param kind: see `ModelRequest`
        :param tokens: estimate of what is sent
        :param answer: takes the answer, as far as it comes
        """
        return lambda is_second: self._counted(kind, tokens, answer, is_retry or is_second)

    @contextlib.asynccontextmanager
    async def _counted(
        self, kind: str, tokens: int, answer: Answer, is_retry: bool
    ) -> AsyncIterator[None]:
        """Put a request to the model on disk before it is sent, and have what it took put down with the next step."""
        self._sent += 1
        key = await self.journal.reserve(
            ModelRequest(
                key=str(self._sent),
                kind=kind,
                llm_id=self.llm.id,
                model=self.llm.model,
                step=self.progress.step,
                input_tokens=tokens,
                output_limit=self.llm.max_tokens,
                is_retry=is_retry,
                is_fallback=self.llm.id != self.request.llm.id,
            ),
            self.progress.spent,
        )
        with counting.measured(key, tokens, answer, self.progress.spent):
            yield

    def _fitted(self) -> list[Mapping[str, Any]]:
        """Messages of the turn as the model gets them: with shorter results where it would take no more."""
        context, messages = self.request.context, self.progress.messages
        if not context.is_known:
            return list(messages)
        functions = () if self._is_last_word() else self.tools.functions
        rest = budget.tokens_of_rest(self.request.system_prompt, functions)
        room = budget.for_messages(context.limit, rest, self.llm.max_tokens or 0)
        room = int(room / self.progress.context.get("ratio", context.ratio))
        return fitting.fitted(messages, room - budget.tokens_of(self.history))

    def _count(self, usage: dict[str, int]) -> None:
        for key, count in usage.items():
            metrics.add("tokens", count, kind=key.removesuffix("_tokens"))
            self.progress.usage[key] = self.progress.usage.get(key, 0) + count
