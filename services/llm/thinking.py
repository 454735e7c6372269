"""Thinking aloud: what a model says to itself before it answers, apart from the answer.

Providers stream it in a field of its own or as parts of the content; what runs without a reasoning parser writes
it between tags in front of the answer.
"""

from collections.abc import Mapping
from typing import Any

# `reasoning_content`: DeepSeek (https://api-docs.deepseek.com/guides/reasoning_model), llama.cpp, older vLLM;
# `reasoning`: OpenRouter (https://openrouter.ai/docs/use-cases/reasoning-tokens), Ollama, vLLM
# (https://docs.vllm.ai/en/latest/features/reasoning_outputs.html)
FIELDS = ("reasoning_content", "reasoning")
KEY = "thinking"  # of a LangChain chunk's `additional_kwargs`, and of a message of the transcript
MS = "thinking_ms"  # of a message of the transcript: how long it took
OURS = (KEY, MS)  # for the reader alone
TAGS = ("think", "thinking", "thought", "reasoning")
MAX_KEPT = 64_000  # characters of one step's thinking that are shown and kept


def of_delta(delta: Mapping[str, Any]) -> str:
    """Thinking in a piece of a stream, beside the answer's own text.

    >>> of_delta({"reasoning_content": None, "reasoning": "Hm."})
    'Hm.'
    """
    for name in FIELDS:
        if isinstance(thought := delta.get(name), str) and thought:
            return thought
    content = delta.get("content")
    return _of_parts(content) if isinstance(content, list) else ""


def _of_parts(content: list) -> str:
    """Mistral's ``{"type": "thinking", "thinking": [{"type": "text", "text": …}]}``, see
    https://docs.mistral.ai/capabilities/reasoning/"""
    thoughts = []
    for part in content:
        if isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            pieces = inner if isinstance(inner, list) else [inner]
            thoughts += [
                piece.get("text") if isinstance(piece, dict) else piece for piece in pieces
            ]
    return "".join(piece for piece in thoughts if isinstance(piece, str))


class ThinkReader:
    """Takes thinking between tags out of the beginning of an answer, however it is cut into pieces.

    >>> reader = ThinkReader()
    >>> [reader.feed(piece) for piece in ("<th", "ink>Hm", "m.</thi", "nk>", "\\n\\nYes, <think>")]
    [('', ''), ('Hm', ''), ('m.', ''), ('', ''), ('', 'Yes, <think>')]
    """

    def __init__(self) -> None:
        self._held = ""
        self._tag = ""
        self._is_answer = False
        self._has_thought = False

    def feed(self, content: str) -> tuple[str, str]:
        """:return: thinking and answer in this piece"""
        if self._is_answer:
            return "", content
        self._held += content
        thought = self._thought() if self._tag else ""
        if self._tag:
            return thought, ""
        begun, self._tag = self._opened()
        if self._tag:
            self._held, self._has_thought = begun, True
            inner, answer = self.feed("")
            return thought + inner, answer
        return thought, self._answer(begun)

    def close(self) -> tuple[str, str]:
        """Nothing more comes."""
        held, self._held = self._held, ""
        return (held, "") if self._tag else ("", held)

    def _thought(self) -> str:
        """Up to the closing tag; what may become one is held back."""
        end = f"</{self._tag}>"
        thought, found, rest = self._held.partition(end)
        if found:
            self._held, self._tag = rest, ""
            return thought
        overlap = next(n for n in range(len(end) - 1, -1, -1) if thought.endswith(end[:n]))
        self._held = thought[len(thought) - overlap :]
        return thought[: len(thought) - overlap]

    def _opened(self) -> tuple[str, str]:
        """:return: what follows the opening tag and its name, or what is held and no name"""
        held = self._held.lstrip()
        for tag in TAGS:
            if held.startswith(f"<{tag}>"):
                return held[len(tag) + 2 :], tag
        return held, ""

    def _answer(self, held: str) -> str:
        """The answer, once it is certain that no tag is coming."""
        if any(f"<{tag}>".startswith(held) for tag in TAGS):
            return ""
        self._is_answer = True
        answer = held if self._has_thought else self._held
        self._held = ""
        return answer
