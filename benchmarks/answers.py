"""How well tools are found and what their definitions cost, on the tools and tasks of LiveMCPBench.

    .dev/venv/bin/python -m benchmarks.answers FOLDER

The folder, which is no part of the addon, holds ``livemcpbench/tools.json.gz`` and ``tasks.json.gz``
(github.com/icip-cas/LiveMCPBench: 70 servers, 527 tools, 95 tasks with their steps and the tools that people
needed), and ``tools/*.json.gz``, each ``{"server", "tools"}`` as a server has answered ``tools/list``. The queries
are the steps as their annotators wrote them; no model is asked, so each run says the same. With
``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY``, the estimate of tokens is held against what the
model reports.
"""

import asyncio
import gzip
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import httpx

from benchmarks.figures import none_of
from benchmarks.interval import rate
from services import text
from services.errors import EngineError
from services.llm import transcript
from services.mcp.discovery import definition_scan
from services.specs import Limits, LlmSpec, ServerSpec, ToolCall, ToolSpec, TurnRequest
from services.toolset import definition, lookup, words
from services.turn.names import make_aliases
from services.turn.tools import TurnTools

FIRST = 8
ENOUGH = 0.85  # of the steps with a needed tool among the first, of the tokens of all definitions
CHINESE = Path(__file__).with_name("answering") / "steps_zh.txt"


@dataclass(frozen=True)
class Task:
    question: str
    steps: list[str]
    tools: list[str]


def main(folder: Path) -> None:
    """
    :param folder: with the tools and tasks
    :raises Missed: fewer tools are found, or fewer tokens saved, than `ENOUGH`
    """
    servers, tools = corpus(read(folder / "livemcpbench/tools.json.gz"))
    tasks = list(read_tasks(read(folder / "livemcpbench/tasks.json.gz"), {t.name for t in tools}))
    found = retrieval(servers, tools, tasks)
    saved = asyncio.run(tokens(servers, tools, tasks))
    real = [read(path) for path in sorted((folder / "tools").glob("*.json.gz"))]
    if real:
        definitions([tool for found in real for tool in found["tools"]])
    if os.environ.get("OPENAI_BASE_URL"):
        against_usage(tools)
    none_of(
        too_few_steps_with_a_needed_tool=int(found < ENOUGH),
        too_few_tokens_of_definitions_saved=int(saved < ENOUGH),
    )


def folder_of(arguments: list[str]) -> Path:
    """The folder that a command was given; without its tools and tasks the command ends."""
    folder = Path(*arguments[:1])
    if not (folder / "livemcpbench").is_dir():
        sys.exit(f"There is no {folder / 'livemcpbench'}; see the first lines of {__file__}.")
    return folder


def read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def corpus(said: list[dict]) -> tuple[list[ServerSpec], list[ToolSpec]]:
    found = [
        (name, tool) for one in said for name, of in one["tools"].items() for tool in of["tools"]
    ]
    about = {name: one.get("description") or "" for one in said for name in one["tools"]}
    names = list(about)
    aliases = make_aliases([(name, tool["name"]) for name, tool in found])
    servers = [
        ServerSpec(id=n, name=name, description=about[name]) for n, name in enumerate(names, 1)
    ]
    tools = [
        spec(n, names.index(found[n - 1][0]) + 1, alias, found[n - 1][1])
        for n, alias in enumerate(aliases, 1)
    ]
    return servers, tools


def spec(number: int, server: int, alias: str, tool: dict) -> ToolSpec:
    return ToolSpec(
        id=number,
        server_id=server,
        name=tool["name"],
        alias=alias,
        title=tool.get("title") or "",
        description=tool.get("description") or "",
        input_schema=tool.get("inputSchema") or {},
    )


def read_tasks(said: list[dict], known: set[str]) -> Iterator[Task]:
    for task in said:
        notes = task["Annotator Metadata"]
        steps, needed = lines(notes["Steps"]), lines(notes["Tools"])
        yield Task(task["Question"], steps, [name for name in needed if name in known])


def lines(numbered: str) -> list[str]:
    stripped = (re.sub(r"^\d+[.)]\s*", "", line).strip() for line in numbered.splitlines())
    return [line for line in stripped if line]


def retrieval(servers: list[ServerSpec], tools: list[ToolSpec], tasks: list[Task]) -> float:
    """:return: the part of the steps with a needed tool among the first, 0 to 1"""
    hidden = lookup.Lookup(tools, {server.id: server for server in servers})
    begun = time.thread_time()
    hidden.find(["warm"])
    show(f"index of {len(tools)} tools", f"{1000 * (time.thread_time() - begun):.0f} ms")
    searches = sum(len(task.steps) for task in tasks)
    begun = time.thread_time()
    found = found_by(hidden, tasks)
    show("one search", f"{1000 * (time.thread_time() - begun) / searches:.2f} ms")
    hit = score("", found, tasks)
    score(", without the question's words", found_by(hidden, tasks, with_question=False), tasks)
    with mock.patch.object(words, "SYNONYMS", {}):
        score(", without words that mean the same", found_by(hidden, tasks), tasks)
    alone = lookup.Lookup(tools, {server.id: replace(server, description="") for server in servers})
    score(", without the servers' descriptions", found_by(alone, tasks), tasks)
    right = [{*task.tools} for task in tasks for _step in task.steps]
    hits = [
        any(tool.name in right[number] for tool in hidden.find([step]))
        for number, step in translated(len(right))
    ]
    share("a fifth of the steps in Chinese, without a question", sum(hits), len(hits))
    return hit


def translated(steps: int) -> list[tuple[int, str]]:
    """Each fifth step by its number, as somebody in Taiwan would write it.

    :param steps: how many there are in English
    """
    lines = (line.split("|", 1) for line in CHINESE.read_text().splitlines())
    return [(int(number), step) for number, step in lines if int(number) < steps]


def found_by(
    hidden: lookup.Lookup, tasks: list[Task], with_question: bool = True
) -> list[list[set[str]]]:
    """The names among the first of each step."""
    return [
        [
            {tool.name for tool in hidden.find([step], task.question if with_question else "")}
            for step in task.steps
        ]
        for task in tasks
    ]


def score(without: str, found: list[list[set[str]]], tasks: list[Task]) -> float:
    """:return: the part of the steps with a needed tool among the first, 0 to 1"""
    steps = [
        bool(names & {*task.tools}) for task, of in zip(tasks, found, strict=True) for names in of
    ]
    share(f"steps with a needed tool among the first {FIRST}{without}", sum(steps), len(steps))
    needed = [
        any(name in names for names in of)
        for task, of in zip(tasks, found, strict=True)
        for name in task.tools
    ]
    share(f"needed tools found by a step of their task{without}", sum(needed), len(needed))
    return sum(steps) / len(steps)


async def tokens(servers: list[ServerSpec], tools: list[ToolSpec], tasks: list[Task]) -> float:
    """:return: the part of the tokens of all definitions that a request saves, 0 to 1"""
    everything = sum(definition.tokens(definition.function(tool)) for tool in tools)
    first, after = [], []
    for task in tasks:
        turn = TurnTools(request(servers, tools, task), None)
        first.append(sum(map(definition.tokens, turn.functions)))
        call = ToolCall(
            id="call_1",
            alias=lookup.FIND.alias,
            round=1,
            tool=lookup.FIND,
            arguments={"queries": task.steps[: lookup.MAX_QUERIES]},
        )
        result = (await turn.call(call, timeout=10)).result
        turn.take_in(
            [transcript.assistant_message("", [call]), transcript.tool_message(call.id, result)]
        )
        after.append(sum(map(definition.tokens, turn.functions)) + text.tokens(result.text))
    show("definitions of all, tokens a request", f"{everything}")
    show("before a look-up", f"{statistics.median(first):.0f}")
    show(
        "after the look-up of a task's steps, its answer included",
        f"{statistics.median(after):.0f}, most {max(after)}",
    )
    saved = 1 - statistics.median(after) / everything
    show("fewer", f"{100 * saved:.1f} %")
    return saved


def request(servers: list[ServerSpec], tools: list[ToolSpec], task: Task) -> TurnRequest:
    return TurnRequest(
        turn_id=1,
        conversation_id=1,
        assistant="",
        llm=LlmSpec(id=1, base_url="", model=""),
        system_prompt="",
        history=({"role": "user", "content": task.question},),
        servers=tuple(servers),
        tools=tuple(tools),
        limits=Limits(),
    )


def definitions(real: list[dict]) -> None:
    raw = sum(text.tokens(json.dumps(tool, ensure_ascii=False)) for tool in real)
    sent, begun = [], time.thread_time()
    for number, tool in enumerate(real, 1):
        try:
            sent.append(definition.function(spec(number, 1, tool["name"], tool)))
        except EngineError as error:
            print(tool["name"], error)
    took = time.thread_time() - begun
    sizes = [definition.tokens(one) for one in sent]
    show(f"{len(real)} real definitions, tokens as servers send them", f"{raw}")
    show(
        "as a model is sent them",
        f"{sum(sizes)}, median {statistics.median(sizes):.0f}, most {max(sizes)}",
    )
    show("of these cut, and marked", f"{sum(map(definition.is_cut, sent))}")
    show("time for all of them", f"{took:.2f} s")
    share("with a warning", sum(bool(definition_scan.warnings(tool)) for tool in real), len(real))


def against_usage(tools: list[ToolSpec]) -> None:
    functions = [definition.function(tool) for tool in tools[:40]]
    estimated = sum(map(definition.tokens, functions))
    reported = prompt_tokens(functions) - prompt_tokens([])
    show("40 definitions, tokens reported", f"{reported}, estimated {estimated}")


def prompt_tokens(functions: list[dict]) -> int:
    body: dict[str, Any] = {
        "model": os.environ["OPENAI_MODEL"],
        "messages": [{"role": "user", "content": "Say yes."}],
    }
    answer = httpx.post(
        f"{os.environ['OPENAI_BASE_URL'].rstrip('/')}/chat/completions",
        headers={"authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"},
        json=body | ({"tools": functions} if functions else {}),
        timeout=120,
    )
    return answer.raise_for_status().json()["usage"]["prompt_tokens"]


def share(what: str, count: int, of: int) -> None:
    show(what, rate(count, of))


def show(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main(folder_of(sys.argv[1:]))
