"""Calls of a model's answer: each with its tool, its arguments, and what is wrong with them."""

import functools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import const, text
from ...llm.answer import Answer
from ...openapi import recall
from ...records import id_check, repeat_check
from ...specs import GivenCall, ToolCall, ToolSpec
from .step import Step

MAX_CALLS = 20  # calls of one answer; what a model asks beyond it is refused


class Calling(Step):
    """Part of the loop of a turn."""

    def _calls_of(self, answer: Answer) -> list[ToolCall]:
        calls: list[ToolCall] = []
        asked: list[tuple[ToolSpec, dict[str, Any]]] = []
        ids = functools.cache(self._named)  # of a long conversation: once for all calls
        for requested in answer.calls[:MAX_CALLS]:
            tool, server = self.tools.resolve(requested.name) or (None, None)
            arguments, problem = answer.arguments_of(requested)
            if tool is not None and arguments is not None:
                arguments = recall.merged(arguments, tool.fixed)
                if tool.records == "read" and (tool, arguments) in asked:
                    continue  # small models ask for the same thing twice at once
                asked.append((tool, arguments))
                problem = problem or self._guess(tool, arguments, ids)
            calls.append(
                ToolCall(
                    id=f"call_{uuid.uuid4().hex}",
                    alias=text.one_line(requested.name, 128) or "unnamed",
                    round=self.progress.round + 1,
                    tool=tool,
                    server=server,
                    arguments=arguments,
                    raw_arguments=requested.arguments,
                    problem=problem,
                    extra=(self.host, requested.extra) if requested.extra else None,
                )
            )
        if calls and all(call.problem.startswith(repeat_check.MADE) for call in calls):
            self.progress.sum_up = True  # it goes round in circles
        return calls

    def _given_call(self, given: GivenCall) -> ToolCall:
        tool, server = self.tools.resolve(given.alias) or (None, None)
        return ToolCall(
            id=f"call_{uuid.uuid4().hex}",
            alias=given.alias,
            round=self.progress.round + 1,
            tool=tool,
            server=server,
            arguments=dict(given.arguments),
        )

    def _closing_calls(self, answer: Answer) -> list[ToolCall]:
        """The call that the host makes with the answer, unless it was made: a retry takes over what was."""
        closing = self.request.closing
        if closing is None or self._has_closed():
            return []
        call = ToolCall(
            id=f"{const.CLOSING}{uuid.uuid4().hex}",
            alias=closing.tool.alias,
            round=self.progress.round + 1,
            tool=closing.tool,
            arguments=_with_value(closing.arguments, closing.path, answer.text),
        )
        return [call]

    def _has_closed(self) -> bool:
        return any(
            message.get("call_id", "").startswith(const.CLOSING)
            and message["outcome"] in ("ok", "unknown")
            for message in self.progress.messages
        )

    def _named(self) -> set[str]:
        told = [one for one in self.progress.messages if one["role"] != "assistant"]
        return id_check.known(self.request.system_prompt, self.history, told)

    def _guess(self, tool: ToolSpec, arguments: dict[str, Any], ids: Callable[[], set[str]]) -> str:
        """Correction for a model that guesses instead of reading before a call on records.

        :param ids: gives those that somebody has named
        """
        if not tool.records:
            return ""
        return id_check.made_up(arguments, ids) or repeat_check.refusal(
            tool.name, arguments, self.progress.messages
        )


def _with_value(arguments: Mapping[str, Any], path: Sequence[str], value: str) -> dict[str, Any]:
    """
    >>> _with_value({"id": 5, "values": {}}, ("values", "comment"), "Done.")
    {'id': 5, 'values': {'comment': 'Done.'}}
    """
    name, *rest = path
    inner = _with_value(arguments.get(name) or {}, rest, value) if rest else value
    return {**arguments, name: inner}
