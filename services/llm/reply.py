"""Single completion: one answer of a model to a program that calls the tools by itself (document 001)."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .. import const
from ..money.counting import Account
from ..specs import LlmSpec, TurnRequest
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
    account: Account,
) -> Answer:
    """Ask once, with the tools described in the prompt; `said` of the answer is the model's own text.

    :param timeout: seconds
    :param faults: gets a `failover.fault` of each endpoint that failed
    :param account: counts what is sent
    :raises LlmError: the last endpoint failed
    """
    deadline = time.monotonic() + timeout
    answer = PROTOCOLS["prompt"].answer(functions, is_last=True)

    async def once(llm):
        answer.renew()
        messages = PROTOCOLS["prompt"].messages(
            request.system_prompt, _visible(request.history, llm), functions
        )
        sending = account.sending(
            llm,
            transcript.tokens_of(messages),
            answer,
            is_fallback=llm.id != request.llm.id,
        )
        async with client.open_model(llm, connections) as model:
            await client.stream(
                model,
                messages,
                llm,
                answer,
                sending=sending,
                stop=asyncio.Event(),
                deadline=deadline,
            )

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


def _visible(messages, llm: LlmSpec):
    return messages if llm.supports_vision else transcript.without_pictures(messages)


def question(message: str, context: str, results: Iterable[Mapping[str, Any]]) -> str:
    """The user's message: what is said, what belongs to it and what the tools of the last round gave.

    :param results: ``[{"tool", "result"}]``, JSON as the caller has sent it
    """
    parts = [message, context]
    if written := [json.dumps(one, ensure_ascii=False)[: const.LLM_RESULT_CAP] for one in results]:
        parts.append("\n".join([RESULTS, *written]))
    return "\n\n".join(filter(None, parts))
