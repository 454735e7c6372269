"""Ways to do a task: this product's engine, whole and with one part switched off, and LangChain's ready-made agent."""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.answering import pool as pools
from benchmarks.answers import Task
from dev.setup import venvs
from services.mcp.pool.pool import Pool as Sessions
from services.net.egress import EgressPolicy
from services.specs import Limits, LlmSpec, ServerSpec, ToolSpec, TurnProgress, TurnRequest
from services.testing.memory_journal import MemoryJournal
from services.toolset import definition
from services.turn.ai_client import run_turn
from services.turn.tools import TurnTools

POLICY = EgressPolicy.parse("127.0.0.1:*")
PROMPT = "You are an assistant that does tasks with tools. Call the tools that a task needs, then answer briefly."
MAX_ROUNDS = 8


@dataclass(frozen=True)
class Setting:
    """:ivar budget: tokens of definitions
    :ivar timeout: seconds of one task
    """

    llm: LlmSpec
    budget: int
    timeout: float


@dataclass(frozen=True)
class Given:
    """A task with what is there to do it."""

    task: Task
    pool: pools.Pool
    servers: tuple[ServerSpec, ...]
    url: str


Way = Callable[[Given, Setting], Awaitable[dict[str, Any]]]


async def ours(given: Given, setting: Setting) -> dict[str, Any]:
    request = TurnRequest(
        turn_id=1,
        conversation_id=1,
        assistant="Bench",
        llm=setting.llm,
        system_prompt=PROMPT,
        history=({"role": "user", "content": given.task.question},),
        servers=given.servers,
        tools=given.pool.tools,
        limits=Limits(
            max_rounds=MAX_ROUNDS,
            definition_tokens=setting.budget,
            turn_timeout=setting.timeout,
            turn_tools_timeout=setting.timeout,
        ),
    )
    sessions, journal, progress = Sessions(POLICY), MemoryJournal(), TurnProgress()
    begun = time.monotonic()
    try:
        tools = TurnTools(request, sessions)
        result = await run_turn(request, progress, journal, tools, asyncio.Event())
    finally:
        await sessions.close()
    error = result.error
    return {
        "error": f"{type(error).__name__}: {getattr(error, 'detail', error)}"[:500]
        if error
        else "",
        "answer": result.text,
        "rounds": progress.round,
        "calls": len(journal.of("tool_call")),
        "input": progress.usage.get("input_tokens", 0),
        "output": progress.usage.get("output_tokens", 0),
        "seconds": round(time.monotonic() - begun, 1),
    }


async def without_search(given: Given, setting: Setting) -> dict[str, Any]:
    """All definitions at once, whatever they cost."""
    return await ours(given, replace(setting, budget=0))


async def without_cleaning(given: Given, setting: Setting) -> dict[str, Any]:
    """Definitions as servers send them."""
    with mock.patch.object(definition, "function", _raw):
        return await ours(given, setting)


def _raw(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.alias,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
        },
    }


async def in_the_prompt(given: Given, setting: Setting) -> dict[str, Any]:
    """Tools described in the prompt, called by JSON in the answer."""
    return await ours(given, replace(setting, llm=replace(setting.llm, tool_protocol="prompt")))


async def peer(given: Given, setting: Setting) -> dict[str, Any]:
    """LangChain's ready-made agent, see `peer_agent`."""
    python = await asyncio.to_thread(lambda: venvs.extra("peer") / "bin/python")
    asked = {
        "url": given.url,
        "model": setting.llm.model,
        "base_url": setting.llm.base_url,
        "api_key": setting.llm.api_key or "none",
        "max_tokens": setting.llm.max_tokens,
        "timeout": setting.timeout,
        "max_rounds": MAX_ROUNDS,
        "system_prompt": PROMPT,
        "question": given.task.question,
    }
    child = await asyncio.create_subprocess_exec(
        str(python),
        str(Path(__file__).with_name("peer_agent.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(setting.timeout + 60):
            said, errors = await child.communicate(json.dumps(asked).encode())
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
    if child.returncode:
        raise SystemExit(errors.decode("utf-8", "replace")[-2000:])
    return dict(json.loads(said.splitlines()[-1]))


WAYS: dict[str, Way] = {
    "ours": ours,
    "ours, all definitions": without_search,
    "ours, definitions uncleaned": without_cleaning,
    "ours, calls in the prompt": in_the_prompt,
    "LangGraph agent": peer,
}


def named(wanted: Sequence[str]) -> dict[str, Way]:
    """Those whose names contain one of these words; all where there are none."""
    return {
        name: way
        for name, way in WAYS.items()
        if not wanted or any(word in name for word in wanted)
    }
