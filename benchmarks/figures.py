"""Printed figures of benchmarks, and the ones that may not be missed on any machine."""

import os
import traceback
from collections.abc import Callable, Mapping
from typing import Any


class Missed(Exception):
    """A count that no slow machine explains: something is lost, doubled, refused or wrong."""


def row(what: str, figure: str, beside: str = "", aim: str = "") -> None:
    print(f"{what:<46} {figure:>16}   {beside:<34} {aim}", flush=True)


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def none_of(**numbers: int) -> None:
    """Check that all of these numbers are 0.

    :raises Missed: names the others
    """
    if found := [
        f"{name.replace('_', ' ')}: {number}" for name, number in numbers.items() if number
    ]:
        raise Missed(", ".join(found))


def run(parts: Mapping[str, Callable[[], Any]]) -> list[str]:
    """Run all parts, whatever becomes of one, and print the load of the machine before and after.

    :return: names of those that failed; their tracebacks are printed
    """
    failed = []
    _tell_load("before")
    for name, part in parts.items():
        try:
            part()
        except Exception:
            traceback.print_exc()
            failed.append(name)
    _tell_load("after")
    return failed


def _tell_load(when: str) -> None:
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} {when}", flush=True)
