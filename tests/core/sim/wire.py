"""The way from a process to a database: it takes time, and requests and answers get lost on it."""

import functools

from services.records.errors import TryAgain
from services.turn.queue.heartbeat import BEATS

from .record_try import Try


class Hangs(BaseException):
    """The statement waits; `until` is when it goes on."""

    def __init__(self, until):
        self.until = until


class Refused(Exception):
    """PostgreSQL does not carry out this one statement; the transaction is rolled back."""


class Outage:
    """How one database is: ``away`` refuses, ``hang`` waits. Until when, in the world's time.

    ``died`` is when its server was killed: what was on its way then is answered to nobody.
    """

    STATEMENT_TIMEOUT = 5.0  # s

    def __init__(self):
        self.died = -1.0
        self.calm()

    def calm(self):
        self.away = self.hang = -1.0


class Connection:
    """The store as one process reaches it; implements `services.turn.ports.Store`."""

    def __init__(self, world, process, database):
        self._world = world
        self._process = process
        self._database = database
        self._outage = world.outages[database.name]
        self.name = database.name

    def __getattr__(self, method):
        return functools.partial(self._call, method)

    def heartbeat(self, *args):
        claims = next(arg for arg in args if isinstance(arg, list))
        self._world.observe_beat(self._process, self._database, claims)
        return self._call("heartbeat", *args)

    def claim(self, *args):
        try:
            return self._call("claim", *args)
        finally:  # also of a claim whose answer is lost, before anything else happens
            self._world.observe_claims(self._database)

    def sweep(self):
        world, process = self._world, self._process
        rest = world.lease + world.lease / BEATS
        try:
            return self._call("sweep")
        except ConnectionError:
            process.rests_until = process.clock() + rest
            raise
        except Hangs as hangs:
            if hangs.until > world.now + Outage.STATEMENT_TIMEOUT:  # then it fails like that
                process.rests_until = process.clock() + Outage.STATEMENT_TIMEOUT + rest
            raise

    def release(self, *args):
        if self._process.has_let_go(self.name):
            self._world.observe_giving_back(self._process, self._database)
        return self._call("release", *args)

    def take_steering(self, *args):
        taken = self._call("take_steering", *args)
        if taken and self._world.is_moment(self._world.plan.enter_at, "enter", "take_steering"):
            numbers = [sent["turn"] for sent in taken]
            self._world.plan.stop_entered(self._world, self._process, self._database, numbers)
        return taken

    def begin_call(self, claim, call):
        self._process.asked_at[self.name, call.id] = self._process.clock()
        return self._call("begin_call", claim, call)

    def read_records(self, claim, call_id, interrupt):
        return self._try("read_records", claim, call_id, [], interrupt)

    def rehearse_call(self, claim, call_id, interrupt):
        return self._try("rehearse_call", claim, call_id, [], interrupt)

    def perform_call(self, claim, call_id, events, interrupt):
        return self._try("perform_call", claim, call_id, events, interrupt)

    def _try(self, method, claim, call_id, events, interrupt):
        """A `Try` that the executor resumes, step by step."""
        self._reach(method, (claim, call_id))
        return Try(
            self._world, self._process, self._database, method, claim, call_id, events, interrupt
        )

    def _reach(self, method, args):
        """:return: how lucky the answer is"""
        world, outage = self._world, self._outage
        luck = world.luck()
        if world.now < outage.hang:
            raise Hangs(outage.hang)
        if (unlocked := self._database.unlocked(method, args)) > world.now:
            raise Hangs(unlocked)
        if world.now < outage.away or luck < 0.005:
            world.tell(self._process, f"{self.name}.{method}", "is not reached")
            world.observe_loss(self._database)
            raise ConnectionError("PostgreSQL is away")
        return luck

    def _call(self, method, *args):
        world = self._world
        luck = self._reach(method, args)
        plan = world.plan
        if world.is_moment(plan.refuse_at, "refuse", method) or world.is_moment(
            plan.refuse_on_records_at, "refuse on records", method
        ):
            world.tell(self._process, f"{self.name}.{method}", args, "is refused")
            # A turn whose events are refused is left to its lease, which keeps it from coming back at once.
            world.troubles.append((world.now, world.now + world.lease))
            raise Refused(method)
        try:
            result = getattr(self._database, method)(*args)
        except Exception as error:
            world.tell(self._process, f"{self.name}.{method}", args, "raises", repr(error))
            world.blame(self.name, error)
            raise
        world.tell(self._process, f"{self.name}.{method}", args, "gives", result)
        if world.is_moment(world.plan.pause_at, "pause", method):
            world.plan.pause_after(world, self._process)
        if luck < 0.02:
            world.tell(self._process, f"{self.name}.{method}", "answer is lost")
            world.observe_loss(self._database)
            raise ConnectionError("the answer of COMMIT was lost")
        return result


class Executor:
    """Threads that wait for a database: so many at a time, the others queue. Passed to the runner."""

    def __init__(self, process, outage, workers=4):
        self._process = process
        self._outage = outage
        self._free = workers
        self._queue = []

    def submit(self, future, work):
        self._queue.append((future, work, self._process.world.now))
        self._start()

    def _start(self):
        world = self._process.world
        while self._queue and self._free:
            self._free -= 1
            future, work, asked = self._queue.pop(0)
            world.after(world.latency() / 2, self._run, future, work, asked)

    def _run(self, future, work, asked):
        world, process = self._process.world, self._process
        if not process.is_alive and world.chance(0.5):
            return  # the request had not left the process
        result = error = None
        try:
            result = work()
        except Hangs as hangs:
            late = max(world.now + 0.01, asked + Outage.STATEMENT_TIMEOUT)
            if hangs.until <= late:
                return world.at(hangs.until, self._run, future, work, asked)
            error = ConnectionError("canceling statement due to statement timeout")
            return world.at(late, self._answer, future, result, error, world.now)
        except Exception as caught:
            error = caught
        if isinstance(result, Try):
            result.wake = lambda: self._later(world.now, future, result)
            return self._go_on(future, result, 0)
        world.after(world.latency() / 2, self._answer, future, result, error, world.now)

    def _later(self, when, future, tried):
        self._process.world.at(when, self._go_on, future, tried, tried.step)

    def _go_on(self, future, tried, step):
        """The next step of a try, unless it was woken for it before."""
        world, process = self._process.world, self._process
        if step != tried.step:
            return
        world.plan.disturb(world, tried)
        if not process.is_alive:
            return tried.end_alone()
        if process.is_paused():
            world.at(max(world.now, tried.idle_until()), tried.end_idle)
            return self._later(process.paused_until, future, tried)
        if world.now < self._outage.hang:
            return self._later(self._outage.hang, future, tried)
        tried.step += 1
        result = error = None
        try:
            pause = tried.resume()
            return self._later(world.now + pause, future, tried)
        except StopIteration as done:
            result = done.value
            is_unheard = world.is_moment(world.plan.unheard_at, "lose the answer", tried.method)
            if is_unheard or world.record_luck() < 0.03:
                result, error = None, tried.unheard()
                world.observe_loss(tried.database)
        except Exception as caught:
            error = caught
        name = f"{tried.database.name}.{tried.method}"
        world.tell(process, name, tried.call_id, repr(error) if error else result)
        if isinstance(error, TryAgain):
            world.observe_failure(tried)
            world.plan.hear_of_failure(world, tried)
        world.after(world.latency() / 2, self._answer, future, result, error, world.now)

    def _answer(self, future, result, error, done):
        process = self._process
        if not process.is_alive:
            return
        if process.is_paused():
            process.world.at(process.paused_until, self._answer, future, result, error, done)
            return
        if done <= self._outage.died:
            process.world.tell(process, "is not answered", result, error)
            result, error = None, ConnectionError("the server was killed")
        self._free += 1
        process.loop.call_soon(_settle, future, result, error)
        self._start()

    def shutdown(self, wait=False):
        pass


def _settle(future, result, error):
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
