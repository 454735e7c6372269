"""Others while one person takes all that one person can: first text, memory and processes, beside the same in quiet.

The aims: the first text of the others comes within twice the time, and all processes together take 100 MB more at most.
"""

import asyncio
import contextlib
import os
import socket
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx
import psutil

from dev.progress import DevError
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text
from services.testing.scripted_llm import Reply

from ..bed import TURN_TABLE, Person
from ..figures import ms, row

QUIET = "in quiet"
ASKED = int(os.environ.get("ASKED", "6"))  # questions of the others in each part
TURNS = 24  # of the one person that run at a time, as an operator's default allows
OPEN = 100  # of the one person in all
CALLS = 20  # of one answer, at once
LARGE = 3_900_000  # characters of a result
LOG = "woow_paas_platform_ai_turn_event"
ANSWER_TIMEOUT = 30.0  # s for an answer
RATIO, ROOM = 2, 100 * 2**20  # the aims: of the time until the first text in quiet; bytes
KEPT = "the rows of one person"  # by a statement that says so
UNREAD = 60
_may_end = threading.Event()  # calls that are held
MESSAGES, LENGTH = 2000, 32_000  # that are searched


class Measured(NamedTuple):
    """Seconds until the first text of the others, bytes by which Odoo grew, and how many of its processes ended."""

    typical: float
    worst: float
    grown: int
    ended: int


def shares(odoo, llm):
    """What one person's streams, calls, results and searches cost the others."""
    quiet = None
    for what, found in measured(odoo, llm):
        quiet = quiet or found.typical
        beside = f"worst {ms(found.worst)}, {found.grown / 2**20:+.0f} MB, {found.ended} ended"
        if what == QUIET:
            row(what, ms(found.typical), beside)
        else:
            ratio = f"{found.typical / quiet:.1f} x"
            row(what, ms(found.typical), f"{ratio}, {beside}", f"≤ {RATIO} x, {ROOM >> 20} MB, 0")


def measured(odoo, llm):
    """(what one person does, `Measured`), quiet first."""
    _register(odoo, llm)
    llm.answer = _answer
    other = Person(odoo, "owner")
    for _warm in range(2):
        _first_text(other)
    for what, attack in (
        (QUIET, None),
        (f"{UNREAD} unread streams of 21 MB", _unread_streams),
        (f"{TURNS} turns of {CALLS} small calls", _small_calls),
        (f"{TURNS} turns whose rows are locked", _locked_rows),
        (f"{OPEN} turns with results of 3.9 MB", _large_results),
        (f"3 searches in {MESSAGES * LENGTH >> 20} MB", _searches),
    ):
        yield what, _measured(odoo, other, attack)


def _register(odoo, llm):
    async def small(_call):
        return text("x" * 100)

    async def held(_call):
        while not _may_end.is_set():
            await asyncio.sleep(0.05)
        return text("x" * 100)

    async def large(_call):
        return text("word " * (LARGE // 5))

    tools = {"small": small, "held": held, "large": large}
    fake = FakeMcp(tools={name: (tool, OBJECT) for name, tool in tools.items()})
    asyncio.run_coroutine_threadsafe(fake.__aenter__(), llm.loop).result(5)
    values = {"name": "hog", "url": fake.url, "trust_level": "full"}
    (server,) = odoo.rpc(
        "woow_paas_platform.mcp_server", "create", [values], context={"woow_no_sync": True}
    )
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, {"mcp_server_ids": [[4, server]]})
    odoo.sync_tools(server)


def _answer(body):
    asked = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
    is_answered = body["messages"][-1]["role"] == "tool"
    for tool, calls in (("small", CALLS), ("held", 1), ("large", 4)):
        if tool in str(asked) and not is_answered:
            return Reply(calls=[(f"hog__{tool}", {})] * calls)
    return Reply("Hello.")


def _first_text(person):
    begun = time.monotonic()
    turn = person.ask()
    events = list(person.events(turn, ANSWER_TIMEOUT))
    assert events[-1][1]["type"] == "done", events[-1]
    return next(at for at, event in events if event["type"] == "text") - begun


def _measured(odoo, other, attack):
    before, processes = _memory(odoo)
    peak, is_over = [before], threading.Event()

    def watch():
        while not is_over.wait(0.2):
            peak.append(_memory(odoo)[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    with contextlib.ExitStack() as stack:
        if attack:
            stack.enter_context(attack(odoo))
        waits = [_first_text(other) for _question in range(ASKED)]
        is_over.set()
        watcher.join()
    ended = len(processes - _memory(odoo)[1])
    return Measured(statistics.median(waits), max(waits), max(peak) - before, ended)


def _memory(odoo):
    """(bytes, ids) of all processes of this Odoo."""
    main = psutil.Process(odoo.process.pid)
    found = {}
    for process in (main, *main.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            found[process.pid] = process.memory_info().rss
    return sum(found.values()), set(found)


@contextlib.contextmanager
def _unread_streams(odoo):
    person = Person(odoo)
    turn = person.ask()
    list(person.events(turn))
    number = turn["turn_id"]
    odoo.sql(f"UPDATE {LOG} SET seq = seq + 1000 WHERE turn_id = {number} AND seq > 2")
    odoo.sql(
        f"""
        INSERT INTO {LOG} (turn_id, seq, payload)
        SELECT {number}, n + 2, jsonb_build_object('type', 'noise', 'content', (
               SELECT string_agg(md5(n::text || part), '') FROM generate_series(1, 8192) part))
          FROM generate_series(1, 80) n
        """
    )
    port = int(odoo.gevent_url.rsplit(":", 1)[1])
    cookie = person.http.cookies["session_id"]
    with contextlib.ExitStack() as stack:
        for _stream in range(UNREAD):
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", port))
            head = f"GET {turn['stream_url']} HTTP/1.1\r\nHost: bench\r\nCookie: session_id={cookie}\r\n\r\n"
            line.sendall(head.encode())
        yield


@contextlib.contextmanager
def _small_calls(odoo):
    yield from _asked(odoo, "small", TURNS)


@contextlib.contextmanager
def _locked_rows(odoo):
    """Another transaction keeps the rows of these turns, so each write of theirs waits; they begin all at once."""
    running = f"FROM {TURN_TABLE} WHERE state = 'running'"

    def keep():
        with contextlib.suppress(DevError):  # it is ended below
            odoo.sql(f"SELECT 1 {running} FOR UPDATE; SELECT pg_sleep(600) -- {KEPT}")

    _may_end.clear()
    asked = contextlib.contextmanager(_asked)(odoo, "held", TURNS, until="tool_call")
    with asked, ThreadPoolExecutor(1) as pool:
        while int(odoo.sql(f"SELECT COUNT(*) {running}")) < TURNS:
            time.sleep(0.1)
        pool.submit(keep)
        of_keeper = f"FROM pg_stat_activity WHERE query LIKE '%{KEPT}' AND pid <> pg_backend_pid()"
        while not odoo.sql(f"SELECT pid {of_keeper} AND wait_event = 'PgSleep'"):
            time.sleep(0.1)
        _may_end.set()
        try:
            yield
        finally:
            odoo.sql(f"SELECT pg_terminate_backend(pid) {of_keeper}")


@contextlib.contextmanager
def _large_results(odoo):
    yield from _asked(odoo, "large", OPEN)


def _asked(odoo, what, number, until="tool_result"):
    people = [Person(odoo) for _chat in range(number)]
    turns = [person.ask(what) for person in people]
    try:
        next(event for _, event in people[0].events(turns[0]) if event["type"] == until)
        yield
    finally:
        for person, turn in zip(people, turns, strict=True):
            person.http.post(f"/api/ai/turns/{turn['turn_id']}/stop", json={})


@contextlib.contextmanager
def _searches(odoo):
    person = Person(odoo)
    odoo.sql(
        f"""
        INSERT INTO mail_message (model, res_id, message_type, body, author_id, date)
        SELECT 'discuss.channel', {person.id}, 'comment',
               (SELECT string_agg('<p>' || md5(n::text || part) || '</p>', '')
                  FROM generate_series(1, {LENGTH // 39}) part), 1, now()
          FROM generate_series(1, {MESSAGES}) n
        """
    )
    is_over = threading.Event()

    def search():
        cookies = dict(person.http.cookies)
        with httpx.Client(base_url=odoo.url, cookies=cookies, timeout=120) as client:
            while not is_over.is_set():
                client.get("/api/ai/conversations", params={"q": "p"})

    with ThreadPoolExecutor(3) as pool:
        for _search in range(3):
            pool.submit(search)
        try:
            yield
        finally:
            is_over.set()
