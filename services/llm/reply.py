"""Single completion: one answer of a model to a program that calls the tools by itself (document 001)."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .. import const
from ..specs import TurnRequest
from . import client, failover, transcript
from .answer import Answer
from .connections import Connections
from .tool_protocol import PROTOCOLS, RESULTS, Functions


async def reply(
    request: TurnRequest,
    functions: Functions,
    timeout: float,
    connections: Connections,
    faults: list[dict[str, Any]],
) -> Answer:
    """Ask once, with the tools described in the prompt; `said` of the answer is the model's own text.

    :param timeout: seconds
    :param faults: gets a `failover.fault` of each endpoint that failed
    :raises LlmError: the last endpoint failed
    """
    deadline = time.monotonic() + timeout
    answer = PROTOCOLS["prompt"].answer(functions, is_last=True)

    async def once(llm):
        await _ask(llm, request, functions, answer, deadline, connections)

    async def on_fault(llm, error, _instead):
        faults.append(failover.fault(llm, error))

    await failover.ask(
        request.llm,
        once,
        received=lambda: answer,
        is_over=lambda: time.monotonic() >= deadline,
        on_fault=on_fault,
    )
    return answer


async def _ask(llm, request, functions, answer, deadline, connections) -> None:
    messages = request.history
    if not llm.supports_vision:
        messages = transcript.without_pictures(messages)
    async with client.open_model(llm, connections) as model:
        await client.stream(
            model,
            PROTOCOLS["prompt"].messages(request.system_prompt, messages, functions),
            llm,
            answer,
            sending=client.uncounted,
            stop=asyncio.Event(),
            deadline=deadline,
        )


def question(message: str, context: str, results: Iterable[Mapping[str, Any]]) -> str:
    """The user's message: what is said, what belongs to it and what the tools of the last round gave.

    :param results: ``[{"tool", "result"}]``, JSON as the caller has sent it
    """
    parts = [message, context]
    if written := [json.dumps(one, ensure_ascii=False)[: const.LLM_RESULT_CAP] for one in results]:
        parts.append("\n".join([RESULTS, *written]))
    return "\n\n".join(filter(None, parts))
