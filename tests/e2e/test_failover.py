"""A primary PostgreSQL is killed under load and its synchronous standby takes over: what anybody was told is true.

`--failovers=100` does it as often as a run of its own should.
"""

import collections
import contextlib
import json
import random
import statistics
import time

import pytest
from chat import of
from people import People
from test_crash import CALLS, EVENTS, TURNS
from waiting import eventually

from dev.checks import testbed
from dev.paths import REPORTS
from dev.servers.pair import Pair
from dev.servers.pooler import Pooler

SEED = 20_262
PEOPLE = 6
POOL = 20
REPORT = REPORTS / "failovers.txt"
GOES_ON = 10.0  # s after the promotion, then there is new text
IN_FLIGHT = f"SELECT COUNT(*) FROM {CALLS} WHERE started_at IS NOT NULL AND outcome IS NULL"


class Site:
    """Odoo with workers and two runners on two clusters.

    :param lead_to: lets new connections lead to another server
    """

    def __init__(self, pair, odoo, lead_to):
        self.pair, self.odoo, self._lead_to = pair, odoo, lead_to

    def fail_over(self, random_):
        """The primary dies, and a while later the standby takes its place.

        :return: when it was promoted, and by turn the last event that was written before
        """
        self.pair.kill_primary()
        time.sleep(random_.uniform(0.0, 1.0))  # until somebody notices
        if random_.random() < 0.5:  # clients reach a server that only reads
            self._lead_to(self.pair.standby)
            time.sleep(random_.uniform(0.0, 1.0))
        self.pair.promote()
        promoted = time.monotonic()
        self._lead_to(self.pair.primary)
        self.odoo.instance.postgres = self.pair.primary
        rows = self.odoo.sql(f"SELECT turn_id, MAX(seq) FROM {EVENTS} GROUP BY turn_id")
        known = (row.split("|") for row in rows.splitlines())
        return promoted, {int(turn): int(seq) for turn, seq in known}

    def logs(self):
        """``{turn: [(seq, payload)]}``"""
        found = collections.defaultdict(list)
        rows = self.odoo.sql(
            f"SELECT turn_id, seq, payload::text FROM {EVENTS} ORDER BY turn_id, seq"
        )
        for row in rows.splitlines():
            turn, seq, payload = row.split("|", 2)
            found[int(turn)].append((int(seq), json.loads(payload)))
        return found

    def outcomes(self):
        """``{call id: outcome}``"""
        rows = self.odoo.sql(f"SELECT call_id, outcome FROM {CALLS}")
        return dict(row.split("|") for row in rows.splitlines())


@pytest.fixture
def site(demo_template, demo_facts, tmp_path, scripted_llm, counter, pytestconfig):
    folder = tmp_path / "pg"
    pair = Pair(folder)
    with contextlib.ExitStack() as made:
        source = made.enter_context(testbed.apart(demo_template, folder, pair.primary))
        made.callback(pair.stop)
        if pytestconfig.getoption("direct"):
            lead_to, environment = _find_by_themselves, pair.environment
        else:
            pooler = Pooler(pair.primary, tmp_path / "pooler", pool=POOL)
            pooler.start()
            made.callback(pooler.stop)
            lead_to, environment = pooler.lead_to, pooler.environment
        odoo = testbed.OdooServer(
            source,
            "failover",
            workers=2,
            operator={"in_process_runner": False},
            environment={**demo_facts, **environment},
        )
        for name in ("", "one", "all"):
            odoo.expect_log("psycopg2|bad query|cannot be listed", of=name)
        pair.primary.drop(source.database)
        made.callback(odoo.stop)
        odoo.process.start()
        made.callback(odoo.start_runner("one", in_process_runner=True).stop)
        made.callback(odoo.start_runner("all", serve_all=True, in_process_runner=True).stop)
        pair.add_standby()
        odoo.process.wait()
        counter.register(odoo, connect_timeout=60)
        yield Site(pair, odoo, lead_to)


def _find_by_themselves(_server):
    """libpq asks each address whether it takes writes."""


def test_nothing_that_anybody_was_told_is_lost(site, scripted_llm, counter, pytestconfig):
    random_ = random.Random(SEED)
    people = People(site.odoo, scripted_llm)
    people.begin(PEOPLE)
    took, in_flight = [], 0
    for _round in range(pytestconfig.getoption("failovers")):
        if not site.pair.standby:
            site.pair.add_standby()
        eventually(lambda: people.failures or int(site.odoo.sql(IN_FLIGHT)))
        # The moment itself is what is random here; nothing is waited for.
        time.sleep(random_.uniform(0.0, 1.5))
        in_flight += int(site.odoo.sql(IN_FLIGHT))
        promoted, known = site.fail_over(random_)
        took.append(_new_text(people, known, promoted) - promoted)
    people.end()

    logs, outcomes = site.logs(), site.outcomes()
    turns = {int(turn) for turn in site.odoo.sql(f"SELECT id FROM {TURNS}").split()}
    assert turns == people.asked.keys(), "each question is one turn"
    said = collections.Counter()
    for asked in people.asked.values():
        log = logs[asked.turn]
        assert asked.seen == log
        assert [seq for seq, _payload in log] == list(range(1, len(log) + 1))
        events = [payload for _seq, payload in log]
        assert (events[-1]["type"], events[-1]["state"]) == ("done", "done"), events[-1]
        wanted = {event["id"]: event["args"]["id"] for event in of(events, "tool_call")}
        results = {event["id"]: event["outcome"] for event in of(events, "tool_result")}
        assert len(wanted) == len(of(events, "tool_result")) == 2
        assert {call: outcomes[call] for call in wanted} == results
        for call, outcome in results.items():
            said[outcome] += 1
            ran = counter.executions(wanted[call])
            assert ran == 1 if outcome == "ok" else ran <= 1, (asked.name, outcome, ran)
    assert set(said) <= {"ok", "unknown"}, said
    messages = site.odoo.sql(f"SELECT id, message_id FROM {TURNS}").splitlines()
    assert {f"{asked.turn}|{asked.message}" for asked in people.asked.values()} == set(messages)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(
        f"{len(took)} failovers with {in_flight} calls in flight: {len(turns)} turns,"
        f" {sum(map(len, logs.values()))} events, calls {dict(said)}; new text after"
        f" {statistics.median(took):.1f} s, {max(took):.1f} s at most; refused: {dict(people.refused)}\n"
    )


def _new_text(people, known, promoted):
    """When somebody saw a text that was written after the promotion."""
    checked = 0
    while True:
        people.check()
        fresh = people.texts[checked:]
        checked += len(fresh)
        for turn, seq, seen in fresh:
            if seq > known.get(turn, 0):
                return seen
        assert time.monotonic() < promoted + GOES_ON, "nothing goes on"
        time.sleep(0.05)
