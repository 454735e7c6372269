"""Debian's PgBouncer in front of an instance's PostgreSQL, as hosts of many databases run it."""

import configparser
import signal
from pathlib import Path

from dev import processes
from dev.servers.postgres import Postgres, unprivileged
from dev.setup import daemons

HOST = "127.0.0.1"
POOL = 4  # connections of a database and user that all its clients share
CONTROL = "postgres"


class Pooler:
    """Databases in transaction mode, the one that processes talk through in a mode of its own."""

    def __init__(
        self, postgres: Postgres, folder: Path, *, control_mode: str = "session", pool: int = POOL
    ) -> None:
        self.port = processes.free_port()
        self._postgres = postgres
        self._folder = folder
        self._control_mode = control_mode
        self._pool = pool
        self._process: processes.Process | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The ``PG*`` variables that lead through it; Odoo takes them before its configuration."""
        return {**self._postgres.environment, "PGHOST": HOST, "PGPORT": str(self.port)}

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = processes.start(
            "PgBouncer",
            [*unprivileged(self._folder), daemons.pgbouncer(), self._configured()],
            log=self._folder / "pgbouncer.log",
        )
        self._process.wait_until(lambda: processes.listens(self.port), timeout=20)

    def lead_to(self, postgres: Postgres) -> None:
        """From now on to another server; what clients have asked for meanwhile waits for it."""
        self._postgres = postgres
        self._configured()
        assert self._process
        self._process.popen.send_signal(signal.SIGHUP)  # as RELOAD

    def _configured(self) -> Path:
        server = self._postgres
        where = {"host": server.host, "port": server.port, "user": server.user}
        if server.password:
            where["password"] = server.password
        line = " ".join(f"{key}={value}" for key, value in where.items() if value)
        parser = configparser.RawConfigParser()
        parser["databases"] = {
            CONTROL: f"{line} pool_mode={self._control_mode} pool_size=100",
            "*": line,
        }
        parser["pgbouncer"] = {
            "listen_addr": HOST,
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": str(self._pool),
            "max_client_conn": "1000",
            "server_login_retry": "1",  # s; its default of 15 is longer than a failover
        }
        config = self._folder / "pgbouncer.ini"
        with config.open("w") as file:
            parser.write(file)
        return config

    def stop(self) -> None:
        if self._process:
            self._process.stop()
            self._process = None
