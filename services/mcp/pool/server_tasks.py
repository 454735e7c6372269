"""Tasks of servers: calls whose result is fetched later, as MCP's extension of 2026-07-28 defines them.

Source: modelcontextprotocol/ext-tasks, schema 2026-07-28 (SEP-2663).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from ...errors import EngineError, ProtocolError, ServerRefused, ServerTimeout
from ...sentence import _lt
from ..session import elicitation

Ask = Callable[[str, Mapping[str, Any], float], Awaitable[dict[str, Any]]]
"""Sends a request with method, params and the seconds that it may take."""

TASK = "taskId"  # in params with which a call goes on: then it is one
MAX_ID = 1_000  # characters
POLLS = (0.2, 5.0)  # s between two looks, at least and at most
CANCEL_TIME = 5.0  # s


async def call(
    ask: Ask,
    params: Mapping[str, Any],
    more: Mapping[str, Any],
    timeout: float,
    leave: Callable[[Coroutine[Any, Any, None]], None],
) -> tuple[dict[str, Any], str]:
    """Make a call, and wait for its task where the server makes one of it.

    :param more: params of `elicitation.retry_params`
    :param timeout: seconds
    :param leave: runs what nobody waits for
    :return: result, or what the server asks; and the id of its task, empty without one
    :raises EngineError: the call failed
    """
    deadline = _now() + timeout
    if task_id := more.get(TASK, ""):
        answers = {"inputResponses": more.get("inputResponses", {})}
        await ask("tasks/update", {TASK: task_id, **answers}, timeout)
        task: Mapping[str, Any] = {}
    else:
        task = await ask("tools/call", {**params, **more}, timeout)
        if task.get("resultType") != "task":
            return dict(task), ""
        task_id = task.get(TASK)
        if not isinstance(task_id, str) or not 0 < len(task_id) <= MAX_ID:
            raise ProtocolError(_lt("The MCP server sent an invalid response."))
    try:
        while True:
            await asyncio.sleep(_pause(task))
            left = deadline - _now()
            if left <= 0:
                raise ServerTimeout
            task = await ask("tasks/get", {TASK: task_id}, left)
            if (result := _result(task)) is not None:
                return result, task_id
    except (asyncio.CancelledError, ServerTimeout):
        leave(_cancel(ask, task_id))
        raise


def _result(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """Result of a task, None as long as it works."""
    status = task.get("status")
    if status == "working":
        return None
    if status == "input_required":
        return {"resultType": elicitation.REQUIRED, "inputRequests": task.get("inputRequests")}
    if status == "completed" and isinstance(task.get("result"), dict):
        return task["result"]
    if status == "failed":
        error = task.get("error")
        error = error if isinstance(error, Mapping) else {}
        code = error.get("code")
        code = code if isinstance(code, int) and not isinstance(code, bool) else 0
        raise ServerRefused.of_rpc(code, str(error.get("message", "")), error.get("data"))
    if status == "cancelled":
        raise ServerRefused(_lt("The MCP server cancelled this call."))
    raise ProtocolError(_lt("The MCP server sent an invalid response."))


def _pause(task: Mapping[str, Any]) -> float:
    """Seconds until the next look, as the server wants it and as far as that is sensible."""
    wanted = task.get("pollIntervalMs")
    wanted = wanted / 1000 if isinstance(wanted, int | float) else 0.0
    return min(max(wanted, POLLS[0]), POLLS[1])


async def _cancel(ask: Ask, task_id: str) -> None:
    with contextlib.suppress(EngineError):
        await ask("tasks/cancel", {TASK: task_id}, CANCEL_TIME)


def _now() -> float:
    return asyncio.get_running_loop().time()
