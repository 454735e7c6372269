"""Tasks of LiveMCPBench for a model, each with some of the tools, and a server that has them."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.answers import Task
from services.errors import EngineError
from services.schemas import arguments, schema
from services.specs import ServerSpec, ToolSpec
from services.testing.fake_features import page
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import text


@dataclass(frozen=True)
class Pool:
    """What a task may use: the servers of the tools that it needs first, then others until there are enough."""

    tools: tuple[ToolSpec, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)


def pool_for(task: Task, number: int, tools: Sequence[ToolSpec], size: int) -> Pool:
    """The tools that people needed and others, mixed; no name is there twice.

    :param number: of the task; makes the same choice each time
    """
    by_name = {tool.name: tool for tool in tools if _is_usable(tool)}
    needed = [by_name[name] for name in task.tools if name in by_name]
    others = [tool for tool in by_name.values() if tool not in needed]
    chance = random.Random(number)
    chance.shuffle(others)
    near = {tool.server_id for tool in needed}
    others.sort(key=lambda tool: tool.server_id not in near)
    chosen = [*needed, *others[: max(0, size - len(needed))]]
    chance.shuffle(chosen)
    return Pool(tuple(chosen))


def servers_of(pool: Pool, servers: Sequence[ServerSpec], url: str) -> tuple[ServerSpec, ...]:
    used = {tool.server_id for tool in pool.tools}
    return tuple(
        ServerSpec(id=server.id, name=server.name, url=url, trust_level="full")
        for server in servers
        if server.id in used
    )


class Echo(FakeMcp):
    """Has the tools of a pool as their servers describe them; each call is told that it was done, with what."""

    def __init__(self, pool: Pool):
        super().__init__(tools={tool.name: (_echo, dict(tool.input_schema)) for tool in pool.tools})
        self._described = {tool.name: tool.description for tool in pool.tools}

    async def _result(self, method: str, call: Any) -> dict[str, Any]:
        if method != "tools/list":
            return await super()._result(method, call)
        listed = [
            {"name": name, "description": self._described[name], "inputSchema": tool[1]}
            for name, tool in self.tools.items()
        ]
        return {"result": page(call, "tools", listed)}


async def _echo(call: Any) -> dict[str, Any]:
    done = {"done": call.params["name"], "with": call.arguments}
    return text(json.dumps(done, ensure_ascii=False)[:600])


@dataclass(frozen=True)
class Verdict:
    """:ivar chosen: how many of the needed tools were called
    :ivar valid: how many of them with arguments that fit
    """

    needed: int
    chosen: int
    valid: int

    @property
    def success(self) -> bool:
        return self.valid == self.needed


def judge(task: Task, pool: Pool, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Verdict:
    """What reached the server counts, not what the model said of it."""
    tools = {tool.name: tool for tool in pool.tools}
    needed = {name for name in task.tools if name in tools}
    chosen = {name for name, _arguments in calls if name in needed}
    valid = {name for name, given in calls if name in needed and _fit(tools[name], given)}
    return Verdict(len(needed), len(chosen), len(valid))


def _fit(tool: ToolSpec, given: Mapping[str, Any]) -> bool:
    return not arguments.problem(given, tool.input_schema)


def _is_usable(tool: ToolSpec) -> bool:
    try:
        schema.clean(tool.input_schema)
    except EngineError:
        return False
    return True
