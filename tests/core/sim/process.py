"""One process of the installation: a runner with its loop, its pool of MCP sessions and its threads."""

from services import const
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.turn import ai_client, tools
from services.turn.queue.heartbeat import BEATS
from services.turn.queue.runner import DRAIN_TIMEOUT, Runner

from .chat_model import ChatModel
from .fate import HORIZON
from .loop import SimLoop
from .wire import Connection, Executor, Hangs, Outage

POLICY = EgressPolicy()
AWAKE = 0.005  # s after standing still in which a heartbeat reaches its database


class Process:
    def __init__(self, world, number):
        self.world = world
        self.name = f"p{number}"
        self.is_alive = True
        self.is_leaving = False
        self.paused_until = -1.0
        self._stood = []  # from when to when its clock did, too
        self.opened = {}
        self.rests_until = -1.0  # by its own clock: cut off, it lets others keep what they hold
        self.asked_at = {}  # (database, call) -> when it asked last whether the call may start
        self.loop = SimLoop(self)
        with world.inside(self):
            self.pool = Pool(
                POLICY, can_ask=True, max_sessions=world.plan.sessions, clock=self.clock
            )
            self.runner = Runner(
                self.run,
                str,
                capacity=world.capacity,
                lease=world.lease,
                on_close=self.pool.close,
                loop=self.loop,
                executor=lambda name, _lane: Executor(self, world.outages[name]),
                clock=self.clock,
            )
        self.runner.id = self.name
        for database in world.databases.values():
            self.runner.attach(Connection(world, self, database))
            self._beat_later(database.name, world.rng.uniform(0, world.lease / BEATS))

    # ------------------------------------------------------------ what the loop needs

    def clock(self):
        return self.world.now - self._lag()

    def in_thread(self, executor, method, args):
        future = self.loop.create_future()
        if executor is None:  # work that needs no database
            self.world.after(0.001, self.deliver, future, method, args)
        else:
            executor.submit(future, lambda: method(*args))
        return future

    def deliver(self, future, method, args=()):
        """Call it when the process can hear, and give the future its result."""
        if not self.is_alive or future.done():
            return
        if self.is_paused():
            self.world.at(self.paused_until, self.deliver, future, method, args)
            return
        try:
            future.set_result(method(*args))
        except Exception as error:
            future.set_exception(error)

    def runs(self, name, claim):
        """Whether something of it may still be written."""
        running = self.runner.queues[name].running.get(claim)
        return running is not None and not running.journal.lost

    def runs_turn(self, name, turn):
        """Whether the claim that its database knows is still worked on here, if only to end it."""
        queue = self.runner.queues.get(name)
        return bool(queue) and any(
            (claim.turn_id, claim.epoch) == (turn.id, turn.epoch) for claim in queue.running
        )

    # ------------------------------------------------------------ life

    def step(self):
        self.world.running = self
        self.loop.step()
        self.world.running = None

    def sweeps(self):
        """It is well, and would find by now what nobody holds."""
        is_well = self.is_alive and not self.is_paused()
        return is_well and self.clock() > self.rests_until

    def has_let_go(self, name):
        """No lease of this database is kept any more."""
        return self.runner.queues[name].heartbeat._ended.is_set()

    def _beat_later(self, name, seconds):
        self.world.after(seconds, self._beat, name)

    def _beat(self, name):
        """What the heart's thread does, beside the loop and the other threads; it stands still with the process."""
        if not self.is_alive:
            return
        if self.is_paused():
            self.world.at(self.paused_until + AWAKE, self._beat, name)
            return
        pause = self.world.lease / BEATS
        queue = self.runner.queues.get(name)
        if queue and not self.has_let_go(name):
            try:
                queue.heartbeat.beat()
            except ConnectionError:
                pause = const.DB_RETRY
            except Hangs as hangs:
                pause = min(hangs.until - self.world.now, Outage.STATEMENT_TIMEOUT) + 0.01
        self._beat_later(name, pause + self.world.latency())

    def pause(self, seconds, with_clock):
        """A pause during another one begins when that ends; none outlasts what goes wrong."""
        begin = max(self.paused_until, self.world.now)
        self.paused_until = min(begin + seconds, HORIZON)
        if with_clock:
            self._stood.append((begin, self.paused_until))

    def _lag(self):
        if not self._stood:
            return 0.0
        now = self.world.now
        return sum(min(end, now) - begin for begin, end in self._stood if begin < now)

    def is_paused(self):
        return self.world.now < self.paused_until

    def next_time(self):
        """When it wants to go on, in the world's time; None if it waits for others."""
        if not self.is_alive:
            return None
        due = self.loop.next_time()
        return None if due is None else max(due + self._lag(), self.paused_until)

    def hear(self, kind, database, number):
        """The listener's part: a notification has come."""
        if not self.is_alive:
            return
        if kind == "queued":
            self.runner.wake(database)
        elif kind == "stop":
            self.runner.request_stop(database, number)
        elif kind == "answered":
            self.runner.tell_answered(database, number)
        elif kind == "server_off":
            self.loop.call_soon(self.world.drop, self, database, number)

    def terminate(self):
        """SIGTERM: what `Runner.stop` does, without its thread."""
        self.is_leaving = True
        self.runner.is_stopping = True
        self.loop.create_task(self.runner.drain(DRAIN_TIMEOUT))

    def kill(self):
        self.is_alive = False
        self.loop.kill()

    # ------------------------------------------------------------ the engine, as the host wires it

    async def run(self, request, progress, journal, stop):
        self._watch_starts(journal)
        turn_tools = tools.TurnTools(request, self.pool)
        model = ChatModel(self, journal, turn_tools)
        return await ai_client.run_turn(
            request, progress, journal, turn_tools, stop, chat_model=model, clock=self.clock
        )

    def _watch_starts(self, journal):
        """A verdict that is older than a lease, by this process's own clock, starts nothing."""
        begin_call = journal.begin_call

        async def begin(call):
            verdict = await begin_call(call)
            asked = self.asked_at.get((journal.store.name, call.id), self.clock())
            if verdict.kind == "run" and self.clock() - asked >= journal.claim.lease:
                self.world.stale_starts.append((journal.store.name, call.id))
            return verdict

        journal.begin_call = begin
