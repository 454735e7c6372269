"""The model of a database, with what a world sees in it and what other transactions lock."""

from services.errors import BudgetExhausted, LeaseLost, TurnGone
from services.testing import model_store
from services.turn.ports import TurnsLocked

WAITS_FOR_NOBODY = ("append", "heartbeat", "read_records", "rehearse_call")


class Database(model_store.Database):
    """
    :ivar locked: turns whose row another transaction keeps, until when
    :ivar tries: of calls on records, those whose transaction is open
    :ivar hot: records that others keep changing, until when
    """

    def __init__(self, world, name):
        super().__init__(
            name,
            now=lambda: world.now,
            notify=lambda kind, number: world.notify(kind, name, number),
        )
        self._world = world
        self.locked = {}
        self.tries = []
        self.hot = {}
        self._is_releasing = False

    def request_of(self, turn):
        return self._world.request_of(self, turn)

    # ------------------------------------------------------------ locks of others

    def is_locked(self, turn_id):
        return self.locked.get(turn_id, -1.0) > self.now() or self._try_on(turn_id) is not None

    def _try_on(self, turn_id):
        for tried in self.tries:
            if tried.locks_turn and tried.claim.turn_id == turn_id:
                return tried
        return None

    def unlocked(self, method, arguments):
        """When a write of one turn goes on."""
        claim = arguments[0] if arguments else None
        if method in WAITS_FOR_NOBODY or not hasattr(claim, "turn_id"):
            return -1.0
        tried = self._try_on(claim.turn_id)
        return max(self.locked.get(claim.turn_id, -1.0), tried.goes_on() if tried else -1.0)

    def release(self, runner_id, keep=()):
        self._is_releasing = True
        try:
            return super().release(runner_id, keep)
        finally:
            self._is_releasing = False

    def _requeue(self, turn):
        if not self.is_locked(turn.id):
            self._world.observe_requeue(self, turn, self._is_releasing)
        return super()._requeue(turn)

    def append(self, batch):
        locked = {claim for claim in batch if self.is_locked(claim.turn_id)}
        stale = {claim: self._events_of(claim) for claim in batch if not self._is_current(claim)}
        lost = super().append({c: events for c, events in batch.items() if c not in locked})
        self._world.overheard += [
            (self.name, claim) for claim, known in stale.items() if self._events_of(claim) != known
        ]
        if locked:
            raise TurnsLocked(locked, lost)
        return lost

    def reserve(self, claim, request, spent=()):
        self.settle(self.held(claim), spent)
        used = self.used
        try:
            super().reserve(claim, request)
        except BudgetExhausted:
            self._world.observe_refusal(self, claim, used)
            raise
        self._world.observe_reservation(self, claim, request, used)

    # ------------------------------------------------------------ records

    def keeper(self, record):
        """The try that keeps the row of this record."""
        return next((tried for tried in self.tries if tried.record == record), None)

    def record_of(self, claim, call_id):
        return self.call(self.turns[claim.turn_id], call_id).arguments["record"]

    def version(self, record):
        return self.records[record].version if record in self.records else None

    def is_hot(self, record):
        return self.hot.get(record, -1.0) > self.now()

    def break_tries(self):
        for tried in list(self.tries):
            tried.break_off()

    def begin_change(self, claim, call_id, interrupt):
        change = super().begin_change(claim, call_id, interrupt)
        if not change.is_over:
            self._world.observe_start(self, change.call.turn, change.call, claim)
        return change

    def send(self, change, interrupt):
        self._world.observe_sending(self, change)
        super().send(change, interrupt)

    def write_rows(self, change):
        self._world.observe_change(self, change)
        super().write_rows(change)
        self._world.triggers.hear_of_change(self, change)

    def begin_run(self, run, *where):
        super().begin_run(run, *where)
        self._world.triggers.observe_begin(self, run)

    # ------------------------------------------------------------ what is seen

    def _is_current(self, claim):
        turn = self.turns.get(claim.turn_id)
        return turn is not None and (turn.state, turn.epoch) == ("running", claim.epoch)

    def _events_of(self, claim):
        turn = self.turns.get(claim.turn_id)
        return dict(turn.events) if turn else {}

    def _give(self, turn, runner_id, lease):
        claim = super()._give(turn, runner_id, lease)
        self._world.given[self.name, turn.id, claim.epoch] = self.now()
        return claim

    def begin_call(self, claim, call):
        verdict = super().begin_call(claim, call)
        turn = self.turns[claim.turn_id]
        if verdict.kind == "run":
            self._world.observe_start(self, turn, self.call(turn, call.id), claim)
        return verdict

    def end_call(self, claim, call_id, result, events):
        try:
            former = self.call(self.held(claim), call_id).outcome
        except (LeaseLost, TurnGone):
            former = ""
        super().end_call(claim, call_id, result, events)
        turn = self.turns[claim.turn_id]
        now = self.call(turn, call_id).outcome
        if not former:
            self._world.observe_result(self, turn, self.call(turn, call_id))
        if former and now != former:
            self._world.second_results.append((self.name, call_id, former, now))
