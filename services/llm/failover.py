"""Failover: which endpoint is asked when the first one is down before its first token."""

from typing import Any

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


def next_spec(spec: LlmSpec, error: LlmError, answer: Answer) -> LlmSpec | None:
    """The endpoint to ask instead, None where this one's error is the end of it.

    :param answer: what has arrived before the error
    """
    is_silent = not (answer.begun or answer.finish_reason or answer.stopped)
    return spec.fallback if is_silent and isinstance(error, DOWN) else None


def spec_of(first: LlmSpec, llm_id: int) -> LlmSpec:
    """The endpoint with this id, or the first one where it is no longer its fallback."""
    return first.fallback if first.fallback and first.fallback.id == llm_id else first


def fault(spec: LlmSpec, error: LlmError) -> dict[str, Any]:
    """An entry of `TurnProgress.llm_faults` for the endpoint that failed.

    :param error: what was wrong with it
    """
    return {"id": spec.id, "code": error.code, "message": str(error), "detail": error.detail}
