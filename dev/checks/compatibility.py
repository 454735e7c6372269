"""``make compatibility``: the addon in each Odoo of `environments`, and a table of what came of it.

In each: the addon as `make package` delivers it is installed into a database, empty but in one of them, together with
its Odoo tests, by an odoo.conf that says nothing of it; then that Odoo is started, and a portal user signs in and asks
something that needs a tool (``tests/e2e/test_compatibility.py``).
"""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev import processes
from dev.checks import package, runners, testbed
from dev.commands import run
from dev.paths import ADDON, LOGS, REPORTS, ROOT
from dev.progress import DevError, say, step
from dev.servers.instance import Instance
from dev.servers.postgres import Postgres
from dev.setup import environments, neighbours, odoo_tree
from dev.setup.environments import Environment

CHOICE = "COMPATIBILITY"  # the variable that names one environment to the e2e test
TIME_LIMIT = 2400  # s, for all Odoo tests with a browser on a busy machine
SHOWN = ("cryptography", "pyOpenSSL", "Werkzeug", "mcp", "langchain-core", "openai")
TABLE = REPORTS / "compatibility.md"
HEAD = ("packages of Odoo", "Python", "PostgreSQL", *SHOWN, "pip replaced", "Odoo tests", "chat")
ONLY_CHINESE = """
chinese = env['res.lang']._activate_lang('zh_TW')
env['ir.default'].set('res.partner', 'lang', 'zh_TW')
env['res.partner'].with_context(active_test=False).search([]).lang = 'zh_TW'
values = {'language_ids': [(6, 0, chinese.ids)], 'default_lang_id': chinese.id}
env['website'].search([]).write(values)
env['res.lang'].search([('id', '!=', chinese.id)]).active = False
env.cr.commit()
"""


@dataclass
class Row:
    environment: Environment
    cells: Sequence[str]
    ok: bool

    def line(self) -> str:
        note = f" ({self.environment.note})" if self.environment.note else ""
        title = f"{self.environment.title}{note}"
        about = (title, self.environment.python, str(self.environment.postgres))
        return f"| {' | '.join([*about, *self.cells])} |"


def place(environment: Environment) -> Instance:
    """Place where the addon is installed in this environment, with a PostgreSQL of its own."""
    instance = Instance(f"compatibility-{environment.name}", "woow_compatibility", throw_away=True)
    instance.python = environment.python_program()
    instance.postgres = Postgres(
        instance.folder / "pg", throw_away=True, programs=environment.postgres_programs()
    )
    return instance


def run_all(names: Sequence[str]) -> int:
    """Try these environments, or every one, and write the table."""
    known = [row.name for row in environments.TABLE]
    if unknown := set(names) - set(known):
        raise DevError(f"There is no {', '.join(unknown)}; there are {', '.join(known)}.")
    runners.set_up(("e2e",))
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for environment in environments.TABLE:
        if not names or environment.name in names:
            rows.append(_row(environment))
            _write(rows)  # each takes long, and whoever interrupts keeps what came before
    say(f"\n{TABLE.read_text()}")
    passed = sum(row.ok for row in rows)
    say(f"{passed} passed, {len(rows) - passed} failed")
    return 0 if passed == len(rows) else 1


def _write(rows: Sequence[Row]) -> None:
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *(row.line() for row in rows)]
    TABLE.write_text("\n".join(lines) + "\n")


def _row(environment: Environment) -> Row:
    try:
        instance = place(environment)
        versions = environment.versions(*SHOWN)
        changed = environment.changed()
        with testbed.running_postgres(instance):
            tests = _odoo_tests(instance, lived_in=environment.lived_in)
            os.environ[CHOICE] = environment.name
            file = ROOT / "tests/e2e/test_compatibility.py"
            chat = runners.Pytest(f"compatibility-{environment.name}", [file, "-q"]).finish()
    except DevError as error:
        say(str(error))
        return Row(environment, ["–"] * (len(SHOWN) + 2) + [str(error).splitlines()[0]], False)
    ok = tests.ok and chat.ok and not changed
    cells = [
        *versions,
        ", ".join(changed) or "nothing",
        str(tests),
        "works" if chat.ok else "fails",
    ]
    return Row(environment, cells, ok)


@dataclass
class Tests:
    number: int
    failed: int
    skipped: int

    @property
    def ok(self) -> bool:
        return self.number > 0 and not self.failed and not self.skipped

    def __str__(self) -> str:
        return f"{self.number - self.failed - self.skipped}/{self.number}"


def _odoo_tests(instance: Instance, *, lived_in: bool) -> Tests:
    """Install the packaged addon and run its tests, as everybody runs Odoo's; into an empty database unless told."""
    instance.drop(instance.database)
    addons = [*odoo_tree.addons_paths(odoo_tree.odoo_path()), _delivered(instance.folder)]
    instance.write_config(
        {
            "http_port": processes.free_port(),
            "gevent_port": processes.free_port(),
            "addons_path": ",".join(map(str, addons)),
        },
        bare=True,
    )
    if lived_in:
        _move_in(instance)
    log = LOGS / f"{instance.name}.log"
    arguments = ("-i", ADDON, "--with-demo", "--test-enable", f"--test-tags=/{ADDON}")
    with step(f"Installing and testing in {instance.name} (log: {log.relative_to(ROOT)})"):
        process = processes.start(
            instance.name,
            instance.odoo(*arguments, "--stop-after-init"),
            log=log,
            env={**os.environ, **instance.postgres.environment},
        )
        try:
            process.popen.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise DevError(f"The tests did not end within {TIME_LIMIT} s.") from error
        finally:
            process.stop()
    # What the database keeps secret has the key that Odoo made.
    made = (instance.data_dir / "woow_ai_secret_key").read_text()
    (instance.folder / "secret_key").write_text(made)
    return _count(log)


def _delivered(folder: Path) -> Path:
    """An addons path that holds nothing but what `make package` makes."""
    addons = folder / "addons"
    shutil.rmtree(addons, ignore_errors=True)
    with zipfile.ZipFile(package.build(folder)) as archive:
        archive.extractall(addons)
    return addons


def _move_in(instance: Instance) -> None:
    """Make a database with other modules and their demo data, in which nobody reads English."""
    apps = ("-i", ",".join(neighbours.APPS), "--with-demo", "--load-language=zh_TW")
    database = instance.postgres.environment
    with step("Installing other modules"):
        run(
            instance.odoo(*apps, "--stop-after-init", "--no-http"),
            what="Installing other modules",
            env=database,
        )
        done = subprocess.run(
            [str(part) for part in instance.odoo("shell", "--no-http", "--log-level=error")],
            env={**os.environ, **database},
            input=ONLY_CHINESE,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DevError(f"The database cannot be made Chinese:\n{done.stderr[-2000:]}")


def _count(log: Path) -> Tests:
    """Count in Odoo's last line about its tests."""
    text = log.read_text(errors="replace")
    found = re.findall(r"(\d+) failed, (\d+) error\(s\) of (\d+) tests", text)
    if not found:
        raise DevError("Odoo ran no tests:\n" + "\n".join(text.splitlines()[-20:]))
    failed, errors, number = map(int, found[-1])
    return Tests(number, failed + errors, len(re.findall(r": skipped \w+", text)))
