"""``python -m sim 0-1000``: many worlds, a line each 500; ``python -m sim 7``: the story of one."""

import argparse
import concurrent.futures
import multiprocessing
import os
import sys
import time

from . import mutants
from .run import Sum, simulate, story

CHUNK = 500  # worlds between two lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "seeds", help="first-last, last not included; one seed; or how many for each mutant"
    )
    parser.add_argument(
        "--mutants", action="store_true", help="break a rule at a time, and see who notices"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.mutants:
        return _mutants(int(options.seeds))
    first, _, last = options.seeds.partition("-")
    if not last:
        print(story(int(first)))
        return 0
    chunks = [
        range(begin, min(begin + CHUNK, int(last))) for begin in range(int(first), int(last), CHUNK)
    ]
    total, began = Sum(), time.monotonic()
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.processes, context) as processes:
        for seeds, done in zip(chunks, processes.map(simulate, chunks), strict=True):
            print(f"{seeds.start}-{seeds.stop}: {done}", flush=True)
            total += done
    took = time.monotonic() - began
    print(f"{options.seeds}: {total}; {total.worlds / took:.0f} worlds/s")
    return 1 if total.failing else 0


def _mutants(worlds):
    missed = 0
    for name in mutants.MUTANTS:
        count = mutants.worlds_until_noticed(name, range(worlds))
        missed += not count
        print(f"{name}: {f'after {count} worlds' if count else 'NOT NOTICED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
