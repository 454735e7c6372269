"""A queue of turns in memory with the store's rules: leases, epochs, each write whole or not at all."""

import contextlib
import threading
from collections import defaultdict
from dataclasses import replace

from services.errors import LeaseLost
from services.specs import Limits, LlmSpec, TurnProgress, TurnRequest, Verdict
from services.turn.ports import Claim, Loaded


def request_of(turn_id):
    llm = LlmSpec(id=1, base_url="http://127.0.0.1:9", model="none")
    return TurnRequest(
        turn_id=turn_id,
        conversation_id=turn_id,
        assistant="Test",
        llm=llm,
        system_prompt="",
        history=({"role": "user", "content": "Hi"},),
    )


class MemoryStore:
    name = "memory"

    def __init__(self):
        self._lock = threading.Lock()
        self.changed = threading.Condition(self._lock)
        self.turns = {}  # id -> {"state", "owner", "epoch", "progress", "person"}
        self.events = defaultdict(dict)  # id -> {seq: payload}
        self.calls = {}  # call id -> {"epoch", "result"}
        self.endings = {}
        self.reserved = []
        self.kept = set()  # claims whose lease was extended
        self.on_begin_call = lambda: None  # runs after a call's start was written
        self.limits = Limits()
        self.unread = []  # files of each question
        self.on_read_files = lambda: None  # runs while they are read
        self.away = False  # PostgreSQL does not answer

    # for the tests

    def queue(self, turn_id, person=1):
        with self.changed:
            self.turns[turn_id] = {
                "state": "queued",
                "owner": None,
                "epoch": 0,
                "progress": {},
                "person": person,
            }
            self.events[turn_id][1] = {"type": "state", "state": "queued"}

    def steal(self, turn_id):
        """Another runner takes the turn."""
        with self.changed:
            self.turns[turn_id].update(owner="thief", epoch=self.turns[turn_id]["epoch"] + 1)

    def types(self, turn_id):
        return [payload["type"] for _seq, payload in sorted(self.events[turn_id].items())]

    def wait(self, condition, timeout=60):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), timeout), "nothing happened"

    def wait_ended(self, turn_id, timeout=60):
        self.wait(lambda s: turn_id in s.endings, timeout)
        return self.endings[turn_id]

    # the port

    def _check(self):
        if self.away:
            raise ConnectionError("away")

    def _held(self, claim):
        self._check()
        turn = self.turns[claim.turn_id]
        if (turn["state"], turn["epoch"]) != ("running", claim.epoch):
            raise LeaseLost
        return turn

    def _write(self, claim, events):
        for seq, payload in events:
            self.events[claim.turn_id].setdefault(seq, payload)
        self.changed.notify_all()

    def claim(self, runner_id, limit, lease):
        with self.changed:
            self._check()
            claims = []
            for turn_id, turn in self.turns.items():
                if turn["state"] == "queued" and len(claims) < limit:
                    turn.update(state="running", owner=runner_id, epoch=turn["epoch"] + 1)
                    next_seq = max(self.events[turn_id]) + 1
                    tries = turn["epoch"] - turn["progress"].get("epoch", 0)
                    claims.append(
                        Claim(turn_id, turn["epoch"], next_seq, lease, turn["person"], tries)
                    )
            self.changed.notify_all()
            return claims

    def heartbeat(self, runner_id, claims):
        with self.changed:
            self._check()
            held = set()
            for claim in claims:
                with contextlib.suppress(LeaseLost):
                    self._held(claim)
                    held.add(claim)
            self.kept |= held
            self.changed.notify_all()
            return set(claims) - held, set()

    def close(self):
        pass

    def release(self, runner_id, keep=()):
        kept = {(claim.turn_id, claim.epoch) for claim in keep}
        with self.changed:
            self._check()
            for turn_id, turn in self.turns.items():
                is_mine = turn["owner"] == runner_id and turn["state"] == "running"
                if is_mine and (turn_id, turn["epoch"]) not in kept:
                    tried = min(turn["epoch"], turn["progress"].get("epoch", 0) + 1)
                    progress = {**turn["progress"], "epoch": tried}
                    turn.update(state="queued", owner=None, progress=progress)
            self.changed.notify_all()
            return 0

    def sweep(self):
        self._check()

    def load(self, claim):
        with self.changed:
            progress = TurnProgress(**self._held(claim)["progress"])
            request = replace(request_of(claim.turn_id), limits=self.limits)
            return Loaded(request, progress, has_unread_files=bool(self.unread))

    def read_files(self, claim):
        self._check()
        self.on_read_files()
        self.unread = []

    def append(self, batch):
        with self.changed:
            lost = set()
            for claim, events in batch.items():
                try:
                    self._held(claim)
                except LeaseLost:
                    lost.add(claim)
                else:
                    self._write(claim, events)
            return lost

    def reserve(self, claim, request, spent=()):
        with self.changed:
            self._held(claim)
            self.reserved.append((claim.turn_id, request))

    def save_step(self, claim, progress, calls, events):
        with self.changed:
            self._held(claim)["progress"] = progress
            for call in calls:
                self.calls.setdefault(call.id, {"epoch": None, "result": None})
            self._write(claim, events)

    def begin_call(self, claim, asked):
        with self.changed:
            self._held(claim)
            call = self.calls[asked.id]
            if call["result"]:
                return Verdict(kind="done", result=call["result"])
            if call["epoch"] not in (None, claim.epoch):
                return Verdict(kind="lost")
            call["epoch"] = claim.epoch
            self.changed.notify_all()
        self.on_begin_call()
        return Verdict(kind="run")

    def end_call(self, claim, call_id, result, events):
        with self.changed:
            self._held(claim)
            self.calls[call_id]["result"] = result
            self._write(claim, events)

    def finish(self, claim, ending, events):
        with self.changed:
            turn = self._held(claim)
            turn.update(state=ending.state, owner=None)
            self._write(
                claim, [*events, (ending.next_seq, {"type": "done", "state": ending.state})]
            )
            self.endings[claim.turn_id] = ending
            self.changed.notify_all()
