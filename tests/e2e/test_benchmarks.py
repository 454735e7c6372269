"""Benchmarks of the whole product, in small: each still runs, and its counts are right; no figure of time is looked at.

Those of the engine alone are in `tests/core/test_benchmarks.py`.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks import (
    bed,
    chat,
    gateway,
    listing,
    money,
    recall,
    runs,
    turn,
    turn_bytes,
    turn_processes,
    turn_streams,
)
from benchmarks.assistants import replays
from benchmarks.fleet import __main__ as of_fleet
from benchmarks.fleet import bed as fleet_bed
from benchmarks.fleet import busy, claims, commits, cycles, rest
from benchmarks.fleet import streams as fleet_streams
from benchmarks.soak import shares
from services.testing.scripted_llm import Reply

SMALL = {
    turn: {"ROUNDS": 2, "PAUSE": 0, "WAITING": 3, "WORDS": 400, "PAIRS": 2},
    bed: {"ROUNDS": 2},
    turn_streams: {"STREAMS": 6, "OF_ONE": 4, "SECONDS": 2.0},
    listing: {"CASES": ((100, 5, 3), (200, 5, 3)), "ROUNDS": 2},
    turn_bytes: {"PEOPLE": 2, "TURNS": 1, "ANSWER": "word " * 20},
    turn_processes: {
        "TURNS": 4,
        "PROCESSES": (1,),
        "KINDS": {"a model that answers at once": (0, 24)},
    },
    runs: {"PEOPLE": 2, "SECONDS": 2.0, "READING": (0.0, 0.1), "RUNS_A_MINUTE": 300},
    replays: {"RECORDED": 4},
    money: {"TURNS": 500, "ROWS": 1000, "ROUNDS": 1, "PAIRS": 2},
    chat: {"MESSAGES": 40, "OPENINGS": 1, "IDLE": 1, "LONG": chat.PART * 3},
    shares: {"ASKED": 2, "TURNS": 12, "OPEN": 24, "UNREAD": 12, "MESSAGES": 400},
    fleet_bed: {"TENANTS": 3, "LOOKS": 1},
    rest: {"LOOKS": 1, "SECONDS": 2, "FEW": 2},
    commits: {"WRITERS": 2, "ROUNDS": 1, "SECONDS": 1},
    claims: {"TURNS": 1, "PAUSE": 0.2, "REST": 2},
    busy: {
        "PEOPLE": 1,
        "STREAMING": 2,
        "FLOW": 3,
        "SECONDS": 2.0,
        "ANSWER": Reply("word " * 300, gap=0.05),
        "TURNS": 2,
    },
    fleet_streams: {"STREAMS": 4, "SHARED_BY": 2, "SECONDS": 2.0},
    cycles: {"CYCLED": 1, "ROUNDS": 3, "REST": 1},
}


@pytest.fixture(scope="module", autouse=True)
def _small():
    with pytest.MonkeyPatch.context() as patched:
        for module, values in SMALL.items():
            for name, value in values.items():
                patched.setattr(module, name, value)
        yield


@pytest.fixture(scope="module")
def llm():
    return bed.Llm()


@pytest.fixture(scope="module")
def odoo(new_odoo, llm):
    """With an operator's defaults, as `shares` wants them."""
    server = new_odoo("bench", workers=2)
    server.use_llm(llm)
    return server


def run(work, *arguments):
    """In a thread of its own: browser tests leave an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *arguments).result()


@pytest.mark.parametrize("part", [name for name in turn.PARTS if name != "shares"])
def test_turns(part, odoo, llm, capsys):
    """`make bench`: no turn, call or event of a stream is lost."""
    run(turn.PARTS[part], odoo, llm)
    assert capsys.readouterr().out


def test_one_persons_share(odoo, llm):
    """`make bench ARGS=shares`: everyone is answered, no process ends, memory keeps to the aim."""
    found = dict(shares.measured(odoo, llm))
    assert len(found) == 6
    assert {one.ended for one in found.values()} == {0}
    assert max(one.grown for one in found.values()) <= shares.ROOM, found


def test_chat_in_the_browser(odoo, llm, browser, capsys):
    """`make bench-chat`: the last message of a long conversation and all of a long answer are seen."""
    chat.measure(odoo, llm, browser)
    assert "navigation → last one seen" in capsys.readouterr().out


def test_action_recall(odoo, mcp_everything, capsys):
    """`benchmarks.recall`: each call is recalled, and answered with the record's value."""
    facts = odoo.shell(recall.SET_UP)
    run(recall.report, odoo.session("admin"), facts, mcp_everything.url, 5)
    assert "proxy / tool without Odoo" in capsys.readouterr().out


def test_calls_of_mcp_clients(odoo, llm, mcp_everything, capsys):
    """`make bench-gateway`: each call is answered right and has its row."""
    run(gateway.report, odoo, mcp_everything.url, llm, 5)
    assert "more through /mcp than inside" in capsys.readouterr().out


def test_people_beside_runs(odoo, llm, capsys):
    """`make bench-runs`: each run has ended once, with one note."""
    run(runs.report, odoo, llm)
    assert "a question is claimed, beside runs" in capsys.readouterr().out


def test_replays_of_turns(odoo, llm, capsys):
    """`make bench-assistants`: each test has one result, passes, and calls nothing."""
    run(replays.report, odoo, llm)
    assert "recorded turns are replayed" in capsys.readouterr().out


@pytest.mark.parametrize("part", money.PARTS)
def test_costs(part, new_odoo, llm, browser, capsys):
    """`make bench-money`: no sum changes where old rows are folded, and each turn has its settled rows."""
    server = new_odoo(f"money_{part}", operator={"in_process_runner": False})
    server.use_llm(llm)
    money.PARTS[part](server, llm, browser)
    assert capsys.readouterr().out


@pytest.fixture(scope="module")
def fleet(odoo, llm):
    """All parts but the one with a dead channel share a runner, whose tenants rest soon."""
    with (
        of_fleet.fleet(llm, lambda _name: contextlib.nullcontext(odoo)) as made,
        made.runner("all", WOOW_AI_IDLE_SECONDS="2") as shared,
    ):
        start = made.runner
        made.runner = lambda name, *arguments, **environment: (
            start(name, *arguments, **environment)
            if name == "deaf"
            else contextlib.nullcontext(shared)
        )
        yield made


@pytest.mark.parametrize("part", of_fleet.PARTS)
def test_fleet(part, fleet, capsys):
    """`make bench-fleet`: no turn or event of a tenant is lost, and each tenant is heard."""
    run(of_fleet.PARTS[part], fleet)
    assert capsys.readouterr().out
