"""Counts what the runners did, from their JUnit files, and says it in one plain line."""

import ast
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dev.progress import say

SLOWEST = 10  # tests that the summary names
NAMED = 3  # tests that the summary names of those that failed for one reason
REASON_CHARS = 300
PROBLEM_CHARS = 1000


@dataclass
class Outcome:
    """One runner's result. ``problems`` are failures that no single test shows, a sentence each.

    ``failures`` are the tests that failed, each with the first line of the reason; ``unstable`` those that failed and
    passed when they ran again. ``times`` are the seconds of each test, with what had to be set up for it.
    """

    runner: str
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
    unstable: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failed and not self.problems


def read(runner: str, junit: Path, exit_code: int) -> Outcome:
    """The outcome of one pytest run.

    A skipped test is a problem: a test that did not run proves nothing, and a runner's set-up
    (no browser, no HTTP server) skips whole classes without a word.
    """
    outcome = Outcome(runner)
    if not junit.exists():
        outcome.problems.append(f"{runner}: the runner ended with {exit_code} and left no report.")
        return outcome
    skipped = []
    for case in ElementTree.parse(junit).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome.times[name] = float(case.get("time") or 0)
        reasons = [*case.findall("failure"), *case.findall("error")]
        if reasons:
            outcome.failed += 1
            outcome.failures[name] = _first_line(reasons[0].get("message") or "")
        elif (skip := case.find("skipped")) is not None:
            skipped.append(f"{name} ({skip.get('message')})")
        else:
            outcome.passed += 1
    if skipped:
        outcome.problems.append(
            f"{runner}: {len(skipped)} tests were skipped: " + "; ".join(skipped[:20])
        )
    if exit_code and outcome.passed and not outcome.failed:
        outcome.problems.append(
            f"{runner}: the runner ended with {exit_code} though no test failed."
        )
    return outcome


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:REASON_CHARS]


def _by_reason(failures: Mapping[str, str]) -> dict[str, list[str]]:
    """Names of the tests that failed for each reason: what breaks a fixture breaks many of them."""
    found = defaultdict(list)
    for name, why in failures.items():
        found[why].append(name)
    return dict(found)


def joined(*parts: Outcome) -> Outcome:
    """One outcome of a runner's several runs; one of them may have had nothing to do."""
    return Outcome(
        parts[0].runner,
        passed=sum(part.passed for part in parts),
        failed=sum(part.failed for part in parts),
        seconds=sum(part.seconds for part in parts),
        processor_seconds=sum(part.processor_seconds for part in parts),
        failures={name: why for part in parts for name, why in part.failures.items()},
        problems=[problem for part in parts for problem in part.problems],
        times={name: seconds for part in parts for name, seconds in part.times.items()},
    )


def settled(first: Outcome, again: Outcome) -> Outcome:
    """The outcome of a runner whose failed tests ran once more: each that passed then is unstable, and no failure."""
    passed = first.failures.keys() & again.times.keys() - again.failures.keys()
    left = {name: why for name, why in first.failures.items() if name not in passed}
    return replace(
        first,
        passed=first.passed + len(passed),
        failed=len(left),
        seconds=first.seconds + again.seconds,
        processor_seconds=first.processor_seconds + again.processor_seconds,
        failures=left,
        unstable={name: first.failures[name] for name in sorted(passed)},
        problems=[*first.problems, *again.problems],
    )


def never_run(outcome: Outcome, files: Iterable[Path]) -> list[str]:
    """Tests of these files that no runner has executed: ``["test_turn.py::test_stop"]``.

    A class that the runner does not know is left out without a word, and so is what a second definition of the
    same name hides.
    """
    executed = defaultdict(set)
    for name in outcome.times:
        place, _, test = name.partition("::")
        for part in place.split("."):
            executed[part].add(test.partition("[")[0])
    return [
        f"{file.name}::{test}"
        for file in files
        for test in sorted(_tests_of(file) - executed[file.stem])
    ]


def _tests_of(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {n.name for n in nodes if isinstance(n, functions) and n.name.startswith("test_")}


def close(outcomes: list[Outcome]) -> int:
    """Print the summary and, last, what failed and the plain line; the exit code of ``make test``."""
    say("")
    for outcome in outcomes:
        if not outcome.passed + outcome.failed:
            outcome.problems.append(f"{outcome.runner}: no test was executed.")
        say(
            f"{outcome.runner}: {outcome.passed} passed, {outcome.failed} failed in {outcome.seconds:.0f} s"
            f" ({outcome.processor_seconds:.0f} s of processor time)"
        )
        for name, why in outcome.unstable.items():
            say(f"  unstable, passed when it ran again: {name}: {why}")
    _tell_slowest(outcomes)
    for outcome in outcomes:
        _tell_failures(outcome)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed + len(outcome.problems) for outcome in outcomes)
    say(f"\n{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


def _tell_slowest(outcomes: list[Outcome]) -> None:
    times = [
        (seconds, f"{outcome.runner} {name}")
        for outcome in outcomes
        for name, seconds in outcome.times.items()
    ]
    if times:
        say("\nthe slowest tests, with what was set up for them:")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        say(f"  {seconds:5.1f} s  {name}")


def _tell_failures(outcome: Outcome) -> None:
    """Print failures, last, for readers who see only the end of a long output."""
    if not outcome.ok:
        say(f"\nwhat failed in {outcome.runner}:")
    for why, names in _by_reason(outcome.failures).items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        say(f"  failed: {', '.join(names[:NAMED])}{more}: {why}")
    for problem in outcome.problems:
        say(f"  problem: {problem[:PROBLEM_CHARS]}")
