"""One running place of the addon: its folder, PostgreSQL, Odoo configuration and the ports it keeps."""

import base64
import configparser
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from dev import processes
from dev.paths import ADDON, ADDONS, DEV, LOGS, ROOT, VENV, link
from dev.servers.postgres import Postgres
from dev.setup import odoo_tree, wkhtmltopdf

ODOO_BIN = DEV / "odoo-bin"
NOT_ODOOS = frozenset({"dev", "node_modules", "__pycache__"})
LAUNCHER = """#!{python}
# Generated. A script and not "python -m odoo", because the prefork server starts its gevent process from argv[0].
import odoo.cli

if __name__ == "__main__":
    odoo.cli.main()
"""


class Instance:
    """Everything of one Odoo that outlives its process, in ``.dev/run/<name>``."""

    def __init__(self, name: str, database: str, *, throw_away: bool = False) -> None:
        self.name = name
        self.database = database
        self.folder = DEV / "run" / name
        self.config = self.folder / "odoo.conf"
        self.data_dir = self.folder / "data"
        self.log = LOGS / f"{name}.log"
        self.postgres = Postgres(self.folder / "pg", throw_away=throw_away)
        self.python = VENV / "bin/python"
        self._ports = self.folder / "ports.json"

    def port(self, key: str, preferred: int | None = None) -> int:
        """The port kept under ``key``: the one of last time if free, else ``preferred`` if free, else any."""
        kept = json.loads(self._ports.read_text()) if self._ports.exists() else {}
        taken = {value for name, value in kept.items() if name != key}
        for candidate in (kept.get(key), preferred):
            if candidate and candidate not in taken and processes.port_is_free(candidate):
                chosen = candidate
                break
        else:
            chosen = processes.free_port()
        kept[key] = chosen
        self.folder.mkdir(parents=True, exist_ok=True)
        self._ports.write_text(json.dumps(kept, indent=2) + "\n")
        return chosen

    def secret(self, name: str) -> str:
        """A random secret of this instance, made once, readable by this user only; a valid Fernet key."""
        file = self.folder / name
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
        return file.read_text().strip()

    def write_config(
        self,
        options: Mapping[str, object] | None = None,
        operator: Mapping[str, object] | None = None,
        *,
        bare: bool = False,
    ) -> Path:
        """Write ``odoo.conf``.

        :param options: keys of ``[options]`` on top of the defaults here
        :param operator: keys of ``[woow_ai]`` (the addon's own section) on top of the defaults here
        :param bare: without ``[woow_ai]``, as Odoo is before anybody knows of the addon
        """
        prepare_links()
        parser = configparser.RawConfigParser()
        parser["options"] = {
            "addons_path": ",".join(
                map(str, [*odoo_tree.addons_paths(odoo_tree.odoo_path()), ADDONS])
            ),
            "data_dir": str(self.data_dir),
            **self._connection(),
            "db_name": self.database,
            "dbfilter": f"^{self.database}$",
            "list_db": "False",
            "admin_passwd": self.secret("admin_passwd"),
            "http_interface": "127.0.0.1",
            "http_port": "8069",
            "gevent_port": "8072",
            "workers": "0",
            "max_cron_threads": "1",
            **_texts({"bin_path": wkhtmltopdf.folder()}),
            **_texts(options),
        }
        if not bare:
            parser["woow_ai"] = {
                "secret_key": self.secret("secret_key"),
                "in_process_runner": "True",
                # A container may allow none; what it is worth where there is one, tests/core/sandbox tells.
                "sandbox": "preferred",
                **_texts(operator),
            }
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.config.with_suffix(".new")
        fresh.touch(mode=0o600)
        with fresh.open("w") as file:
            parser.write(file)
        os.replace(fresh, self.config)
        return self.config

    def _connection(self) -> dict[str, str]:
        """Options by which Odoo reaches PostgreSQL; without a key it takes libpq's default."""
        server = self.postgres
        values = {
            "db_host": server.host,
            "db_port": server.port,
            "db_user": server.user,
            "db_password": server.password,
        }
        return {key: value for key, value in values.items() if value}

    def odoo(self, *args: str | Path) -> list[str | Path]:
        """The command line that runs ``odoo-bin`` with this instance's configuration."""
        # Last, because a subcommand and its own action come first.
        return [self.python, ODOO_BIN, *args, "-c", self.config]

    def filestore(self, database: str) -> Path:
        return self.data_dir / "filestore" / database

    def drop(self, database: str) -> None:
        """Remove a database with its files."""
        self.postgres.drop(database)
        shutil.rmtree(self.filestore(database), ignore_errors=True)


def _texts(values: Mapping[str, object] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (values or {}).items() if value is not None}


def prepare_links() -> None:
    """``.dev/odoo-bin``, and the addon under its technical name, which is its folder's name for Odoo."""
    _link_addon()
    launcher = LAUNCHER.format(python=VENV / "bin/python")
    if not ODOO_BIN.exists() or ODOO_BIN.read_text() != launcher:  # others may run it now
        ODOO_BIN.write_text(launcher)
        ODOO_BIN.chmod(0o755)


def _link_addon() -> None:
    """A folder of links to the entries of the checkout, not one link to the checkout itself.

    Odoo follows links when it walks an addon for its translations and would walk ``.dev`` again and again.
    """
    folder = ADDONS / ADDON
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {
        entry.name
        for entry in ROOT.iterdir()
        if not entry.name.startswith(".") and entry.name not in NOT_ODOOS
    }
    for name in wanted:
        link(Path("../../..") / name, folder / name)
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.name not in wanted:  # Python's bytecode stays
            entry.unlink()
