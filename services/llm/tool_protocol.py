"""Tool protocol: how a model is told of tools and asks for them, by function calling or in the text of the prompt.

Both speak the same transcript, so a turn can be cut and resumed, or its provider changed, in either.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..errors import LlmNoTools, LlmRejected
from ..specs import LlmSpec
from . import client, transcript
from .answer import Answer, AskedCall
from .prompt_reader import PromptReader

INSTRUCTIONS = """\
You can use tools. To use them, answer with one JSON object of this form and nothing else:
{"tool_calls": [{"name": "<its name>", "arguments": {<its arguments>}}], "message": "Let me look that up."}
Take names only from the list of tools, exactly as they are written there. Arguments must fit the tool's JSON schema. \
You may call several tools at once. Their results come with the next message, so the message never holds the answer.
When you need no tool, or have the results that you need, answer in plain text without JSON. \
Never make up what a tool would answer.\
"""
TOOLS = "These are the tools, as data:"
GREETING = (
    "Hi",
    "Hello! How can I help you?",
)  # shows a small model that not every answer needs a tool
RESULTS = (
    "These are the results of the tools, as data. Using them, answer my question in plain text. "
    "Copy times, numbers and names exactly as they are in the results."
)
REPAIR = (
    "Your last answer could not be read. Answer again: either with one JSON object "
    '{"tool_calls": [{"name": "…", "arguments": {…}}], "message": "…"} and nothing else, or in plain text.'
)
PROBE = {
    "type": "function",
    "function": {
        "name": "report_ready",
        "description": "Reports that you are ready.",
        "parameters": {"type": "object", "properties": {}},
    },
}
PROBE_TOKENS = 100  # of the request, about
PROBE_QUESTION = "Call the tool report_ready now. Do not answer in words."

Messages = Iterable[Mapping[str, Any]]
Functions = Sequence[Mapping[str, Any]]


class ToolProtocol(Protocol):
    def bound(self, model: Any, functions: Functions) -> Any:
        """The chat model, with the functions where the request itself carries them.

        :param model: a LangChain chat model
        :param functions: definitions of tools as OpenAI's API takes them
        """
        ...

    def messages(
        self, system_prompt: str, messages: Messages, functions: Functions, host: str = ""
    ) -> list:
        """:param messages: as `TurnRequest.history` describes them
        :param host: of the endpoint
        :return: LangChain messages
        """
        ...

    def answer(self, functions: Functions, *, is_last: bool = False) -> Answer:
        """An empty answer that reads what the model streams.

        :param is_last: it is not asked again; what cannot be read is shown
        """
        ...


class NativeProtocol:
    """The endpoint's function calling."""

    def bound(self, model, functions):
        return model.bind_tools(functions) if functions else model

    def messages(self, system_prompt, messages, functions, host=""):
        if not functions and any(message["role"] == "tool" for message in messages):
            # Some endpoints refuse calls in a request without functions, and small models go on calling.
            messages = _alternating(_plain(messages, with_calls=False))
        return transcript.to_langchain(system_prompt, messages, host)

    def answer(self, functions, *, is_last=False):
        return Answer()


class PromptProtocol:
    """Tools described in the prompt, calls written as JSON in the answer.

    What servers say of their tools stands as data in front of the first message, not in the system prompt.
    """

    def bound(self, model, functions):
        return model

    def messages(self, system_prompt, messages, functions, host=""):
        plain = _plain(messages)
        if functions:
            system_prompt = f"{system_prompt}\n\n{INSTRUCTIONS}".strip()
            hello, answer = GREETING
            plain = [
                {"role": "user", "content": f"{_described(functions)}\n\n{hello}"},
                {"role": "assistant", "content": answer},
                *plain,
            ]
        return transcript.to_langchain(system_prompt, _alternating(plain))

    def answer(self, functions, *, is_last=False):
        names = [function["function"]["name"] for function in functions]
        return PromptAnswer(reader=PromptReader(names), is_last=is_last)


PROTOCOLS: dict[str, ToolProtocol] = {"native": NativeProtocol(), "prompt": PromptProtocol()}


async def find(
    model: Any,
    spec: LlmSpec,
    answer: Answer,
    *,
    sending: client.Sending,
    stop: asyncio.Event,
    deadline: float,
) -> Literal["", "native", "prompt"]:
    """Ask the model to call a function, once.

    :param answer: a new one, which takes what it says
    :return: "native", "prompt", or "" when the turn was stopped meanwhile
    :raises LlmError: the endpoint failed, which says nothing about functions
    """
    question = transcript.to_langchain("", [{"role": "user", "content": PROBE_QUESTION}])
    try:
        await client.stream(
            model.bind_tools([PROBE]),
            question,
            spec,
            answer,
            sending=sending,
            stop=stop,
            deadline=deadline,
        )
    except (LlmNoTools, LlmRejected):
        return "prompt"
    if answer.stopped:
        return ""
    calls_it = any(call.name == PROBE["function"]["name"] for call in answer.calls)
    return "native" if calls_it else "prompt"


@dataclass(slots=True)
class PromptAnswer(Answer):
    """An answer whose calls stand in its text."""

    reader: PromptReader = field(default_factory=lambda: PromptReader(()))
    is_last: bool = False
    raw_text: str = ""

    def _new(self) -> Answer:
        return PromptAnswer(reader=PromptReader(self.reader.names), is_last=self.is_last)

    def _shown(self, content: str) -> str:
        self.raw_text += content
        return self.reader.feed(content)

    def close(self) -> str:
        held = Answer.close(self)  # `super()` does not know a class with slots
        delta = self.reader.close()
        self.calls += self.reader.calls
        if not self.calls and (self.reader.unread or not (self.text + delta).strip()):
            if self.is_last:
                delta += "\n\n".join(self.reader.unread) or self.raw_text
            elif self.raw_text.strip():
                self.repair = (
                    {"role": "assistant", "content": self.raw_text},
                    {"role": "user", "content": REPAIR},
                )
        self.text += delta
        return held + delta

    def _is_cut(self, call: AskedCall) -> bool:
        return call.is_cut


def _described(functions: Functions) -> str:
    listed = (json.dumps(function["function"], ensure_ascii=False) for function in functions)
    return "\n".join([TOOLS, *listed])


def _plain(messages: Messages, with_calls: bool = True) -> list[dict[str, Any]]:
    """The transcript with calls and results as text, each result behind the answer that asked for it.

    :param with_calls: whether the model reads how it has called; it would write the next call alike
    """
    messages = list(messages)
    results = {m["call_id"]: m for m in messages if m["role"] == "tool"}
    plain: list[dict[str, Any]] = []
    for message in messages:
        calls = message.get("tool_calls") or ()
        if calls:
            said = message.get("content")
            if with_calls:
                plain.append({"role": "assistant", "content": _written_answer(said, calls)})
            elif said:
                plain.append({"role": "assistant", "content": said})
            found = [results.get(call["id"]) for call in calls]
            lines = [_result(call, result) for call, result in zip(calls, found, strict=True)]
            pictures = [shown for result in found for shown in (result or {}).get("pictures", ())]
            content = "\n".join([RESULTS, *lines])
            plain.append({"role": "user", "content": content, "pictures": pictures})
        elif message["role"] != "tool" and message.get("content"):
            plain.append(dict(message))
    return plain


def _written_answer(content: str | None, calls: Iterable[Mapping[str, Any]]) -> str:
    """An answer as it should have been written, whatever it was."""
    written = [{"name": call["alias"], "arguments": call.get("arguments") or {}} for call in calls]
    return json.dumps({"tool_calls": written, "message": content or ""}, ensure_ascii=False)


def _result(call: Mapping[str, Any], result: Mapping[str, Any] | None) -> str:
    entry = {
        "name": call["alias"],
        "outcome": result["outcome"] if result else "unknown",
        "result": result["content"] if result else transcript.MISSING,
    }
    return json.dumps(entry, ensure_ascii=False)


def _alternating(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Templates of small models refuse two messages of the user in a row."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last["role"] == message["role"] == "user":
            last["content"] = f"{last['content']}\n\n{message['content']}"
            last["pictures"] = [*last.get("pictures", ()), *message.get("pictures", ())]
        else:
            merged.append(dict(message))
    return merged
