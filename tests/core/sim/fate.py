"""What goes wrong in a world, and when."""

from services.turn.queue.runner import DRAIN_TIMEOUT

HORIZON = 60.0  # s; what goes wrong does so before, then all is well

# The next thing after a call may start is its effect, so that is where standing still is worst.
PAUSES = (
    *["begin_call"] * 4,
    "claim",
    "load",
    "heartbeat",
    "save_step",
    "end_call",
    "finish",
    "append",
)
WRITES = (
    "save_step",
    "begin_call",
    "end_call",
    "suspend_call",
    "finish",
    "append",
    "take_steering",
)


TRY_ENDS = ("kill_within", "kill_within", "pause_within", "cut_within", "stop_within")


class Plan:
    """The size of a world and its faults, drawn from its seed.

    :param other: dice of its own for what came later, so that it changes nothing of what they showed before
    :param third: the same, of what came later still
    :param records: the same, of calls on records
    :param has_records: False: no tool is on records
    """

    def __init__(self, rng, other, third, records, has_records):
        self.rng = rng
        self.other = other
        self.third = third
        self.records = records
        self.has_faults = rng.random() < 0.9
        self.processes = rng.choice((1, 2, 2, 3))
        self.databases = rng.choice((1, 1, 2))
        self.capacity = rng.choice((2, 4))
        self.sessions = rng.choice((2, 50))
        self.turns = rng.randint(2, 5)
        self.turn_timeout = rng.choice((30.0, 120.0, 900.0))
        self.confirm = rng.choice((0, 0, 2))
        self.faults = rng.randint(1, 6) if self.has_faults else 0
        self.databases += other.choice((0, 0, 0, 2))
        self.failovers = other.choice((0, 0, 1, 2)) if self.has_faults else 0
        self.is_deaf = other.random() < 0.15  # no notification is heard
        self.locks = other.choice((0, 0, 1, 4)) if self.has_faults else 0
        self.pause_at = self._moment(PAUSES, 0.4)
        self.refuse_at = self._moment(WRITES, 0.15)
        self.longest_lock = third.choice((3, 3, 8))  # s; the longer ones meet the time-out
        self.enter_at = ("take_steering", 1) if third.random() < 0.7 else None
        self.locks_what_drains = self.has_faults and third.random() < 0.5
        self.has_records = records.random() < 0.7 and has_records
        # All calls on records are about one, and take their time.
        self.is_crowded = records.random() < 0.3
        self.tools_timeout = records.choice((8.0, 120.0, 120.0)) if self.has_records else 120.0
        self.heats = records.choice((0, 0, 1, 2)) if self.has_faults else 0
        # One thing that happens in the nth step of a try of a call on records.
        self.try_ends = records.choice(TRY_ENDS) if self.has_faults else None
        self.try_step = records.randint(1, 12)
        refused = (records.choice(("lose_call", "ask_again")), records.randint(1, 2))
        self.refuse_on_records_at = refused if self.has_faults and records.random() < 0.3 else None
        self.stop_at_failure = records.randint(1, 2) if records.random() < 0.4 else 0
        unheard = ("perform_call", records.randint(1, 3))
        self.unheard_at = unheard if self.has_faults and records.random() < 0.4 else None
        self._steps = self._failures = 0

    def _moment(self, methods, probability):
        """The nth use of a method of the store by any process, or None."""
        chosen = (self.other.choice(methods), self.other.randint(1, 4))
        is_wanted = self.other.random() < probability
        return chosen if self.has_faults and is_wanted else None

    def __str__(self):
        dice = ("rng", "other", "third", "records", "_steps", "_failures")
        told = {name: value for name, value in vars(self).items() if name not in dice}
        return ", ".join(f"{name} {value}" for name, value in told.items())

    def begin(self, world):
        for _ in range(self.faults):
            world.at(self.rng.uniform(1, 60), self._fault, world)
        for _ in range(self.failovers):
            world.at(self.other.uniform(1, 60), self._fail_over, world)
        for _ in range(self.locks):
            world.at(self.other.uniform(1, 60), self._lock, world)
        for _ in range(self.heats if self.has_records else 0):
            world.at(self.records.uniform(1, 50), self._heat, world)

    def _fault(self, world):
        if world.is_calm:
            return
        fault = self.rng.choice(FAULTS)
        world.tell("fate", fault.__name__)
        fault(self, world)

    def _one(self, world):
        alive = [process for process in world.alive() if not process.is_leaving]
        return self.rng.choice(alive) if alive else None

    def kill(self, world):
        if process := self._one(world):
            process.kill()
            self._replace(world)

    def drain(self, world):
        if process := self._one(world):
            process.terminate()
            if self.locks_what_drains:  # what is cut keeps its row until it is rolled back
                world.after(DRAIN_TIMEOUT, self._lock, world, process)
            world.after(20, process.kill)
            self._replace(world)

    def _replace(self, world):
        world.after(self.rng.uniform(0, 5), world.start_process)

    def pause(self, world):
        """The process stands still, its clock goes on (SIGSTOP, a full machine)."""
        self._pause(world, with_clock=False)

    def pause_machine(self, world):
        """The virtual machine stands still, and its monotonic clock with it."""
        self._pause(world, with_clock=True)

    def _pause(self, world, with_clock):
        if process := self._one(world):
            process.pause(self.rng.uniform(0.1, 40), with_clock)
            world.troubles.append((world.now, process.paused_until))

    def away(self, world):
        self._outage(world, "away", 40)

    def hang(self, world):
        self._outage(world, "hang", 30)

    def slow(self, world):
        world.slow_until = world.now + self.rng.uniform(0.5, 20)
        world.troubles.append((world.now, world.slow_until))

    def _outage(self, world, kind, longest):
        outage = world.outages[self.rng.choice(sorted(world.outages))]
        until = world.now + self.rng.uniform(0.5, longest)
        setattr(outage, kind, until)
        if kind == "away":
            for name, database in world.databases.items():
                if world.outages[name] is outage:
                    database.break_tries()
        world.troubles.append((world.now, until))

    def _fail_over(self, world):
        """The PostgreSQL of all databases is killed; after a while its standby has all that was committed."""
        if world.is_calm:
            return
        world.tell("fate", "fail_over")
        until = world.now + self.other.uniform(0.5, 20)
        for outage in world.outages.values():
            outage.died, outage.away = world.now, max(outage.away, until)
        for database in world.databases.values():
            database.break_tries()
        world.troubles.append((world.now, until))

    def _lock(self, world, process=None):
        """Somebody else's transaction keeps the row of a turn that runs, or that this process runs."""
        dice = self.third if process else self.other
        running = [
            (database, turn.id)
            for database in world.databases.values()
            for turn in database.turns.values()
            if turn.state == "running" and (process is None or turn.owner == process.name)
        ]
        if running and not world.is_calm:
            database, turn_id = dice.choice(running)
            world.tell("fate", f"locks in {database.name}", turn_id)
            database.locked[turn_id] = until = world.now + dice.uniform(0.05, self.longest_lock)
            world.locks.append((world.now, until))

    def stop_entered(self, world, process, database, numbers):
        """Somebody stops a message in the moment in which it enters an answer, which may get no further."""
        number = self.third.choice(numbers)
        world.people.stop(database, number)
        if self.has_faults and self.third.random() < 0.5:
            world.tell("fate", "kills", process.name)
            process.kill()
            world.after(self.third.uniform(0, 5), world.start_process)

    def _heat(self, world):
        """Others keep changing a record, whatever becomes of it."""
        database = world.databases[self.records.choice(sorted(world.databases))]
        record = self.records.choice((1, 1, 2))
        world.tell("fate", f"heats a record of {database.name}", record)
        database.hot[record] = world.now + self.records.uniform(2, 20)

    def disturb(self, world, tried):
        """A step of a try of a call on records is about to begin."""
        if self.try_ends is None or world.is_calm:
            return
        self._steps += 1
        if self._steps == self.try_step:
            world.tell("fate", self.try_ends, tried.process.name, tried.call_id)
            getattr(self, self.try_ends)(world, tried)

    def hear_of_failure(self, world, tried):
        """A try has failed, and there may be another one: whoever stops now stops that."""
        self._failures += 1
        if self._failures == self.stop_at_failure and not world.is_calm:
            world.people.stop(tried.database, tried.claim.turn_id)

    def kill_within(self, world, tried):
        tried.process.kill()
        world.after(self.records.uniform(0, 5), world.start_process)

    def pause_within(self, world, tried):
        tried.process.pause(self.records.uniform(1, 40), with_clock=False)
        world.troubles.append((world.now, tried.process.paused_until))

    def cut_within(self, world, tried):
        world.observe_loss(tried.database)
        tried.break_off()

    def stop_within(self, world, tried):
        world.people.stop(tried.database, tried.claim.turn_id)

    def pause_after(self, world, process):
        """The process stands still between a commit and hearing of it."""
        until = world.now + self.other.uniform(1, 40)
        world.tell("fate", "pauses after a commit", process.name)
        process.pause(until - world.now, with_clock=False)
        world.troubles.append((world.now, until))


FAULTS = (
    Plan.kill,
    Plan.kill,
    Plan.drain,
    Plan.pause,
    Plan.pause_machine,
    Plan.away,
    Plan.hang,
    Plan.slow,
)
