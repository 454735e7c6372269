"""Context budget: what of a conversation fits a request, in estimated tokens, corrected by what was reported."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from .. import text
from ..toolset import definition

DEFAULT_LENGTH = 32_768  # tokens that a model takes of which nobody knows better
MAX_LENGTH = 262_144  # tokens that are used of longer ones: each is paid and waited for again in each request
ANSWER = 4_096  # tokens that are kept free for an answer whose length nobody has limited
LEAST_SHARE = 4  # the messages get this part at least, whatever else there is
FULL = 0.8  # of the budget: earlier turns are summed up before there is more
LOW = 0.5  # of the budget: what is left then, so that it need not be done again at once
MOST_TURNS = 200  # are shown whole, however short they are: each of them is read for each turn
RATIOS = (
    0.5,
    2.0,
)  # reported tokens for an estimated one; what is beyond is another thing than these messages
PICTURE = 1_000  # tokens
MESSAGE = 4  # tokens around one
SHORTEST = 400  # characters that stay of a message however little room there is
MAX_PAUSE = 16  # turns between two attempts, where summing up fails again and again


def tokens_of(messages: Iterable[Mapping[str, Any]]) -> int:
    """About how many tokens these messages (see `TurnRequest.history`) are.

    >>> tokens_of([{"role": "user", "content": "Hello there!"}])
    7
    """
    return sum(map(_tokens, messages))


def _tokens(message: Mapping[str, Any]) -> int:
    calls = [[call["alias"], call.get("arguments")] for call in message.get("tool_calls") or ()]
    return (
        MESSAGE
        + text.tokens(message.get("content") or "")
        + (text.tokens(json.dumps(calls, ensure_ascii=False)) if calls else 0)
        + PICTURE * len(message.get("pictures") or ())
    )


def tokens_of_rest(system_prompt: str, functions: Iterable[Mapping[str, Any]]) -> int:
    """About how many tokens of a request are no messages.

    :param functions: definitions of tools as OpenAI's API takes them
    """
    return text.tokens(system_prompt) + sum(map(definition.tokens, functions))


def cut(message: Mapping[str, Any], room: int) -> dict[str, Any]:
    """The same message in about `room` tokens: what it begins and ends with, where it is longer.

    >>> tokens_of([cut({"role": "user", "content": "word " * 9_000}, 500)]) <= 500
    True
    """
    whole = content = message["content"]
    while (held := tokens_of([{**message, "content": content}])) > room and len(content) > SHORTEST:
        content = text.cap(whole, max(SHORTEST, len(content) * max(room, 0) * 9 // held // 10))
    return {**message, "content": content}


def ratio(estimated: int, reported: int, former: float = 1.0) -> float:
    """Tokens that the provider counts for one that was estimated.

    :param former: what is known where it has reported nothing

    >>> ratio(1000, 1300), ratio(1000, 10), ratio(1000, 0, 1.2)
    (1.3, 0.5, 1.2)
    """
    if not estimated or not reported:
        return former
    least, most = RATIOS
    return round(min(max(reported / estimated, least), most), 3)


def length(known: int) -> int:
    """Tokens of a request that are used.

    :param known: the model's context in tokens, 0 if it is not known

    >>> length(0), length(8192), length(1_000_000)
    (32768, 8192, 262144)
    """
    return min(known or DEFAULT_LENGTH, MAX_LENGTH)


def for_messages(length: int, rest: int, answer: int = 0) -> int:
    """Tokens that all messages of a request may have.

    :param rest: tokens of prompt and definitions
    :param answer: the most that an answer may have, 0 if nobody has limited it

    >>> for_messages(32_768, 5_000), for_messages(8_192, 8_000, 8_000)
    (23672, 2048)
    """
    reserve = min(answer or ANSWER, length // LEAST_SHARE)
    return max(length - reserve - rest, length // LEAST_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Plan of a request: how many of the latest turns are shown whole, and how many of the oldest compacted."""

    shown: int
    summed_up: int = 0


def plan(sizes: Sequence[int], around: int, room: int, summary: int, *, at_once=False) -> Plan:
    """Plan the turns since the last summary. As long as they fit, nothing changes: what a request begins
    with stays the same, so that the provider finds it in its cache.

    :param sizes: tokens of each turn, oldest first; of the latest `MOST_TURNS` at most
    :param around: tokens of the former summary and of the question
    :param room: tokens of all messages
    :param summary: tokens that a new summary may have
    :param at_once: all of them are to be summed up, whether they fit or not

    >>> plan([100] * 10, 50, 2_000, 100)
    Plan(shown=10, summed_up=0)
    >>> plan([100] * 16, 50, 2_000, 100)
    Plan(shown=16, summed_up=8)
    >>> plan([100] * 30, 50, 2_000, 100)
    Plan(shown=19, summed_up=22)
    >>> plan([100] * 3, 50, 2_000, 100, at_once=True)
    Plan(shown=3, summed_up=3)
    """
    shown = _latest(sizes, room - around)
    if at_once:
        return Plan(shown=shown, summed_up=len(sizes))
    if len(sizes) < MOST_TURNS and sum(sizes) + around <= room * FULL:
        return Plan(shown=shown)
    kept = _latest(sizes, int(room * LOW) - around - summary)
    return Plan(shown=shown, summed_up=len(sizes) - min(kept, MOST_TURNS // 2))


def _latest(sizes: Sequence[int], room: int) -> int:
    """Number of the last ones that fit."""
    return sum(total <= room for total in accumulate(reversed(sizes)))


def is_paused(failures: int, turns: int) -> bool:
    """True while compaction is not tried again yet.

    :param failures: attempts in a row that have failed
    :param turns: that have gone by since the last one

    >>> [is_paused(1, 1), is_paused(1, 2), is_paused(9, 15), is_paused(9, 16), is_paused(0, 0)]
    [True, False, True, False, False]
    """
    return bool(failures) and turns < min(2**failures, MAX_PAUSE)
