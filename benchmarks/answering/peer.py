"""How well a model does LiveMCPBench's tasks by this product and by LangGraph's ready-made agent: ``make bench-peer``.

    make bench-peer ARGS='FOLDER --tasks 20 --tools 20 --ways ours LangGraph'

The folder is that of `benchmarks.answers`. The model is the one at ``OPENAI_BASE_URL`` (``OPENAI_MODEL``,
``OPENAI_API_KEY``), else the demo's embedded one. All tools stand on one server on the loopback, which has the
definitions of LiveMCPBench and tells each call that it was done: tool choice, arguments and several steps are
measured, not what a model makes of real results. A task succeeds if each tool that people needed was called with
arguments that fit its definition; with ``--steps`` each step of a task, as its annotator wrote it, is a question of its
own, which succeeds if one of the task's tools was: what a small model can do. What came of each is kept in
``.dev/bench-peer.jsonl`` and not asked for again until what it depends on changes, so it may be interrupted. Compaction
has no row: each task is one question.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import answers
from benchmarks.answering import pool as pools
from benchmarks.answering import ways
from benchmarks.interval import rate
from dev import processes
from dev.demo import llm
from dev.paths import DEV
from services.specs import LlmSpec

KEPT = DEV / "bench-peer.jsonl"
SOURCES = ("pool.py", "ways.py", "peer_agent.py")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=95, help="how many, spread over all of them")
    parser.add_argument("--tools", type=int, default=20, help="how many a task has to choose from")
    parser.add_argument("--steps", action="store_true", help="ask for each step by itself")
    parser.add_argument("--ways", nargs="*", default=[], help="words of the rows' names")
    parser.add_argument("--budget", type=int, default=2_500, help="tokens of definitions")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of one task")
    parser.add_argument("--length", type=int, default=512, help="tokens of an answer at most")
    return parser.parse_args()


@contextlib.contextmanager
def model(options: argparse.Namespace) -> Iterator[LlmSpec]:
    spec = LlmSpec(
        id=1,
        base_url=os.environ.get("OPENAI_BASE_URL", "").rstrip("/"),
        model=os.environ.get("OPENAI_MODEL", llm.MODEL),
        api_key=os.environ.get("OPENAI_API_KEY", ""),
        temperature=0.0,
        max_tokens=options.length,
        tool_protocol="native",
        first_token_timeout=options.timeout,
        idle_timeout=options.timeout,
    )
    if spec.base_url:
        yield spec
        return
    port = processes.free_port()
    with tempfile.TemporaryDirectory() as folder:
        served = llm.start(port, Path(folder), Path(folder) / "llm.log", with_examples=False)
        try:
            if not llm.warm_up(port, {"messages": [{"role": "user", "content": "Hi"}]}):
                raise SystemExit("The model does not answer.")
            yield replace(spec, base_url=f"http://127.0.0.1:{port}/v1")
        finally:
            served.stop()


async def measure(options: argparse.Namespace, spec: LlmSpec) -> None:
    data = options.folder / "livemcpbench"
    servers, tools = answers.corpus(answers.read(data / "tools.json.gz"))
    said = answers.read(data / "tasks.json.gz")
    tasks = [
        (number, task)
        for number, task in enumerate(answers.read_tasks(said, {tool.name for tool in tools}))
        if task.tools
    ]
    tasks = tasks[:: max(1, len(tasks) // options.tasks)][: options.tasks]
    known = {}
    if KEPT.exists():
        known = {row["mark"]: row for row in map(json.loads, KEPT.read_text().splitlines())}
    setting = ways.Setting(spec, options.budget, options.timeout)
    rows: dict[str, list[dict[str, Any]]] = {}
    for number, name, way, task in asked(tasks, options):
        pool = pools.pool_for(task, number, tools, options.tools)
        mark = mark_of(name, task.question, pool, setting)
        if (row := known.get(mark)) is None:
            async with pools.Echo(pool) as fake:
                given = ways.Given(task, pool, pools.servers_of(pool, servers, fake.url), fake.url)
                row = await way(given, setting)
                calls = [(tool, arguments) for _session, tool, arguments in fake.calls]
            verdict = pools.judge(task, pool, calls)
            row |= {"way": name, "task": number, "mark": mark, "reached": calls}
            row |= {"needed": verdict.needed, "chosen": verdict.chosen, "valid": verdict.valid}
            row["success"] = verdict.valid > 0 if options.steps else verdict.success
            with KEPT.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.setdefault(name, []).append(row)
        print(
            f"{number:>3} {name:<28} {row['valid']} of {row['needed']} tools, {row['calls']} calls, "
            f"{row['input']} tokens in, {row['seconds']} s {row['error'][:90]}",
            flush=True,
        )
    print()
    table(rows)


def asked(
    tasks: list[tuple[int, answers.Task]], options: argparse.Namespace
) -> Iterator[tuple[int, str, ways.Way, answers.Task]]:
    """One way after the other, so that the model finds the beginning of a question's request in its cache."""
    for number, task in tasks:
        for name, way in ways.named(options.ways).items():
            for question in task.steps if options.steps else [task.question]:
                yield number, name, way, replace(task, question=question)


def mark_of(name: str, question: str, pool: pools.Pool, setting: ways.Setting) -> str:
    """Changes with whatever an answer depends on, except for the engine itself."""
    llm_spec = setting.llm
    parts = [name, question, pool.names, setting.budget, setting.timeout, ways.PROMPT]
    parts += [llm_spec.model, llm_spec.max_tokens, ways.MAX_ROUNDS]
    parts += [Path(__file__).with_name(source).read_text() for source in SOURCES]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def table(rows: dict[str, list[dict[str, Any]]]) -> None:
    print(
        "| | tasks done | needed tools called, arguments that fit | tokens in, out | calls, rounds | time | errors |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, of in rows.items():
        done, needed = sum(row["success"] for row in of), sum(row["needed"] for row in of)
        cells = [
            name,
            rate(done, len(of)),
            f"{sum(row['chosen'] for row in of)}, {sum(row['valid'] for row in of)} of {needed}",
            f"{middle(of, 'input')}, {middle(of, 'output')}",
            f"{middle(of, 'calls')}, {middle(of, 'rounds')}",
            f"{middle(of, 'seconds')} s",
            str(sum(bool(row["error"]) for row in of)),
        ]
        print(f"| {' | '.join(cells)} |")


def middle(rows: list[dict[str, Any]], field: str) -> str:
    return f"{statistics.median(row[field] for row in rows):g}"


def main() -> None:
    options = read_options()
    with model(options) as spec:
        asyncio.run(measure(options, spec))


if __name__ == "__main__":
    main()
