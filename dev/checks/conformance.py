"""The official conformance suite of MCP against ``tests/conformance/client.py``.

The suite knows which scenarios a revision requires and starts the client once for each, all at the same
time. What we expect to fail stands in ``tests/conformance/baseline.toml`` with its reason; a scenario of
it that holds after all is a failure too.
"""

import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

from dev.checks.report import Outcome
from dev.paths import DEV, ROOT, VENV
from dev.processes import die_with_parent
from dev.progress import say
from dev.setup import node

NODE = 22  # the oldest version that the suite runs on
REVISIONS = ("2025-11-25", "2026-07-28")
TIMEOUT = 90  # seconds for one scenario
TIME_LIMIT = 300  # seconds for one revision
FOLDER = ROOT / "tests/conformance"
BASELINE = FOLDER / "baseline.toml"


def run(logs: Path) -> Outcome:
    """Run every revision; a scenario counts as a test."""
    outcome = Outcome("conformance")
    began = time.monotonic()
    known = tomllib.loads(BASELINE.read_text())
    say("\n== conformance")
    for revision in REVISIONS:
        output = _suite(revision, logs / f"conformance-{revision}.txt")
        held = _results(output)
        if not held:
            outcome.problems.append(f"{revision}: no scenario was executed.\n{output[-2000:]}")
        _judge(outcome, revision, held, known.get(revision, {}))
    outcome.seconds = time.monotonic() - began
    return outcome


def _suite(revision: str, log: Path) -> str:
    results = DEV / "conformance" / revision
    shutil.rmtree(results, ignore_errors=True)
    program = node.node_modules() / "@modelcontextprotocol/conformance/dist/index.js"
    command = [
        node.node(NODE),
        program,
        "client",
        "--command",
        f"{VENV / 'bin/python'} {FOLDER / 'client.py'}",
        "--requirements",
        revision,
        "--timeout",
        str(TIMEOUT * 1000),
        "--output-dir",
        results,
    ]
    with log.open("w") as output:
        subprocess.run(
            [str(part) for part in command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=TIME_LIMIT,
            check=False,
            preexec_fn=die_with_parent,
        )
    return log.read_text(errors="replace")


def _results(output: str) -> dict[str, bool]:
    """Outcome of each scenario of the summary, True if it holds."""
    _, _, summary = output.partition("=== SUITE SUMMARY ===")
    lines = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", summary, re.M)
    return {name: mark == "✓" and int(passed) > 0 for mark, name, passed, _ in lines}


def _judge(outcome: Outcome, revision: str, held: dict[str, bool], known: dict[str, str]) -> None:
    good = sorted(name for name, holds in held.items() if holds)
    say(f"{revision}: {len(good)} of {len(held)} scenarios hold: {', '.join(good)}")
    for name, reason in known.items():
        say(f"  known: {name}: {reason}")
    for name, holds in held.items():
        if holds and name in known:
            outcome.problems.append(f"{revision}: {name} holds now, take it from the baseline.")
        elif holds:
            outcome.passed += 1
        elif name not in known:
            outcome.failed += 1
            outcome.failures.append(f"{revision} {name}")
    for name in known.keys() - held.keys():
        outcome.problems.append(f"{revision}: {name} of the baseline was not executed.")
