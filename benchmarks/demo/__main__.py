"""How many first questions the demo's embedded model answers right: ``make bench-demo``.

Each question is the first of a new turn of the engine, with the demo's instructions, tools and real servers, and
without Odoo. Answers are kept in ``.dev/bench-demo.jsonl`` and not asked for again until what they depend on changes,
so it may be interrupted. Arguments: languages (``zh_TW``), kinds (``time``) or numbers of questions (``3``) narrow it.
"""

import asyncio
import hashlib
import itertools
import json
import os
import re
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

from .judge import problem
from .questions import QUESTIONS

KEPT = DEV / "bench-demo.jsonl"
AIM = 18  # of 20 in each language
SECONDS = 8  # for an answer
DEFINITION_TOKENS = 2_500  # as dev/demo/records.py gives the assistant
# as Odoo calls them
LANGUAGES = {
    "en": "English (US)",
    "zh_TW": "Chinese, Traditional (TW) / 繁體中文 (台灣)",
    "zh_CN": "Chinese, Simplified (CN) / 简体中文",
}
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


def wanted(arguments: Iterable[str]) -> list[tuple[str, int]]:
    """(language, number) of the questions that are asked."""
    arguments = set(arguments)
    numbers = {int(one) for one in arguments if one.isdecimal()}
    kinds = arguments & {kind for kind, _, _ in QUESTIONS["en"]}
    languages = arguments & set(QUESTIONS) or set(QUESTIONS)
    return [
        (language, number)
        for language in QUESTIONS
        for number, (kind, _, _) in enumerate(QUESTIONS[language], 1)
        if language in languages
        and (not numbers or number in numbers)
        and (not kinds or kind in kinds)
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
            system_prompt=with_language(of_demo("system_prompt"), LANGUAGES[language]),
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

    async def ask(self, language: str, number: int) -> dict[str, Any]:
        _kind, question, right = QUESTIONS[language][number - 1]
        pool, journal = Pool(POLICY), Journal()
        asked, begun = datetime.now(UTC), time.monotonic()
        try:
            request = self.request(question, language)
            tools = TurnTools(request, pool)
            result = await run_turn(request, TurnProgress(), journal, tools, asyncio.Event())
        finally:
            await pool.close()
        called = [event["tool"] for event in journal.of("tool_call")]
        if result.error:
            raise SystemExit(f"{question}: {result.error} {getattr(result.error, 'detail', '')}")
        said = result.text
        wrong = problem(language, right, said, called, asked, datetime.now(UTC))
        return {
            "language": language,
            "number": number,
            "answer": said,
            "called": [[event["tool"], event["args"]] for event in journal.of("tool_call")],
            "wrong": wrong,
            "seconds": round(time.monotonic() - begun, 1),
            "load": round(os.getloadavg()[0], 1),
            "first_text": round((journal.first_text or time.monotonic()) - begun, 1),
        }

    def mark(self, language: str, number: int) -> str:
        """Changes with whatever an answer depends on."""
        parts = [
            of_demo("system_prompt"),
            llm.MODEL_SHA256,
            llm_template.CHANGES,
            QUESTIONS[language][number - 1],
        ]
        parts += [(tool.name, tool.description, tool.input_schema) for tool in self.tools]
        parts.append(
            [
                (ROOT / path).read_text()
                for path in ("dev/demo/llm_server.py", "benchmarks/demo/judge.py")
            ]
        )
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


async def main(demo: Demo, arguments: list[str]) -> None:
    await demo.read_tools()
    known = {}
    if KEPT.exists():
        known = {row["mark"]: row for row in map(json.loads, KEPT.read_text().splitlines())}
    rows, is_warm = [], False
    for language, number in wanted(arguments):
        mark = demo.mark(language, number)
        if (row := known.get(mark)) is None:
            if not is_warm and not llm.warm_up(demo.model_port, demo.opening()):
                raise SystemExit("The model does not answer.")
            is_warm = True
            row = {**await demo.ask(language, number), "mark": mark}
            with KEPT.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.append(row)
        _print(row)
    print()
    for language in QUESTIONS:
        of_it = [row for row in rows if row["language"] == language]
        right = sum(not row["wrong"] for row in of_it)
        if of_it:
            slow = sorted(row["seconds"] for row in of_it)
            load = sorted(row.get("load", 0) for row in of_it)
            print(
                f"{language:<6} {right} of {len(of_it)} right (aim {AIM} of 20), "
                f"answered in {slow[len(slow) // 2]} s, the slowest in {slow[-1]} s (aim {SECONDS} s), "
                f"load average {load[len(load) // 2]}"
            )


def _print(row: dict[str, Any]) -> None:
    question = QUESTIONS[row["language"]][row["number"] - 1][1]
    said = " ".join(row["answer"].split())[:90]
    verdict = f"WRONG: {row['wrong']}" if row["wrong"] else "right"
    print(
        f"{row['language']:<6}{row['number']:>3} {row['seconds']:>6} s  {question}  →  {said}  [{verdict}]",
        flush=True,
    )


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
