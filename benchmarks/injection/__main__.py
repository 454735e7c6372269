"""Effects of injected text through the whole product, with a model that always obeys it: ``make bench-injection``.

AgentDojo's suites are MCP servers (`dojo`); the model (`worst_case`) and the person (`person`) are scripted. Arguments:
versions of AgentDojo (``v1``, ``v1.2.2``), ``all`` cases or a number of them (default: each user's task once), and
values of settings (``trust=full person=always``). All outcomes are written to ``.dev/reports/injection.jsonl``, the
table to ``.dev/reports/injection.md``.
"""

import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from dev.checks import testbed
from dev.paths import REPORTS

from ..bed import Llm
from .cases import (
    COLUMNS,
    VERSIONS,
    Case,
    Setting,
    chosen_settings,
    cover,
    row,
    spread,
    unapproved_by_tool,
)
from .lanes import Dojo, Lanes, running_dojo

STEP = 20  # cases between two lines of progress


def chosen_cases(dojo: Dojo, arguments: set[str]) -> list[Case]:
    cases: list[Case] = []
    for version in [one for one in VERSIONS if one in arguments] or VERSIONS[:1]:
        every = dojo.cases(version)
        cases += every if "all" in arguments else cover(every)
    for number in (int(one) for one in arguments if one.isdecimal()):
        cases = spread(cases, number)
    return cases


class Progress:
    """Counts the cases of one setting."""

    def __init__(self, title: str, total: int):
        self._title, self._total = title, total
        self._count = itertools.count(1)

    def __call__(self) -> None:
        if (done := next(self._count)) % STEP == 0 or done == self._total:
            print(f"{self._title}: {done} of {self._total}", flush=True)


def measure(lanes: Lanes, settings: Sequence[Setting], cases: Sequence[Case]) -> None:
    """Print the table; write the table and all outcomes."""
    table = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    tools = []
    with (REPORTS / "injection.jsonl").open("w") as file:
        for number, setting in enumerate(settings, 1):
            begun = time.monotonic()
            progress = Progress(f"{number}/{len(settings)} {setting}", len(cases))
            outcomes = lanes.run(setting, cases, progress)
            for outcome in outcomes:
                line = {"setting": asdict(setting), **asdict(outcome)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            table.append(row(setting, outcomes))
            if names := unapproved_by_tool(outcomes):
                tools.append(f"- {setting}: {names}")
            print(f"{table[-1]} {time.monotonic() - begun:.0f} s", flush=True)
    report = "\n".join([*table, "", "Unapproved effects by tool:", "", *tools, ""])
    (REPORTS / "injection.md").write_text(report)
    print(f"\n{report}")


def run(arguments: list[str]) -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    source = testbed.template()
    with testbed.running_postgres(source), running_dojo() as dojo:
        testbed.prepare_template(source, fresh=False)
        odoo = testbed.OdooServer(source, "bench_injection", workers=2)
        odoo.start()
        try:
            lanes = Lanes(odoo, Llm(), dojo)
            measure(lanes, chosen_settings(arguments), chosen_cases(dojo, set(arguments)))
        finally:
            odoo.stop()


if __name__ == "__main__":
    run(sys.argv[1:])
