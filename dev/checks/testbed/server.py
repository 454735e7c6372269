"""A real Odoo for tests: its processes, its database and its log."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dev import processes
from dev.checks.testbed import expected_log
from dev.checks.testbed.sessions import Sessions
from dev.checks.testbed.templates import LOOPBACK, clone
from dev.commands import run
from dev.paths import ADDON
from dev.progress import DevError
from dev.servers.instance import Instance
from dev.servers.odoo_server import OdooProcess

SHELL_MARK = "@@result@@"
TRIES = 60  # once a second
CONTAINER = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc")


class OdooServer(Sessions):
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
        db = f"woow_{name}"
        self.instance = Instance(f"e2e-{name}", db, throw_away=True)
        self.instance.postgres = source.postgres
        self.instance.data_dir = source.data_dir
        self.instance.python = source.python
        self._environment = {**source.postgres.environment, **(environment or {})}
        clone(source, db)
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
        super().__init__(self.process.url, db)
        self.gevent_url = f"http://127.0.0.1:{gevent_port}" if workers else self.url

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
        """Take the addon out of this server's database in a process of its own, whether the server runs or not.

        Odoo refuses it while a cron runs, and is asked again then.
        """
        self.shell(
            "import time\n"
            "from odoo.exceptions import UserError\n"
            f"module = env['ir.module.module'].search([('name', '=', {ADDON!r})])\n"
            f"for left in reversed(range({TRIES})):\n"
            "    try:\n"
            "        module.button_immediate_uninstall()\n"
            "        break\n"
            "    except UserError:\n"
            "        env.cr.rollback()\n"
            "        if not left:\n"
            "            raise\n"
            "        time.sleep(1)\n\n"
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

    def command(self, *arguments: str) -> str:
        """Run ``odoo-bin`` with this server's configuration; what it said."""
        done = subprocess.run(
            [str(part) for part in self.instance.odoo(*arguments)],
            # Odoo finds a command of an addon only if it knows the addons path before it reads "-c".
            env={**os.environ, **self._environment, "ODOO_RC": str(self.instance.config)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode:
            raise DevError(f"Odoo {' '.join(arguments)} failed:\n{said[-4000:]}")
        return said

    def _modules(self, flag: str, names: str, *arguments: str) -> str:
        options = ("--stop-after-init", "--no-http", "--max-cron-threads=0", *arguments)
        return self.command(flag, names, *options)

    def kill9(self) -> None:
        """End every process of this Odoo at once, as a crash would."""
        self.process.kill9()

    def restart(self) -> None:
        """Start again on the same ports with the same database."""
        self.process.stop()
        self.start()

    def start_runner(
        self,
        name: str = "runner",
        *,
        database: str = "",
        serve_all: bool = False,
        is_contained: bool = False,
        **operator: object,
    ) -> processes.Process:
        """Start ``odoo-bin ai_runner`` for this server's database; its log is checked like this server's.

        :param database: another one instead
        :param serve_all: for all databases that `dbfilter` allows
        :param is_contained: it counts processes anew, as in a container of this host's name
        :param operator: settings of ``[woow_ai]`` for this process only
        """
        served = "--all" if serve_all else f"--database={database or self.db}"
        settings = {f"WOOW_AI_{key.upper()}": str(value) for key, value in operator.items()}
        return processes.start(
            name,
            [*(CONTAINER if is_contained else ()), *self.instance.odoo("ai_runner", served)],
            log=self._log_of(name),
            # Odoo finds a command of an addon only if it knows the addons path before it reads "-c".
            env={
                **os.environ,
                **self._environment,
                **settings,
                "ODOO_RC": str(self.instance.config),
            },
        )

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

    def log_text(self) -> str:
        """Odoo's log since this server was made, over all its starts."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def expect_log(self, pattern: str, of: str = "") -> None:
        """Allow WARNING and ERROR records that match the regular expression; any other one fails ``make test``.

        :param of: the name of a runner of this server, instead of the server itself
        """
        expected_log.expect((self._log_of(of) if of else self.log).name, pattern)

    def _log_of(self, name: str) -> Path:
        return self.log.with_name(f"{self.log.stem}-{name}.log")
