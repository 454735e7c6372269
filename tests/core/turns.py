"""Helpers for tests of a whole turn."""

import asyncio

import langchain_mcp_adapters.sessions  # noqa: F401  takes a second that no test should measure
from conftest import POLICY, spec_of

from services.mcp.pool.pool import Pool
from services.specs import Limits, LlmSpec, ToolSpec, TurnProgress, TurnRequest
from services.testing.memory_journal import MemoryJournal
from services.turn.ai_client import run_turn
from services.turn.names import make_aliases
from services.turn.tools import TurnTools


def tools_of(fake, server_id=1, only=None):
    names = [name for name in fake.tools if only is None or name in only]
    aliases = make_aliases([("fake", name) for name in names])
    return tuple(
        ToolSpec(
            id=i, server_id=server_id, name=name, alias=alias, input_schema=fake.tools[name][1]
        )
        for i, (name, alias) in enumerate(zip(names, aliases, strict=True), 1)
    )


def request_of(
    llm, fake=None, *, question="Hello?", limits=None, server=None, tools=None, **llm_options
):
    options = {"first_token_timeout": 30.0, "idle_timeout": 30.0, **llm_options}
    return TurnRequest(
        turn_id=1,
        conversation_id=1,
        assistant="Ada",
        llm=LlmSpec(id=1, base_url=llm.base_url, model="scripted", api_key="secret-key", **options),
        system_prompt="You are Ada.",
        history=({"role": "user", "content": question},),
        servers=((server or spec_of(fake)),) if fake else (),
        tools=tools if tools is not None else tools_of(fake) if fake else (),
        limits=limits or Limits(),
    )


class Turn:
    """Runs a request and keeps everything that can be looked at afterwards."""

    def __init__(self, request, *, journal=None, progress=None, connections=None, vectors=None):
        self.request = request
        self.vectors = vectors
        self.connections = connections
        self.journal = journal or MemoryJournal()
        self.progress = progress or TurnProgress()
        self.stop = asyncio.Event()
        self.result = None

    async def run(self):
        pool = Pool(POLICY, can_ask=True)
        try:
            tools = TurnTools(self.request, pool, self.vectors)
            tools.prepare()
            self.result = await run_turn(
                self.request,
                self.progress,
                self.journal,
                tools,
                self.stop,
                connections=self.connections,
            )
        finally:
            await pool.close()
        return self


async def turn(llm, fake=None, *, journal=None, progress=None, connections=None, **options):
    request = request_of(llm, fake, **options)
    return await Turn(request, journal=journal, progress=progress, connections=connections).run()
