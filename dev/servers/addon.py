"""The addon's own state in a database: installed with demo data, and updated when its files changed."""

import ast
import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dev.commands import run
from dev.demo import tools
from dev.paths import ADDON, ROOT
from dev.progress import DevError, step, warn
from dev.servers.instance import Instance

OPENING_MARK = "@@opening@@"  # of what the script prints
# What Odoo reads into the database; code in services/, tools/, runtime/ and static/ counts without an update.
UPDATED_FROM = (
    "models",
    "security",
    "data",
    "demo",
    "views",
    "i18n",
    "controllers",
    "wizards",
    "migrations",
)
RECORDS = ROOT / "dev/demo/records.py"
TESTS = ROOT / "dev/demo/assistant_tests.toml"
# Script and style of what pages load, as Odoo keeps them; each database would make them at its first page.
BUNDLES = """
for name, kinds in {bundles}.items():
    for kind in kinds:
        bundle = env["ir.qweb"]._get_asset_bundle(name, css=kind == "css", js=kind == "js")
        getattr(bundle, kind)()
env.cr.commit()
"""
OF_ODOO = {
    "web.assets_web": ("js", "css"),
    "web.assets_web_dark": ("css",),
    "web.assets_web_print": ("css",),
    "web.assets_frontend": ("css",),
    "web.assets_frontend_minimal": ("js",),
    "web.assets_frontend_lazy": ("js",),
}


def fingerprint() -> str:
    """A hash over all files that an update of the module would read."""
    state = hashlib.sha256()
    files = [
        ROOT / "__manifest__.py",
        *(f for name in UPDATED_FROM for f in sorted((ROOT / name).rglob("*"))),
    ]
    for file in files:
        if file.is_file() and file.suffix != ".pyc":
            state.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return state.hexdigest()


def bring_up_to_date(
    instance: Instance, environment: Mapping[str, str], beside: Sequence[str] = ()
) -> None:
    """Install the addon, or update it when its files changed since the last time.

    :param beside: Odoo's own modules that are to be there, too
    """
    stamp = instance.folder / f"{instance.database}.installed"
    current = fingerprint()
    if not _installed(instance):
        if not instance.postgres.external:  # what an interrupted install left
            instance.drop(instance.database)
        install(instance, environment, beside)
    elif missing := [name for name in beside if not _installed(instance, name)]:
        with step(f"Installing {', '.join(missing)} with demo data"):
            _odoo(instance, "-i", ",".join(missing), environment)
            _module(instance, "-u", environment)
    elif not stamp.exists() or stamp.read_text() != current:
        with step("Updating the addon in the database"):
            _module(instance, "-u", environment)
    stamp.write_text(current)


def install(instance: Instance, environment: Mapping[str, str], beside: Sequence[str] = ()) -> None:
    """The addon with its demo data, in a database that has Odoo or in a new one."""
    with step(" ".join(["Installing the addon", *beside, "with demo data"])):
        _module(instance, "-i", environment, beside)


def compile_bundles(instance: Instance) -> None:
    """Make what the pages load, so that copies of the database have it already."""
    ours = {name: ("js", "css") for name in manifest()["assets"] if name.startswith(ADDON)}
    with step("Compiling scripts and styles"):
        _script(instance, BUNDLES.format(bundles={**OF_ODOO, **ours}), {})


def install_odoo(instance: Instance, beside: Sequence[str] = ()) -> None:
    """A new database with what the addon depends on, and more modules of Odoo, without the addon."""
    instance.drop(instance.database)
    with step(" ".join(["Creating a database with Odoo", *beside])):
        _odoo(instance, "-i", ",".join([*manifest()["depends"], *beside]), {})


def manifest() -> dict[str, Any]:
    return ast.literal_eval((ROOT / "__manifest__.py").read_text())


def install_log(instance: Instance) -> Path:
    """Odoo's log of the last time that it installed or updated the addon."""
    return instance.log.with_name(f"{instance.name}-install.log")


def _module(
    instance: Instance, flag: str, environment: Mapping[str, str], beside: Sequence[str] = ()
) -> None:
    _odoo(instance, flag, ",".join([ADDON, *beside]), environment)
    if not _installed(instance):
        lines = install_log(instance).read_text(errors="replace").splitlines()
        raise DevError("\n".join([f"Odoo did not install {ADDON}:", *lines[-30:]]))


def _odoo(instance: Instance, flag: str, modules: str, environment: Mapping[str, str]) -> None:
    log = install_log(instance)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    arguments: list[str | Path] = [
        f"--database={instance.database}",
        flag,
        modules,
        "--with-demo",
        "--stop-after-init",
        "--no-http",
        f"--logfile={log}",
    ]
    run(
        instance.odoo(*arguments, "--workers=0", "--max-cron-threads=0"),
        what=f"Odoo {flag} {modules} (log: {log.relative_to(ROOT)})",
        env={**instance.postgres.environment, **environment},
    )


def refresh_demo(instance: Instance, environment: Mapping[str, str]) -> list[str]:
    """Point the demo's records at the servers that ``environment`` names, and sync their tools.

    Gives the opening of every request to each of the demo's assistants as JSON, to warm a model up with.
    What fails here is said and does not end the demo: the pages show it, and an admin can sync again.
    """
    done = _script(instance, RECORDS.read_text(), environment)
    log = instance.log.with_name(f"{instance.name}-refresh.log")
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        warn(
            f"The demo's records could not be refreshed (log: {log.relative_to(ROOT)}): {''.join(reason)}"
        )
    lines = done.stdout.splitlines()
    return [line.removeprefix(OPENING_MARK) for line in lines if line.startswith(OPENING_MARK)]


def _script(
    instance: Instance, script: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    # `odoo-bin shell` runs a script from its standard input and ends with it.
    command = instance.odoo(
        "shell", f"--database={instance.database}", "--no-http", "--log-level=warn"
    )
    return subprocess.run(
        [str(arg) for arg in command],
        input=script,
        env={
            **os.environ,
            **instance.postgres.environment,
            **environment,
            "WOOW_AI_DEMO_TOOLS": ",".join(tools.TOOLS),
            "WOOW_AI_DEMO_TESTS": str(TESTS),
            "WOOW_AI_IN_PROCESS_RUNNER": "False",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def _installed(instance: Instance, module: str = ADDON) -> bool:
    postgres = instance.postgres
    if not postgres.exists(instance.database):
        return False
    if not postgres.sql(instance.database, "SELECT to_regclass('ir_module_module')"):
        return False
    state = postgres.sql(
        instance.database, f"SELECT state FROM ir_module_module WHERE name = '{module}'"
    )
    return state == "installed"
