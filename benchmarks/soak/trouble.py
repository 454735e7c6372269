"""What goes wrong during the soak: servers restart, commands and workers die, PostgreSQL drops connections."""

import contextlib
import random
import sys
import time
from pathlib import Path

import psutil

from dev import processes
from dev.paths import LOGS
from dev.servers import mcp_servers

HERE = Path(__file__).parent
FOLDER = LOGS / "soak"
CHANNELS = "datname = 'postgres' AND query LIKE '%pg_notify%payload'"  # of the wake-up


class Server:
    """One MCP server over HTTP, always at the same port."""

    def __init__(self, start):
        self.port = processes.free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._start = start
        self.process = start(self.port)

    def restart(self, chance, pause):
        """Politely or by force; it is away for `pause` seconds."""
        if chance.random() < 0.5:
            self.process.kill()
        else:
            self.process.stop(3)
        time.sleep(pause)
        self.process = self._start(self.port)


def own_server(kind, ledger):
    def start(port):
        return processes.start(
            f"MCP server {kind}",
            [sys.executable, HERE / "server.py", kind, str(port), ledger],
            log=FOLDER / f"{kind}.log",
            env=processes.bare_environment(),
        )

    return Server(start)


def time_server():
    return Server(lambda port: mcp_servers.start_time(port, folder=FOLDER).process)


class Trouble:
    """Call `tick` often, in the main thread: the processes it starts end with that.

    :param roles: the `gauge.Roles` of its processes
    :param servers: the `Server` of each MCP server
    :param clock: the program of the server with a command, whose path nobody else's processes have
    """

    def __init__(self, odoo, roles, servers, clock):
        self._odoo = odoo
        self._roles = roles
        self._servers = servers
        self._clock = clock
        self._random = random.Random(7)
        now = time.monotonic()
        self._plan = {
            what: [now + seconds / 2, seconds, work]
            for what, seconds, work in (
                ("restarts of MCP servers", 6, self._restart_a_server),
                ("commands killed", 17, self._kill_a_command),
                ("wake-up connections ended", 13, self._end_channels),
                ("all connections ended", 50, self._end_connections),
                ("workers killed", 41, self._kill_a_worker),
            )
        }
        self.counts = dict.fromkeys(self._plan, 0)

    def tick(self):
        for what, (due, every, work) in self._plan.items():
            if time.monotonic() >= due:
                self.counts[what] += work() or 0
                self._plan[what][0] = time.monotonic() + self._random.uniform(0.5, 1.5) * every

    def _restart_a_server(self):
        self._random.choice(self._servers).restart(self._random, self._random.uniform(0, 1.5))
        return 1

    def _kill_a_command(self):
        return kill_one(with_argument(self._clock), self._random)

    def _end_channels(self):
        return self._end(CHANNELS)

    def _end_connections(self):
        return min(self._end(f"datname = '{self._odoo.db}'"), 1)

    def _end(self, which):
        return int(
            self._odoo.instance.postgres.sql(
                "postgres",
                f"SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {which}",
            )
        )

    def _kill_a_worker(self):
        return kill_one(self._roles.now().get("web worker", []), self._random)


def kill_one(found, chance):
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        chance.choice(found).kill()
        return 1
    return 0


def with_argument(argument):
    """Processes, of whomever, that were started with it."""
    lines = psutil.process_iter(["cmdline"])
    return [process for process in lines if argument in (process.info["cmdline"] or ())]
