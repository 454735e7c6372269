"""Triggers, which start runs, and the cron that begins these."""

import random
from collections import Counter, defaultdict

from services.testing.model_store import FINAL

from .people import RECORDS

ACTIONS = (1, 2, 3)
LOOK = 1.0  # s between two looks of a cron for scheduled runs
MAX_RUNS = 8  # of a database, after which a change starts none
OVER = (*FINAL, "refused")


class Triggers:
    """
    :ivar told: (database, key) of the events whose transaction was committed
    :ivar causes: (database, key) -> the run whose call was the trigger
    :ivar begun: how often each run has asked
    :ivar crowded: runs that were begun without room
    """

    def __init__(self, world):
        self.world = world
        self.dice = random.Random(f"runs of {world.seed}")
        self.is_on = self.dice.random() < 0.3 and world.has_records
        self.length = (
            3 if self.is_on else 1
        )  # how much longer the end may take: a run may follow a run
        self.at_once = self.dice.choice((1, 2, 8))
        self.crons = self.dice.choice((1, 1, 2))  # that look side by side
        self.told, self.causes = set(), {}
        self.begun, self.crowded = Counter(), []
        self._kept = defaultdict(set)  # runs whose rows a cron keeps
        self._events = 0

    def begin(self):
        if not self.is_on:
            return
        names = sorted(self.world.databases)
        for database in self.world.databases.values():
            database.AT_ONCE = self.at_once
            for _ in range(self.crons):
                self.world.at(self.dice.uniform(0, LOOK), self._look, database)
        for _ in range(self.dice.randint(1, 5)):
            database = self.world.databases[self.dice.choice(names)]
            self._events += 1
            key = (self.dice.choice(ACTIONS), self.dice.choice(RECORDS), f"event {self._events}")
            when = self.dice.uniform(0, 50)
            self.world.at(when, self._tell, database, key, self.dice.choice((1, 2)))

    # ------------------------------------------------------------ triggers

    def _tell(self, database, key, user):
        """A source tells of an event, and again where it has heard of no end."""
        world, luck = self.world, self._luck()
        again = self.dice.uniform(0.5, 5)
        if world.now < world.outages[database.name].away:
            return world.after(again, self._tell, database, key, user)
        if luck < 0.1:
            return world.tell("trigger", f"is rolled back in {database.name}", *key)
        world.after(world.latency(), self._commit, database, key, user)
        if luck < 0.4:  # the answer is lost, or two have read the same
            world.after(0 if luck < 0.2 else again, self._tell, database, key, user)

    def _luck(self):
        return self.dice.random() if self.world.plan.has_faults and not self.world.is_calm else 1.0

    def _commit(self, database, key, user, writer=0):
        self.told.add((database.name, key))
        if cause := database.run_of(writer):
            self.causes[database.name, key] = cause
        run = database.schedule(key, user, writer)
        self.world.tell("trigger", f"schedules in {database.name}", *key, run)
        if run and self.dice.random() < 0.1:
            self.world.after(self.dice.uniform(0, 20), self._stop, database, run)

    def hear_of_change(self, database, change):
        """The call of a turn changes a record, and with it what is to happen then."""
        if self.is_on and len(database.runs) < MAX_RUNS:
            turn = change.call.turn
            event = f"turn {turn.id} {change.call.arguments['token']}"
            action = self.dice.choice(ACTIONS)
            self._commit(database, (action, change.record, event), turn.user, turn.id)

    # ------------------------------------------------------------ the cron

    def _look(self, database):
        """Lock the next run; whatever happens before the commit, the row is as it was."""
        world, kept = self.world, self._kept[database.name]
        world.after(LOOK, self._look, database)
        if world.now < world.outages[database.name].away:
            return
        if run := database.next_run(kept):
            if len(database.open_turns_of_runs()) >= self.at_once:
                self.crowded.append((database.name, run.id))
            kept.add(run.id)
            pause = self.dice.uniform(0.001, 3 if self._luck() < 0.2 else 0.1)
            world.after(pause, self._begin, database, run)

    def _begin(self, database, run):
        world = self.world
        self._kept[database.name].discard(run.id)
        if self._luck() < 0.15 or world.now < world.outages[database.name].away:
            return world.tell("cron", f"dies in {database.name}", run.id)
        number = world.people.next_number(database)
        world.tell("cron", f"begins in {database.name}", run.id, number)
        database.begin_run(run, number)
        world.after(self.dice.uniform(0.5, 10), world.people.look, database, number)
        if self.dice.random() < 0.1:
            world.after(self.dice.uniform(0, 20), world.people.delete, database, number)

    def _stop(self, database, run):
        """The person's request waits for the row."""
        if run.id in self._kept[database.name]:
            return self.world.after(0.1, self._stop, database, run)
        if run.state in ("scheduled", "started"):
            self.world.tell("person", f"stops a run in {database.name}", run.id)
            if run.state == "started":
                self.world.people.stop(database, run.turn)
            else:
                database.stop_run(run)

    def observe_begin(self, database, run):
        self.begun[database.name, run.id] += 1

    def is_over(self):
        return all(
            run.state in OVER
            for database in self.world.databases.values()
            for run in database.runs.values()
        )
