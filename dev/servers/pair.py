"""Two clusters of PostgreSQL, as on two hosts: a primary and its synchronous standby, which takes over from it."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from dev.commands import run
from dev.progress import DevError
from dev.servers.postgres import Postgres, unprivileged

SETTINGS = {
    "synchronous_commit": "on",  # who is told of a commit finds it on both
    "dynamic_shared_memory_type": "mmap",  # a killed server leaves it in its folder, not in /dev/shm
}
PROMOTION_TIMEOUT = 60  # s
IS_SYNCHRONOUS = (
    "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
)


class Pair:
    """:ivar primary: who takes writes
    :ivar standby: who has everything that was committed, None before `add_standby`
    """

    def __init__(self, folder: Path) -> None:
        self.primary = _member(folder / "a")
        self.standby: Postgres | None = None
        self._spare = _member(folder / "b")

    @property
    def environment(self) -> dict[str, str]:
        """The ``PG*`` variables by which a connection finds the one of the two that takes writes."""
        addresses = sorted([self.primary.host, self.replica.host])
        return {
            **self.primary.environment,
            "PGHOST": ",".join(addresses),
            "PGTARGETSESSIONATTRS": "read-write",
        }

    @property
    def replica(self) -> Postgres:
        """The standby, also while it is not there yet."""
        return self.standby or self._spare

    def add_standby(self) -> None:
        """Make a copy of the primary that follows it; then no commit ends before it is on both."""
        standby, primary = self._spare, self.primary
        data = standby.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        run(
            [
                *unprivileged(standby.folder),
                standby.program("pg_basebackup"),
                f"--pgdata={data}",
                f"--host={primary.host}",
                f"--port={primary.port}",
                f"--username={primary.user}",
                "--write-recovery-conf",
                "--wal-method=stream",
                "--checkpoint=fast",
                "--no-sync",
            ],
            what="Copying the primary",
        )
        standby.start()
        # Copied with everything else: alone, it must not wait for a standby of its own.
        _set_synchronous(standby, "")
        _set_synchronous(primary, "*")
        self.standby = standby
        _wait(lambda: primary.sql("postgres", IS_SYNCHRONOUS) == "1", "a synchronous standby")

    def kill_primary(self) -> None:
        """Kill it as a host that loses its power: all its processes at once."""
        process = self.primary.process
        assert process and self.standby
        process.popen.send_signal(signal.SIGSTOP)  # it begins no further process
        for child in _children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.kill()
        self.primary.process = None

    def promote(self) -> None:
        """Let the standby take writes, alone; the former primary is what `add_standby` makes anew."""
        assert self.standby
        self.standby.sql("postgres", f"SELECT pg_promote(true, {PROMOTION_TIMEOUT})")
        self.primary, self._spare, self.standby = self.standby, self.primary, None

    def stop(self) -> None:
        for member in (self.primary, self.standby, self._spare):
            if member:
                member.stop()


def _member(folder: Path) -> Postgres:
    return Postgres(folder, throw_away=True, own=True, settings=SETTINGS)


def _set_synchronous(server: Postgres, names: str) -> None:
    server.sql("postgres", f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    server.sql("postgres", "SELECT pg_reload_conf()")


def _children(pid: int) -> list[int]:
    """PostgreSQL gives each of its processes a group of its own."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _wait(condition, what: str) -> None:
    deadline = time.monotonic() + PROMOTION_TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise DevError(f"Not within {PROMOTION_TIMEOUT} s: {what}.")
        time.sleep(0.05)
