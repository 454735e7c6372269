"""Single completion: one answer of a model to a program that calls the tools by itself (document 001)."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .. import const
from ..specs import TurnRequest
from . import client
from .answer import Answer
from .connections import Connections
from .tool_protocol import PROTOCOLS, RESULTS, Functions


async def reply(
    request: TurnRequest, functions: Functions, timeout: float, connections: Connections
) -> Answer:
    """Ask once, with the tools described in the prompt; `said` of the answer is the model's own text.

    :param timeout: seconds
    :raises LlmError: the endpoint failed
    """
    protocol = PROTOCOLS["prompt"]
    answer = protocol.answer(functions, is_last=True)
    async with client.open_model(request.llm, connections) as model:
        await client.stream(
            model,
            protocol.messages(request.system_prompt, request.history, functions),
            request.llm,
            answer,
            stop=asyncio.Event(),
            deadline=time.monotonic() + timeout,
        )
    return answer


def question(said: str, context: str, results: Iterable[Mapping[str, Any]]) -> str:
    """The user's message: what is said, what belongs to it and what the tools of the last round gave."""
    parts = [said, context]
    if written := [json.dumps(one, ensure_ascii=False)[: const.LLM_RESULT_CAP] for one in results]:
        parts.append("\n".join([RESULTS, *written]))
    return "\n\n".join(filter(None, parts))
