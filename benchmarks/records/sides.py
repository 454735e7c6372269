"""Both sides of `make bench-records`: this addon's record tools, and `mcp-server-odoo` through the stock adapters.

The model, the question, the person, the instructions and the limits are the same.
"""

import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from langchain_core.messages import ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI

from dev import processes
from dev.checks.testbed import OdooServer
from dev.setup import venvs

from .database import PROMPT
from .models import Llm

SECONDS = 120  # for an answer; then it counts as none
ROUNDS = 8  # of calls; then there is no answer either
LOGIN = "admin"


@dataclass
class Answer:
    text: str = ""
    error: str = ""
    calls: list[Any] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    rounds: int = 0
    seconds: float = 0.0

    def row(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": round(self.seconds, 1)}


class Ours:
    """Asks over HTTP, as any program would, and allows what is asked."""

    name = "ours"

    def __init__(self, odoo: OdooServer, assistant: int):
        self.http = odoo.session(LOGIN)
        self.assistant = assistant

    def ask(self, question: str, log: Any) -> Answer:
        begun, answer = time.monotonic(), Answer()
        about = {"assistant_id": self.assistant}
        chat = self._post("/api/ai/conversations", about)["id"]
        turn = self._post(f"/api/ai/conversations/{chat}/messages", {"content": question})
        for event in self._events(turn, begun + SECONDS):
            log(event)
            match event["type"]:
                case "tool_call":
                    answer.calls.append([event["tool"], event["args"]])
                case "approval_required":
                    shown = {event["id"]: event.get("review_hash", "")}
                    decision = {"id": event["id"], "decision": "approve_once", "shown": shown}
                    self._post(f"/api/ai/turns/{turn['turn_id']}/decision", decision)
                case "confirm_required":
                    decision = {"id": event["id"], "decision": "stop"}
                    self._post(f"/api/ai/turns/{turn['turn_id']}/decision", decision)
                case "usage":
                    for name in ("input_tokens", "output_tokens", "rounds"):
                        setattr(answer, name, event[name])
                case "error":
                    answer.error = event["code"]
        answer.seconds = time.monotonic() - begun
        if answer.seconds > SECONDS:
            answer.error = "took too long"
        messages = self.http.get(f"/api/ai/conversations/{chat}").json()["messages"]
        answer.text = messages[-1]["text"] if messages[-1]["role"] == "assistant" else ""
        return answer

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = self.http.post(path, json=body)
        reply.raise_for_status()
        return reply.json()

    def _events(self, turn: dict[str, Any], until: float):
        after, stopped = 0, False
        while True:
            with self.http.stream(
                "GET", turn["stream_url"], headers={"Last-Event-ID": str(after)}
            ) as reply:
                if reply.status_code == 204:
                    return
                for line in reply.iter_lines():
                    if line.startswith("id: "):
                        after = int(line[4:])
                    elif line.startswith("data: "):
                        event = json.loads(line[6:])
                        yield event
                        if event["type"] in ("done", "error"):
                            return
                    if time.monotonic() > until and not stopped:
                        stopped = True
                        self._post(f"/api/ai/turns/{turn['turn_id']}/stop", {})
            time.sleep(0.2)


class Theirs:
    """The loop that the adapters' documentation shows: bind the tools, call what is asked for, ask again."""

    name = "mcp-server-odoo"

    def __init__(self, odoo: OdooServer, llm: Llm):
        self.llm = llm
        self.server = {
            "transport": "stdio",
            "command": str(venvs.extra("records") / "bin/mcp-server-odoo"),
            "args": [],
            "env": processes.bare_environment(
                ODOO_URL=odoo.url,
                ODOO_DB=odoo.db,
                ODOO_USER=LOGIN,
                ODOO_PASSWORD=LOGIN,
                ODOO_YOLO="true",
                ODOO_MCP_LOG_LEVEL="ERROR",
            ),
        }

    def ask(self, question: str, log: Any) -> Answer:
        begun, answer = time.monotonic(), Answer()
        try:
            asyncio.run(asyncio.wait_for(self._ask(question, answer, log), SECONDS))
        except TimeoutError:
            answer.error = "took too long"
        except Exception as error:
            while isinstance(error, ExceptionGroup):  # the SDK's, of which one went wrong
                error = error.exceptions[0]
            answer.error = f"{type(error).__name__}: {error}"[:300]
        answer.seconds = time.monotonic() - begun
        return answer

    async def _ask(self, question: str, answer: Answer, log: Any) -> None:
        client = MultiServerMCPClient({"odoo": self.server})
        # Of its own: the one that langchain-openai keeps belongs to the loop of an earlier question.
        async with httpx.AsyncClient() as http, client.session("odoo") as session:
            model = ChatOpenAI(
                base_url=self.llm.base_url,
                model=self.llm.model,
                api_key=self.llm.key or "none",
                temperature=0.0,
                timeout=SECONDS,
                max_retries=0,
                http_async_client=http,
            )
            tools = {tool.name: tool for tool in await load_mcp_tools(session)}
            asking = model.bind_tools(list(tools.values()))
            today = datetime.now(UTC).date().isoformat()
            messages: list[Any] = [("system", f"{PROMPT}\n\nToday is {today}."), ("user", question)]
            for _round in range(ROUNDS + 1):
                said = await asking.ainvoke(messages)
                log({"content": said.content, "tool_calls": said.tool_calls})
                usage = said.usage_metadata or {}
                answer.input_tokens += usage.get("input_tokens", 0)
                answer.output_tokens += usage.get("output_tokens", 0)
                if not said.tool_calls:
                    answer.text = str(said.content)
                    return
                answer.rounds += 1
                messages.append(said)
                for call in said.tool_calls:
                    answer.calls.append([call["name"], call["args"]])
                    messages.append(await self._call(tools, call, log))
        answer.error = "called on and on"

    async def _call(self, tools: dict[str, Any], call: Any, log: Any) -> Any:
        if (tool := tools.get(call["name"])) is None:
            return ToolMessage(f"There is no tool {call['name']}.", tool_call_id=call["id"])
        try:
            result = await tool.ainvoke({**call, "type": "tool_call"})
        except Exception as error:
            result = ToolMessage(str(error), tool_call_id=call["id"], status="error")
        log({"result": str(result.content)[:20_000]})
        return result
