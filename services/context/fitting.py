"""Results that fit: what a request holds of its own turn's results where all of them are more than the model takes."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import text
from . import budget

SHORT = 2_000  # characters that stay of a result of an earlier turn, or of one that answers have followed
NOTE = 40  # tokens of the words behind a cut


def shortened(message: Mapping[str, Any], chars: int = SHORT) -> Mapping[str, Any]:
    """The message of a tool with the first `chars` of its result; the model can read on in it.

    :param message: see `TurnRequest.history`
    """
    content = message["content"]
    if len(content) <= chars:
        return message
    more = text.to_read_on(message["call_id"], chars)
    return {**message, "content": f"{content[:chars]} [… cut here; {more} …]", "truncated": True}


def fitted(messages: Sequence[Mapping[str, Any]], room: int) -> list[Mapping[str, Any]]:
    """Messages in `room` tokens, as far as shorter results do it: the oldest are cut first, new ones last and least.

    :param messages: of a turn, see `TurnProgress`
    """
    fitting = list(messages)
    over = budget.tokens_of(fitting) - room
    answered = max((at for at, one in enumerate(fitting) if one["role"] == "assistant"), default=0)
    for at, message in enumerate(fitting):
        if over <= 0:
            break
        if message["role"] != "tool":
            continue
        size, chars = budget.tokens_of([message]), SHORT
        if at > answered:
            chars = max(chars, len(message["content"]) * (size - over - NOTE) // size)
        fitting[at] = shortened(message, chars)
        over -= size - budget.tokens_of([fitting[at]])
    return fitting
