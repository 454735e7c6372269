"""``make test``: four pytest runs and a suite over one set-up, and the plain line at the end.

* *core*: ``tests/core``, the engine alone, while the database is made and beside *odoo*
* *odoo*: ``tests/test_*.py`` by pytest-odoo, in databases with the addon and its demo data, three at a time
* *apps*: ``tests/apps`` by pytest-odoo, in a database that has Odoo's applications, too, beside *odoo*
* *e2e*: ``tests/e2e``, against real processes, three files at a time; where a few tests fail they run again, one at a
  time, and those that pass then are named as unstable
* *conformance*: ``tests/conformance``, the official suite of MCP, beside the first tests of *e2e*
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev import processes
from dev.cache import try_lock
from dev.checks import conformance, report, testbed
from dev.paths import ADDON, ADDONS, DEV, LOGS, REPORTS, ROOT, VENV
from dev.processes import die_with_parent
from dev.progress import DevError, say, step
from dev.servers import addon, odoo_log
from dev.servers.instance import Instance, prepare_links
from dev.setup import chromium, daemons, environments, node, odoo_venv, venvs, wkhtmltopdf

RUNNERS = ("core", "odoo", "apps", "e2e", "conformance")
OTHER_FOLDERS = ("core", "apps", "e2e", "conformance")  # of tests/, not *odoo*'s
E2E_KINDS = ("mcp", "mcp2", "injection")  # environments of its servers
APPLICATIONS = (
    "account",
    "base_automation",
    "crm",
    "hr",
    "project",
    "purchase",
    "sale_management",
    "sale_stock",
)
PLUGINS = ROOT / "dev/checks/plugins"
ODOO_DATABASE = "woow_test"
PARTS = 3  # of *odoo*, which keep two cores busy whichever of them ends first
# What files of *odoo* take, s: about, so that its parts end at about the same time.
USUAL = 6
LONG = {
    "test_approval.py": 15,
    "test_attack_wire.py": 15,
    "test_conversation_branch.py": 15,
    "test_hoot.py": 60,
    "test_one_decision.py": 40,
    "test_permissions_of_routes.py": 15,
    "test_records_matrix.py": 30,
    "test_store_model.py": 40,
}
UNSTABLE = 5  # of *e2e*'s 530 tests that may run again; real processes and browsers share two cores
TIME_LIMIT = 4500  # seconds for one runner; a hanging one fails with a report instead of holding CI

# Odoo refuses cursors to what a thread still wants to read or write when its test has ended.
AFTER_A_TEST = (r"400 Bad Request: Trying to open a test cursor",)


def run_tests(only: str | None, arguments: Sequence[str], beside: Sequence[str] = ()) -> int:
    """Run every runner, or ``only`` one, with more ``arguments`` for pytest; print the result.

    :param beside: modules of Odoo that are installed beside the addon for *odoo*
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with try_lock(DEV / "run/test.lock") as free:
        if not free:
            raise DevError("Tests run in this checkout already.")
        return _run(only, arguments, beside)


def _run(only: str | None, arguments: Sequence[str], modules: Sequence[str]) -> int:
    for folder in (REPORTS, LOGS / "test", LOGS / "e2e"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for log in LOGS.glob("e2e-*.log"):
        log.unlink()
    chosen = [name for name in ([only] if only else RUNNERS) if _present(name)]
    set_up(chosen)
    outcomes = []
    instance = testbed.template()
    if set(chosen) & {"odoo", "apps", "e2e", "conformance"}:
        with testbed.running_postgres(instance), ThreadPoolExecutor(max_workers=1) as pool:
            core = Pytest("core", _core(arguments), quiet=True) if "core" in chosen else None
            if set(chosen) & {"odoo", "e2e", "conformance"}:
                testbed.prepare_template(instance, fresh=not only)
            apps = (
                pool.submit(_apps, instance, arguments, quiet=bool(set(chosen) - {"apps"}))
                if "apps" in chosen
                else None
            )
            where = testbed.with_modules(instance, modules) if modules else instance
            odoo = _odoo(where, arguments) if "odoo" in chosen else None
            found = (core and core.finish(), odoo, apps and apps.result())
            outcomes += [outcome for outcome in found if outcome]
            if "e2e" in chosen:
                outcomes += _e2e(instance, arguments, beside="conformance" in chosen)
            elif "conformance" in chosen:
                outcomes.append(conformance.run(LOGS / "test", instance))
    elif "core" in chosen:
        outcomes.append(Pytest("core", _core(arguments)).finish())
    if not arguments:
        for outcome in outcomes:
            _miss_nothing(outcome)
    return report.close(outcomes)


def _miss_nothing(outcome: report.Outcome) -> None:
    """Look for each test that is written in the report, where nobody asked for some only."""
    folder = ROOT / "tests" if outcome.runner == "odoo" else ROOT / "tests" / outcome.runner
    if missed := report.never_run(outcome, sorted(folder.glob("test_*.py"))):
        outcome.problems.append(f"{outcome.runner}: never executed: {', '.join(missed[:20])}")


def _present(name: str) -> bool:
    """True if the runner has a folder; one without a test in it is a failure later, not a reason to skip it."""
    folder = ROOT / "tests" if name == "odoo" else ROOT / "tests" / name
    if not folder.exists():
        say(f"{name}: absent, there is no {folder.relative_to(ROOT)}.")
        return False
    return True


def set_up(chosen: Sequence[str]) -> None:
    if set(chosen) & {"core", "e2e"}:
        daemons.offer_bubblewrap()
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="setup") as pool:
        kinds = E2E_KINDS if "e2e" in chosen else ("mcp",) if "core" in chosen else ()
        waiting = [pool.submit(venvs.extra, kind) for kind in kinds]
        if "e2e" in chosen:
            waiting += [pool.submit(environments.named(name).folder) for name in environments.SHORT]
            waiting.append(pool.submit(chromium.headless))
        elif set(chosen) & {"odoo", "apps"}:
            waiting.append(pool.submit(chromium.ensure))
        if set(chosen) & {"odoo", "apps", "e2e"}:
            waiting.append(pool.submit(wkhtmltopdf.folder))
        if "conformance" in chosen:
            waiting.append(pool.submit(node.node, conformance.NODE))
            waiting.append(pool.submit(venvs.extra, conformance.CATALOGUE_KIND))
        node.node_modules()
        odoo_venv.main()
        for part in waiting:
            part.result()
    prepare_links()


class Pytest:
    """One pytest process: its output goes to the terminal and to a log, its result to a JUnit file."""

    environment: Mapping[str, str] = {}

    def __init__(self, name: str, arguments: Sequence[str | Path], *, quiet: bool = False) -> None:
        self.name = name
        self.junit = REPORTS / f"{name}.xml"
        self.log = LOGS / "test" / f"{name}.txt"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._quiet = quiet
        self._began = self._ended = time.monotonic()
        if not quiet:
            say(f"\n== {name}")
        command = [
            VENV / "bin/pytest",
            f"--junitxml={self.junit}",
            "-o",
            "junit_family=xunit2",
            *arguments,
        ]
        self._process = subprocess.Popen(
            [str(arg) for arg in command],
            cwd=ROOT,
            env={**os.environ, **_ENVIRONMENT, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, no lock
        )
        self._reader = threading.Thread(target=self._copy_output, daemon=True)
        self._reader.start()

    def _copy_output(self) -> None:
        assert self._process.stdout
        with self.log.open("w") as log:
            for line in self._process.stdout:
                log.write(line)
                log.flush()
                if not self._quiet:
                    sys.stdout.write(line)
                    sys.stdout.flush()
        self._ended = time.monotonic()

    def _processor_seconds(self) -> float:
        """Processor time of the process that has ended and of all its children, not yet waited for."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        numbers = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")

    def finish(self) -> report.Outcome:
        """Wait for the end and count."""
        problems: list[str] = []

        def end() -> None:
            problems.append(f"{self.name}: ended by force after {TIME_LIMIT} s.")
            self._process.kill()

        limit = threading.Timer(TIME_LIMIT, end)
        limit.start()
        used = self._processor_seconds()
        limit.cancel()
        code = self._process.wait()
        # A grandchild may still hold the pipe; what pytest itself wrote is there.
        self._reader.join(timeout=10)
        if self._quiet:
            say(f"\n== {self.name}\n{self.log.read_text()}")
        outcome = report.read(self.name, self.junit, code)
        outcome.seconds = self._ended - self._began
        outcome.processor_seconds = used
        outcome.problems += problems
        return outcome


# Whatever the person's shell says, tests talk to nobody outside and print alike.
_ENVIRONMENT = {
    "LANGSMITH_TRACING": "false",
    "PYTHONUNBUFFERED": "1",
}


def _core(arguments: Sequence[str]) -> list[str | Path]:
    return [ROOT / "tests/core", "-q", *arguments]


def _odoo(instance: Instance, arguments: Sequence[str]) -> report.Outcome:
    tests = ADDONS / ADDON / "tests"
    if arguments:  # a choice is small
        folders = [f"--ignore={tests / folder}" for folder in OTHER_FOLDERS]
        outcome = OdooPytest(instance, "odoo", [tests, *folders], arguments).finish()
    else:
        files = sorted(tests.glob("test_*.py"))
        names = ["odoo", *(f"odoo-{part}" for part in range(1, PARTS))]
        runs = [
            OdooPytest(instance, name, part, (), quiet=name != "odoo")
            for name, part in zip(names, _parted(files), strict=True)
        ]
        parts = [run.finish() for run in runs]
        outcome = report.joined(*parts)
        outcome.seconds = max(part.seconds for part in parts)
    outcome.problems += _complaints(addon.install_log(instance))
    return outcome


def _apps(instance: Instance, arguments: Sequence[str], *, quiet: bool) -> report.Outcome:
    where = testbed.with_modules(instance, APPLICATIONS)
    folder = ADDONS / ADDON / "tests/apps"
    outcome = OdooPytest(where, "apps", [folder], arguments, quiet=quiet).finish()
    outcome.problems += _complaints(addon.install_log(where))
    return outcome


def _parted(files: Sequence[Path]) -> list[list[Path]]:
    """Parts of about the same time, each with the longest file first."""
    parts: list[list[Path]] = [[] for _part in range(PARTS)]
    seconds = [0] * PARTS
    for file in sorted(files, key=lambda file: -LONG.get(file.name, USUAL)):
        shortest = seconds.index(min(seconds))
        parts[shortest].append(file)
        seconds[shortest] += LONG.get(file.name, USUAL)
    return parts


class OdooPytest(Pytest):
    """pytest-odoo in a database of its own."""

    environment = {"PYTHONPATH": str(PLUGINS)}

    def __init__(
        self,
        instance: Instance,
        name: str,
        tests: Sequence[str | Path],
        arguments: Sequence[str],
        *,
        quiet: bool = False,
    ) -> None:
        database = f"{ODOO_DATABASE}_{name.replace('-', '_')}"
        with step("Copying the database"):
            testbed.clone(instance, database)
        self.odoo_log = LOGS / f"test-{name}.log"
        self.odoo_log.unlink(missing_ok=True)
        command = [
            *tests,
            "-p",
            "held_registry",
            "-p",
            "no:llmock",
            "-p",
            "no:cacheprovider",
            f"--odoo-config={instance.config}",
            f"--odoo-database={database}",
            "--odoo-http",  # without it every HttpCase is skipped
            "--odoo-log-level=info",
            f"--odoo-extra=logfile={self.odoo_log}",
            f"--odoo-extra=db-filter=^{database}$",
            f"--odoo-extra=http-port={processes.free_port()}",
            "-q",
            *arguments,
        ]
        super().__init__(name, command, quiet=quiet)

    def finish(self) -> report.Outcome:
        outcome = super().finish()
        outcome.problems += _complaints(self.odoo_log, AFTER_A_TEST)
        return outcome


def _e2e(instance: Instance, arguments: Sequence[str], *, beside: bool) -> list[report.Outcome]:
    """:param beside: run *conformance* beside the first tests, which wait for their servers to start"""
    # They wait more than they compute. A file's tests share servers, so a file stays in one process.
    together = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
    tests = Pytest("e2e", [ROOT / "tests/e2e", "-q", *together, *arguments])
    others = [conformance.run(LOGS / "test", instance)] if beside else []
    outcome = tests.finish()
    complaints = _complaints_of_servers()
    if 0 < outcome.failed <= UNSTABLE and not arguments:
        failed = [_address(name) for name in outcome.failures]
        again = Pytest("e2e-again", [*failed, "-q", "-n", "1"]).finish()
        outcome = report.settled(outcome, again)
        complaints += _complaints_of_servers()
    outcome.problems += dict.fromkeys(complaints)  # a log that was not made anew tells them twice
    return [outcome, *others]


def _complaints_of_servers() -> list[str]:
    """Complaints in the logs of the Odoos of *e2e*."""
    return [
        complaint
        for log in sorted(LOGS.glob("e2e-*.log"))
        for complaint in _complaints(log, testbed.expected_patterns(log.name))
    ]


def _address(name: str) -> str:
    """Address for pytest of a test that its report calls ``test_stop::test_stop_twice[390]``."""
    module, _, test = name.partition("::")
    return f"{ROOT}/tests/e2e/{module.rpartition('.')[2]}.py::{test}"


def _complaints(log: Path, expected: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{log.relative_to(ROOT)}: {text[:1500]}" for text in odoo_log.complaints(log, expected)
    ]
