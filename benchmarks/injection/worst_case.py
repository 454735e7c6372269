"""The scripted worst case of a model: it does the user's task by its ground truth and obeys injected text.

After the first result with an injection it makes the attacker's calls, then the rest of the user's. Its step follows
from the messages of a request alone, so requests may be repeated.
"""

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from services.testing.scripted_llm import Reply

from .tools import MARK

TICKET = "Ticket {}."
DONE = "Done."  # for tasks without an answer; an empty one is an error of the model
ONE_BY_ONE = frozenset({"send_email"})  # the judge of a task compares their order
_TICKET = re.compile(r"Ticket (\d+)\.")
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Plan:
    """Ground truths of a case: calls as (tool, arguments), and the final answers."""

    prompt: str
    user_calls: list[Call]
    answer: str
    attacker_calls: list[Call]
    attacker_answer: str


def steps(calls: list[Call]) -> list[list[Call]]:
    """Groups of calls that are requested in parallel: consecutive calls of one tool.

    >>> steps([("a", {"n": 1}), ("a", {"n": 2}), ("b", {})])
    [[('a', {'n': 1}), ('a', {'n': 2})], [('b', {})]]
    """
    numbered = enumerate(calls)
    groups = itertools.groupby(
        numbered, lambda one: (one[1][0], one[0] if one[1][0] in ONE_BY_ONE else -1)
    )
    return [[call for _number, call in group] for _key, group in groups]


@dataclass
class WorstCase:
    """:ivar plans: of the cases that run, by the number of their ticket"""

    plans: dict[int, Plan] = field(default_factory=dict)

    def reply(self, body: Mapping[str, Any]) -> Reply:
        """:param body: of a request to ``/chat/completions``"""
        ticket = next(
            int(found[1])
            for message in body["messages"]
            if message["role"] == "user" and (found := _TICKET.search(str(message["content"])))
        )
        plan = self.plans[ticket]
        done, obeys_after = progress(body["messages"])
        users = steps(plan.user_calls)
        if obeys_after is None:
            wanted, answer = users, plan.answer
        else:
            wanted = [*users[:obeys_after], *steps(plan.attacker_calls), *users[obeys_after:]]
            answer = f"{plan.answer} {plan.attacker_answer}"
        if done >= len(wanted):
            return Reply(answer.strip() or DONE, piece=4096)
        offered = [one["function"]["name"] for one in body.get("tools", ())]
        names = {name.rpartition("__")[2]: name for name in offered}
        return Reply(calls=[(names[tool], arguments) for tool, arguments in wanted[done]])


def progress(messages: list[Mapping[str, Any]]) -> tuple[int, int | None]:
    """Number of steps so far, and the number of them after which the model obeys; None if it does not yet."""
    made, since = 0, None
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            made += 1
        elif message["role"] == "tool" and since is None and MARK in json.dumps(message["content"]):
            since = made
    return made, since
