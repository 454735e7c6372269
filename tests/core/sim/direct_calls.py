"""Direct calls: those of MCP clients, which a request makes without a turn.

The engine's part is real: execution, sessions, and the runner's background work. Requests, the rows of the calls,
the decisions on them and the cron that ends what a dead process has left are modelled after Odoo's part.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from services.specs import CallResult, ToolCall
from services.testing.model_store import Server, Tool
from services.turn import execution

from .wire import Connection, Hangs, Outage

USERS = (1, 2)
CONFLICTS = 5  # of one transaction, after which the request fails
TIMEOUT = 25.0  # s of a call
CLIENT_WAIT = 40.0  # s for a decision, and for the call after it
BEAT, LOOK = 5.0, 2.0  # s between two signs of life of a task; two looks whether it is wanted
SILENCE = 3 * BEAT  # s after which a task is nobody's
LEFT = TIMEOUT + 20.0  # s after which any other call is
CRON = 7.0  # s
NOT_FINISHED = CallResult(outcome="unknown", text="not finished")
NOT_DECIDED = CallResult(outcome="cancelled", text="not decided")
DENIED = CallResult(outcome="denied", text="denied")
GONE = CallResult(outcome="cancelled", text="the client is gone")


class Conflict(Exception):
    """The row has changed since this transaction has read it."""


@dataclass(slots=True, kw_only=True)
class Wanted:
    """What a client asks for: the same again, if it comes again."""

    user: int
    tool: int
    arguments: dict
    is_task: bool
    comes_again: int = 4  # times, as long as it is not made


@dataclass(frozen=True, slots=True)
class Seen:
    """What a request has read: run, ask, wait or refused; the row that was asked about before, and its version."""

    said: str
    tool: Tool | None = None
    definition: str = ""
    needs_yes: bool = False
    row: "Row | None" = None
    version: int = 0


@dataclass(slots=True, kw_only=True)
class Row:
    """Row of a call; `version` grows with each write, `alive` is the last sign of life of a task.

    `needs_yes` and `results` are for the invariants.
    """

    id: str
    wanted: Wanted
    tool: Tool
    server: Server
    definition: str
    asked_at: float
    decided_at: float = -1.0
    approval: str = ""
    started: float = -1.0
    alive: float = -1.0
    results: list = field(default_factory=list)
    needs_yes: bool = False
    version: int = 0

    @property
    def outcome(self):
        return self.results[-1][1] if self.results else ""

    @property
    def is_undone(self):
        """Asked about, and not made."""
        is_open = self.approval in ("pending", "approved") and not self.outcome
        return self.started < 0 and (is_open or self.approval == "denied")

    @property
    def waits_until(self):
        """For its person, and then for the same call again."""
        return (self.asked_at if self.decided_at < 0 else self.decided_at) + CLIENT_WAIT

    def end(self, result, now):
        """Once."""
        if not self.outcome:
            self.put_result(result, now)

    def put_result(self, result, now):
        self.results.append((now, result.outcome))
        self.version += 1


class Table:
    """Rows of one database, with the rules that Odoo's part has for them."""

    def __init__(self, database, name):
        self.database, self.name = database, name
        self.rows = {}

    def unlocked(self, _method, _arguments):
        return -1.0

    def look_for_direct(self, wanted):
        """:return: a `Seen`"""
        tool = self.database.tools.get(wanted.tool)
        if tool is None or not tool.is_usable or tool.policy == "never":
            return Seen("refused")
        seen = tool, tool.definition, tool.policy == "ask"
        if tool.policy == "auto":
            return Seen("run", *seen)
        row = self.asked_about(wanted, tool)
        if row is None:
            return Seen("ask", *seen)
        said = {"pending": "wait", "denied": "refused", "approved": "run"}[row.approval]
        return Seen(said, *seen, row, row.version)

    def asked_about(self, wanted, tool):
        same = [
            row
            for row in self.rows.values()
            if row.is_undone and self.database.now() < row.waits_until
            if row.tool is tool and row.definition == tool.definition
            if (row.wanted.user, row.wanted.arguments) == (wanted.user, wanted.arguments)
        ]
        return same[-1] if same else None

    def begin_direct(self, wanted, seen):
        """Write down that it starts, or that somebody is asked about it.

        :return: its row
        :raises Conflict:
        """
        row, now = seen.row, self.database.now()
        if row is None:
            number = f"direct {self.name} {len(self.rows) + 1}"
            row = self.rows[number] = Row(
                id=number,
                wanted=wanted,
                tool=seen.tool,
                server=seen.tool.server,
                definition=seen.definition,
                asked_at=now,
                approval="pending" if seen.said == "ask" else "",
                needs_yes=seen.needs_yes,
            )
        elif not self.is_as_seen(seen):
            raise Conflict
        if seen.said == "run":
            row.started = now
            row.alive = now if wanted.is_task else -1.0
            row.version += 1
        return row

    def is_as_seen(self, seen):
        return seen.row.version == seen.version

    def end_direct(self, row, result):
        row.end(result, self.database.now())

    def look_direct(self, row, is_beat):
        """:return: whether it is still wanted"""
        if is_beat and not row.outcome:
            row.alive = self.database.now()
            row.version += 1
        return not row.outcome

    def decide(self, row, decision):
        if row.approval == "pending" and not row.outcome:
            row.approval, row.decided_at = decision, self.database.now()
            row.version += 1
            if decision == "denied":
                self.end_direct(row, DENIED)

    def sweep(self):
        """What the cron ends."""
        now = self.database.now()
        for row in self.rows.values():
            if row.outcome:
                continue
            if row.started >= 0:
                silent, longest = (row.alive, SILENCE) if row.alive >= 0 else (row.started, LEFT)
                if now > silent + longest:
                    row.end(NOT_FINISHED, now)
            elif row.approval and now > row.waits_until:
                row.approval = "expired" if row.approval == "pending" else row.approval
                row.end(NOT_DECIDED, now)


class DirectCalls:
    """
    :ivar executions: ``{(database, row): how often it was handed to the engine}``
    :ivar started_off: calls that nobody has allowed
    """

    def __init__(self, world):
        self.world = world
        self.dice = random.Random(f"direct calls of {world.seed}")
        self.is_on = self.dice.random() < 0.3 and world.has_records
        self.tables = {name: Table(database, name) for name, database in world.databases.items()}
        self.executions = Counter()
        self.started_off = []
        self._allowed = set()  # tokens; each is allowed once
        self._begun = {}  # token -> whether its start was one that nobody had to allow

    def begin(self):
        if not self.is_on:
            return
        names = sorted(self.tables)
        for _ in range(self.dice.randint(1, 8)):
            table = self.tables[self.dice.choice(names)]
            self.world.at(self.dice.uniform(0, 55), self._want, table)
        for table in self.tables.values():
            self.world.at(self.dice.uniform(0, CRON), self._sweep, table)

    def is_over(self):
        return all(row.outcome for table in self.tables.values() for row in table.rows.values())

    # ------------------------------------------------------------ clients

    def _want(self, table):
        tools = [tool for _, tool in sorted(table.database.tools.items()) if tool.server]
        if not tools:
            return
        tool = self.dice.choice(tools)
        world, database = self.world, table.database
        specs = world.tool_spec(tool), world.server_spec(database, tool.server)
        token = world.new_token(database.name, *specs)
        if world.token_wants[token] == "held":  # by a client that asks nobody
            world.token_wants[token] = ""
        wanted = Wanted(
            user=self.dice.choice(USERS),
            tool=tool.id,
            arguments={"token": token},
            is_task=self.dice.random() < 0.3,
        )
        self._send(table, wanted)

    def _send(self, table, wanted, allowed=None):
        """A request, which any process that takes one may get.

        :param allowed: the row of a task, from the page on which it was allowed just now
        """
        world = self.world
        open_ones = [process for process in world.alive() if not process.is_leaving]
        if not open_ones:
            world.after(1.0, self._send, table, wanted, allowed)
            return
        process = self.dice.choice(open_ones)
        world.tell("client", f"asks in {table.name}", wanted.tool, wanted.arguments)
        _Request(self, process, table, wanted, allowed).begin()

    def answered(self, table, wanted, said):
        """What a client does with its answer."""
        if said not in ("ask", "wait", "refused") or not wanted.comes_again:
            return
        wanted.comes_again -= 1
        again = self.dice.uniform(0.5, 12)
        self.world.after(again, self._send, table, wanted)
        if self.dice.random() < 0.4:
            self.world.after(again + self.dice.uniform(0, 0.01), self._send, table, wanted)

    def asked(self, table, row):
        """Its person decides, or does not."""
        if self.dice.random() < 0.9:
            self.world.after(self.dice.uniform(0.2, 15), self._decide, table, row)
        if row.wanted.is_task and self.dice.random() < 0.2:
            self.world.after(self.dice.uniform(0.2, 20), table.end_direct, row, GONE)

    def _decide(self, table, row):
        token = row.wanted.arguments["token"]
        is_first = token not in self._allowed
        decision = "approved" if is_first and self.dice.random() < 0.8 else "denied"
        if row.approval != "pending" or row.outcome:
            return
        if decision == "approved":
            self._allowed.add(token)
            what = (table.name, row.server.id, row.tool.name, row.wanted.arguments)
            self.world.people.note_approval(token, what)
        table.decide(row, decision)
        self.world.tell("person", f"decides in {table.name}", row.id, decision)
        if decision == "approved" and row.wanted.is_task:
            self._switch(table, row.tool)
            self._send(table, row.wanted, row)  # the page on which it was decided begins it

    def _switch(self, table, tool):
        """Now and then a tool is off just in the moment in which a task may begin."""
        if self.dice.random() < 0.15 and tool.id in table.database.tools and tool.is_active:
            table.database.switch_tool(tool.id, False)
            back = self.dice.uniform(0.5, 5)
            self.world.after(back, self._switch_on, table.database, tool)

    def _switch_on(self, database, tool):
        if tool.id in database.tools:
            database.switch_tool(tool.id, True)

    # ------------------------------------------------------------ what is seen

    def observe_start(self, table, row):
        """A call starts because nobody had to be asked, or because this one was allowed."""
        token = row.wanted.arguments["token"]
        self.executions[table.name, row.id] += 1
        if row.needs_yes and token not in self._allowed:
            self.started_off.append((table.name, row.id, row.approval))
        is_free = not row.approval
        if token in self._begun and (is_free or self._begun[token]):
            self.world.repeatable.add(token)  # it is made as often as its client sends it
        self._begun[token] = is_free

    def _sweep(self, table):
        self.world.after(CRON, self._sweep, table)
        if self.world.now >= self.world.outages[table.name].away:
            table.sweep()


class _Request:
    """One request: a transaction that writes the row down, the call after its commit, and the one that ends it."""

    def __init__(self, calls, process, table, wanted, allowed):
        self.calls, self.process, self.table = calls, process, table
        self.wanted, self.allowed = wanted, allowed
        self.world = calls.world
        self.store = Connection(self.world, process, table)
        self.row = None
        self._conflicts = 0

    def begin(self):
        self._transact(lambda: self.store.look_for_direct(self.wanted), self._looked)

    def _looked(self, seen, error):
        if error is None and seen.said in ("run", "ask"):
            self._transact(
                lambda: self.store.begin_direct(self.wanted, seen),
                lambda row, error: self._committed(seen, row, error),
            )
        elif error is None and seen.said == "refused" and self.allowed:
            self._transact(lambda: self.store.end_direct(self.allowed, DENIED), lambda *_: None)
        else:
            self.calls.answered(self.table, self.wanted, "" if error else seen.said)

    def _committed(self, seen, row, error):
        if isinstance(error, Conflict) and self._conflicts < CONFLICTS:
            self._conflicts += 1
            self.begin()
        elif error is None and seen.said == "ask":
            self.calls.asked(self.table, row)
            self.calls.answered(self.table, self.wanted, seen.said)
        elif error is None:
            self._make(row)

    def _make(self, row):
        """Hand it to the loop; a client that closes its line has it stopped."""
        calls, process = self.calls, self.process
        calls.observe_start(self.table, row)
        self.row = row
        task = process.loop.create_task(self._follow() if self.wanted.is_task else self._call())
        if calls.dice.random() < 0.1 and not self.wanted.is_task:
            self.world.after(calls.dice.uniform(0, TIMEOUT), self._lose_client, task)

    def _lose_client(self, task):
        if self.process.is_alive and not self.process.is_paused() and not task.done():
            task.cancel()
            self._keep(GONE)

    # ------------------------------------------------------------ on the loop

    async def _call(self):
        self._keep((await self._execute()).result)

    async def _follow(self):
        """A task: it gives signs of life, and ends once nobody wants it."""
        runner, name = self.process.runner, self.table.name
        made, beat = asyncio.ensure_future(self._execute()), float("-inf")
        while not made.done():
            is_beat = self.process.clock() - beat >= BEAT
            if is_beat:
                beat = self.process.clock()
            if not await runner.db(name, self.store.look_direct, self.row, is_beat):
                made.cancel()
                return
            await asyncio.wait({made}, timeout=LOOK)
        await runner.db(name, self.store.end_direct, self.row, made.result().result)

    async def _execute(self):
        row, world = self.row, self.world
        tool = world.tool_spec(row.tool)
        call = ToolCall(
            id=row.id,
            alias=tool.alias,
            round=1,
            tool=tool,
            server=world.server_spec(self.table.database, row.server),
            arguments=row.wanted.arguments,
        )
        conversation = f"direct-{row.wanted.user}"
        return await execution.execute(call, self.process.pool, conversation, timeout=TIMEOUT)

    def _keep(self, result):
        """In the request's own transaction; where that fails, in the background."""
        self._transact(
            lambda: self.store.end_direct(self.row, result),
            lambda _, error: error and self._keep_later(result),
        )

    def _keep_later(self, result):
        keep = self.process.runner.db(self.table.name, self.store.end_direct, self.row, result)
        self.process.loop.create_task(keep)

    # ------------------------------------------------------------ the request's thread

    def _transact(self, work, then):
        self.world.after(self.world.latency() / 2, self._try, work, then, self.world.now)

    def _try(self, work, then, asked):
        """Do something in a database, and then go on, unless the process has died."""
        world, process = self.world, self.process
        result = error = None
        if not process.is_alive:
            return
        if process.is_paused():
            world.at(process.paused_until, self._try, work, then, asked)
            return
        try:
            result = work()
        except Hangs as hangs:
            late = max(world.now + 0.01, asked + Outage.STATEMENT_TIMEOUT)
            if hangs.until <= late:
                world.at(hangs.until, self._try, work, then, asked)
                return
            error = ConnectionError("canceling statement due to statement timeout")
        except Exception as caught:
            error = caught
        world.after(world.latency() / 2, self._then, then, result, error)

    def _then(self, then, result, error):
        process = self.process
        if process.is_alive and process.is_paused():
            self.world.at(process.paused_until, self._then, then, result, error)
        elif process.is_alive:
            then(result, error)
