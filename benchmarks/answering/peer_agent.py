"""One task for LangChain's ready-made agent with stock adapters, with ``dev/requirements/benchmarks/peer.txt``.

A task as JSON on standard input, one line of what came of it as JSON on standard output; nothing of ours is imported.
"""

import asyncio
import json
import sys
import time

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main() -> None:
    task = json.load(sys.stdin)
    client = MultiServerMCPClient({"all": {"transport": "streamable_http", "url": task["url"]}})
    tools = await client.get_tools()
    model = ChatOpenAI(
        model=task["model"],
        base_url=task["base_url"],
        api_key=task["api_key"],
        temperature=0,
        max_tokens=task["max_tokens"],
        timeout=task["timeout"],
        max_retries=0,
        streaming=True,
        stream_usage=True,
    )
    agent = create_agent(model, tools, system_prompt=task["system_prompt"])
    done: dict = {"error": "", "answer": "", "rounds": 0, "calls": 0, "input": 0, "output": 0}
    begun = time.monotonic()
    try:
        async with asyncio.timeout(task["timeout"]):
            state = {"messages": [{"role": "user", "content": task["question"]}]}
            # A round is two steps of the graph; the answer is one more.
            limit = 2 * task["max_rounds"] + 1
            async for update in agent.astream(
                state, {"recursion_limit": limit}, stream_mode="updates"
            ):
                for part in update.values():
                    for message in (part or {}).get("messages", ()):
                        _note(done, message)
    except Exception as error:
        done["error"] = f"{type(error).__name__}: {error}"[:500]
    done["seconds"] = round(time.monotonic() - begun, 1)
    print(json.dumps(done, ensure_ascii=False))


def _note(done: dict, message) -> None:
    if message.type != "ai":
        return
    usage = message.usage_metadata or {}
    done["input"] += usage.get("input_tokens", 0)
    done["output"] += usage.get("output_tokens", 0)
    done["calls"] += len(message.tool_calls)
    done["rounds"] += bool(message.tool_calls)
    done["answer"] = message.text


if __name__ == "__main__":
    asyncio.run(main())
