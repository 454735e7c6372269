"""Looks at Odoo's processes and its database from outside: memory all the time, what is held in quiet moments."""

import contextlib
import re
import statistics
import time
from collections import defaultdict

import psutil

ALIVE = re.compile(r"Worker (WorkerHTTP|WorkerCron) \((\d+)\) alive")
SETTLE = 90.0  # s for everything that was begun to end
LIFE = 20.0  # s; a younger worker has not done everything yet
MB = 1024 * 1024
FEWEST = 3  # samples that a median is taken of
LASTING = ("ai_runner", "gevent", "threaded")  # never replaced, so that their memory can drift


class Roles:
    """Which processes there are, by what they do.

    :param others: ``{role: pid}`` of those that are no children of Odoo's main process
    """

    def __init__(self, odoo, others):
        self._odoo = odoo
        self._others = others
        self._read = 0
        self._kinds = {}

    def now(self):
        """``{role: [process]}``"""
        with self._odoo.log.open("rb") as log:
            log.seek(self._read)
            said = log.read()
        self._read += len(said)
        for kind, pid in ALIVE.findall(said.decode(errors="replace")):
            self._kinds[int(pid)] = {"WorkerHTTP": "web worker", "WorkerCron": "cron"}[kind]
        found = defaultdict(list)
        for role, pid in self._others.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                found[role].append(psutil.Process(pid))
        with contextlib.suppress(psutil.NoSuchProcess):
            main = psutil.Process(self._odoo.process._odoo.pid)
            found["main"].append(main)
            for child in main.children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    role = "gevent" if "gevent" in child.cmdline() else self._kinds.get(child.pid)
                    found[role or "new"].append(child)
        return found


class Memory:
    """Samples of the memory in use and of the resident one.

    A process that lasts is compared with itself, workers by what they end with.
    """

    def __init__(self, roles, begun, seconds, in_use, log):
        """
        :param in_use: the folder in which each process tells what it uses, see `trimmed`
        :param log: every sample goes there: seconds, role, process, MB in use, MB resident
        """
        self._roles = roles
        self._in_use = in_use
        self._log = log
        self._begun = begun
        self._seconds = seconds
        self._samples = defaultdict(
            list
        )  # role -> (s since the beginning, (MB in use, MB resident))
        self._workers = {}  # pid -> [s when it was seen first, when last, MB then]

    def sample(self):
        at = time.monotonic() - self._begun
        with self._log.open("a") as log:
            self._sample(at, log)

    def _sample(self, at, log):
        for role, processes in self._roles.now().items():
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess, FileNotFoundError):
                    used = int((self._in_use / str(process.pid)).read_text())
                    now = used / MB, process.memory_info().rss / MB
                    log.write(f"{at:.0f},{role},{process.pid},{now[0]:.1f},{now[1]:.1f}\n")
                    if role in LASTING:
                        self._samples[role].append((at, now))
                    elif role == "web worker":
                        first = self._workers.get(process.pid, [at])[0]
                        self._workers[process.pid] = [first, at, now]

    def drifts(self):
        """``{role: ((in use, resident) when settled, (…) at the end)}``, medians in MB.

        A role that there is too little of is left out.
        """
        third = self._seconds / 3
        found = {
            role: (
                [now for at, now in samples if third / 2 <= at <= third],
                [now for at, now in samples if at >= self._seconds - third / 2],
            )
            for role, samples in self._samples.items()
        }
        lives = [(at, now) for first, at, now in self._workers.values() if at - first >= LIFE]
        found["web worker"] = (
            [now for at, now in lives if at <= third],
            [now for at, now in lives if at >= self._seconds - third],
        )
        return {
            role: tuple(tuple(map(statistics.median, zip(*part, strict=True))) for part in parts)
            for role, parts in found.items()
            if min(map(len, parts)) >= FEWEST
        }


class Held:
    """What is held while nobody does anything and every MCP server is off: it should be little, and stay so."""

    def __init__(self, odoo, roles, ports, commands):
        """:param commands: gives the processes of MCP servers with a command"""
        self._odoo = odoo
        self._roles = roles
        self._ports = ports
        self._commands = commands

    def settled(self, limit):
        """What is held when it has become no more than `limit` (``{what: number}``), or what it is after a while."""
        until = time.monotonic() + SETTLE
        while True:
            found = self.now()
            too_much = any(found[what] > number for what, number in limit.items())
            if not too_much or time.monotonic() > until:
                return found
            time.sleep(0.5)

    def now(self):
        roles = self._roles.now()
        lasting = [process for role in LASTING for process in roles.get(role, ())]
        ours = [process for processes in roles.values() for process in processes]
        return {
            "open turns": self._count(
                "woow_paas_platform_ai_turn WHERE state IN ('queued', 'running')"
            ),
            "MCP connections": sum(self._to_servers(process) for process in ours),
            "commands": len(self._commands()),
            "zombies": sum(self._zombies(process) for process in ours),
            "advisory locks": self._count(
                "pg_locks l JOIN pg_database d ON d.oid = l.database"
                f" WHERE l.locktype = 'advisory' AND d.datname = '{self._odoo.db}'"
            ),
            "open transactions": self._count(
                f"pg_stat_activity WHERE datname = '{self._odoo.db}' AND pid <> pg_backend_pid()"
                " AND state LIKE 'idle in transaction%'"
            ),
            "database connections": self._count(
                f"pg_stat_activity WHERE datname = '{self._odoo.db}' AND pid <> pg_backend_pid()"
            ),
            "file descriptors": sum(process.num_fds() for process in lasting),
            "threads": sum(process.num_threads() for process in lasting),
        }

    def _count(self, what):
        return int(self._odoo.sql(f"SELECT COUNT(*) FROM {what}"))

    def _to_servers(self, process):
        with contextlib.suppress(psutil.NoSuchProcess):
            lines = process.net_connections("tcp")
            return sum(bool(line.raddr) and line.raddr.port in self._ports for line in lines)
        return 0

    def _zombies(self, process):
        with contextlib.suppress(psutil.NoSuchProcess):
            return sum(child.status() == psutil.STATUS_ZOMBIE for child in process.children())
        return 0
