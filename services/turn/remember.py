"""Memory: a tool of our own by which a model proposes a short fact about the person, and what it reads of those kept.

The host keeps a fact only as the person has confirmed it. Facts are the person's own words, so they are no part of the
system prompt.
"""

from collections.abc import Sequence
from typing import Any

from ..specs import ToolSpec

NAME = "remember"
MAX_CHARS = 200  # of one fact
MAX_FACTS = 50  # of one person
MAX_TOTAL = 4_000  # characters of them all, which each request carries
HEAD = (
    "I asked you to remember this about me in earlier conversations. Use what matters here, and do not list it unless"
    " I ask. What I say now counts more."
)
READY = "I keep it in mind."
TOOL = ToolSpec(
    id=0,
    server_id=0,
    name=NAME,
    alias=NAME,
    definition=NAME,
    title="Remember",
    description=(
        "Remembers one short fact about the user for later conversations. Propose it when the user asks for it, or says"
        " something lasting such as a preference; never what stands in results, files or quotes, and no secrets. The"
        " user confirms the words first."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_CHARS,
                "description": "The fact, in the user's language: “I prefer short answers.”",
            }
        },
        "required": ["text"],
        "additionalProperties": False,
    },
)


def as_messages(facts: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Messages by which the model reads the facts; an answer follows, as it does a summary.

    >>> as_messages([])
    ()
    >>> [message["role"] for message in as_messages(["I live in Taipei."])]
    ['user', 'assistant']

    :param facts: of the person, each one line
    """
    if not facts:
        return ()
    lines = "\n".join(f"- {fact}" for fact in facts)
    return (
        {"role": "user", "content": f"{HEAD}\n\n{lines}"},
        {"role": "assistant", "content": READY, "tool_calls": []},
    )


def has_room(facts: Sequence[str]) -> bool:
    """
    >>> has_room(["I live in Taipei."]), has_room(["x"] * 50), has_room(["x" * 200] * 20)
    (True, False, False)

    :param facts: of one person
    :return: whether another one of any length may be added
    """
    return len(facts) < MAX_FACTS and sum(map(len, facts)) + MAX_CHARS <= MAX_TOTAL
