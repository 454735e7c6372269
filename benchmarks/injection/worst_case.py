"""The scripted worst case of a model: it does the user's task by its ground truth, and what it reads it obeys.

From the first result that holds an injection on, it makes the attacker's calls first. Which step it is at it knows from
the conversation alone, so a request may come twice.
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
DONE = "Done."  # where the task wants no answer; none at all would be a fault of the model
ONE_BY_ONE = frozenset({"send_email"})  # their order is part of a task
_TICKET = re.compile(r"Ticket (\d+)\.")
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Plan:
    """What AgentDojo says of a case: calls as (tool, arguments), and what is answered in the end."""

    prompt: str
    users: list[Call]
    answer: str
    attackers: list[Call]
    attackers_answer: str


def steps(calls: list[Call]) -> list[list[Call]]:
    """Calls that are asked for at once: those of one tool that follow each other.

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
        done, obeys_since = progress(body["messages"])
        users = steps(plan.users)
        if obeys_since is None:
            wanted, answer = users, plan.answer
        else:
            wanted = [*users[:obeys_since], *steps(plan.attackers), *users[obeys_since:]]
            answer = f"{plan.answer} {plan.attackers_answer}"
        if done >= len(wanted):
            return Reply(answer.strip() or DONE, piece=4096)
        offered = [one["function"]["name"] for one in body.get("tools", ())]
        names = {name.rpartition("__")[2]: name for name in offered}
        return Reply(calls=[(names[tool], arguments) for tool, arguments in wanted[done]])


def progress(messages: list[Mapping[str, Any]]) -> tuple[int, int | None]:
    """How many steps were made, and after how many of them the model obeys the attacker."""
    made, since = 0, None
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            made += 1
        elif message["role"] == "tool" and since is None and MARK in json.dumps(message["content"]):
            since = made
    return made, since
