"""The step before the first one: earlier turns are summed up, and how full a request is is measured."""

from ...context import budget, summary
from ...errors import LlmError
from ...llm.answer import Answer
from ...render import markdown
from ...sentence import _lt
from ...specs import Compaction, TurnResult
from .asking import Asking

NOT_SUMMED_UP = _lt(
    "The earlier part of the conversation could not be summed up,"
    " so the assistant does not see its beginning."
)
NOTHING_TO_SUM_UP = _lt("There is nothing to sum up yet.")


class SummingUp(Asking):
    """Part of the loop of a turn."""

    async def _compact(self) -> TurnResult | None:
        """Have earlier turns summed up where it is time for that; a failure costs their beginning, not the turn.

        :return: the end of a turn that is asked for nothing else
        """
        context, failed = self.request.context, None
        if context.compaction and not self.progress.messages:
            try:
                await self._sum_up_earlier(context.compaction)
            except LlmError as error:
                failed = error
                self.progress.summary_failures = context.compaction.failures + 1
                if context.compaction.left_out and not context.is_command:
                    self._notice("not_summed_up", NOT_SUMMED_UP)
                await self.journal.save_step(self.progress)
        if not context.is_command:
            return None
        if self.stop.is_set() and not self.progress.summary:
            return TurnResult(state="stopped")
        if failed:
            return TurnResult(state="failed", error=failed)
        if not self.progress.summary:
            self._notice("nothing_to_sum_up", NOTHING_TO_SUM_UP)
        return TurnResult(state="done")

    async def _sum_up_earlier(self, wanted: Compaction) -> None:
        """The summary is on disk, with its event, before anything is asked that builds on it.

        :raises LlmError: there is none
        """
        answer = await self._written(wanted)
        if answer.stopped:
            return
        self._count(answer.usage)
        html = await markdown.rendered(answer.text)
        event = summary.event_of(answer, html, wanted, self.llm, self.request.context.ratio)
        self.progress.summary = {"path": wanted.path, "event": event}
        shown = summary.as_messages(answer.text)
        question = () if self.request.context.is_command else self.request.history[-1:]
        self.history = (*self.request.preface, *shown, *wanted.kept, *question)
        self.summary_tokens = budget.tokens_of(shown)
        self._measure({})
        await self.journal.save_step(self.progress, more_events=[event])

    async def _written(self, wanted: Compaction) -> Answer:
        """The summary, by another model where this one is down before its first token, as an answer is.

        :raises LlmError: there is none
        """
        answer = Answer()

        async def write(_llm):
            nonlocal answer
            answer = Answer()
            tokens = budget.tokens_of((*wanted.former, *wanted.messages))
            return await summary.write(
                self.model,
                self.llm,
                wanted,
                answer,
                sending=self._sending("summary", tokens, answer),
                stop=self.stop,
                deadline=self.deadline,
                clock=self.clock,
            )

        return await self._of_a_model(write, lambda: answer)

    def _measure(self, usage: dict[str, int]) -> None:
        """Measure the context use of the request that the transcript goes on from.

        :param usage: that the provider has reported for it, if it has
        """
        context = self.request.context
        if not context.limit:
            return
        held = {
            "definitions": budget.tokens_of_rest(self.request.system_prompt, self.tools.functions),
            "summary": self.summary_tokens,
            "messages": budget.tokens_of((*self.history, *self._fitted())) - self.summary_tokens,
        }
        former = self.progress.context.get("ratio", context.ratio)
        ratio = budget.ratio(sum(held.values()), usage.get("input_tokens", 0), former)
        held = {name: round(tokens * ratio) for name, tokens in held.items()}
        held["messages"] += usage.get("output_tokens", 0)
        self.progress.context = {
            "limit": context.limit,
            "used": sum(held.values()),
            **held,
            "ratio": ratio,
        }
