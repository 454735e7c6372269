"""What a turn costs, measured over HTTP on real processes: ``make bench``, or ``ARGS='streams'`` for one part.

``ARGS='versions 10000'`` compares as many turns with versions as without.

Every figure stands beside an idle server or the bare library in the same run, because a machine is fast or
slow, and busy, in ways that only a comparison shows. All figures are medians unless they say otherwise.
"""

import asyncio
import statistics
import sys
import time
from functools import partial

from services.testing.scripted_llm import Reply

from . import listing, turn_bytes, turn_processes, turn_streams
from .bed import (
    PAUSE,
    ROUNDS,
    TIME,
    TURN_TABLE,
    Person,
    deployment,
    median_of,
    page,
    took,
    wait_for,
)
from .figures import ms, none_of, row, run
from .soak import shares

WAITING = 50  # chats that wait for their model
WORDS = 4000  # of an answer that is stopped
PAIRS = 200  # of turns with and without a version
CHAT = 50  # pairs of one conversation


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


def versions(odoo, llm, pairs=None):
    """Question → end, where the assistant has a version and where it has none, by turns."""
    pairs = pairs or PAIRS
    llm.answer = lambda _body: Reply("Hello.")
    count = f"SELECT COUNT(version_id) || ' ' || COUNT(*) FROM {TURN_TABLE}"
    answered(Person(odoo))
    before = [int(number) for number in odoo.sql(count).split()]
    seconds = {True: [], False: []}
    for pair in range(pairs):
        if pair % CHAT == 0:
            person = Person(odoo)
        for has_version in (True, False) if pair % 2 else (False, True):
            odoo.sql(PUT_VERSIONS if has_version else "UPDATE ai_assistant SET version_id = NULL")
            seconds[has_version].append(took(partial(answered, person)))
    odoo.sql(PUT_VERSIONS)
    with_one, without = (statistics.median(seconds[kind]) for kind in (True, False))
    row(f"{pairs} turns with a version", ms(with_one), f"without {ms(without)}")
    row("ratio", f"{with_one / without:.3f}", "", "≤ 1.02")
    after = [int(number) for number in odoo.sql(count).split()]
    named, asked = (now - then for now, then in zip(after, before, strict=True))
    none_of(turns_without_their_version=pairs - named, turns_lost=2 * pairs - asked)


def answered(person):
    """Ask, and wait for the end."""
    list(person.events(person.ask()))


PUT_VERSIONS = """
    UPDATE ai_assistant SET version_id = (
        SELECT MAX(id) FROM woow_paas_platform_assistant_version
         WHERE assistant_id = ai_assistant.id
    )
"""
PARTS = {
    "memory": turn_processes.memory,
    "latencies": latencies,
    "waiting": pages_while_chats_wait,
    "streams": turn_streams.streams,
    "runners": turn_processes.runners,
    "bytes": turn_bytes.left,
    "listing": listing.listing,
    "versions": versions,
    "shares": shares.shares,
}


def main(chosen):
    parts = dict(PARTS)
    if numbers := [name for name in chosen if name.isdigit()]:
        parts["versions"] = partial(versions, pairs=int(numbers[0]))
        chosen = [name for name in chosen if name not in numbers]
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
                parts[name](odoo, llm)

        failed = run({name: partial(measure, name) for name in chosen or PARTS})
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main(sys.argv[1:])
