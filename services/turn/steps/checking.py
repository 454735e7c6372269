"""The last step of an answer: values that come from no tool and no message are asked for again, then marked."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from ... import events, large, text
from ...errors import BudgetExhausted, LlmError
from ...grounding import check
from ...grounding.values import Value
from ...llm.answer import Answer
from ...render import markdown
from ...specs import FAILED
from .asking import Asking

ON_THE_SPOT = 20_000  # characters that are checked without leaving the loop, 50 ms at worst
ASK_AGAIN = (
    "These values of your answer are in no result of a tool and in no message: {values}. "
    "An answer from memory is no answer. Call a tool that gives them and answer again; "
    "if there is none, answer without them and say what you do not know, in the language of my question: {question}"
)
ASK_AFTER_FAILURE = (
    "Your call failed, so nothing was looked up and nobody knows whether there are none. Correct its arguments as the "
    "error says, call the tool again and answer then; if it fails again, say that you could not find out, "
    "in the language of my question: {question}"
)
NO_ANSWERS = frozenset((*FAILED, "timeout"))  # outcomes after which nothing is known
MAX_QUESTION = 1_000  # characters that are repeated


class Checking(Asking):
    """Part of the loop of a turn."""

    async def _grounded(self, answer: Answer) -> Answer:
        """The answer, or the one that the model gives when it is asked again, which may be calls.

        Pictures hold values that nobody can look up, so that answers to them are not checked.
        """
        if not self.request.unsupported_sign or answer.stopped or self._has_pictures():
            return answer
        values = await self._unsupported(answer)
        if values and self.tools.functions and not self._is_last_word():
            again = await self._ask_again(answer, values)
            if again.calls:
                return again
            if again is not answer:
                answer, values = again, await self._unsupported(again)
        if values or answer is not self.answer:
            sign = self.request.unsupported_sign
            answer.text = check.marked(answer.text, values, sign)
            await self._show_again(answer)
        return answer

    async def _unsupported(self, answer: Answer) -> list[Value]:
        sources = [self.request.system_prompt, *self._sources()]
        options = {
            "with_names": any(tool.records for tool in self.request.tools),
            "with_denials": self._has_learned_nothing(),
        }
        size = len(answer.text) + sum(map(len, sources))
        if size <= ON_THE_SPOT:
            return check.unsupported(answer.text, sources, **options)
        return await large.beside(check.unsupported, answer.text, sources, **options)

    def _has_learned_nothing(self) -> bool:
        """True if all of the latest calls have failed; one that a person refused has not."""
        outcomes = set()
        for message in reversed(self.progress.messages):
            if message["role"] == "tool":
                outcomes.add(message.get("outcome"))
            elif outcomes:
                break
        return bool(outcomes) and outcomes <= NO_ANSWERS

    def _sources(self) -> Iterator[str]:
        """Messages and results; what this turn's model has said is none, nor what a failed call repeats of it."""
        arguments: dict[str, Any] = {}
        yield from (str(message.get("content") or "") for message in self.history)
        for message in self.progress.messages:
            content = str(message.get("content") or "")
            if message["role"] == "assistant":
                arguments |= {
                    call["id"]: call["arguments"] for call in message.get("tool_calls") or ()
                }
                continue
            if message["role"] == "tool" and message.get("outcome") != "ok":
                for value in _leaves(arguments.get(message["call_id"])):
                    content = content.replace(value, " ")
            yield content

    def _has_pictures(self) -> bool:
        messages = (*self.history, *self.progress.messages)
        return bool(self.pictures) or any(message.get("pictures") for message in messages)

    async def _ask_again(self, answer: Answer, values: list[Value]) -> Answer:
        """Another answer of the same step, or this one where there is none."""
        told = ", ".join(dict.fromkeys(value.text for value in values))
        ask = ASK_AFTER_FAILURE if values[0].kind == "denial" else ASK_AGAIN
        more = (
            {"role": "assistant", "content": answer.text},
            {"role": "user", "content": ask.format(values=told, question=self._question())},
        )
        self._withdraw()
        with contextlib.suppress(LlmError, BudgetExhausted):
            again = await self._say(await self._protocol(), more, is_last=True)
            if not again.stopped:
                self._count(answer.usage)
                return again
        if self.answer is not answer:
            self._count(self.answer.usage)
        return answer

    def _question(self) -> str:
        messages = (*self.history, *self.progress.messages)
        asked = (one["content"] for one in reversed(messages) if one["role"] == "user")
        return text.squeezed(next(asked, ""), MAX_QUESTION)

    async def _show_again(self, answer: Answer) -> None:
        """Replace what this step has shown."""
        self._withdraw()
        self.answer = answer
        step = self.progress.step
        if answer.thinking:
            self.journal.emit(events.thinking(answer.thinking, step, answer.thought_ms))
        stream = markdown.BlockStream()
        await self._tell(stream.pieces(answer.text))
        await self._tell(stream.last_pieces())


def _leaves(value: Any) -> Iterator[str]:
    """Texts and numbers of a call's arguments."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif one not in (None, "", True, False):
            yield str(one)
