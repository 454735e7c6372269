"""A try of a call on records: a transaction that takes time, whose locks others meet and that anything may end."""

import contextlib

from services.errors import LeaseLost, TurnGone
from services.records.errors import ConnectionLost, RecordError, TryAgain
from services.turn.interrupt import Interrupt

LOCK_TIMEOUT = 2.0  # s that it waits for a row
SHORTEST = 0.001  # s
BUSY = "Not done: others change the record."


class WorldInterrupt(Interrupt):
    """An interrupt whose thread is the world's clock."""

    def __init__(self, world, limit):
        super().__init__(limit)
        self._world, self._process = world, world.running

    def set(self):
        if not self.is_set:
            self.asked.set_result(None)
            self._world.after(SHORTEST, self._end, self._world.now + self.GRACE)

    def _end(self, until):
        world, process = self._world, self._process
        if not process.is_alive:
            return
        if process.is_paused():
            world.at(process.paused_until, self._end, until)
        elif world.now < until:
            self._cancel()
            world.at(min(until, world.now + 4 * self.AGAIN), self._end, until)
        else:
            self._cut()
            self.over.set_result(None)


class Try:
    """
    :ivar due: when it goes on
    :ivar step: how many were begun
    :ivar commits: COMMIT is what it does next
    :ivar wake: has it go on at once
    """

    def __init__(self, world, process, database, method, claim, call_id, events, interrupt):
        self.world, self.process, self.database = world, process, database
        self.method, self.claim, self.call_id = method, claim, call_id
        self.events, self.interrupt = events, interrupt
        self.due = world.now
        self.record = None  # whose row it keeps
        self.locks_turn = method == "perform_call"
        self.commits = False
        self.is_cancelled = self.is_cut = False
        self.step = 0
        # In code of others, which nobody can cancel.
        self._is_deaf = world.record_dice.random() < 0.2
        self._steps = getattr(self, f"_{method}")()
        self.wake = lambda: None

    # ------------------------------------------------------------ for who resumes it

    @property
    def key(self):
        return self.database.name, self.call_id, self.claim.epoch, self.method

    def resume(self):
        """Do the next step.

        :return: seconds until the one after it
        :raises StopIteration: with the result
        """
        if self.is_cut:
            raise self._lost("it was cut")
        if self.is_cancelled and not self.commits:
            self.roll_back()
            raise self._failed()
        try:
            pause = next(self._steps)
        except RecordError as error:
            if self._has_left and not isinstance(error, TryAgain):
                raise self._failed() from error
            raise
        self.due = self.world.now + pause
        return pause

    def roll_back(self):
        """Nothing of it stays but what it has sent."""
        self._steps.close()

    def break_off(self):
        """Its connection is lost, and PostgreSQL has noticed."""
        self.is_cut = True
        self.roll_back()

    def end_alone(self):
        """Its process is dead: nothing follows but a COMMIT that was on its way."""
        if self.commits and self.world.record_dice.random() < 0.5:
            with contextlib.suppress(StopIteration, RecordError, LeaseLost, TurnGone):
                self.resume()
        self.roll_back()

    def goes_on(self):
        """Moment at which its locks may be gone, at the earliest."""
        paused = min(self.process.paused_until, self.idle_until())
        return max(self.due, paused, self.world.now) + SHORTEST

    def idle_until(self):
        """Moment at which PostgreSQL ends it, should its process stand still."""
        return self.due + self.interrupt.limit + self.interrupt.GRACE

    def end_idle(self):
        if self in self.database.tries and self.idle_until() <= self.world.now:
            self.break_off()

    def cancel(self):
        """A statement is cancelled; what is no statement goes on."""
        if not self._is_deaf:
            self.is_cancelled = True
            self.wake()

    def cut(self):
        self.break_off()
        self.wake()

    def unheard(self):
        """It is over, and its answer was lost."""
        if self.method == "rehearse_call":  # of the transaction that keeps what was found
            return ConnectionError("the answer of COMMIT was lost")
        return self._lost("the answer of COMMIT was lost")

    def _lost(self, detail):
        return ConnectionLost(has_left=self._has_left, detail=detail)

    @property
    def _has_left(self):
        return bool(self.interrupt.left) and self.locks_turn

    def _failed(self):
        """A statement was ended, or something else went wrong that does not pass."""
        outcome = "unknown" if self._has_left else "timeout"
        return RecordError("Not done: it was ended.", outcome=outcome)

    # ------------------------------------------------------------ what it does

    def _perform_call(self):
        database, dice = self.database, self.world.record_dice
        with self._open():
            change = database.begin_change(self.claim, self.call_id, self.interrupt)
            if change.is_over:
                return database.commit_change(change, self.events)
            self.world.observe_try(self)
            yield from self._lock(change.record, change.seen)
            yield self._time()
            if change.sends:
                database.send(change, self.interrupt)
                yield self._time()
            self._check(change.record)
            self.commits = True
            yield dice.uniform(SHORTEST, 0.02)
            return database.commit_change(change, self.events)

    def _rehearse_call(self):
        """Undone, and in a transaction of its own what was found."""
        database = self.database
        keep = database.keep_rehearsal
        with self._open():
            try:
                found = database.begin_rehearsal(self.claim, self.call_id, self.interrupt)
                self.world.observe_try(self)
                record = database.record_of(self.claim, self.call_id)
                yield from self._lock(record, database.version(record))
                yield self._time()
                self._check(record)
            except TryAgain:
                raise
            except RecordError as error:
                found, keep = error, database.drop_question
        while (until := database.unlocked("keep_rehearsal", (self.claim,))) > self.world.now:
            yield until - self.world.now
        if keep == database.keep_rehearsal:
            return keep(self.claim, self.call_id, found)
        keep(self.claim, self.call_id)
        raise found

    def _read_records(self):
        with self._open():
            result = self.database.read_records(self.claim, self.call_id, self.interrupt)
            self.world.observe_try(self)
            yield self._time()
            return result

    @contextlib.contextmanager
    def _open(self):
        self.database.tries.append(self)
        with self.interrupt.by(self.cancel, self.cut):
            try:
                yield
            finally:
                self.database.tries.remove(self)

    def _time(self):
        """Most are over at once, some others meet."""
        dice, longest = self.world.record_dice, 2.0 if self.world.plan.is_crowded else 0.3
        return dice.uniform(1, 4) if dice.random() < 0.1 else dice.uniform(0.005, longest)

    def _lock(self, record, seen):
        """:param seen: the version that was read"""
        database, until = self.database, self.world.now + LOCK_TIMEOUT
        while holder := database.keeper(record):
            if self.world.now >= until:
                raise RecordError(BUSY)
            yield max(SHORTEST, min(holder.goes_on(), until) - self.world.now)
        self.record = record
        if database.version(record) != seen:
            raise TryAgain(detail="could not serialize access")

    def _check(self, record):
        """Others may keep changing what it changes, whenever it does."""
        if self.database.is_hot(record) or self.world.record_luck() < 0.03:
            raise TryAgain(has_left=self._has_left, detail="could not serialize access")
