"""Calls on the host's own records: rehearsed, and carried out in one transaction with their result.

Each is made of moments, so that a host of the model may let time pass between them: what a change has read and would
write is a `Change`, and nothing of it is there before `commit_change`. What it sends is, and stays.
"""

from dataclasses import dataclass
from typing import Any

from ...errors import TurnGone
from ...records.errors import RecordError, RehearsalDiffers
from ...specs import CallResult, Verdict
from ...turn.interrupt import Interrupt
from ...turn.ports import Claim
from .rows import Call, Record, Turn
from .turn_queue import TurnQueue

IMPOSSIBLE = {"impossible": "the network"}  # rehearsal of what would send something
CHANGED = "Not done: the permission changed."
GONE = "Not done: the record is gone."


@dataclass(slots=True, kw_only=True)
class Change:
    """`seen` is the version of the record that it has read; `is_over` is set where the call has its result already."""

    claim: Claim
    call: Call
    record: int
    seen: int = 0
    value: str = ""
    sends: bool = False
    approval: str = ""
    is_over: bool = False


class RecordCalls(TurnQueue):
    """Part of the `Store`.

    :ivar records: by id, those that exist
    :ivar made: ``(record, token)`` of each change that is on disk
    :ivar sent: tokens of the calls that have sent something
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.records: dict[int, Record] = {}
        self.made: list[tuple[int, Any]] = []
        self.sent: list[Any] = []

    def call(self, turn: Turn, call_id: str) -> Call:
        """A call of a turn, see `ModelStore`."""
        raise NotImplementedError

    def insert(self, turn: Turn, numbered) -> None:
        """Write events, see `ModelStore`."""
        raise NotImplementedError

    def _may_start(self, row: Call, origin: tuple[int, str] | None) -> Verdict:
        raise NotImplementedError

    def read_records(self, claim: Claim, call_id: str, interrupt: Interrupt) -> CallResult:
        call = self.call(self._turn_of(claim), call_id)
        self._check_wanted(interrupt)
        return CallResult(outcome="ok", text=self._record(call).value)

    # ------------------------------------------------------------ rehearsals

    def rehearse_call(self, claim: Claim, call_id: str, interrupt: Interrupt) -> None:
        found = self.begin_rehearsal(claim, call_id, interrupt)
        self.keep_rehearsal(claim, call_id, found)

    def begin_rehearsal(self, claim: Claim, call_id: str, interrupt: Interrupt) -> dict:
        """:return: what the row keeps of it
        :raises RecordError: it could not be carried out, see `drop_question`
        """
        call = self.call(self._turn_of(claim), call_id)
        self._check_wanted(interrupt)
        return self._rehearsed(call, self._foreseen(call))

    def keep_rehearsal(self, claim: Claim, call_id: str, found: dict) -> None:
        call = self.call(self.held(claim), call_id)
        if not call.outcome:
            call.rehearsal = found

    def drop_question(self, claim: Claim, call_id: str) -> None:
        """Ask nobody about what cannot be carried out."""
        call = self.call(self.held(claim), call_id)
        if not call.outcome:
            call.approval = ""

    def ask_again(self, claim: Claim, call_id: str, found: dict) -> None:
        call = self.call(self.held(claim), call_id)
        if not call.outcome:
            call.is_asked_again = call.approval == "approved"
            call.approval, call.rehearsal, call.started = "pending", found, 0

    def _rehearsed(self, call: Call, values: dict[int, str]) -> dict:
        before, after = self._effect(call, values)
        if call.arguments.get("sends"):
            return IMPOSSIBLE
        shown = {"record": call.arguments["record"], "from": before, "to": after}
        return {"shown": shown, "digest": f"{shown}"}

    def _effect(self, call: Call, values: dict[int, str]) -> tuple[str, str]:
        """The record's value before and after the call."""
        record, token = call.arguments["record"], call.arguments["token"]
        if record not in values:
            raise RecordError(GONE)
        return values[record], f"of {token}{' as changed' * call.is_changed}"

    def _foreseen(self, call: Call) -> dict[int, str]:
        """Values as they are once the changes of the same answer that wait before this one are made."""
        values = {number: record.value for number, record in self.records.items()}
        for earlier in call.turn.calls[: call.turn.calls.index(call)]:
            is_change = earlier.round == call.round and earlier.records == "write"
            record = earlier.arguments.get("record")
            if is_change and not earlier.outcome and record in values:
                values[record] = self._effect(earlier, values)[1]
        return values

    # ------------------------------------------------------------ changes

    def perform_call(
        self, claim: Claim, call_id: str, events: list, interrupt: Interrupt
    ) -> CallResult:
        change = self.begin_change(claim, call_id, interrupt)
        if change.sends:
            self.send(change, interrupt)
        return self.commit_change(change, events)

    def begin_change(self, claim: Claim, call_id: str, interrupt: Interrupt) -> Change:
        """Read every switch again, and what the call would change.

        :raises RehearsalDiffers: that is not what was shown, or nobody can know it in advance
        """
        turn = self.held(claim)
        self.renew(turn, claim)
        call = self.call(turn, call_id)
        if call.outcome:
            return Change(claim=claim, call=call, record=call.arguments["record"], is_over=True)
        before = call.approval
        verdict = self._may_start(call, call.origin)
        approval, call.approval = call.approval, before  # nothing is on disk yet
        if verdict.kind != "run":
            raise RecordError(verdict.reason or CHANGED, outcome="denied")
        self._check_wanted(interrupt)
        record = self._record(call)
        found = self._rehearsed(call, {record.id: record.value})
        if self._differs(call, found):
            raise RehearsalDiffers(found)
        return Change(
            claim=claim,
            call=call,
            record=record.id,
            seen=record.version,
            value=self._effect(call, {record.id: record.value})[1],
            sends=found == IMPOSSIBLE,
            approval=approval,
        )

    def _differs(self, call: Call, found: dict) -> bool:
        """Nothing is sent that nobody was told of, nor anything else done than was shown."""
        if call.rehearsal is None:
            return found == IMPOSSIBLE
        return call.rehearsal != IMPOSSIBLE and call.rehearsal != found

    def send(self, change: Change, interrupt: Interrupt) -> None:
        """It leaves the transaction: no rollback takes it back."""
        interrupt.left.append("the network")
        self.sent.append(change.call.arguments["token"])

    def commit_change(self, change: Change, events: list) -> CallResult:
        """The rows, the result and its event, all at once."""
        turn, call = self.held(change.claim), change.call
        if not change.is_over:
            self.write_rows(change)
            call.approval, call.outcome, call.text = change.approval, "ok", change.value
            call.is_foreign = True
        self.insert(turn, call.told(events))
        return call.result

    def write_rows(self, change: Change) -> None:
        self.records[change.record].put(change.value)
        self.made.append((change.record, change.call.arguments["token"]))

    def lose_call(self, claim: Claim, call_id: str) -> tuple[CallResult | None, int]:
        turn = self.held(claim)
        self.renew(turn, claim)
        call = self.call(turn, call_id)
        if call.outcome:
            return call.result, call.losses
        call.losses += 1
        return None, call.losses

    def _turn_of(self, claim: Claim) -> Turn:
        if turn := self.turns.get(claim.turn_id):
            return turn
        raise TurnGone

    def _record(self, call: Call) -> Record:
        if record := self.records.get(call.arguments["record"]):
            return record
        raise RecordError(GONE)

    def _check_wanted(self, interrupt: Interrupt) -> None:
        if interrupt.is_set:
            raise RecordError(outcome="cancelled")
