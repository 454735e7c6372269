"""Agent loop of a turn: ask the LLM, run the tools it asks for, ask again, until it answers.

Everything that must survive a crash is in `TurnProgress` and goes to the journal after each step, so that
the same function, called again with the saved progress in another process, goes on where the first one was.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import const, events, large, text
from ..errors import LlmError, LlmProtocolError
from ..llm import client, files, transcript
from ..llm.answer import Answer
from ..llm.connections import Connections
from ..render import markdown
from ..sentence import _lt
from ..specs import CallResult, GivenCall, LlmSpec, ToolCall, TurnProgress, TurnRequest, TurnResult
from . import advice
from .calls import Calls, Reports
from .ports import Journal
from .steps.calling import Calling
from .steps.checking import Checking
from .steps.summing_up import SummingUp
from .tools import TurnTools

MAX_NOTICES = 10  # sentences about tools that were left out, at the start of a turn


async def run_turn(
    request: TurnRequest,
    progress: TurnProgress,
    journal: Journal,
    tools: TurnTools,
    stop: asyncio.Event,
    *,
    connections: Connections | None = None,
    chat_model: Any = None,
    clock: Callable[[], float] = time.monotonic,
) -> TurnResult:
    """Run a turn, or what is left of it.

    :param progress: empty for a new turn; changed in place. Of a resumed turn the host has withdrawn what the
        step that was cut had said, by a `state` event with that `step`
    :param stop: set when the user stops the turn
    :param connections: to the model's endpoint, which the turn leaves open; without them it has its own
    :param chat_model: a LangChain chat model instead of the one that ``request.llm`` describes
    :return: state done, stopped, failed or waiting; `text` is what the last step has said
    :raises LeaseLost, TurnGone: from the journal, after everything that runs was cancelled
    """
    async with contextlib.AsyncExitStack() as stack:
        if chat_model is None and connections is None:
            connections = Connections()
            stack.push_async_callback(connections.close)

        async def open_model(spec: LlmSpec) -> Any:
            if chat_model is not None:
                return chat_model
            return await stack.enter_async_context(client.open_model(spec, connections))

        return await _Turn(request, progress, journal, tools, stop, open_model, clock).run()


def _left_out(names, reason):
    """
    >>> _left_out(["add"], "It is new."), _left_out(["add", "list"], "They are new.")
    ('The tool “add” was left out. It is new.', '2 tools were left out. They are new.')
    """
    if len(names) == 1:
        return _lt("The tool “%(name)s” was left out. %(reason)s", name=names[0], reason=reason)
    return _lt("%(count)s tools were left out. %(reason)s", count=len(names), reason=reason)


def _looked_up(tools, servers):
    if servers > 1:
        return _lt(
            "%(count)s tools of %(servers)s servers are available. The assistant looks up the ones it needs.",
            count=tools,
            servers=servers,
        )
    return _lt(
        "%(count)s tools are available. The assistant looks up the ones it needs.", count=tools
    )


class _Turn(Calling, Checking, SummingUp):
    def __init__(self, *args: Any):
        super().__init__(*args)
        self.reports = Reports(self.journal, self.clock)

    async def run(self) -> TurnResult:
        is_resumed = self.progress.started
        self._begin()
        if self.request.given:
            return await self._make(self.request.given)
        self._save_money()
        self.model = await self._open_model(self.llm)
        if ended := await self._compact():
            return ended
        self.tools.take_in(self.progress.messages)
        calls = transcript.open_calls(self.progress, self.tools.find)
        if calls and not await self._run_calls(calls):
            return self._wait()
        if is_resumed and self._is_finished():
            return self._finished()
        while not self.stop.is_set():
            if self._must_confirm():
                return self._wait(confirm=self.progress.round + 1)
            await self._take_steering()
            try:
                answer = await self._ask()
                if self._is_last_word() or not answer.calls:
                    answer = await self._grounded(answer)
            except LlmError as error:
                return TurnResult(state="failed", text=self._unfinished(self.answer), error=error)
            if answer.stopped:
                return TurnResult(state="stopped", text=self._unfinished(answer))
            calls = [] if self._is_last_word() else self._calls_of(answer)
            if not calls and not answer.text.strip():
                error = LlmProtocolError(
                    _lt("The language model called tools instead of answering. Try again.")
                )
                return TurnResult(state="failed", error=error)
            is_last = not calls
            calls = calls or self._closing_calls(answer)
            await self._save_answer(answer, calls)
            if calls and not await self._run_calls(calls):
                return self._wait()
            if is_last:
                return self._finished()
        return TurnResult(state="stopped", text=self._last_text())

    async def _make(self, given: GivenCall) -> TurnResult:
        """Make one call instead of asking a model."""
        calls = transcript.open_calls(self.progress, self.tools.find)
        if not self.progress.messages:
            calls = [self._given_call(given)]
            await self._save_answer(Answer(), calls)
        if calls and not await self._run_calls(calls):
            return self._wait()
        return self._finished()

    def _wait(self, confirm: int = 0) -> TurnResult:
        if self.stop.is_set():
            return TurnResult(state="stopped", text=self._last_text())
        return TurnResult(state="waiting", text=self._last_text(), confirm=confirm)

    # ------------------------------------------------------------ beginning

    def _begin(self) -> None:
        progress = self.progress
        # also of a new turn: a retry has taken some over
        texts = [m["content"] for m in progress.messages if m["role"] == "assistant"]
        self.blocks = sum(len(markdown.blocks(answer)) for answer in texts)
        if progress.started:
            return
        progress.started = True
        self.journal.emit(
            events.turn_started(
                self.request.turn_id,
                assistant=self.request.assistant,
                tools=self.tools.count,
                servers=self.tools.server_states(),
            )
        )
        if warning := self.request.spending.warning:
            self._notice("budget_low", warning)
        if self.tools.lookup and len(self.request.history) == 1:
            self._notice("tools_looked_up", _looked_up(self.tools.count, self.tools.lookup.servers))
        left_out = {}
        for tool, problem in self.tools.skipped:
            left_out.setdefault((tool.server_id, problem), []).append(text.one_line(tool.name, 100))
        for (_server, problem), names in list(left_out.items())[:MAX_NOTICES]:
            self._notice("tool_skipped", _left_out(names, problem))
        if more := sum(map(len, list(left_out.values())[MAX_NOTICES:])):
            self._notice("tool_skipped", _lt("%(count)s more tools were left out.", count=more))

    def _is_finished(self) -> bool:
        """True if the last step was saved, but not the end of the turn."""
        last = self.progress.messages[-1] if self.progress.messages else {}
        if last.get("call_id", "").startswith(const.CLOSING):
            return True
        return last.get("role") == "assistant" and not last.get("tool_calls")

    def _finished(self) -> TurnResult:
        """End of a turn whose last step is on disk; a Stop during the call with the answer counts."""
        is_stopped = self.stop.is_set() and "call_id" in self.progress.messages[-1]
        return TurnResult(state="stopped" if is_stopped else "done", text=self._last_text())

    def _unfinished(self, answer: Answer) -> str:
        """Text of an answer that has not come to its end; later turns go on from it, as it is shown."""
        if answer.text.strip():
            self.progress.messages.append(
                transcript.assistant_message(answer.text, [], answer.thinking, answer.thought_ms)
            )
        return answer.text

    def _last_text(self) -> str:
        answers = (
            m["content"] for m in reversed(self.progress.messages) if m["role"] == "assistant"
        )
        return next(answers, "")

    # ------------------------------------------------------------ steps

    def _must_confirm(self) -> bool:
        """Asked once, before the round that the assistant names."""
        round_ = self.progress.round + 1
        is_named = round_ == self.request.limits.confirm_round
        return is_named and self.progress.confirmed != round_ and not self._is_last_word()

    async def _take_steering(self) -> None:
        """Take messages that the person has sent since the last step, where all calls have their results."""
        messages = self.progress.messages
        if not messages:
            return
        known = {message["turn"] for message in messages if message["role"] == "user"}
        if entering := await self.journal.take_steering(known):
            messages += [
                {"role": "user", "content": sent["content"], "turn": sent["turn"]}
                for sent in entering
            ]
            entered = [
                events.steered(sent["turn"], sent["content"], sent["message_id"])
                for sent in entering
            ]
            try:
                await self.journal.save_step(self.progress, more_events=entered)
            except Exception:  # nothing of it is on disk, so they are answered next
                del messages[-len(entering) :]
                raise

    async def _save_answer(self, answer: Answer, calls: list[ToolCall]) -> None:
        progress = self.progress
        self._measure(answer.usage)
        progress.messages.append(
            transcript.assistant_message(answer.text, calls, answer.thinking, answer.thought_ms)
        )
        progress.step += 1
        if answer.finish_reason == "length":
            self._notice(
                "answer_cut", _lt("The answer reached its maximum length and was cut off.")
            )
        self._count(answer.usage)
        await self.journal.save_step(progress, tuple(calls))

    # ------------------------------------------------------------ tools

    async def _run_calls(self, calls: list[ToolCall]) -> bool:
        """Run the calls; True if every one has its result, else the turn waits for a person."""
        progress = self.progress
        runner = Calls(
            self.journal,
            self.tools,
            self.stop,
            self.reports,
            budget=self.request.limits.turn_tools_timeout - progress.tools_seconds,
            deadline=self.deadline,
            clock=self.clock,
        )
        results, seconds = await runner.run(calls)
        answered = [call.id for call in calls if call.id in results]
        progress.messages += [
            self._tool_message(call, results[call.id]) for call in calls if call.id in results
        ]
        if self.llm.supports_vision:
            for call_id in answered:
                attached = results[call_id].attachments
                if shown := await large.apply(files.pictures_of, attached):
                    self.pictures[call_id] = shown
        self.tools.take_in(progress.messages)
        for warning in filter(None, (results[call_id].warning for call_id in answered)):
            self._notice("unexpected_result", warning)
        progress.tools_seconds = round(progress.tools_seconds + seconds, 3)
        is_complete = len(results) == len(calls)
        progress.round += is_complete
        await self.journal.save_step(progress)
        return is_complete

    def _tool_message(self, call: ToolCall, result: CallResult) -> dict[str, Any]:
        said = advice.behind(call, result, self.progress.messages)
        if said:
            result = replace(result, text=f"{result.text}\n{said}")
        return transcript.tool_message(call.id, result)
