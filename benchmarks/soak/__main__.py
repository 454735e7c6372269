"""The whole product for minutes, while everything around it breaks: ``python -m benchmarks.soak MINUTES``.

Odoo with workers that are replaced all the time, its gevent process, a threaded one and an `ai_runner` share a
database. Eight people do all that the HTTP contract knows. In the end nothing may hang, nothing may be lost, done twice
or left behind, and no process may have grown. Prints a table, and says in its exit code whether it is as it should be.
"""

import contextlib
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import psutil

from dev import processes
from dev.servers.odoo_server import OdooProcess
from dev.setup import venvs

from ..bed import deployment
from .gauge import LASTING, SETTLE, Held, Memory, Roles
from .people import HANG, Person, Tally, reply_to
from .trouble import FOLDER, Trouble, own_server, time_server, with_argument

PEOPLE = ("user", "owner", "demo", "admin") * 2
TRIMMED = Path(__file__).parent / "trimmed"  # processes tell their memory in use
IN_USE = FOLDER / "in_use"
RECYCLE = 80  # requests of a worker
SAMPLE = 3.0  # s between two looks at the memory
DRIFT = 10.0  # MB
SERVER = "woow_paas_platform.mcp_server"
# What may be held when nobody does anything and every MCP server is switched off.
NOTHING = {
    "open turns": 0,
    "MCP connections": 0,
    "commands": 0,
    "zombies": 0,
    "advisory locks": 0,
    "open transactions": 0,
}
# How much more of it may be held at the end than when it had settled.
MORE = {"database connections": 10, "file descriptors": 10, "threads": 6}
OPERATOR_FILE = """
[[mcp.servers]]
name = "clock"
transport = "stdio"
command = "{program}"
args = ["--local-timezone", "UTC"]
"""
TURN = "woow_paas_platform_ai_turn"
CALL = "woow_paas_platform_tool_call"
EVENT = "woow_paas_platform_ai_turn_event"
ENDED = f"(SELECT id FROM {TURN} WHERE ended_at IS NOT NULL)"
WRONG = {
    "turns that hang": f"SELECT COUNT(*) FROM {TURN} WHERE ended_at IS NULL",
    "calls without a result": f"""
        SELECT COUNT(*) FROM {CALL}
         WHERE outcome IS NULL AND (turn_id IN {ENDED} OR turn_id IS NULL AND
               started_at < now() AT TIME ZONE 'UTC' - interval '17 minutes')""",  # then the cron has closed it
    "calls whose events do not pair": f"""
        SELECT COUNT(*) FROM (
            SELECT 1 FROM {EVENT}
             WHERE payload->>'type' IN ('tool_call', 'tool_result') AND turn_id IN {ENDED}
             GROUP BY turn_id, payload->>'id'
            HAVING COUNT(*) FILTER (WHERE payload->>'type' = 'tool_result') <> 1) AS odd""",
    "turns whose events have gaps": f"""
        SELECT COUNT(*) FROM (
            SELECT 1 FROM {EVENT} WHERE turn_id IN {ENDED} GROUP BY turn_id
            HAVING COUNT(*) <> MAX(seq)
                OR COUNT(*) FILTER (WHERE payload->>'type' IN ('done', 'error')) <> 1) AS odd""",
}


class Soak:
    def __init__(self, odoo, servers, ledger, clock, stack):
        self.odoo = odoo
        self.servers = servers
        self.ledger = ledger
        self.clock = clock
        environment = odoo._environment
        port = processes.free_port()
        self.threaded = OdooProcess(
            odoo.instance,
            port=port,
            gevent_port=processes.free_port(),
            environment=environment,
            log=FOLDER / "threaded.log",
        )
        stack.callback(self.threaded.stop)
        self.threaded.start()
        self.runner = odoo.start_runner("soak", in_process_runner=False)
        stack.callback(self.runner.stop)
        self.threaded.wait()
        self.runner.wait_until(lambda: "serves" in self.runner.log.read_text(), timeout=60)
        others = {"threaded": self.threaded._odoo.pid, "ai_runner": self.runner.pid}
        self.roles = Roles(odoo, others)
        self.held = Held(
            odoo, self.roles, {server.port for server in servers.values()}, self.commands
        )
        self.offered = self._register()
        urls = [odoo.url, self.threaded.url]
        self.tally = Tally(len(urls))
        self.people = [
            Person(odoo, login, urls, self.tally, number) for number, login in enumerate(PEOPLE, 1)
        ]

    def commands(self):
        return with_argument(str(self.clock))

    def _register(self):
        """Make the servers known and let every assistant use them.

        :return: their ids
        """
        made = self.odoo.rpc(
            SERVER,
            "create",
            [
                {
                    "name": name,
                    "url": self.servers[of].url,
                    "trust_level": "none" if name == "careful" else "full",
                }
                for name, of in (("legacy", "legacy"), ("modern", "modern"), ("careful", "legacy"))
            ],
        )
        until = time.monotonic() + SETTLE
        names = ["legacy", "modern", "careful", "clock", "time"]
        while len(found := self._connected(names)) < len(names):
            if time.monotonic() > until:
                raise TimeoutError(f"only {found} of {names} are connected")
            time.sleep(0.5)
        ids = [row["id"] for row in found]
        clock = [row["id"] for row in found if row["name"] == "clock"]
        self.odoo.rpc(SERVER, "write", clock, {"trust_level": "full"})
        assistants = self.odoo.rpc("ai.assistant", "search", [])
        links = [[4, server] for server in made + clock]
        self.odoo.rpc("ai.assistant", "write", assistants, {"mcp_server_ids": links})
        return ids

    def _connected(self, names):
        domain = [("name", "in", names), ("state", "=", "connected")]
        return self.odoo.rpc(SERVER, "search_read", domain, ["name"])

    def run(self, minutes):
        for person in self.people:
            person.start()
        while self.tally.at_first:
            time.sleep(0.5)
        seconds = minutes * 60
        begun = time.monotonic()
        trouble = Trouble(self.odoo, self.roles, list(self.servers.values()), str(self.clock))
        memory = Memory(self.roles, begun, seconds, IN_USE, FOLDER / "memory.csv")
        used = self._processor_time()
        settled, next_sample = None, 0.0
        while (now := time.monotonic()) < begun + seconds:
            trouble.tick()
            if now >= next_sample:
                memory.sample()
                next_sample = now + SAMPLE
            if settled is None and now > begun + seconds / 3:
                settled = self._quiet(dict(NOTHING))
            time.sleep(0.2)
        memory.sample()
        used = self._processor_time() - used
        limit = {**NOTHING, **{what: settled[what] + more for what, more in MORE.items()}}
        last = self._quiet(limit, over=True)
        self._table(minutes, trouble, memory, settled, last, limit, used)
        return self.ok

    def _quiet(self, limit, *, over=False):
        """Everybody rests and the MCP servers are switched off; then look, and go on."""
        for person in self.people:
            person.rest.set()
        for person in self.people:
            person.resting.wait(HANG)
        self._switch(False)
        found = self.held.settled(limit)
        if not over:
            self._switch(True)
        for person in self.people:
            person.leave.set() if over else person.rest.clear()
        return found

    def _switch(self, active):
        for _try in range(5):
            with contextlib.suppress(Exception):  # the worker that was asked may die
                self.odoo.rpc(SERVER, "write", self.offered, {"active": active})
                return
            time.sleep(1)

    def _processor_time(self):
        """Seconds of all of Odoo's processes that live now."""
        used = 0.0
        for found in self.roles.now().values():
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    used += times.user + times.system + times.children_user + times.children_system
        return used

    # ------------------------------------------------------------ what came of it

    def _table(self, minutes, trouble, memory, settled, last, limit, used):
        tally = self.tally
        self.ok = True
        print("| what | figure | aim |\n|---|---|---|")
        ends = ", ".join(f"{number} {end}" for end, number in tally.ends.most_common())
        self._row(
            f"turns of {len(PEOPLE)} people in {minutes:g} minutes", f"{tally.turns} ({ends})"
        )
        calls = self.odoo.sql(f"SELECT COUNT(*) FROM {CALL}")
        self._row("tool calls; streams that were opened", f"{calls}; {tally.streams}")
        for what, number in trouble.counts.items():
            self._row(what, number)
        replaced = self.odoo.log_text().count("alive")
        self._row("worker processes; requests that were sent again", f"{replaced}; {tally.broken}")
        self._row("processor time of Odoo", f"{used / minutes / 60 * 100:.0f} % of a core")
        for what, statement in WRONG.items():
            self._row(what, int(self.odoo.sql(statement)), 0)
        self._row("turns whose person saw no end", len(tally.hung), 0)
        self._row("events lost or doubled in a stream", tally.wrong, 0)
        written = Counter(self.ledger.read_text().split())
        twice = sum(number > 1 for number in written.values())
        self._row(f"calls executed twice, of {len(written)}", twice, 0)
        self._row("things that people could not do", len(tally.surprises), 0)
        for what, aim in limit.items():
            beside = f" (settled {settled[what]})" if what in MORE else ""
            self._row(f"{what} at rest{beside}", last[what], aim)
        drifts = memory.drifts()
        self.ok &= set(LASTING) <= drifts.keys()  # in a short run few workers live long enough
        for role, ((before, resident), (after, resident_after)) in drifts.items():
            grown = after - before
            self.ok &= grown <= DRIFT
            print(
                f"| memory in use: {role}, {before:.0f} → {after:.0f} MB"
                f" (resident {resident:.0f} → {resident_after:.0f} MB)"
                f" | {grown:+.1f} MB | ≤ {DRIFT:g} MB |"
            )

    def _row(self, what, figure, aim=None):
        if aim is not None:
            self.ok &= figure <= aim
        print(f"| {what} | {figure} | {'' if aim is None else f'≤ {aim}' if aim else '0'} |")


def main(minutes):
    os.environ["MALLOC_ARENA_MAX"] = "2"  # as the units of docs/deployment.md set it
    os.environ["PYTHONPATH"] = str(TRIMMED)
    os.environ["PYTHONMALLOC"] = "malloc"  # whose free memory can be given back
    shutil.rmtree(FOLDER, ignore_errors=True)
    IN_USE.mkdir(parents=True)
    os.environ["MEMORY_IN_USE"] = str(IN_USE)
    ledger = FOLDER / "ledger"
    ledger.touch()
    clock = FOLDER / "clock"
    clock.symlink_to(venvs.extra("mcp") / "bin/mcp-server-time")
    operator_file = FOLDER / "mcp_servers.toml"
    operator_file.write_text(OPERATOR_FILE.format(program=clock))
    with contextlib.ExitStack() as stack:
        llm, new_odoo = stack.enter_context(deployment())
        llm.answer = lambda body: (llm.forget(), reply_to(body))[1]
        servers = {
            "legacy": own_server("legacy", ledger),
            "modern": own_server("modern", ledger),
            "time": time_server(),
        }
        for server in servers.values():
            stack.callback(lambda server=server: server.process.kill())
        odoo = stack.enter_context(
            new_odoo(
                "soak",
                {"mcp_servers_file": operator_file},
                {"limit_request": RECYCLE},
            )
        )
        soak = Soak(odoo, servers, ledger, clock, stack)
        ok = soak.run(minutes)
    left = soak.commands()
    print(f"| processes left when all has ended | {len(left)} | 0 |")
    details(soak.tally)
    return 0 if ok and not left else 1


def details(tally):
    """What the table counts, in full."""
    print("\nacts:", dict(tally.acts.most_common()))
    print("refused:", dict(tally.refusals.most_common(20)))
    for surprise, number in Counter(tally.surprises).most_common(20):
        print(f"{number} × {surprise}")
    print("hung:", tally.hung)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
