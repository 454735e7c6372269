"""How many first questions the demo's embedded model answers right: ``make bench-demo``.

Each question is the first of a new turn of the engine, with the demo's instructions, tools and real servers, and
without Odoo. Questions are drawn by seed, see `questions`: of those for building one sees what was answered, of
those that are published only how many were right. Answers are kept in ``.dev/bench-demo.jsonl`` and not asked for again
until what they depend on changes, so it may be interrupted. Arguments: ranges of seeds (``published``), languages
(``zh_TW``), kinds (``time``), and how many questions of a range are asked in each language (20).
"""

import asyncio
import hashlib
import itertools
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dev import processes
from dev.demo import llm, llm_template
from dev.demo import tools as demo_tools
from dev.paths import DEV, ROOT
from dev.servers import mcp_servers
from services.llm.transcript import with_language
from services.mcp.discovery import discovery
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import Limits, LlmSpec, ServerSpec, ToolSpec, TurnProgress, TurnRequest
from services.testing.memory_journal import MemoryJournal
from services.turn.ai_client import run_turn
from services.turn.names import make_aliases
from services.turn.tools import TurnTools

from ..interval import wilson
from .judge import invented, problem
from .questions import KINDS, LANGUAGES, PUBLISHED, RANGES, Question, questions

KEPT = DEV / "bench-demo.jsonl"
NUMBER = 20  # questions of a range in a language
DEFINITION_TOKENS = 2_500  # as dev/demo/records.py gives the assistant
# as Odoo calls them
NAMES = {
    "en": "English (US)",
    "zh_TW": "Chinese, Traditional (TW) / 繁體中文 (台灣)",
    "zh_CN": "Chinese, Simplified (CN) / 简体中文",
}
Row = dict[str, Any]
POLICY = EgressPolicy.parse("127.0.0.1:*")


class Journal(MemoryJournal):
    """Notes when the first text came."""

    first_text = 0.0

    def emit(self, event: dict[str, Any]) -> None:
        if event["type"] == "text" and not self.first_text:
            self.first_text = time.monotonic()
        super().emit(event)


def of_demo(field: str) -> str:
    """What the demo's assistant has in this field."""
    xml = (ROOT / "demo/demo.xml").read_text()
    found = re.search(rf'<field name="{field}">(.*?)</field>', xml, re.DOTALL)
    assert found
    return " ".join(found[1].split())


def wanted(arguments: Iterable[str]) -> list[Question]:
    arguments = set(arguments)
    number = max((int(one) for one in arguments if one.isdecimal()), default=NUMBER)
    return [
        question
        for seeds in (arguments & set(RANGES) or RANGES)
        for language in LANGUAGES
        if not arguments & set(LANGUAGES) or language in arguments
        for question in questions(
            RANGES[seeds], language, number, arguments & set(KINDS) or set(KINDS)
        )
    ]


class Demo:
    """The demo's model and servers, without Odoo."""

    def __init__(self, model_port: int, servers: list[mcp_servers.McpServer]):
        self.model_port = model_port
        self.llm = LlmSpec(
            id=1,
            base_url=f"http://127.0.0.1:{model_port}/v1",
            model=llm.MODEL,
            temperature=0.0,
            first_token_timeout=300.0,
            idle_timeout=120.0,
        )
        self.servers = tuple(
            ServerSpec(id=number, name=server.name, url=server.url, trust_level="full")
            for number, server in enumerate(servers, 1)
        )
        self.tools: tuple[ToolSpec, ...] = ()

    async def read_tools(self) -> None:
        found = [
            (server, tool)
            for server in self.servers
            for tool in (await discovery.discover(server, POLICY)).tools
            if tool.name in demo_tools.TOOLS
        ]
        aliases = make_aliases([(server.name, tool.name) for server, tool in found])
        numbered = zip(itertools.count(1), found, aliases)
        self.tools = tuple(
            ToolSpec(
                id=number,
                server_id=server.id,
                name=tool.name,
                alias=alias,
                title=tool.title,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=tool.output_schema or {},
                annotations=tool.annotations,
            )
            for number, (server, tool), alias in numbered
        )

    def request(self, question: str, language: str = "en") -> TurnRequest:
        return TurnRequest(
            turn_id=1,
            conversation_id=1,
            assistant="Demo Assistant",
            llm=self.llm,
            system_prompt=with_language(of_demo("system_prompt"), NAMES[language]),
            history=({"role": "user", "content": question},),
            servers=self.servers,
            tools=self.tools,
            limits=Limits(definition_tokens=DEFINITION_TOKENS),
        )

    def opening(self) -> dict[str, Any]:
        """What every question begins with, as the demo lets its model read it when it starts."""
        messages = [
            {"role": "system", "content": of_demo("system_prompt")},
            {"role": "user", "content": "Hi"},
        ]
        return {"messages": messages, "tools": TurnTools(self.request(""), Pool(POLICY)).functions}

    async def ask(self, question: Question) -> Row:
        pool, journal = Pool(POLICY), Journal()
        asked, begun = datetime.now(UTC), time.monotonic()
        try:
            request = self.request(question.text, question.language)
            tools = TurnTools(request, pool)
            result = await run_turn(request, TurnProgress(), journal, tools, asyncio.Event())
        finally:
            await pool.close()
        answered = datetime.now(UTC)
        if result.error:
            raise SystemExit(
                f"{question.text}: {result.error} {getattr(result.error, 'detail', '')}"
            )
        calls = [(event["tool"], event["args"]) for event in journal.of("tool_call")]
        results = [one.text for ended in journal.ended.values() for one in ended]
        called = [tool for tool, _arguments in calls]
        return {
            "seed": question.seed,
            "language": question.language,
            "kind": question.kind,
            "question": question.text,
            "calls": calls,
            "results": results,
            "answer": result.text,
            "wrong": problem(
                question.language, question.right, result.text, called, asked, answered
            ),
            "invented": invented(result.text, [question.text, *results]),
            "seconds": round(time.monotonic() - begun, 1),
            "first_text": round((journal.first_text or time.monotonic()) - begun, 1),
            "load": round(os.getloadavg()[0], 1),
        }

    def mark(self, question: Question) -> str:
        """Changes with whatever an answer depends on."""
        parts: list[Any] = [of_demo("system_prompt"), llm.MODEL_SHA256, question]
        parts += [llm_template.CHANGES, llm_template.SHOW_EXAMPLES]
        parts += [(tool.name, tool.description, tool.input_schema) for tool in self.tools]
        files = [ROOT / "dev/demo/llm_server.py", ROOT / "benchmarks/demo/judge.py"]
        files += sorted((ROOT / "dev/servers/clock").glob("*.*"))
        parts += [path.read_text() for path in files]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


async def main(demo: Demo, arguments: list[str]) -> None:
    await demo.read_tools()
    known: dict[str, Row] = {}
    if KEPT.exists():
        known = {row["mark"]: row for row in map(json.loads, KEPT.read_text().splitlines())}
    rows: list[Row] = []
    is_warm = False
    for question in wanted(arguments):
        mark = demo.mark(question)
        if (row := known.get(mark)) is None:
            if not is_warm and not llm.warm_up(demo.model_port, demo.opening()):
                raise SystemExit("The model does not answer.")
            is_warm = True
            row = {**await demo.ask(question), "mark": mark}
            with KEPT.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.append(row)
        if row["seed"] not in PUBLISHED:
            _print(row)
    table(rows)


def _print(row: Row) -> None:
    said = " ".join(row["answer"].split())[:90]
    verdict = f"WRONG: {row['wrong']} {row['calls']}" if row["wrong"] else "right"
    print(
        f"{row['language']:<6}{row['seed']:>4} {row['seconds']:>5} s  {row['question']}  →  {said}  [{verdict}]",
        flush=True,
    )


def table(rows: list[Row]) -> None:
    """Markdown: how many are right in each range of seeds, by language and kind."""
    parts = {name: [row for row in rows if row["seed"] in seeds] for name, seeds in RANGES.items()}
    asked = {name: part for name, part in parts.items() if part}
    print(f"\n| right | {' | '.join(asked)} |{' difference |' if len(asked) > 1 else ''}")
    print("|---|" + "---|" * (len(asked) + (len(asked) > 1)))
    groups = [(language, kind) for language in LANGUAGES for kind in (*KINDS, "")]
    for language, kind in [*groups, ("", "")]:
        chosen = [
            [
                row
                for row in part
                if row["language"].startswith(language) and row["kind"].startswith(kind)
            ]
            for part in asked.values()
        ]
        if all(chosen):
            print(
                f"| {language} {kind or 'all'} | {' | '.join(map(_right, chosen))}{_gap(chosen)} |"
            )
    print(f"\n| | {' | '.join(asked)} |\n|---|" + "---|" * len(asked))
    for what, figure in FIGURES.items():
        print(f"| {what} | {' | '.join(figure(part) for part in asked.values())} |")


def _share(rows: list[Row]) -> float:
    return 100 * sum(not row["wrong"] for row in rows) / len(rows)


def _right(rows: list[Row]) -> str:
    right = sum(not row["wrong"] for row in rows)
    low, high = wilson(right, len(rows))
    return f"{right} of {len(rows)} ({low:.0f} to {high:.0f} %)"


def _gap(chosen: list[list[Row]]) -> str:
    return f" | {_share(chosen[1]) - _share(chosen[0]):+.0f} points" if len(chosen) > 1 else ""


def _seconds(rows: list[Row]) -> str:
    seconds = [row["seconds"] for row in rows]
    return f"{statistics.median(seconds):.1f} s, {max(seconds):.1f} s"


FIGURES = {
    "answers with an invented value": lambda rows: str(sum(bool(r["invented"]) for r in rows)),
    "median, slowest": _seconds,
    "load average": lambda rows: f"{statistics.median(row['load'] for row in rows):.1f}",
}


def run(arguments: list[str]) -> None:
    servers = [
        mcp_servers.start_everything(processes.free_port()),
        mcp_servers.start_clock(processes.free_port()),
    ]
    port = processes.free_port()
    with tempfile.TemporaryDirectory() as folder:
        model = llm.start(port, Path(folder), Path(folder) / "llm.log")
        try:
            for server in servers:
                server.wait()
            asyncio.run(main(Demo(port, servers), arguments))
        finally:
            model.stop()
            for server in servers:
                server.stop()


if __name__ == "__main__":
    run(sys.argv[1:])
