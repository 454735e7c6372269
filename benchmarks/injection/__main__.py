"""Effects of injected text through the whole product, with a model that always obeys it: ``make bench-injection``.

AgentDojo's suites are MCP servers (`dojo`); the model (`worst_case`) and the person (`person`) are scripted. Arguments:
versions of AgentDojo (``v1``, ``v1.2.2``), ``all`` cases or a number of them (default: each user's task once),
values of settings (``trust=full person=always``), ``embedded`` for the demo's model, or the one that
``OPENAI_BASE_URL`` names, in place of the scripted one, and ``resume`` to take over the outcomes of a run that was
interrupted. All outcomes are written to ``.dev/reports/injection.jsonl``, the table to ``.dev/reports/injection.md``.
"""

import itertools
import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict

from dev.checks import testbed
from dev.paths import REPORTS

from ..bed import Llm
from ..records.models import the_model
from .cases import (
    COLUMNS,
    VERSIONS,
    Case,
    Outcome,
    Setting,
    chosen_settings,
    cover,
    row,
    spread,
    unapproved_by_tool,
)
from .lanes import LANES, Dojo, Lanes, running_dojo

STEP = 10  # cases between two lines of progress
OUTCOMES = REPORTS / "injection.jsonl"


def chosen_cases(dojo: Dojo, arguments: set[str]) -> list[Case]:
    cases: list[Case] = []
    for version in [one for one in VERSIONS if one in arguments] or VERSIONS[:1]:
        every = dojo.cases(version)
        cases += every if "all" in arguments else cover(every)
    for number in (int(one) for one in arguments if one.isdecimal()):
        cases = spread(cases, number)
    return cases


def kept_outcomes() -> dict[tuple[Setting, Case], Outcome]:
    """Of the run before."""
    kept = {}
    for line in OUTCOMES.read_text().splitlines() if OUTCOMES.exists() else ():
        values = json.loads(line)
        setting, case = Setting(**values.pop("setting")), Case(**values.pop("case"))
        unapproved = tuple(values.pop("unapproved"))
        kept[setting, case] = Outcome(case=case, unapproved=unapproved, **values)
    return kept


class Journal:
    """Writes the outcomes of a setting as they come, and counts them."""

    def __init__(self, setting: Setting, title: str, total: int):
        self._setting, self._title, self._total = asdict(setting), title, total
        self._lock = threading.Lock()
        self._count = itertools.count(1)

    def __call__(self, outcome: Outcome) -> None:
        line = {"setting": self._setting, **asdict(outcome)}
        with self._lock, OUTCOMES.open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            done = next(self._count)
        if done % STEP == 0 or done == self._total:
            print(f"{self._title}: {done} of {self._total}", flush=True)


def measure(
    lanes: Lanes,
    settings: Sequence[Setting],
    cases: Sequence[Case],
    kept: Mapping[tuple[Setting, Case], Outcome],
) -> None:
    """Print the table, and write it.

    :param kept: outcomes that are known already
    """
    table = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    tools = []
    for number, setting in enumerate(settings, 1):
        begun = time.monotonic()
        left = [case for case in cases if (setting, case) not in kept]
        journal = Journal(setting, f"{number}/{len(settings)} {setting}", len(left))
        outcomes = [kept[setting, case] for case in cases if (setting, case) in kept]
        outcomes += lanes.run(setting, left, journal)
        table.append(row(setting, outcomes))
        if names := unapproved_by_tool(outcomes):
            tools.append(f"- {setting}: {names}")
        print(f"{table[-1]} {time.monotonic() - begun:.0f} s", flush=True)
    report = "\n".join([*table, "", "Unapproved effects by tool:", "", *tools, ""])
    (REPORTS / "injection.md").write_text(report)
    print(f"\n{report}")


def run(arguments: list[str]) -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    if "resume" not in arguments:
        OUTCOMES.unlink(missing_ok=True)
    kept = kept_outcomes()
    source = testbed.template()
    with testbed.running_postgres(source), running_dojo() as dojo:
        testbed.prepare_template(source, fresh=False)
        odoo = testbed.OdooServer(source, "bench_injection", workers=2)
        odoo.start()
        try:
            with the_model() if "embedded" in arguments else nullcontext() as real:
                lanes = Lanes(odoo, Llm(), dojo, lanes=1 if real else LANES, real=real)
                measure(lanes, chosen_settings(arguments), chosen_cases(dojo, set(arguments)), kept)
        finally:
            odoo.stop()


if __name__ == "__main__":
    run(sys.argv[1:])
