"""Right answers that the grounding check bothers, and invented values that it catches: ``make bench-grounding``.

Cases are drawn by seed (`drawn`), and written by people who had not seen the check (`written`): a question with its
results in any form, a right answer, and one with invented values. Of both there is a part for building the check and
one that is only published. Arguments: ``building``, ``published``, ``-v`` tells each answer that is judged wrong.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.interval import rate
from services.grounding import check

from .drawn import BUILDING, PUBLISHED, Case, case

WRITTEN = Path(__file__).with_name("written")
MAX_BOTHERED, MIN_CAUGHT = 0.02, 0.95  # shares, the aims


class Figures(NamedTuple):
    """Counts by kind: cases, right answers that were bothered, invented ones that were caught."""

    cases: Counter[str]
    bothered: Counter[str]
    caught: Counter[str]

    def shares(self) -> tuple[float, float]:
        """:return: of right answers, those that were bothered; of invented ones, those that were caught"""
        cases = self.cases.total()
        return self.bothered.total() / cases, self.caught.total() / cases


def written(part: str) -> Iterator[Case]:
    """:param part: building or published"""
    for line in (WRITTEN / f"{part}.jsonl").read_text().splitlines():
        one = json.loads(line)
        kind = one["kind"] if one.get("failed") else one["language"]
        answers = one["right"], one["invented"]
        yield Case(kind, one["sources"], *answers, one["records"], one.get("failed", False))


def measure(cases: Iterable[Case], tell: Callable[[str], None] = lambda line: None) -> Figures:
    figures = Figures(Counter(), Counter(), Counter())
    for one in cases:
        figures.cases[one.kind] += 1
        options = {"with_names": one.names, "with_denials": one.failed}
        if found := check.unsupported(one.right, one.sources, **options):
            figures.bothered[one.kind] += 1
            tell(f"bothered {[value.text for value in found]}: {one.right!r}")
        if check.unsupported(one.invented, one.sources, **options):
            figures.caught[one.kind] += 1
        else:
            tell(f"missed: {one.invented!r}")
    return figures


def _print(what: str, figures: Figures) -> bool:
    """:return: whether the aims are met"""
    print(f"\n{what}\n{'':<12}{'bothered':<30}caught")
    for kind in (*sorted(figures.cases), ""):
        cases, bothered, caught = (
            counted[kind] if kind else counted.total() for counted in figures
        )
        print(f"{kind or 'all':<12}{rate(bothered, cases):<30}{rate(caught, cases)}")
    bothered, caught = figures.shares()
    return bothered <= MAX_BOTHERED and caught >= MIN_CAUGHT


def main(arguments: list[str]) -> int:
    tell = print if "-v" in arguments else (lambda line: None)
    are_met = True
    for part, seeds in (("building", BUILDING), ("published", PUBLISHED)):
        if {"building", "published"} & set(arguments) and part not in arguments:
            continue
        what = f"{part}: seeds {seeds.start} to {seeds.stop - 1}"
        are_met &= _print(what, measure(map(case, seeds), tell))
        if (WRITTEN / f"{part}.jsonl").exists():
            are_met &= _print(f"{part}: written", measure(written(part), tell))
    print(f"\nAims: at most {MAX_BOTHERED:.0%} bothered, at least {MIN_CAUGHT:.0%} caught.")
    return 0 if are_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
