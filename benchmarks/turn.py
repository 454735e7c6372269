"""What a turn costs, measured over HTTP on real processes: ``make bench``, or ``ARGS='streams'`` for one part.

Every figure stands beside an idle server or the bare library in the same run, because a machine is fast or
slow, and busy, in ways that only a comparison shows. All figures are medians unless they say otherwise.
"""

import asyncio
import contextlib
import json
import os
import signal
import statistics
import sys
import threading
import time

import httpx
import psutil

from services.testing.scripted_llm import Reply, ScriptedLlm
from tools.dev import mcp_servers, processes, testbed
from tools.dev.paths import LOGS

ROUNDS = 20
WAITING = 50  # chats that wait for their model
STREAMS = int(os.environ.get("STREAMS", "1000"))
RATE = 2.0  # events a second of each stream
SECONDS = 15.0  # that the streams are watched
TURNS = 60  # of the comparison of one runner with two
TIME = ("time__get_current_time", {"timezone": "UTC"})
TURN_TABLE = "woow_paas_platform_ai_turn"


class Llm:
    """The scripted model in a thread of its own; it notes when each request was answered."""

    def __init__(self):
        self.answer = lambda _body: Reply("Hello.")
        self.answered = []
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = ScriptedLlm(self._reply)
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self.loop).result(5)
        self.base_url = self.server.base_url

    def _reply(self, body):
        reply = self.answer(body)
        self.answered.append(time.monotonic())
        return reply


class Person:
    """One user with one conversation."""

    def __init__(self, odoo, login="user"):
        self.http = odoo.session(login)
        assistant = self.http.get("/api/ai/assistants").json()["assistants"][0]["id"]
        made = self.http.post("/api/ai/conversations", json={"assistant_id": assistant})
        self.id = made.json()["id"]

    def ask(self, text="Hi"):
        answer = self.http.post(f"/api/ai/conversations/{self.id}/messages", json={"content": text})
        assert answer.status_code == 202, answer.text
        return answer.json()

    def events(self, turn):
        """(when, event) up to the end."""
        with self.http.stream("GET", turn["stream_url"]) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    yield time.monotonic(), event
                    if event["type"] in ("done", "error"):
                        return


def row(what, figure, beside="", aim=""):
    print(f"{what:<46} {figure:>16}   {beside:<34} {aim}", flush=True)


def ms(seconds):
    return f"{seconds * 1000:.0f} ms"


def median_of(work, rounds=ROUNDS):
    return statistics.median(work() for _round in range(rounds))


def took(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def page(odoo):
    return took(lambda: httpx.get(f"{odoo.url}/web/login", timeout=30).raise_for_status())


# ---------------------------------------------------------------- one turn


def latencies(odoo, llm):
    """POST → 202, first text, `tool_call`, Stop."""
    idle = median_of(lambda: page(odoo))
    person = Person(odoo)
    list(person.events(person.ask()))  # the process that runs turns loads LangChain
    posts, firsts, calls, stops = [], [], [], []
    for _round in range(ROUNDS):
        begun = time.monotonic()
        turn = person.ask()
        posts.append(time.monotonic() - begun)
        firsts += [at - begun for at, event in person.events(turn) if event["type"] == "text"][:1]
    llm.answer = lambda body: (
        Reply("Late.") if body["messages"][-1]["role"] == "tool" else Reply(calls=[TIME])
    )
    for _round in range(ROUNDS):
        llm.answered.clear()
        events = list(person.events(person.ask()))
        calls += [at - llm.answered[0] for at, event in events if event["type"] == "tool_call"]
    llm.answer = lambda _body: Reply("word " * 4000, gap=0.02)
    for _round in range(ROUNDS // 2):
        turn = person.ask()
        for _at, event in person.events(turn):
            if event["type"] == "text":
                begun = time.monotonic()
                person.http.post(f"/api/ai/turns/{turn['turn_id']}/stop", json={})
            if event["type"] == "done":
                stops.append(time.monotonic() - begun)
    llm.answer = lambda _body: Reply("Hello.")
    bare = median_of(lambda: asyncio.run(bare_library(llm)))
    row("a page of the idle server", ms(idle))
    row("POST → 202", ms(statistics.median(posts)), f"idle page {ms(idle)}")
    row("POST → first text", ms(statistics.median(firsts)), f"bare langchain-openai {ms(bare)}")
    row("model's call → tool_call on the wire", ms(statistics.median(calls)), "", "≤ 150 ms")
    row("Stop → final event", ms(statistics.median(stops)), "", "≤ 500 ms")


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
    running = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE state = 'running'"
    while int(odoo.sql(running)) < WAITING:
        time.sleep(0.1)
    busy = median_of(lambda: page(odoo))
    row(f"a page while {WAITING} chats wait, 2 workers", ms(busy), f"idle {ms(idle)}")
    for person, turn in zip(people, turns, strict=True):
        person.http.post(f"/api/ai/turns/{turn['turn_id']}/stop", json={})
    llm.answer = lambda _body: Reply("Hello.")


# ---------------------------------------------------------------- streams


def streams(odoo, _llm):
    """One gevent process, many streams: is each event there once, in order, and how late?"""
    person = Person(odoo)
    ids = [
        int(line)
        for line in odoo.sql(
            f"""
            INSERT INTO {TURN_TABLE} (channel_id, user_id, assistant_id, prompt, state, lease_owner,
                                      lease_epoch, lease_until, create_date)
            SELECT c.id, c.woow_user_id, c.woow_assistant_id, 'bench', 'running', 'bench', 1,
                   now() + interval '1 day', now()
              FROM discuss_channel c, generate_series(1, {STREAMS}) WHERE c.id = {person.id}
            RETURNING id
            """
        ).split()
    ]
    gevent = next(
        process
        for process in psutil.Process(odoo.process._odoo.pid).children()
        if "gevent" in process.cmdline()
    )
    for number in sorted({STREAMS // 4, STREAMS // 2, STREAMS}):
        result = asyncio.run(Watch(odoo, person, ids[:number], gevent).run())
        row(
            f"{number} streams at {RATE:g} events/s, lag p95",
            ms(result["p95"]),
            f"p50 {ms(result['p50'])}, {result['cpu']:.0f} % of a core",
            "1000 at ≤ 250 ms",
        )
        row(
            f"  of {result['sent']} events lost or doubled",
            str(result["wrong"]),
            f"{result['refused']} refused, {result['memory']} MB",
            "0",
        )


class Watch:
    def __init__(self, odoo, person, ids, gevent):
        self.odoo, self.ids, self.gevent = odoo, ids, gevent
        self.cookie = person.http.cookies["session_id"]
        self.port = odoo.gevent_url.rsplit(":", 1)[1]
        self.lags, self.seen, self.refused, self.open = [], {}, 0, 0
        self.first = 1 + int(
            odoo.sql(
                "SELECT COALESCE(MAX(seq), 0) FROM woow_paas_platform_ai_turn_event"
                f" WHERE turn_id = ANY(ARRAY{ids})"
            )
        )

    async def run(self):
        readers = [asyncio.create_task(self._read(turn)) for turn in self.ids]
        while self.open + self.refused < len(self.ids):
            await asyncio.sleep(0.05)
        before = self.gevent.cpu_times()
        begun = time.monotonic()
        sent = await asyncio.to_thread(self._write)
        await asyncio.sleep(1.5)
        after = self.gevent.cpu_times()
        cpu = sum(after[:2]) - sum(before[:2])
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        wanted = list(range(self.first, self.first + sent // len(self.ids)))
        self.lags.sort()
        return {
            "p50": self.lags[len(self.lags) // 2],
            "p95": self.lags[len(self.lags) * 95 // 100],
            "sent": sent,
            "wrong": sum(self.seen.get(turn) != wanted for turn in self.ids),
            "refused": self.refused,
            "cpu": cpu * 100 / (time.monotonic() - begun),
            "memory": self.gevent.memory_info().rss >> 20,
        }

    async def _read(self, turn):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        request = (
            f"GET /api/ai/turns/{turn}/stream?after={self.first - 1} HTTP/1.1\r\nHost: bench\r\n"
            f"Cookie: session_id={self.cookie}\r\n\r\n"
        )
        writer.write(request.encode())
        with contextlib.closing(writer):
            if b" 200 " not in await reader.readline():
                self.refused += 1
                return
            seen = self.seen[turn] = []
            while line := await reader.readline():
                if line.startswith(b"retry"):
                    self.open += 1
                elif line.startswith(b"id: "):
                    seen.append(int(line[4:]))
                elif line.startswith(b"data: "):
                    self.lags.append(time.time() - json.loads(line[6:])["at"])

    def _write(self):
        """What runners do: every 40 ms one transaction with the events of all turns that have some."""
        import psycopg2  # noqa: PLC0415
        from psycopg2.extras import execute_values  # noqa: PLC0415

        where = self.odoo.instance.postgres
        connection = psycopg2.connect(
            host=where.host, port=where.port, user=where.user, dbname=self.odoo.db
        )
        cr = connection.cursor()
        ticks = int(1 / RATE / 0.04)
        sent, begun = 0, time.monotonic()
        for tick in range(int(SECONDS * RATE) * ticks):
            time.sleep(max(0.0, begun + tick * 0.04 - time.monotonic()))
            turns = self.ids[tick % ticks :: ticks]
            seq = self.first + tick // ticks
            payload = json.dumps({"type": "text", "content": "word " * 4, "at": time.time()})
            execute_values(
                cr,
                "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s",
                [(turn, seq, payload) for turn in turns],
            )
            heads = {"events": [[turn, seq] for turn in turns]}
            cr.execute("SELECT pg_notify('woow_ai', %s)", [json.dumps(heads)])
            connection.commit()
            sent += len(turns)
        connection.close()
        return sent


# ---------------------------------------------------------------- processes


def runners(odoo, llm):
    """Throughput of one and two `odoo-bin ai_runner` processes: short turns with one call each.

    Once with a model that answers at once, so that turns cost processor time only, and once with one that
    takes its time as real ones do, so that the places of a process are what limits it.
    """
    people = [Person(odoo) for _person in range(TURNS)]
    for what, wait, places in (("a model that answers at once", 0, 24), ("2 s a turn", 1, 4)):
        llm.answer = lambda body, wait=wait: (
            Reply("Late.", wait=wait)
            if body["messages"][-1]["role"] == "tool"
            else Reply(calls=[TIME], wait=wait)
        )
        one, two = (throughput(odoo, people, number, places) for number in (1, 2))
        row(
            f"two ai_runner processes, {what}",
            f"{two:.1f} turns/s",
            f"one {one:.1f} turns/s; {places} places each",
        )


def throughput(odoo, people, number, places):
    """Turns a second of `number` processes that are warm and find a full queue."""
    open_turns = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE ended_at IS NULL AND prompt <> 'bench'"
    started = [
        odoo.start_runner(f"bench{number}{places}{index}", runner_capacity=places)
        for index in range(number)
    ]
    for process in started:
        process.wait_until(lambda p=process: "serves" in p.log.read_text(), timeout=60)
    for person in people[: number * 4]:  # each loads LangChain once
        person.ask()
    while int(odoo.sql(open_turns)):
        time.sleep(0.1)
    for process in started:
        process.popen.send_signal(signal.SIGSTOP)
    for person in people:
        person.ask()
    begun = time.monotonic()
    for process in started:
        process.popen.send_signal(signal.SIGCONT)
    while int(odoo.sql(open_turns)):
        time.sleep(0.05)
    rate = len(people) / (time.monotonic() - begun)
    for process in started:
        process.stop()
    return rate


def memory(odoo, _llm):
    """Workers that have served pages and no chat; another one after its first turn."""
    workers = [
        process
        for process in psutil.Process(odoo.process._odoo.pid).children()
        if "gevent" not in process.cmdline()
    ]
    page(odoo)
    quiet = min(process.memory_info().rss for process in workers) >> 20
    person = Person(odoo)
    list(person.events(person.ask()))
    chatted = max(process.memory_info().rss for process in workers) >> 20
    row(
        "memory of a process that has not chatted",
        f"{quiet} MB",
        f"after its first turn {chatted} MB",
    )


PARTS = {
    "memory": memory,
    "latencies": latencies,
    "waiting": pages_while_chats_wait,
    "streams": streams,
    "runners": runners,
}


def main(chosen):
    template = testbed.template()
    folder = LOGS / "bench"
    with testbed.running_postgres(template), contextlib.ExitStack() as stack:
        testbed.prepare_template(template, fresh=False)
        llm = Llm()
        mcp = mcp_servers.start_time(processes.free_port(), folder=folder)
        stack.callback(mcp.stop)
        mcp.wait()
        facts = {
            "WOOW_AI_DEMO_LLM_URL": llm.base_url,
            "WOOW_AI_DEMO_LLM_KEY": "test",
            "WOOW_AI_DEMO_MCP_TIME_URL": mcp.url,
        }
        source = testbed.with_demo_servers(template, facts)
        for name in chosen or PARTS:
            in_process = name != "runners"
            odoo = testbed.OdooServer(
                source,
                f"bench_{name}",
                workers=2,
                environment=facts,
                operator={"in_process_runner": in_process, "runner_capacity": WAITING},
            )
            odoo.start()
            try:
                PARTS[name](odoo, llm)
            finally:
                odoo.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
