"""Recorded turns, replayed as tests of their assistant with a model that answers at once: ``make bench-assistants``.

A real Odoo with two workers. An administrator asks, each question calls an MCP tool, *Add to Tests* makes a test of
each answer, and one run asks them all again.
"""

import time

from services.testing.scripted_llm import Reply

from ..bed import TIME, Person
from ..figures import none_of, row

RECORDED = 30
SECONDS = 600.0  # that the run may take
AIM = 300.0  # s
WORDS = "It is told. " * 40
TESTS = "woow_paas_platform.assistant_test"
RUNS = "woow_paas_platform.assistant_test_run"
RESULTS = "woow_paas_platform.assistant_test_result"
CALLS = "SELECT COUNT(*) FROM woow_paas_platform_tool_call"


def answer(body) -> Reply:
    """The clock's time, then some words."""
    return Reply(WORDS) if body["messages"][-1]["role"] == "tool" else Reply(calls=[TIME])


def recorded(odoo) -> list[int]:
    """Tests of turns that were asked for this."""
    turns = []
    for number in range(RECORDED):
        person = Person(odoo, "admin")
        turn = person.ask(f"What time is it? {number}")
        for _event in person.events(turn):
            pass
        turns.append(turn["turn_id"])
    made = [odoo.rpc("woow_paas_platform.ai_turn", "action_add_to_tests", [one]) for one in turns]
    return [action["res_id"] for action in made]


def report(odoo, llm) -> None:
    """Print how long the run took, and check that each test has one result and passed without a call."""
    llm.answer = answer
    tests = recorded(odoo)
    (assistant,) = {
        one["assistant_id"][0] for one in odoo.rpc(TESTS, "read", tests, ["assistant_id"])
    }
    calls = int(odoo.sql(CALLS))
    (run,) = odoo.rpc(RUNS, "create", [{"assistant_id": assistant, "test_ids": [[6, 0, tests]]}])
    begun = time.monotonic()
    odoo.rpc(RUNS, "action_start", [run])
    while odoo.rpc(RUNS, "read", [run], ["state"])[0]["state"] == "running":
        if time.monotonic() > begun + SECONDS:
            raise TimeoutError(f"{len(tests)} tests take longer than {SECONDS:.0f} s")
        time.sleep(0.1)
    took = time.monotonic() - begun
    results = odoo.rpc(RESULTS, "search_read", [("run_id", "=", run)], ["test_id", "state"])
    row(
        f"{len(tests)} recorded turns are replayed",
        f"{took:.1f} s",
        "each with a call and two answers",
        f"aim of ≤ {AIM:.0f} s: {took <= AIM}",
    )
    none_of(
        lost_results=len(tests) - len({one["test_id"][0] for one in results}),
        doubled_results=len(results) - len(tests),
        failed_tests=sum(one["state"] != "passed" for one in results),
        real_calls=int(odoo.sql(CALLS)) - calls,
    )
    odoo.rpc(TESTS, "unlink", tests)
