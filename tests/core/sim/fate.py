"""What goes wrong in a world, and when."""

from services.turn.queue.runner import DRAIN_TIMEOUT

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


class Plan:
    """The size of a world and its faults, drawn from its seed.

    :param other: dice of its own for what came later, so that it changes nothing of what they showed before
    :param third: the same, of what came later still
    """

    def __init__(self, rng, other, third):
        self.rng = rng
        self.other = other
        self.third = third
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

    def _moment(self, methods, probability):
        """The nth use of a method of the store by any process, or None."""
        chosen = (self.other.choice(methods), self.other.randint(1, 4))
        is_wanted = self.other.random() < probability
        return chosen if self.has_faults and is_wanted else None

    def __str__(self):
        dice = ("rng", "other", "third")
        told = {name: value for name, value in vars(self).items() if name not in dice}
        return ", ".join(f"{name} {value}" for name, value in told.items())

    def begin(self, world):
        for _ in range(self.faults):
            world.at(self.rng.uniform(1, 60), self._fault, world)
        for _ in range(self.failovers):
            world.at(self.other.uniform(1, 60), self._fail_over, world)
        for _ in range(self.locks):
            world.at(self.other.uniform(1, 60), self._lock, world)

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
        world.troubles.append((world.now, until))

    def _fail_over(self, world):
        """The PostgreSQL of all databases is killed; after a while its standby has all that was committed."""
        if world.is_calm:
            return
        world.tell("fate", "fail_over")
        until = world.now + self.other.uniform(0.5, 20)
        for outage in world.outages.values():
            outage.died, outage.away = world.now, max(outage.away, until)
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
