"""Failover: which endpoint is asked when the first one is down before its first token."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..errors import (
    LlmAuthFailed,
    LlmError,
    LlmModelNotFound,
    LlmNoApi,
    LlmProtocolError,
    LlmRateLimited,
    LlmTimeout,
    LlmUnavailable,
)
from ..specs import LlmSpec
from .answer import Answer

DOWN = (
    LlmAuthFailed,
    LlmModelNotFound,
    LlmNoApi,
    LlmProtocolError,
    LlmRateLimited,
    LlmTimeout,
    LlmUnavailable,
)
"""What another endpoint may do better. What it rejects, or finds too long, is so for others, too."""


_T = TypeVar("_T")


async def ask(
    spec: LlmSpec,
    once: Callable[[LlmSpec], Awaitable[_T]],
    *,
    received: Callable[[], Answer],
    is_over: Callable[[], bool],
    on_fault: Callable[[LlmSpec, LlmError, LlmSpec | None], Awaitable[None]],
) -> _T:
    """Result of `once`, called with this endpoint, and with its fallback where it is down before its first token.

    :param received: gives what has arrived of the answer
    :param is_over: True if no other endpoint is to be asked any more
    :param on_fault: told of each endpoint that failed, of its error, and of the one that is asked next
    :raises LlmError: of the last endpoint
    """
    while True:
        try:
            return await once(spec)
        except LlmError as error:
            instead = None if is_over() else next_spec(spec, error, received())
            await on_fault(spec, error, instead)
            if instead is None:
                raise
            spec = instead


def next_spec(spec: LlmSpec, error: LlmError, answer: Answer) -> LlmSpec | None:
    """The endpoint to ask instead, None where this one's error is the end of it.

    :param answer: what has arrived before the error
    """
    is_silent = not (answer.begun or answer.finish_reason or answer.stopped)
    return spec.fallback if is_silent and isinstance(error, DOWN) else None


def saving_spec(spec: LlmSpec, *, is_saving: bool) -> LlmSpec:
    """The endpoint to ask first: the fallback where a budget is nearly used up.

    :param is_saving: see `services.specs.Spending`
    """
    return spec.fallback if is_saving and spec.fallback else spec


def spec_of(first: LlmSpec, llm_id: int) -> LlmSpec:
    """The endpoint with this id, or the first one where it is no longer its fallback."""
    return first.fallback if first.fallback and first.fallback.id == llm_id else first


def fault(spec: LlmSpec, error: LlmError) -> dict[str, Any]:
    """An entry of `TurnProgress.llm_faults` for the endpoint that failed.

    :param error: what was wrong with it
    """
    return {"id": spec.id, "code": error.code, "message": str(error), "detail": error.detail}
