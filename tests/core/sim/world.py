"""A world: its clock, its dice, its order of events."""

import contextlib
import heapq
import itertools
import random
from collections import Counter

from services.specs import Limits, LlmSpec, ServerSpec, ToolSpec, TurnRequest
from services.testing import model_store

from . import fate, people
from .database import Database
from .direct_calls import DirectCalls
from .fate import HORIZON
from .machine import lent_to
from .process import Process
from .record import SLOWEST, WATCH, Record
from .triggers import Triggers
from .wire import Outage

END_TIMEOUT = 400.0  # s after which every turn must have ended


class World(Record):
    """
    :param tells: keep a trace; it changes nothing
    :param has_records: False for a world as it was before calls on records were in any
    """

    def __init__(self, seed, *, tells=False, has_records=True):
        super().__init__()
        self.seed, self.has_records = seed, has_records
        self.rng = random.Random(seed)
        self.now = 0.0
        self.slow_until = -1.0  # every way takes its time
        self.trace = [] if tells else None
        self.running = None  # the process whose loop is stepped
        self._events = []
        self._count = itertools.count()
        self._tokens = itertools.count(1)
        self._processes = itertools.count(1)
        self._uses = Counter()
        self.processes = []
        self.is_calm = False
        self.record_dice = random.Random(f"records of {seed}")
        self.plan = fate.Plan(
            self.rng,
            random.Random(f"more of {seed}"),
            random.Random(f"still more of {seed}"),
            self.record_dice,
            has_records,
        )
        self.taint_dice = random.Random(f"foreign words of {seed}")
        self.plan.has_taint = self.taint_dice.random() < 0.3
        self.lease, self.capacity, self.max_steps = 15.0, self.plan.capacity, 3
        self.databases = {f"db{n}": Database(self, f"db{n}") for n in range(self.plan.databases)}
        self.definition_dice = random.Random(f"definitions of {seed}")
        self.budget_dice = random.Random(f"budgets of {seed}")
        for database in self.databases.values():
            database.has_taint = self.plan.has_taint
            if self.budget_dice.random() < 0.15:
                database.budget = self.budget_dice.choice((400, 800, 1500, 3000))
        self.outages = {name: Outage() for name in self.databases}
        self.people = people.People(self)
        self.triggers = Triggers(self)
        self.direct_calls = DirectCalls(self)

    # ------------------------------------------------------------ time and dice

    def at(self, when, function, *args):
        heapq.heappush(self._events, (when, next(self._count), function, args))

    def after(self, seconds, function, *args):
        self.at(self.now + seconds, function, *args)

    def luck(self):
        """0…1; 1 where nothing goes wrong."""
        return self.rng.random() if self.plan.has_faults and not self.is_calm else 1.0

    def record_luck(self):
        """Luck of calls on records, see `luck`."""
        is_safe = self.is_calm or not self.plan.has_faults
        return 1.0 if is_safe else self.record_dice.random()

    def chance(self, probability):
        return self.rng.random() < probability

    def latency(self):
        return (
            self.rng.uniform(0.5, SLOWEST)
            if self.now < self.slow_until
            else self.rng.expovariate(250)
        )

    def is_moment(self, moment, purpose, method):
        """Whether this use of a store's method is the one that the plan has chosen; each is counted once."""
        if moment is None or method != moment[0] or self.is_calm:
            return False
        self._uses[purpose] += 1
        return self._uses[purpose] == moment[1]

    def new_token(self, database, tool, server):
        """A mark for a call of the model, by which its effect is known again."""
        token = next(self._tokens)
        if server is not None:
            wants = ("form", "page", "held", "sign_in")
            self.token_wants[token] = self.rng.choice(wants) if self.chance(0.35) else ""
        self.database_of[token] = database
        if server is None:
            return token
        self.asked_for[database, token] = (server.id, tool.name)
        if tool.annotations["readOnlyHint"] and server.trust_level != "none":
            self.repeatable.add(token)
        return token

    def tell(self, who, what, *more):
        if self.trace is not None:
            name = getattr(who, "name", who)
            self.trace.append((self.now, name, what, more))

    # ------------------------------------------------------------ what happens

    def start_process(self):
        with self.inside(None):
            self.processes.append(Process(self, next(self._processes)))

    def alive(self):
        return [process for process in self.processes if process.is_alive]

    def notify(self, kind, database, number):
        """NOTIFY: after the commit, to everybody who listens right now."""
        for process in self.alive():
            if self.luck() >= 0.02 and not self.plan.is_deaf:
                self.after(self.latency(), process.hear, kind, database, number)

    def drop(self, process, database, number):
        others = [
            s
            for s in self.opened
            if s.process is process and s.spec.database != database and s.is_open
        ]
        process.pool.drop(database, number)
        closed = [session for session in others if session.is_closing]
        self.dropped_for_others += [(database, number, session.spec.database) for session in closed]

    def request_of(self, database, turn):
        tools = [tool for tool in database.tools.values() if tool.is_usable]
        self.observe_definitions(database, turn, tools)
        return TurnRequest(
            turn_id=turn.id,
            conversation_id=turn.channel,
            assistant="Sim",
            llm=LlmSpec(id=1, base_url="http://127.0.0.1:9", model="sim"),
            system_prompt="",
            history=({"role": "user", "content": "Hi"},),
            servers=tuple(self.server_spec(database, one) for one in database.servers.values()),
            tools=tuple(self.tool_spec(tool) for tool in tools),
            limits=Limits(
                turn_timeout=self.plan.turn_timeout,
                turn_tools_timeout=self.plan.tools_timeout,
                confirm_round=self.plan.confirm,
            ),
        )

    def server_spec(self, database, server):
        return ServerSpec(
            id=server.id,
            name=f"server {server.id}",
            database=database.name,
            url=f"https://mcp{server.id}.example.com/",
            transport="streamable_http",
            trust_level=server.trust,
        )

    def tool_spec(self, tool):
        return ToolSpec(
            id=tool.id,
            server_id=tool.server.id if tool.server else 0,
            name=tool.name,
            alias=tool.alias,
            definition=tool.definition,
            annotations={"readOnlyHint": tool.is_harmless},
            records=tool.records,
        )

    # ------------------------------------------------------------ the scheduler

    @contextlib.contextmanager
    def inside(self, process):
        before, self.running = self.running, process
        try:
            yield
        finally:
            self.running = before

    def clock(self):
        return self.running.clock() if self.running else self.now

    def run(self):
        """To the end; only inside `machine.quiet`."""
        with lent_to(self):
            self.people.begin()
            self.triggers.begin()
            self.direct_calls.begin()
            for _ in range(self.plan.processes):
                self.start_process()
            self.plan.begin(self)
            self._watch()
            self._run_until(HORIZON)
            self._calm_down()
            self._run_until(HORIZON + END_TIMEOUT * self.triggers.length, self._is_over)
            for database in self.databases.values():
                database.close_lost()
        for process in self.processes:
            process.kill()

    def _watch(self):
        self.observe()
        self.after(WATCH, self._watch)

    def _calm_down(self):
        self.is_calm, self.slow_until = True, -1.0
        for outage in self.outages.values():
            outage.calm()
        if not [process for process in self.alive() if not process.is_leaving]:
            self.start_process()

    def _is_over(self):
        is_over = self.triggers.is_over() and self.direct_calls.is_over()
        return is_over and all(
            turn.state in model_store.FINAL
            for database in self.databases.values()
            for turn in database.turns.values()
        )

    def _run_until(self, end, is_over=lambda: False):
        """What is due next comes next. Processes meet in the databases only, and the way there takes time, so
        each does all that it can do at one moment at once."""
        while True:
            times = [when for p in self.processes if (when := self._run_now(p)) is not None]
            if self._events:
                times.append(self._events[0][0])
            if not times or min(times) > end or is_over():
                return
            self.now = max(self.now, min(times))
            while self._events and self._events[0][0] <= self.now:
                _, _, function, args = heapq.heappop(self._events)
                try:
                    function(*args)
                except model_store.NumberTaken as error:
                    self.blame("", error)

    def _run_now(self, process):
        """:return: when it wants to go on"""
        due = process.next_time()
        if due is None or due > self.now + 1e-9:
            return due
        process.step()
        self.most_running = max(self.most_running, process.runner.count())
        return process.next_time()
