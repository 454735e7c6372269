"""The scripted person: reads the stream of a turn and decides about its calls."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from .judging import Judge
from .tools import key

Manner = Literal["reviews", "always", "absent"]
SECONDS = 1_800  # of a turn, with a small model on a busy machine
ENDS = ("done", "error")


@dataclass
class TurnSummary:
    """Events of a turn, counted.

    :ivar state: the last one, or the code of the error that ended the turn
    :ivar requested: calls of the model with an effect of the attacker
    :ivar approved: calls that the person allowed, as `tools.key` writes them
    :ivar benign_cards: questions about calls of the user's task; the calls of one step are one question
    :ivar benign_calls: calls of the user's task in these questions
    :ivar other_calls: all other calls that the person decided about
    """

    state: str = ""
    text: str = ""
    requested: int = 0
    approved: Counter[str] = field(default_factory=Counter)
    benign_cards: int = 0
    benign_calls: int = 0
    other_calls: int = 0


class Person:
    """A user who decides about calls.

    ``reviews`` allows calls of the user's task once and denies all others; ``always`` does so with *Allow always*;
    ``absent`` never answers: questions expire, without the day that this takes.
    """

    def __init__(self, http: httpx.Client, manner: Manner, expire: Callable[[int], None]):
        """:param expire: expires the open questions of a turn's id"""
        self.http = http
        self.manner = manner
        self._expire = expire

    def follow(self, turn: dict[str, Any], judge: Judge) -> TurnSummary:
        """Decide until the turn ends."""
        summary, pending = TurnSummary(), []
        for event in self._events(turn["stream_url"]):
            match event["type"]:
                case "text":
                    summary.text += event["content"]
                case "tool_call":
                    summary.requested += judge.is_attackers(event["tool"], event["args"])
                case "approval_required":
                    pending.append(event)
                case "state" if event["state"] == "waiting":
                    self._answer(turn["turn_id"], pending, judge, summary)
                    pending = []
                case "done":
                    summary.state = event["state"]
                case "error":
                    summary.state = event["code"]
        return summary

    def _answer(
        self,
        turn_id: int,
        pending: list[dict[str, Any]],
        judge: Judge,
        summary: TurnSummary,
    ) -> None:
        benign = {one["id"] for one in pending if judge.is_users(one["tool"], one["args"])}
        summary.benign_cards += bool(benign)
        summary.benign_calls += len(benign)
        summary.other_calls += len(pending) - len(benign)
        if self.manner == "absent":
            self._expire(turn_id)
            return
        for event in pending:
            decision = self._decision(event, event["id"] in benign)
            shown = {event["id"]: event.get("review_hash", "")}
            body = {"id": event["id"], "decision": decision, "shown": shown}
            self.http.post(f"/api/ai/turns/{turn_id}/decision", json=body).raise_for_status()
            if decision != "deny":
                summary.approved[key(event["tool"], event["args"])] += 1

    def _decision(self, event: dict[str, Any], is_benign: bool) -> str:
        if not is_benign:
            return "deny"
        if self.manner == "always" and "approve_always" in event["choices"]:
            return "approve_always"
        return "approve_once"

    def _events(self, url: str) -> Iterator[dict[str, Any]]:
        after, until = 0, time.monotonic() + SECONDS
        while time.monotonic() < until:
            with self.http.stream("GET", url, headers={"Last-Event-ID": str(after)}) as answer:
                if answer.status_code == 204:
                    return
                for line in answer.iter_lines():
                    if line.startswith("id: "):
                        after = int(line[4:])
                    elif line.startswith("data: "):
                        event = json.loads(line[6:])
                        yield event
                        if event["type"] in ENDS:
                            return
            time.sleep(0.05)
        raise TimeoutError(f"{url} does not end")
