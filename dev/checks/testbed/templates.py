"""Templates: databases of which each server of the tests gets a copy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dev.cache import digest
from dev.paths import REPORTS
from dev.progress import DevError
from dev.servers import addon
from dev.servers.instance import Instance
from dev.servers.postgres import Postgres
from dev.setup import odoo_tree, odoo_venv

TEMPLATE = "woow_template"
WITHOUT_ADDON = "woow_without_addon"
LOOPBACK = "127.0.0.1:*"
TRIES = 5  # to reach an MCP server, which has its seconds on a busy machine too


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
    odoo_venv.main()
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


def without_addon(instance: Instance, beside: Sequence[str] = ()) -> Instance:
    """The database in this server that has what the addon depends on, without the addon; made once.

    :param beside: more modules of Odoo that it has
    """
    name = "_".join([WITHOUT_ADDON, *([digest(*beside)] if beside else [])])
    base = Instance(instance.name, name, throw_away=True)
    base.postgres = instance.postgres
    stamp = base.folder / f"{base.database}.installed"
    about = addon.manifest()
    current = f"{odoo_tree.odoo_path()} {about['depends']} {about.get('excludes')}"
    known = stamp.exists() and stamp.read_text() == current
    if not known or not base.postgres.exists(base.database):
        addon.install_odoo(base, beside)
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
    """A second template that has these modules of Odoo, too; kept until they or the addon change.

    It has a log and files of its own, so it can be made while tests run in copies of the first one.
    """
    modules = sorted(modules)
    key = digest(*modules)
    base = Instance(f"{source.name}-{key}", f"{source.database}_{key}", throw_away=True)
    base.postgres = source.postgres
    base.write_config()
    stamp = base.folder / f"{base.database}.installed"
    known = stamp.exists() and stamp.read_text() == addon.fingerprint()
    if not known or not base.postgres.exists(base.database):
        stamp.unlink(missing_ok=True)
        clone(without_addon(base, modules), base.database)
        addon.install(base, {})
        stamp.write_text(addon.fingerprint())
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
