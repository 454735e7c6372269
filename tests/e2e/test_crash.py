"""Runners die, freeze and stop at any moment: no turn is lost, no call runs twice, each id has one result."""

import collections
import json
import random
import signal
import time

import pytest
import sampling
from chat import Chat, calls, first, of, then
from counter import count
from waiting import PATIENCE

LEASE = 2  # s
SEED = 20_260
KILLS = sampling.draws(2, 5)  # random moments, and more until each phase was hit
PAUSES = sampling.draws(5, 12)
PHASES = ("before", "during", "after")  # of a call
TURNS = "woow_paas_platform_ai_turn"
EVENTS = "woow_paas_platform_ai_turn_event"
CALLS = "woow_paas_platform_tool_call"
TESTS = "woow_paas_platform.assistant_test"
RESULTS = "woow_paas_platform_assistant_test_result"
TRIALS = 8
SERVES = "The AI runner serves"
STOPS = "The AI runner is stopping"


@pytest.fixture(scope="module")
def odoo_of_runners(new_odoo, counter):
    """An Odoo that runs no turn itself."""
    server = new_odoo(
        "runners",
        operator={"lease_seconds": LEASE, "in_process_runner": False, "runner_capacity": 8},
    )
    counter.register(server, connect_timeout=60)  # a frozen process is no server that is away
    return server


@pytest.fixture
def fleet(odoo_of_runners):
    fleet = Fleet(odoo_of_runners)
    yield fleet
    fleet.end()


class Fleet:
    """`odoo-bin ai_runner` processes of one Odoo."""

    numbers = iter(range(1, 1000))

    def __init__(self, odoo):
        self.odoo = odoo
        self.processes = []

    def start(self):
        process = self.odoo.start_runner(f"runner{next(self.numbers)}")
        self.processes.append(process)
        return process

    def ready(self):
        """A new runner that serves already."""
        process = self.start()
        process.wait_until(lambda: serves(process), timeout=60)
        return process

    def kill(self, process):
        process.kill()
        self.processes.remove(process)

    def end(self):
        for process in self.processes:
            process.kill()


def serves(process):
    return SERVES in process.log.read_text(errors="replace")


def owner(process):
    return f"split_part(lease_owner, ':', 2) = '{process.pid}'"


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until, f"not within {PATIENCE} s: {what}"
        time.sleep(0.03)
    return found


def phases(odoo, process):
    """How many of this runner's turns are before, during and after their calls."""
    rows = odoo.sql(
        f"""
        SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM {CALLS} c WHERE c.turn_id = t.id) THEN 'before'
                    WHEN EXISTS (SELECT 1 FROM {CALLS} c WHERE c.turn_id = t.id
                                    AND c.started_at IS NOT NULL AND c.outcome IS NULL) THEN 'during'
                    ELSE 'after' END, COUNT(*)
          FROM {TURNS} t WHERE t.state = 'running' AND {owner(process)} GROUP BY 1
        """
    )
    return {phase: int(number) for phase, number in (row.split("|") for row in rows.splitlines())}


def log_of(odoo, turn_id):
    rows = odoo.sql(
        f"SELECT seq, payload::text FROM {EVENTS} WHERE turn_id = {turn_id} ORDER BY seq"
    )
    return [
        (int(seq), json.loads(text)) for seq, text in (r.split("|", 1) for r in rows.splitlines())
    ]


class Load:
    """Keeps the queue filled with turns of conversations of their own, each with two counted calls."""

    def __init__(self, odoo, llm):
        self.odoo = odoo
        self.llm = llm
        self.turns = {}  # id -> name

    def add(self, number):
        for _turn in range(number):
            name = f"n{len(self.turns)}x"
            self.llm.script(
                first(name, calls(count(f"{name}a", 0.2), count(f"{name}b", 1.0)), latency=20),
                then(name, {"content": "It was counted. " * 10}, latency=30, chunkSize=8),
            )
            self.turns[Chat(self.odoo).ask(name).id] = name

    def left(self):
        sql = f"SELECT COUNT(*) FROM {TURNS} WHERE state NOT IN ('done', 'failed', 'stopped')"
        return int(self.odoo.sql(sql))


def test_at_random_moments_nothing_is_lost_and_nothing_runs_twice(fleet, scripted_llm, counter):
    random_ = random.Random(SEED)
    odoo = fleet.odoo
    load = Load(odoo, scripted_llm)
    load.add(24)
    moments = [*["kill"] * KILLS, *["pause"] * PAUSES]
    random_.shuffle(moments)
    for _runner in range(3):
        fleet.start()
    hit, killed = collections.Counter(), collections.Counter()
    paused = {}  # process -> when it goes on
    while moments or not all(hit[phase] for phase in PHASES) or not killed["during"]:
        now = time.monotonic()
        for process in [process for process, when in paused.items() if when <= now]:
            process.popen.send_signal(signal.SIGCONT)
            del paused[process]
        if load.left() < 24:
            load.add(8)
        # The moment itself is what is random here; nothing is waited for.
        time.sleep(random_.uniform(0.0, 0.3))
        awake = [p for p in fleet.processes if p not in paused and serves(p)]
        if not awake:
            continue
        victim = random_.choice(awake)
        if not (found := phases(odoo, victim)):
            continue
        hit.update(found)
        if not moments:  # on a busy machine, who is killed at once never comes to a call
            missing = {phase for phase in PHASES if not hit[phase]} | ({"during"} - killed.keys())
            if not missing & found.keys():
                continue
        if not moments or moments.pop() == "kill":
            killed.update(found)
            fleet.kill(victim)
            fleet.start()
        else:
            victim.popen.send_signal(signal.SIGSTOP)
            paused[victim] = time.monotonic() + random_.uniform(0.1, 2.5 * LEASE)
    for process in paused:
        process.popen.send_signal(signal.SIGCONT)
    wait_for(lambda: not load.left(), "all turns end")

    outcomes = collections.defaultdict(list)
    for turn, name in load.turns.items():
        log = log_of(odoo, turn)
        events = [payload for _seq, payload in log]
        assert [seq for seq, _payload in log] == list(range(1, len(log) + 1))
        assert (events[-1]["type"], events[-1]["state"]) == ("done", "done"), events[-1]
        asked = [event["id"] for event in of(events, "tool_call")]
        answered = [event["id"] for event in of(events, "tool_result")]
        assert len(set(asked)) == len(asked) == 2
        assert sorted(answered) == sorted(asked)
        ids = {event["id"]: event["args"]["id"] for event in of(events, "tool_call")}
        for result in of(events, "tool_result"):
            outcomes[result["outcome"]].append(result)
            ran = counter.executions(ids[result["id"]])
            assert ran == 1 if result["outcome"] == "ok" else ran <= 1, (name, result, ran)
    # A process that froze while it opened a session may find its time-out over.
    assert {"ok", "unknown"} <= set(outcomes)
    others = {
        outcome: outcomes[outcome] for outcome in set(outcomes) - {"ok", "unknown", "timeout"}
    }
    assert not others


def test_a_runner_that_slept_past_its_lease_does_nothing_more(fleet, scripted_llm, counter):
    scripted_llm.script(
        first("asleep", calls(count("asleep", 1.0))),
        then("asleep", {"content": "Somebody else answered."}),
    )
    sleeper = fleet.ready()
    turn = Chat(fleet.odoo).ask("asleep")
    wait_for(lambda: counter.executions("asleep"), "the call starts")
    sleeper.popen.send_signal(signal.SIGSTOP)
    fleet.ready()
    assert turn.wait_ended() == "done"
    log = log_of(fleet.odoo, turn.id)
    answers = fleet.odoo.sql("SELECT COUNT(*) FROM mail_message")
    sleeper.popen.send_signal(signal.SIGCONT)
    wait_for(lambda: f"Turn {turn.id} of" in sleeper.log.read_text(errors="replace"), "it wakes up")
    assert log_of(fleet.odoo, turn.id) == log
    assert fleet.odoo.sql("SELECT COUNT(*) FROM mail_message") == answers
    (result,) = of([payload for _seq, payload in log], "tool_result")
    assert (result["outcome"], counter.executions("asleep")) == ("unknown", 1)


def test_sigterm_ends_what_it_can_and_gives_the_rest_back(fleet, scripted_llm, counter):
    scripted_llm.script(
        first("short", calls(count("short", 1.0))),
        then("short", {"content": "Ended in time."}),
        first("endless", {"content": "and on " * 400}, latency=60, chunkSize=7),
        first("too late", {"content": "Somebody else's."}),
    )
    odoo = fleet.odoo
    runner = fleet.ready()
    short, endless = (Chat(odoo).ask(name) for name in ("short", "endless"))
    wait_for(lambda: counter.executions("short"), "the call starts")
    wait_for(lambda: "text" in str(log_of(odoo, endless.id)), "the model speaks")
    runner.popen.send_signal(signal.SIGTERM)
    wait_for(lambda: STOPS in runner.log.read_text(errors="replace"), "the runner stops")
    late = Chat(odoo).ask("too late")
    assert short.wait_ended() == "done"
    assert runner.popen.wait(20) == 0
    assert (endless.state(), late.state()) == ("queued", "queued")
    owners = odoo.sql(f"SELECT COUNT(*) FROM {TURNS} WHERE lease_owner IS NOT NULL")
    assert owners == "0"
    assert counter.executions("short") == 1
    endless.stop()
    fleet.ready()
    assert late.wait_ended() == "done"
    assert (endless.state(), late.state()) == ("stopped", "done")


def test_rows_that_somebody_locks_cost_no_lease(fleet, scripted_llm, counter):
    """Whatever the runner writes to: of one turn all rows are held for two leases."""
    odoo = fleet.odoo
    fleet.ready(), fleet.ready()
    names = ("locked", "beside", "besides")
    for name in names:
        scripted_llm.script(
            first(name, calls(count(name, 0.2))),
            then(name, {"content": "word " * 80}, latency=80, chunkSize=8),
        )
    turns = [Chat(odoo).ask(name) for name in names]
    for turn in turns:
        wait_for(lambda turn=turn: "text" in str(log_of(odoo, turn.id)), "the model speaks")
    held = turns[0].id
    odoo.sql(
        f"""
        SELECT 1 FROM {TURNS} WHERE id = {held} FOR UPDATE;
        SELECT 1 FROM {EVENTS} WHERE turn_id = {held} FOR UPDATE;
        SELECT 1 FROM {CALLS} WHERE turn_id = {held} FOR UPDATE;
        SELECT 1 FROM discuss_channel c JOIN {TURNS} t ON t.channel_id = c.id
         WHERE t.id = {held} FOR UPDATE OF c;
        SELECT 1 FROM ai_config FOR UPDATE;
        SELECT pg_sleep({2 * LEASE + 1})
        """
    )
    assert [turn.wait_ended() for turn in turns] == ["done"] * 3
    ids = ", ".join(str(turn.id) for turn in turns)
    assert odoo.sql(f"SELECT DISTINCT lease_epoch FROM {TURNS} WHERE id IN ({ids})") == "1"


def test_heartbeats_touch_no_index(fleet, scripted_llm):
    """While a model speaks, its turn's row is written by nothing else."""
    odoo = fleet.odoo
    fleet.ready()
    scripted_llm.script(first("long", {"content": "and on " * 800}, latency=60, chunkSize=7))
    turn = Chat(odoo).ask("long")
    wait_for(lambda: "text" in str(log_of(odoo, turn.id)), "the model speaks")
    counted = f"SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = '{TURNS}'"

    def updates():
        return [int(number) for number in odoo.sql(counted).split("|")]

    settled = updates()
    before = wait_for(lambda: (now := updates()) != settled and now, "what came before is counted")
    beats = wait_for(lambda: (now := updates())[0] >= before[0] + 10 and now, "ten heartbeats")
    assert turn.state() == "running"
    assert beats[1] - before[1] == beats[0] - before[0]
    turn.stop()
    assert turn.wait_ended() == "stopped"


def test_a_process_dies_amid_a_test_run(fleet, scripted_llm):
    """Another one goes on: each test has one result. What is stopped stays so, and four run at once."""
    odoo = fleet.odoo
    scripted_llm.script(first("Trial", {"content": "counted " * 20}, latency=60, chunkSize=8))
    run = TestRun(odoo)
    runner = fleet.ready()
    run.start()
    wait_for(lambda: {"passed", "running"} <= run.states().keys(), "a test runs, one has ended")
    fleet.kill(runner)
    left = run.states()
    assert left["running"] and not run.is_over()
    fleet.ready()
    wait_for(run.is_over, "the run ends")
    assert run.states() == {"passed": TRIALS}
    assert run.tries() == {1: TRIALS - left["running"], 2: left["running"]}

    quick, slow = {"content": "counted " * 20}, {"content": "counted " * 400}
    scripted_llm.reset()
    scripted_llm.script(
        first("Trial 7", slow, latency=60, chunkSize=8),
        first("Trial", quick, latency=60, chunkSize=8),
    )
    stopped, other = TestRun(odoo, run.tests), TestRun(odoo, run.tests)
    stopped.start(), other.start()
    wait_for(lambda: "passed" in stopped.states(), "one has ended")
    stopped.stop()
    at_end = stopped.states()
    scripted_llm.reset()
    scripted_llm.script(first("Trial", quick))
    assert at_end.keys() == {"passed", "stopped"}
    wait_for(other.is_over, "the other run ends")
    assert other.states() == {"passed": TRIALS}
    assert stopped.states() == at_end
    assert max(run.at_once, stopped.at_once, other.at_once) == 4


class TestRun:
    """One run of tests whose only expectation is a word."""

    __test__ = False

    def __init__(self, odoo, tests=None):
        self.odoo = odoo
        self.at_once = 0  # most results of the database that were seen running
        (assistant,) = odoo.rpc("ai.assistant", "search", [], limit=1)
        self.tests = tests or odoo.rpc(TESTS, "create", self._values(assistant))
        values = {"assistant_id": assistant, "test_ids": [[6, 0, self.tests]]}
        (self.id,) = odoo.rpc(f"{TESTS}_run", "create", [values])

    def _values(self, assistant):
        expected = [[0, 0, {"kind": "contains", "text": "counted"}]]
        about = {"assistant_id": assistant, "expectation_ids": expected}
        return [{"name": f"{one}", "questions": f"Trial {one}?", **about} for one in range(TRIALS)]

    def start(self):
        self.odoo.rpc(f"{TESTS}_run", "action_start", [self.id])

    def stop(self):
        self.odoo.rpc(f"{TESTS}_run", "action_stop", [self.id])

    def states(self):
        running = "state = 'running' AND lease_until >= now() AT TIME ZONE 'UTC'"
        held = self.odoo.sql(f"SELECT COUNT(*) FROM {RESULTS} WHERE {running}")
        self.at_once = max(self.at_once, int(held))
        return self._counted("state")

    def tries(self):
        return {int(tries): number for tries, number in self._counted("tries").items()}

    def _counted(self, column):
        sql = f"SELECT {column}, COUNT(*) FROM {RESULTS} WHERE run_id = {self.id} GROUP BY 1"
        rows = (row.split("|") for row in self.odoo.sql(sql).splitlines())
        return {value: int(number) for value, number in rows}

    def is_over(self):
        assert self.states()
        return self.odoo.rpc(f"{TESTS}_run", "read", [self.id], ["state"])[0]["state"] == "done"
