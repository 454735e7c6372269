"""Runs worlds: one with its story, or many with a line."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from . import trace
from .invariants import broken_in
from .machine import quiet
from .world import World


@dataclass
class Sum:
    """Of many worlds; sums add up."""

    worlds: int = 0
    seconds: float = 0.0  # of the worlds' own time
    turns: int = 0
    executions: int = 0
    failing: list[int] = field(default_factory=list)
    broken: Counter = field(default_factory=Counter)

    def __add__(self, other):
        return Sum(
            self.worlds + other.worlds,
            self.seconds + other.seconds,
            self.turns + other.turns,
            self.executions + other.executions,
            self.failing + other.failing,
            self.broken + other.broken,
        )

    def __str__(self):
        said = (
            f"{self.worlds} worlds, {self.seconds / 3600:.1f} h of their time, {self.turns} turns, "
            f"{self.executions} executions: {len(self.failing)} broken"
        )
        kinds = [f"{name} {count}" for name, count in sorted(self.broken.items())]
        more = f"; {', '.join(kinds)}; seeds {self.failing[:10]}" if self.failing else ""
        return said + more


def simulate(seeds, has_records=True):
    """:return: the sum of these worlds"""
    total = Sum()
    for seed in seeds:
        with quiet():
            world = World(seed, has_records=has_records)
            world.run()
            broken = broken_in(world)
            total += Sum(
                1,
                world.now,
                sum(len(database.turns) for database in world.databases.values()),
                sum(arrival.executed for arrival in world.arrivals),
                [seed] if broken else [],
                Counter(broken.keys()),
            )
            del world
    return total


def story(seed, has_records=True):
    """What happened in a world, and what is wrong with it, as text."""
    with quiet():
        world = World(seed, tells=True, has_records=has_records)
        world.run()
        told = "\n".join(trace.lines(world, broken_in(world)))
        del world
    return told


def digest(seed):
    """The same for the same world."""
    return hashlib.sha256(story(seed).encode()).hexdigest()[:16]
