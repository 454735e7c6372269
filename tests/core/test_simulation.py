"""Simulated worlds in which everything may fail, see docs/simulation.md."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sampling
from sim import mutants, run

HERE = Path(__file__).parent
FRESH = sampling.draws(80, 2000)  # worlds of each run

# s, many times what a run takes: what is raised at the limit ends in a task of a world, which then breaks a rule.
LIMIT = 1200


def kept_seeds(has_records):
    lines = (HERE / "sim/seeds.txt").read_text().splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [int(line.split()[0]) for line in kept if ("without records:" in line) != has_records]


def fresh_seeds():
    """Another stretch for each commit, the same one for the same commit."""
    first = sampling.seed() * 1000
    return range(first, first + FRESH)


def assert_holds(seeds, has_records=True):
    found = run.simulate(seeds, has_records)
    if found.failing:
        pytest.fail(f"{found}\n{run.story(found.failing[0], has_records)}", pytrace=False)


@pytest.mark.parametrize("has_records", [True, False])
def test_worlds_that_once_failed(has_records):
    seeds = kept_seeds(has_records)
    assert seeds
    assert_holds(seeds, has_records)


@pytest.mark.timeout(LIMIT)
def test_worlds_nobody_has_seen(capsys):
    seeds = fresh_seeds()
    with capsys.disabled():
        sys.stdout.write(f"\nsimulation: seeds {seeds.start}-{seeds.stop}\n")
    assert_holds(seeds)


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("name", mutants.MUTANTS)
def test_a_broken_rule_is_noticed(name):
    """A simulation that sees nothing proves nothing."""
    assert mutants.is_noticed(name)


def test_nothing_of_a_world_is_left():
    """Not even in a library that it was the first to use, which would go on by a clock that stands still."""
    program = (
        "import gc; from sim import run; from sim.world import World; run.simulate([0]);"
        "print([one for one in gc.get_objects() if isinstance(one, World)])"
    )
    assert said_by(program) == "[]"


def test_the_same_seed_is_the_same_world():
    """Whatever the process, and however its strings hash."""
    seeds = (0, 1, 42, 98, 116)  # in three of them two calls wait for their answers at once
    here = str([run.digest(seed) for seed in seeds])
    assert said_by(f"from sim import run; print([run.digest(seed) for seed in {seeds}])") == here


def said_by(program):
    """What a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parents[1]}", "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()
