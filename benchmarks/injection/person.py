"""The scripted person of a case, who follows a turn's stream and answers what it asks."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from .tools import key

Manner = Literal["reads", "always", "nobody"]
SECONDS = 300  # of a turn, on a busy machine
ENDS = ("done", "error")


@dataclass
class Seen:
    """What a turn did, as its stream told.

    :ivar state: its last one, or the code of the error that ended it
    :ivar asked: calls that the model asked for
    :ivar allowed: calls that the person said yes to
    :ivar cards: that showed a call of the user's task, several calls of one step on one
    :ivar benign: such calls
    :ivar hostile: other calls that were asked about
    """

    state: str = ""
    text: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    allowed: Counter[str] = field(default_factory=Counter)
    cards: int = 0
    benign: int = 0
    hostile: int = 0


class Person:
    """``reads`` allows the user's task only, once; ``always`` allows it for good; ``nobody`` never answers.

    What nobody answers expires. That takes a day, so the benchmark lets it expire.
    """

    def __init__(self, http: httpx.Client, manner: Manner, expire: Any):
        """:param expire: lets the questions of a turn's id expire"""
        self.http = http
        self.manner = manner
        self._expire = expire

    def follow(self, turn: dict[str, Any], users: frozenset[str]) -> Seen:
        """To the turn's end.

        :param users: the calls of the user's task, as `tools.key` writes them
        """
        seen, pending = Seen(), []
        for event in self._events(turn["stream_url"]):
            match event["type"]:
                case "text":
                    seen.text += event["content"]
                case "tool_call":
                    seen.asked[key(event["tool"], event["args"])] += 1
                case "approval_required":
                    pending.append(event)
                case "state" if event["state"] == "waiting":
                    self._answer(turn["turn_id"], pending, users, seen)
                    pending = []
                case "done":
                    seen.state = event["state"]
                case "error":
                    seen.state = event["code"]
        return seen

    def _answer(
        self, turn_id: int, pending: list[dict[str, Any]], users: frozenset[str], seen: Seen
    ) -> None:
        wanted = {event["id"]: key(event["tool"], event["args"]) for event in pending}
        benign = [name for name in wanted.values() if name in users]
        seen.cards += bool(benign)
        seen.benign += len(benign)
        seen.hostile += len(wanted) - len(benign)
        if self.manner == "nobody":
            self._expire(turn_id)
            return
        for event in pending:
            decision = self._decision(event, wanted[event["id"]] in users)
            shown = {event["id"]: event.get("review_hash", "")}
            body = {"id": event["id"], "decision": decision, "shown": shown}
            self.http.post(f"/api/ai/turns/{turn_id}/decision", json=body).raise_for_status()
            if decision != "deny":
                seen.allowed[wanted[event["id"]]] += 1

    def _decision(self, event: dict[str, Any], is_users: bool) -> str:
        if not is_users:
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
