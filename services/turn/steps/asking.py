"""One step of the model: what it says, in whichever protocol, by whichever provider answers."""

from collections.abc import Callable, Iterable

from ... import events
from ...context import budget
from ...errors import LlmError, LlmNoTools, LlmTimeout
from ...llm import client, dialect, failover, files, tool_protocol, transcript
from ...llm.answer import Answer
from ...render import markdown
from ...sentence import _lt
from ...specs import LlmSpec
from .step import Step

ANOTHER_ANSWERS = _lt("The language model did not answer, so another one does.")
SAVING = _lt("Another language model answers, as the budget is nearly used up.")
SUM_UP = (
    "You have used all rounds of tool calls. Do not call tools any more. "
    "Answer the user now with what you have found and say plainly what is missing."
)
STOP_AND_ANSWER = (
    "Do not call tools any more. "
    "Answer the user now with what you have found and say plainly what is missing."
)


class Asking(Step):
    """Part of the loop of a turn."""

    async def _ask(self) -> Answer:
        """One step: what the model says, or another where it is down before its first token.

        :raises LlmError: with what was said before in `self.answer`
        """
        return await self._of_a_model(self._ask_this, lambda: self.answer)

    async def _of_a_model(self, once, received: Callable[[], Answer]) -> Answer:
        """Answer of this model, or of the one that is asked where it is down.

        :raises LlmError: of the last one
        """

        def is_over() -> bool:
            return self.stop.is_set() or self.clock() >= self.deadline

        return await failover.ask(
            self.llm, once, received=received, is_over=is_over, on_fault=self._fall_back
        )

    def _save_money(self) -> None:
        """Go on with the endpoint that a budget asks for, from the first step on."""
        instead = failover.saving_spec(self.llm, is_saving=self.request.spending.is_saving)
        if instead is not self.llm:
            self._go_over_to(instead, SAVING)

    def _go_over_to(self, instead: LlmSpec, why: str) -> None:
        self.progress.llm, self.progress.found_protocol = instead.id, ""
        self.llm, self.host = instead, dialect.host_of(instead.base_url)
        self._notice("provider_fallback", why)

    async def _fall_back(self, _llm: LlmSpec, error: LlmError, instead: LlmSpec | None) -> None:
        """Put it on disk before the other one is asked: whoever takes the turn up goes on there."""
        if instead is None:  # the turn ends with it
            return
        self.progress.llm_faults.append(failover.fault(self.llm, error))
        self._go_over_to(instead, ANOTHER_ANSWERS)
        await self.journal.save_step(self.progress)
        self.model = await self._open_model(instead)

    async def _ask_this(self, _llm: LlmSpec) -> Answer:
        """Answer of this model, asked once more if it cannot be read."""
        self.answer = Answer()
        try:
            answer = await self._say(await self._protocol())
        except LlmNoTools:
            is_found = self.llm.tool_protocol == "auto"
            if not is_found or self.progress.found_protocol == "prompt":
                raise
            self.progress.found_protocol = "prompt"
            answer = await self._say(await self._protocol(), is_retry=True)
        if answer.repair and not answer.stopped:
            self._count(answer.usage)
            self._withdraw()
            answer = await self._say(await self._protocol(), answer.repair, is_last=True)
        return answer

    async def _protocol(self) -> tool_protocol.ToolProtocol:
        """Tool protocol of this model; found out where it is not known."""
        spec, progress = self.llm, self.progress
        if spec.tool_protocol != "auto":
            return tool_protocol.PROTOCOLS[spec.tool_protocol]
        progress.found_protocol = progress.found_protocol or spec.found_protocol
        if not progress.found_protocol and self.tools.functions:
            probe = Answer()
            progress.found_protocol = await tool_protocol.find(
                self.model,
                spec,
                probe,
                sending=self._sending("protocol", tool_protocol.PROBE_TOKENS, probe),
                stop=self.stop,
                deadline=self.deadline,
            )
            self._count(probe.usage)
        return tool_protocol.PROTOCOLS[progress.found_protocol or "native"]

    async def _say(
        self,
        protocol: tool_protocol.ToolProtocol,
        more=(),
        *,
        is_last: bool = False,
        is_retry: bool = False,
    ) -> Answer:
        """:param more: messages behind the transcript, which are not kept
        :param is_last: the answer is not repaired, see `Answer`
        """
        own = self._fitted()
        self.tools.offer_to_read_on(own)
        prompt, functions = self.request.system_prompt, self.tools.functions
        self.first_block = self.blocks
        self.answer = protocol.answer(functions, is_last=is_last or self._is_last_word())
        if self._is_last_word():
            instruction = STOP_AND_ANSWER if self.progress.sum_up else SUM_UP
            prompt, functions = f"{prompt}\n\n{instruction}".strip(), []
        messages = [*self.history, *own, *more]
        tokens = budget.tokens_of(messages) + budget.tokens_of_rest(prompt, functions)
        sending = self._sending("answer", tokens, self.answer, is_retry=is_retry or bool(more))
        if self.llm.supports_vision:
            messages = transcript.with_pictures(messages, self.pictures, files.MAX_PICTURES)
        else:
            messages = transcript.without_pictures(messages)
        stream = markdown.BlockStream()

        async def on_text(delta: str) -> None:
            await self._tell(stream.pieces(delta))

        begun: float | None = None

        async def on_thought(delta: str) -> None:
            nonlocal begun
            begun = self.clock() if begun is None else begun
            self.answer.thought_ms = round((self.clock() - begun) * 1000)
            self.journal.emit(events.thinking(delta, self.progress.step, self.answer.thought_ms))

        try:
            await client.stream(
                protocol.bound(self.model, functions),
                protocol.messages(prompt, messages, functions, self.host),
                self.llm,
                self.answer,
                on_text=on_text,
                on_thought=on_thought,
                sending=sending,
                stop=self.stop,
                deadline=self.deadline,
                clock=self.clock,
            )
        except LlmTimeout as error:
            if self.clock() >= self.deadline:
                raise LlmTimeout(
                    _lt("The answer took too long and was stopped. Try again."), detail=error.detail
                ) from error
            raise
        finally:
            await self._tell(stream.last_pieces())
        return self.answer

    def _withdraw(self) -> None:
        """Take back what this step has said."""
        if self.answer.text or self.answer.thinking:
            self.journal.emit(events.state("running", self.progress.step))
            self.blocks = self.first_block

    async def _tell(self, pieces: Iterable[tuple[str, str]]) -> None:
        """Emit what is said, each block before the text behind it: a block replaces all that is open.

        :param pieces: of a `BlockStream`
        """
        for said, source in pieces:
            if said:
                self.journal.emit(events.text(said, self.progress.step))
            if source:
                html = await markdown.rendered(source)
                self.journal.emit(events.text_block(self.blocks, html, self.progress.step))
                self.blocks += 1
