"""Databases and real Odoo servers for tests; used by ``make test`` and by the fixtures of ``tests/e2e``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dev import processes
from dev.commands import run
from dev.paths import ADDON, REPORTS
from dev.progress import DevError
from dev.servers import addon
from dev.servers.instance import Instance
from dev.servers.odoo_server import OdooProcess
from dev.servers.postgres import Postgres
from dev.setup import odoo_tree, venvs

if TYPE_CHECKING:
    import httpx

    from dev.servers.mock_llms import MockLlm

TEMPLATE = "woow_template"
WITHOUT_ADDON = "woow_without_addon"
EXPECTED_LOG = REPORTS / "expected-log.txt"
LOOPBACK = "127.0.0.1:*"
SYNC_TRIES = 5  # on a busy machine a server may not answer within the seconds that it has
SHELL_MARK = "@@result@@"
TRIES = 5  # to reach an MCP server, which has its seconds on a busy machine too
REQUEST_TIMEOUT = 120  # s, of a busy machine


def template() -> Instance:
    """The instance whose database every test database is a copy of; it never serves."""
    return Instance("test", TEMPLATE, throw_away=True)


@contextmanager
def running_postgres(instance: Instance) -> Iterator[None]:
    """The tests' PostgreSQL: one that runs already is used and left alone."""
    instance.postgres.start()
    try:
        yield
    finally:
        instance.postgres.stop()


def prepare_template(instance: Instance, *, fresh: bool) -> None:
    """Install the addon with demo data; ``fresh`` even if nothing changed since the last time.

    No setting of the operator helps the Odoo tests: whoever runs them elsewhere has none either.
    """
    venvs.main()
    instance.write_config({"screenshots": REPORTS / "screenshots"})
    stamp = instance.folder / f"{instance.database}.installed"
    if fresh:
        stamp.unlink(missing_ok=True)
    if not stamp.exists() or stamp.read_text() != addon.fingerprint():
        stamp.unlink(missing_ok=True)
        clone(without_addon(instance), instance.database)
        addon.install(instance, {})
        addon.compile_bundles(instance)
        stamp.write_text(addon.fingerprint())


def without_addon(instance: Instance) -> Instance:
    """The database in this server that has what the addon depends on, without the addon; made once."""
    base = Instance(instance.name, WITHOUT_ADDON, throw_away=True)
    base.postgres = instance.postgres
    stamp = base.folder / f"{base.database}.installed"
    about = addon.manifest()
    current = f"{odoo_tree.odoo_path()} {about['depends']} {about.get('excludes')}"
    known = stamp.exists() and stamp.read_text() == current
    if not known or not base.postgres.exists(base.database):
        addon.install_odoo(base)
        stamp.write_text(current)
    return base


def clone(source: Instance, database: str) -> None:
    """Copy the template's database and files."""
    source.postgres.copy(source.database, database)
    shutil.rmtree(source.filestore(database), ignore_errors=True)
    if source.filestore(source.database).exists():
        # Odoo never writes into a stored file, so the copies can share them.
        shutil.copytree(
            source.filestore(source.database), source.filestore(database), copy_function=os.link
        )


def with_modules(source: Instance, modules: Sequence[str]) -> Instance:
    """A second template that has these modules of Odoo, too; kept until they or the addon change."""
    base = Instance(source.name, f"{source.database}_beside", throw_away=True)
    base.postgres = source.postgres
    stamp = base.folder / f"{base.database}.installed"
    current = f"{addon.fingerprint()} {' '.join(sorted(modules))}"
    known = stamp.exists() and stamp.read_text() == current
    if not known or not base.postgres.exists(base.database):
        stamp.unlink(missing_ok=True)
        clone(source, base.database)
        addon.add(base, modules)
        stamp.write_text(current)
    return base


def with_demo_servers(source: Instance, facts: Mapping[str, str], name: str = "demo") -> Instance:
    """A second template whose demo records know this run's model and MCP servers, with their tools synced.

    :param facts: the ``WOOW_AI_DEMO_*`` variables
    """
    base = Instance(source.name, f"{source.database}_{name}", throw_away=True)
    base.postgres = source.postgres
    clone(source, base.database)
    urls = ", ".join(f"'{url}'" for name, url in facts.items() if "_MCP_" in name)
    unread = f"SELECT name FROM woow_paas_platform_mcp_server WHERE url IN ({urls}) AND state <> 'connected'"
    for _try in range(TRIES):
        settings = {**facts, "WOOW_AI_EGRESS_ALLOW": LOOPBACK}
        done = bool(addon.refresh_demo(base, settings))
        if done and not source.postgres.sql(base.database, unread):
            return base
    raise DevError("The demo's records are not what the tests expect: see above.")


@contextmanager
def apart(source: Instance, folder: Path, postgres: Postgres | None = None) -> Iterator[Instance]:
    """A copy of ``source`` in a PostgreSQL of its own, which a test can stop without disturbing others.

    :param postgres: one in this folder, which is not started yet
    """
    copy = Instance(source.name, source.database, throw_away=True)
    copy.data_dir = source.data_dir
    copy.postgres = postgres or Postgres(folder, throw_away=True, own=True)
    copy.postgres.start()
    try:
        copy.postgres.restore(copy.database, source.postgres.dump(source.database))
        yield copy
    finally:
        copy.postgres.stop()
        shutil.rmtree(folder)


class OdooServer:
    """A real Odoo with a database of its own, for tests that look from outside.

    ``url`` is what people use; ``gevent_url`` is Odoo's gevent port (the same as ``url`` when threaded).
    """

    def __init__(
        self,
        source: Instance,
        name: str,
        *,
        workers: int = 0,
        options: Mapping[str, object] | None = None,
        operator: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.db = f"woow_{name}"
        self.instance = Instance(f"e2e-{name}", self.db, throw_away=True)
        self.instance.postgres = source.postgres
        self.instance.data_dir = source.data_dir
        self.instance.python = source.python
        self._environment = {**source.postgres.environment, **(environment or {})}
        clone(source, self.db)
        port, gevent_port = processes.free_port(), processes.free_port()
        self.instance.write_config(
            {"http_port": port, "gevent_port": gevent_port, **(options or {})},
            {
                "egress_allow": LOOPBACK,
                "in_process_runner": True,
                # The copied database holds secrets under the template's key.
                "secret_key": source.secret("secret_key"),
                **(operator or {}),
            },
        )
        self.process = OdooProcess(
            self.instance,
            port=port,
            gevent_port=gevent_port,
            workers=workers,
            environment=self._environment,
        )
        self.log = self.process.log
        self.log.unlink(missing_ok=True)
        self.url = self.process.url
        self.gevent_url = f"http://127.0.0.1:{gevent_port}" if workers else self.url
        self._api_keys: dict[str, str] = {}
        self._sessions: dict[str, httpx.Client] = {}

    def start(self) -> None:
        self.process.start()
        self.process.wait()

    def stop(self) -> None:
        """End Odoo in good order and drop its database."""
        self.forget_sessions()
        self.process.stop()
        self.instance.drop(self.db)

    def install(self) -> str:
        """Install the addon with demo data in this server's database, in a process of its own; what Odoo said."""
        self.forget_sessions()
        return self._modules("-i", ADDON, "--with-demo")

    def update(self) -> str:
        """Update the addon in this server's database while it does not run; what Odoo said."""
        return self._modules("-u", ADDON)

    def add(self, *modules: str, languages: tuple[str, ...] = ()) -> str:
        """Add other modules and languages while this server does not run; what Odoo said."""
        loaded = f"--load-language={','.join(languages)}"
        return self._modules("-i", ",".join(modules), loaded)

    def uninstall(self) -> None:
        """Take the addon out of this server's database in a process of its own, whether the server runs or not."""
        self.shell(
            f"module = env['ir.module.module'].search([('name', '=', {ADDON!r})])\n"
            "module.button_immediate_uninstall()"
        )

    def duplicate(self, database: str) -> None:
        """Let Odoo duplicate this server's database; what was called so before is dropped."""
        settings = ("-c", self.instance.config)
        command = self.instance.odoo("db", *settings, "duplicate", "-f", self.db, database)
        run(
            command[: -len(settings)],  # the command wants them before its own action
            what=f"Odoo's duplicate of {self.db}",
            env=self._environment,
        )

    def forget_sessions(self) -> None:
        """Sign in again from now on."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _modules(self, flag: str, names: str, *arguments: str) -> str:
        options = ("--stop-after-init", "--no-http", "--max-cron-threads=0", *arguments)
        command = self.instance.odoo(flag, names, *options)
        done = subprocess.run(
            [str(part) for part in command],
            env={**os.environ, **self._environment},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode:
            raise DevError(f"Odoo {flag} {names} failed:\n{said[-4000:]}")
        return said

    def kill9(self) -> None:
        """End every process of this Odoo at once, as a crash would."""
        self.process.kill9()

    def restart(self) -> None:
        """Start again on the same ports with the same database."""
        self.process.stop()
        self.start()

    def start_runner(
        self, name: str = "runner", *, serve_all: bool = False, **operator: object
    ) -> processes.Process:
        """Start ``odoo-bin ai_runner`` for this server's database; its log is checked like this server's.

        :param serve_all: for all databases that `dbfilter` allows
        :param operator: settings of ``[woow_ai]`` for this process only
        """
        served = "--all" if serve_all else f"--database={self.db}"
        settings = {f"WOOW_AI_{key.upper()}": str(value) for key, value in operator.items()}
        return processes.start(
            name,
            self.instance.odoo("ai_runner", served),
            log=self._log_of(name),
            # Odoo finds a command of an addon only if it knows the addons path before it reads "-c".
            env={
                **os.environ,
                **self._environment,
                **settings,
                "ODOO_RC": str(self.instance.config),
            },
        )

    def login(self, login: str, password: str | None = None) -> httpx.Client:
        """A client with a new session of this user; the password is the login unless told."""
        import httpx

        client = httpx.Client(base_url=self.url, timeout=REQUEST_TIMEOUT)
        params = {"db": self.db, "login": login, "password": password or login}
        answer = client.post("/web/session/authenticate", json={"jsonrpc": "2.0", "params": params})
        if not answer.json().get("result", {}).get("uid"):
            raise DevError(f"{login} could not sign in: {answer.text[:500]}")
        return client

    def session(self, login: str) -> httpx.Client:
        """A client with this user's session, made once for this server."""
        if login not in self._sessions:
            self._sessions[login] = self.login(login)
        return self._sessions[login]

    def rpc(
        self, model: str, method: str, *args: Any, as_login: str = "admin", **kwargs: Any
    ) -> Any:
        """The result of a model's method, called over HTTP as the web client does."""
        params = {"model": model, "method": method, "args": args, "kwargs": kwargs}
        answer = self.session(as_login).post(
            f"/web/dataset/call_kw/{model}/{method}",
            json={"jsonrpc": "2.0", "id": 1, "params": params},
        )
        body = answer.json()
        if "error" in body:
            raise DevError(f"{model}.{method}: {body['error']['data']['message']}")
        return body["result"]

    def sync_tools(self, server: int) -> None:
        """Read the tools of an MCP server now."""
        for _try in range(SYNC_TRIES):
            answer = self.session("admin").post(f"/api/mcp/servers/{server}/sync")
            if answer.status_code == 200:
                return
        raise DevError(f"MCP server {server}: {answer.text}")

    def shell(self, code: str) -> Any:
        """Run ``code`` in ``odoo-bin shell`` and commit; what it assigns to ``result`` comes back as JSON data.

        Other processes forget what they cached, as after a request.
        Takes about three seconds, because it is a process of its own.
        """
        end = "env.cr.commit()\nenv.registry.signal_changes()\nimport json\n"
        script = f"result = None\n{code}\n{end}print({SHELL_MARK!r} + json.dumps(result))\n"
        done = subprocess.run(
            [str(arg) for arg in self.instance.odoo("shell", "--no-http", "--log-level=warn")],
            input=script,
            env={**os.environ, **self._environment, "WOOW_AI_IN_PROCESS_RUNNER": "False"},
            capture_output=True,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            if line.startswith(SHELL_MARK):
                return json.loads(line.removeprefix(SHELL_MARK))
        raise DevError(f"odoo-bin shell failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")

    def sql(self, statement: str) -> str:
        """The committed rows of ``statement``, one a line, columns parted by ``|``."""
        return self.instance.postgres.sql(self.db, statement)

    def api_key(self, login: str) -> str:
        """An API key of this user, for ``Authorization: Bearer``; made once for this server."""
        if login not in self._api_keys:
            self._api_keys[login] = self.shell(
                "from datetime import datetime, timedelta\n"
                f"user = env['res.users'].search([('login', '=', {login!r})])\n"
                "keys = env(user=user.id)['res.users.apikeys']\n"
                "result = keys.sudo()._generate('rpc', 'e2e', datetime.now() + timedelta(days=1))\n"
            )
        return self._api_keys[login]

    def bearer(self, login: str) -> httpx.Client:
        """A client that has no session, only this user's API key."""
        import httpx

        return httpx.Client(
            base_url=self.url,
            timeout=REQUEST_TIMEOUT,
            headers={"Authorization": f"Bearer {self.api_key(login)}"},
        )

    def use_llm(self, llm: MockLlm, model: str = "gpt-4o") -> None:
        """Point the demo's provider at ``llm``."""
        found = self.rpc(
            "ir.model.data", "search_read", [("name", "=", "ai_config_demo")], ["res_id"]
        )
        values = {"api_base_url": llm.base_url, "model": model, "api_key": "test"}
        self.rpc("ai.config", "write", [row["res_id"] for row in found], values)

    def log_text(self) -> str:
        """Odoo's log since this server was made, over all its starts."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def expect_log(self, pattern: str, of: str = "") -> None:
        """Allow WARNING and ERROR records that match the regular expression; any other one fails ``make test``.

        :param of: the name of a runner of this server, instead of the server itself
        """
        log = self._log_of(of) if of else self.log
        EXPECTED_LOG.parent.mkdir(parents=True, exist_ok=True)
        with EXPECTED_LOG.open("a") as file:
            file.write(f"{log.name}\t{pattern}\n")

    def _log_of(self, name: str) -> Path:
        return self.log.with_name(f"{self.log.stem}-{name}.log")


def expected_patterns(log_name: str) -> tuple[str, ...]:
    """What tests said to expect in this log."""
    if not EXPECTED_LOG.exists():
        return ()
    rows = (line.split("\t", 1) for line in EXPECTED_LOG.read_text().splitlines())
    return tuple(pattern for name, pattern in rows if name == log_name)
