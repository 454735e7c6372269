"""Sampling: a test with thousands of cases tries some, others for each commit; ``make test ALL=1`` tries all."""

import functools
import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

_Case = TypeVar("_Case")

ALL = bool(os.environ.get("WOOW_TEST_ALL"))


@functools.cache
def seed() -> int:
    """Seed of a run: the commit's number, ``WOOW_TEST_SEED`` where that is set, and 1 where there is no repository."""
    if given := os.environ.get("WOOW_TEST_SEED"):
        return int(given)
    command = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return int(commit[:7] or "1", 16)


def some(cases: Iterable[_Case], share: int, name: str = "") -> list[_Case]:
    """Sample of the cases, one in ``share`` and at least one, in their order.

    :param name: of what is sampled: samples of other names have other places
    """
    every = list(cases)
    if ALL:
        return every
    chosen = random.Random(f"{seed()} {name}").sample(range(len(every)), -(-len(every) // share))
    return [every[number] for number in sorted(chosen)]


def draws(few: int, many: int) -> int:
    """Number of cases to draw: ``few``, or ``many`` where all are tried."""
    return many if ALL else few
