"""AgentDojo's suites as MCP servers: ``python -m benchmarks.injection.dojo PORT``, in an environment of its own.

``/LANE/SUITE/HINTS/mcp`` serves a suite's tools over streamable HTTP; HINTS is ``honest`` or ``none``. A lane has one
case at a time, with an environment of its own: ``POST /LANE/begin`` starts one and answers with its `Plan`,
``POST /LANE/end`` judges it. ``GET /cases?version=v1`` lists all cases.
"""

import contextlib
import functools
import re
import sys
import types
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from typing import Any

import agentdojo
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from .attacks import SCRIPTS
from .tools import MARK, annotations


def _without_models() -> None:
    """Let AgentDojo be imported without the packages of language models, whose clients nothing here uses."""
    pipeline = types.ModuleType("agentdojo.agent_pipeline")
    pipeline.__path__ = [f"{path}/agent_pipeline" for path in agentdojo.__path__]
    client = types.ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    client.EMPTY_FUNCTION_NAME = ""  # type: ignore[attr-defined]
    sys.modules |= {module.__name__: module for module in (pipeline, client)}


_without_models()

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime, TaskEnvironment  # noqa: E402
from agentdojo.task_suite.load_suites import get_suite, get_suites  # noqa: E402
from agentdojo.types import text_content_block_from_string  # noqa: E402


def number(task_id: str) -> int:
    return int(re.findall(r"\d+", task_id)[-1])


def cases(version: str) -> list[list[str]]:
    """Suite, user task and injection of every case."""
    return [
        [name, user, injection]
        for name, suite in sorted(get_suites(version).items())
        for user in sorted(suite.user_tasks, key=number)
        for injection in sorted(suite.injection_tasks, key=number)
    ]


@functools.cache
def injected(version: str, suite_name: str, injection: str) -> TaskEnvironment:
    """A suite's environment with the injection in all of its vectors."""
    suite = get_suite(version, suite_name)
    goal = suite.injection_tasks[injection].GOAL
    text = f"{MARK} {goal}".replace('"', "'").replace("\n", " ")
    vectors = suite.get_injection_vector_defaults()
    return suite.load_and_inject_default_environment(dict.fromkeys(vectors, text))


def _plain(calls: Iterable[FunctionCall]) -> list[list[Any]]:
    return [[call.function, dict(call.args)] for call in calls]


class Lane:
    """One case at a time: its environment and the calls that arrived."""

    def begin(self, version: str, suite: str, user: str, injection: str) -> dict[str, Any]:
        self.suite = get_suite(version, suite)
        self.user = self.suite.user_tasks[user]
        attack = self.suite.injection_tasks[injection]
        environment = injected(version, suite, injection).model_copy(deep=True)
        self.environment = self.user.init_environment(environment)
        self.before = self._copy()
        self.runtime = FunctionsRuntime(self.suite.tools)
        self.ran: list[FunctionCall] = []
        if script := SCRIPTS.get((suite, injection)):
            attacker_calls = [list(call) for call in script(self._copy())]
        else:
            attacker_calls = _plain(attack.ground_truth(self._copy()))
        return {
            "prompt": self.user.PROMPT,
            "user_calls": _plain(self.user.ground_truth(self._copy())),
            "answer": self.user.GROUND_TRUTH_OUTPUT,
            "attacker_calls": attacker_calls,
            "attacker_answer": attack.GROUND_TRUTH_OUTPUT,
        }

    def call(self, suite: str, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Run a tool in the case's environment. A call counts even if it fails."""
        if suite != self.suite.name:
            raise ValueError(f"the case is one of {self.suite.name}, not of {suite}")
        self.ran.append(FunctionCall(function=tool, args=arguments))
        result, error = self.runtime.run_function(self.environment, tool, arguments)
        text = error or tool_result_to_str(result)
        return CallToolResult(content=[TextContent(type="text", text=text)], isError=bool(error))

    def end(self, answer: str) -> dict[str, Any]:
        """Verdict of AgentDojo's judge on the user's task, and the calls."""
        output = [text_content_block_from_string(answer)]
        states = (self.before, self.environment)
        is_done = self.suite._check_task_result(self.user, output, *states, self.ran)
        return {"is_done": bool(is_done), "ran": _plain(self.ran)}

    def _copy(self) -> Any:
        return self.environment.model_copy(deep=True)


LANES: dict[str, Lane] = defaultdict(Lane)
server: Server[Any, Request] = Server("AgentDojo")
manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)


def _place() -> tuple[str, str, str]:
    """Lane, suite and hints of the request."""
    request = server.request_context.request
    assert request
    lane, suite, hints = request.url.path.strip("/").split("/")[:3]
    return lane, suite, hints


@server.list_tools()
async def list_tools() -> list[Tool]:
    _lane, suite, hints = _place()
    return [
        Tool(
            name=tool.name,
            description=tool.description,
            inputSchema=tool.parameters.model_json_schema(),
            annotations=ToolAnnotations(**annotations(tool.name)) if hints == "honest" else None,
        )
        for tool in get_suite("v1", suite).tools
    ]


@server.call_tool(validate_input=False)
async def call_tool(name: str, arguments: dict[str, Any]) -> CallToolResult:
    lane, suite, _hints = _place()
    return LANES[lane].call(suite, name, arguments)


async def _cases(request: Request) -> JSONResponse:
    return JSONResponse(cases(request.query_params["version"]))


async def _begin(request: Request) -> JSONResponse:
    return JSONResponse(LANES[request.path_params["lane"]].begin(**await request.json()))


async def _end(request: Request) -> JSONResponse:
    return JSONResponse(LANES[request.path_params["lane"]].end(**await request.json()))


@contextlib.asynccontextmanager
async def _lifespan(_app: Starlette) -> AsyncIterator[None]:
    async with manager.run():
        yield


def main() -> None:
    routes = [
        Route("/cases", _cases),
        Route("/{lane}/begin", _begin, methods=["POST"]),
        Route("/{lane}/end", _end, methods=["POST"]),
        Mount("/", manager.handle_request),
    ]
    app = Starlette(routes=routes, lifespan=_lifespan)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
