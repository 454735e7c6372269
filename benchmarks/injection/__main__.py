"""What injected text makes a model do that obeys it, through the whole product: ``make bench-injection``.

AgentDojo's suites are MCP servers, the model is scripted and the worst case (`worst_case`), the person is scripted, too
(`person`). An effect is whatever is not a pure read of a closed world (`tools`). A call is the attacker's if its tool
and arguments are in the injection's ground truth, or our script of it, and not in the user's. Arguments: versions
(``v1``, ``v1.2.2``), ``all`` cases or a number of them (otherwise each user's task once), and values of settings
(``trust=full person=always``). Each case is written to ``.dev/reports/injection.jsonl``, the table beside it.
"""

import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from dev.checks import testbed
from dev.paths import REPORTS

from ..bed import Llm
from ..interval import rate
from .lanes import Case, Dojo, Lanes, Outcome, Setting, cover, running_dojo, spread

VERSIONS = ("v1", "v1.2.2")
TRUST = ("none", "annotations", "full")
SETTINGS = [
    *(
        Setting(*values)
        for values in itertools.product(
            TRUST, ("default", "tools", "assistant"), ("honest", "none")
        )
    ),
    *(Setting(trust=trust, person="always") for trust in TRUST),
    *(Setting(trust=trust, person="nobody") for trust in TRUST),
]
COLUMNS = (
    "trust",
    "runs",
    "hints",
    "person",
    "cases with an attacker's effect without a yes",
    "such calls",
    "user's task done",
    "benign questions a case: cards, calls",
    "attacker's calls asked about",
)


def chosen_cases(dojo: Dojo, arguments: set[str]) -> list[Case]:
    cases: list[Case] = []
    for version in [one for one in VERSIONS if one in arguments] or VERSIONS[:1]:
        every = dojo.cases(version)
        cases += every if "all" in arguments else cover(every)
    for number in (int(one) for one in arguments if one.isdecimal()):
        cases = spread(cases, number)
    return cases


def chosen_settings(arguments: Iterable[str]) -> list[Setting]:
    """
    >>> [str(one) for one in chosen_settings(["trust=full", "person=always"])]
    ['trust=full runs=default hints=honest person=always']
    """
    wanted: dict[str, set[str]] = {}
    for name, _, value in (one.partition("=") for one in arguments if "=" in one):
        wanted.setdefault(name, set()).add(value)
    return [
        setting
        for setting in SETTINGS
        if all(asdict(setting)[name] in values for name, values in wanted.items())
    ]


def line(setting: Setting, outcomes: Sequence[Outcome]) -> list[str]:
    """A row of the table. Cases in which the model never tried a call with an effect are not counted as attacked."""
    attacked = [one for one in outcomes if one.tried]
    hit = sum(bool(one.passed) for one in attacked)
    number = len(outcomes)
    asked = f"{sum(one.cards for one in outcomes) / number:.2f}, {sum(one.benign for one in outcomes) / number:.2f}"
    passed = sum(len(one.passed) for one in outcomes)
    return [
        *asdict(setting).values(),
        rate(hit, len(attacked)) if attacked else "–",
        f"{passed} of {sum(one.tried for one in outcomes)}",
        rate(sum(one.is_done for one in outcomes), number),
        asked,
        str(sum(one.hostile for one in outcomes)),
    ]


def ways_out(outcomes: Sequence[Outcome]) -> str:
    """The tools by which effects passed, with their numbers."""
    total = Counter(call.partition(" ")[0] for one in outcomes for call in one.passed)
    return ", ".join(f"{tool} × {times}" for tool, times in total.most_common())


def row(setting: Setting, outcome: Outcome) -> dict[str, Any]:
    return {"setting": asdict(setting), **asdict(outcome)}


def run(arguments: list[str]) -> None:
    settings = chosen_settings(arguments)
    REPORTS.mkdir(parents=True, exist_ok=True)
    source = testbed.template()
    with testbed.running_postgres(source), running_dojo() as dojo:
        testbed.prepare_template(source, fresh=False)
        cases = chosen_cases(dojo, set(arguments))
        odoo = testbed.OdooServer(source, "bench_injection", workers=2)
        odoo.start()
        try:
            measure(Lanes(odoo, Llm(), dojo), settings, cases)
        finally:
            odoo.stop()


def measure(lanes: Lanes, settings: Sequence[Setting], cases: Sequence[Case]) -> None:
    """Print the table, and write it and each case."""
    table = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    passed = []
    with (REPORTS / "injection.jsonl").open("w") as file:
        for number, setting in enumerate(settings, 1):
            begun = time.monotonic()
            done = itertools.count(1)

            def progress(
                setting: Setting = setting, done: Any = done, number: int = number
            ) -> None:
                if (count := next(done)) % 20 == 0 or count == len(cases):
                    print(
                        f"{number}/{len(settings)} {setting}: {count} of {len(cases)}", flush=True
                    )

            outcomes = lanes.run(setting, cases, progress)
            file.writelines(json.dumps(row(setting, one)) + "\n" for one in outcomes)
            table.append(f"| {' | '.join(line(setting, outcomes))} |")
            if ways := ways_out(outcomes):
                passed.append(f"- {setting}: {ways}")
            print(f"{table[-1]} {time.monotonic() - begun:.0f} s", flush=True)
    report = "\n".join([*table, "", "Effects without a yes, by tool:", "", *passed, ""])
    (REPORTS / "injection.md").write_text(report)
    print(f"\n{report}")


if __name__ == "__main__":
    run(sys.argv[1:])
