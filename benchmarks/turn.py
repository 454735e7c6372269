"""What a turn costs, measured over HTTP on real processes: ``make bench``, or ``ARGS='streams'`` for one part.

Every figure stands beside an idle server or the bare library in the same run, because a machine is fast or
slow, and busy, in ways that only a comparison shows. All figures are medians unless they say otherwise.
"""

import asyncio
import statistics
import sys
import time
from functools import partial

from services.testing.scripted_llm import Reply

from . import turn_bytes, turn_processes, turn_streams
from .bed import PAUSE, ROUNDS, TIME, Person, deployment, median_of, page, wait_for
from .figures import ms, none_of, row, run
from .soak import shares

WAITING = 50  # chats that wait for their model
WORDS = 4000  # of an answer that is stopped


def latencies(odoo, llm):
    """POST → 202, first text, `tool_call`, Stop."""
    idle = median_of(lambda: page(odoo))
    person = Person(odoo)
    list(person.events(person.ask()))  # the process that runs turns loads LangChain
    posts, firsts, waits, calls, stops, states = [], [], [], [], [], []
    for _round in range(ROUNDS):
        time.sleep(PAUSE)
        begun = time.monotonic()
        turn = person.ask()
        posts.append(time.monotonic() - begun)
        seen = [at for at, event in person.events(turn) if event["type"] == "text"]
        firsts.append(seen[0] - begun)
        waits.append(seen[0] - begun - posts[-1])
    llm.answer = lambda body: (
        Reply("Late.") if body["messages"][-1]["role"] == "tool" else Reply(calls=[TIME])
    )
    for _round in range(ROUNDS):
        llm.answered.clear()
        events = list(person.events(person.ask()))
        calls += [at - llm.answered[0] for at, event in events if event["type"] == "tool_call"]
    llm.answer = lambda _body: Reply("word " * WORDS, gap=0.02)
    for _round in range(ROUNDS // 2):
        turn = person.ask()
        begun = None
        for _at, event in person.events(turn):
            if event["type"] == "text" and begun is None:
                begun = time.monotonic()
                person.http.post(f"/api/ai/turns/{turn['turn_id']}/stop", json={})
            if event["type"] == "done":
                stops.append(time.monotonic() - begun)
                states.append(event["state"])
    llm.answer = lambda _body: Reply("Hello.")
    bare = median_of(lambda: asyncio.run(bare_library(llm)))
    row("a page of the idle server", ms(idle))
    row("POST → 202", ms(statistics.median(posts)), f"idle page {ms(idle)}")
    row("POST → first text", ms(statistics.median(firsts)), f"bare langchain-openai {ms(bare)}")
    row("202 → first text", ms(statistics.median(waits)), "", f"≤ {ms(bare + 0.04)}")
    row("model's call → tool_call on the wire", ms(statistics.median(calls)), "", "≤ 150 ms")
    row("Stop → final event", ms(statistics.median(stops)), "", "≤ 500 ms")
    none_of(
        calls_not_told=ROUNDS - len(calls),
        turns_not_stopped=ROUNDS // 2 - states.count("stopped"),
    )


async def bare_library(llm):
    """Seconds to the first chunk without anything of ours."""
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    begun = time.monotonic()
    model = ChatOpenAI(
        model="bare", base_url=llm.base_url, api_key="none", use_responses_api=False, max_retries=0
    )
    async for chunk in model.astream("Hi"):
        if chunk.content:
            return time.monotonic() - begun
    raise AssertionError("the model said nothing")


def pages_while_chats_wait(odoo, llm):
    idle = median_of(lambda: page(odoo))
    llm.answer = lambda _body: Reply("Finally.", wait=25)
    people = [Person(odoo) for _person in range(WAITING)]
    turns = [person.ask() for person in people]
    wait_for(odoo, "'running'", lambda running: running == WAITING)
    busy = median_of(lambda: page(odoo))
    row(f"a page while {WAITING} chats wait, 2 workers", ms(busy), f"idle {ms(idle)}")
    for person, turn in zip(people, turns, strict=True):
        person.http.post(f"/api/ai/turns/{turn['turn_id']}/stop", json={})
    llm.answer = lambda _body: Reply("Hello.")


PARTS = {
    "memory": turn_processes.memory,
    "latencies": latencies,
    "waiting": pages_while_chats_wait,
    "streams": turn_streams.streams,
    "runners": turn_processes.runners,
    "bytes": turn_bytes.left,
    "shares": shares.shares,
}


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"No such part: {', '.join(sorted(unknown))}. There are {', '.join(PARTS)}.")
    with deployment() as (llm, new_odoo):

        def measure(name):
            operator = {
                "in_process_runner": name != "runners",
                "runner_capacity": WAITING,
                "turns_per_person": 100,  # all belong to one user
                "max_streams": 2 * turn_streams.STREAMS,  # the default for 1 000
            }
            if name == "shares":  # which are the defaults
                operator = {}
            with new_odoo(name, operator) as odoo:
                PARTS[name](odoo, llm)

        failed = run({name: partial(measure, name) for name in chosen or PARTS})
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main(sys.argv[1:])
