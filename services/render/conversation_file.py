"""A conversation as a file: its data, and the same as Markdown."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from .. import text

FORMAT = "woow_ai.conversation/1"
RESULT_CHARS = 2_000  # of one result or its arguments in Markdown; the data have all that is kept
LINE_CHARS = 300  # of a name in Markdown

_TICKS = re.compile(r"`+")


class Words(NamedTuple):
    """Words of the file in its reader's language.

    :ivar outcomes: name of each outcome of a call
    """

    left_out: str
    attached: str
    tool: str
    outcomes: dict[str, str]


def markdown(exported: dict, words: Words) -> str:
    """The text of an export; results of tools are shortened and stand in fences that nothing in them closes.

    :param exported: data in `FORMAT`
    """
    return "\n\n".join(said for said, _message in sections(exported, words)) + "\n"


def sections(exported: dict, words: Words) -> Iterator[tuple[str, dict | None]]:
    """The same in sections: its head, and each message, beside the message itself."""
    about = [exported["assistant"], exported["cloud_service"]]
    about += [(exported["record"] or {}).get("name"), exported["exported_at"]]
    parts = [f"# {_line(exported['name'])}", " · ".join(_line(part) for part in about if part)]
    if exported["incomplete"]:
        parts.append(f"> {words.left_out}")
    yield "\n\n".join(parts), None
    for message in exported["messages"]:
        heading = f"## {_line(message['author'])} · {message['date']}"
        yield "\n\n".join([heading, *_of_message(message, words)]), message


def _of_message(message: dict, words: Words) -> Iterator[str]:
    calls = {call["id"]: call for call in message.get("calls", ())}
    for part in message.get("parts") or [{"type": "text_block", "text": message["text"]}]:
        said = part["text"].strip() if part["type"] in ("text_block", "steered") else ""
        if said:
            yield quoted(said) if part["type"] == "steered" else said
        elif part["type"] == "tool_call" and part["id"] in calls:
            yield from _of_call(calls[part["id"]], words)
        elif part["type"] == "notice" and part.get("message"):
            yield f"> {_line(part['message'])}"
    if message.get("error"):
        yield f"> {_line(message['error']['message'])}"
    yield from _attached([*message["files"], *_names(message["records"])], words)


def _of_call(call: dict, words: Words) -> Iterator[str]:
    name = f"{call['server']}.{call['tool']}" if call["server"] else call["tool"]
    outcome = words.outcomes.get(call["outcome"] or "unknown", "")
    yield f"**{words.tool}** {_code(_line(name))} · {outcome}"
    yield _fenced(call["arguments"], "json")
    if call["result"]:
        yield _fenced(call["result"])
    for question in call["questions"]:
        yield f"> {_line(question['message'])}"
    yield from _attached(call["files"], words)


def _attached(names: list[str], words: Words) -> Iterator[str]:
    if names:
        yield f"{words.attached}: {', '.join(map(_line, names))}"


def message_data(message: dict) -> dict:
    """One message of an export, of one that the chat shows; see docs/api.md."""
    exported = {
        "role": message["role"],
        "author": message["author"]["name"],
        "date": message["date"],
        "text": message["text"],
        "files": _names(message["attachments"]),
        "records": [
            {key: record[key] for key in ("model", "id", "name")}
            for record in message.get("records", ())
        ],
    }
    if turn := message["turn"]:
        exported |= {
            "state": turn["state"],
            "error": turn["error"],
            "rating": turn["rating"],
            "parts": [
                {key: value for key, value in part.items() if key != "html"}
                for part in turn["timeline"]
            ],
            "calls": [_exported_call(call) for call in turn["tool_calls"]],
        }
    return exported


def with_files(message: dict) -> dict:
    """The same as `message_data`, with the ids of its files, and of its calls' files, in ``attachments``."""
    calls = (message["turn"] or {}).get("tool_calls", ())
    files = [*message["attachments"], *(file for call in calls for file in call["attachments"])]
    return {**message_data(message), "attachments": [file["id"] for file in files]}


def text_of_message(message: dict) -> str:
    """The words of one message, as Markdown of an answer and plain text of a question; nothing of calls and files."""
    timeline = (message["turn"] or {}).get("timeline", ())
    if not timeline:
        return message["text"].strip()
    said = []
    for part in timeline:
        if part["type"] == "text_block":
            said.append(part["text"].strip())
        elif part["type"] == "steered":
            said.append(quoted(part["text"].strip()))
    return "\n\n".join(filter(None, said))


def quoted(said: str) -> str:
    """
    >>> quoted("One\\n\\ntwo")
    '> One\\n> \\n> two'
    """
    return "> " + said.replace("\n", "\n> ")


def _exported_call(call: dict) -> dict:
    return {
        "id": call["id"],
        "tool": call["tool"],
        "title": call["title"],
        "server": call["server"],
        "arguments": call["args"],
        "result": call.get("result"),
        "outcome": call["outcome"],
        "duration_ms": call["duration_ms"],
        "approval": call.get("approval"),
        "questions": call.get("questions", []),
        "files": _names(call["attachments"]),
    }


def _names(things: list[dict]) -> list[str]:
    return [thing["name"] or "" for thing in things]


def _line(said: object) -> str:
    return text.one_line(str(said or ""), LINE_CHARS)


def _longest_ticks(said: str) -> int:
    return max(map(len, _TICKS.findall(said)), default=0)


def _code(said: str) -> str:
    """
    >>> _code("a.b"), _code("a`b")
    ('`a.b`', '`` a`b ``')
    """
    ticks = "`" * (_longest_ticks(said) + 1)
    return f"{ticks}{said}{ticks}" if ticks == "`" else f"{ticks} {said} {ticks}"


def _fenced(said: object, language: str = "") -> str:
    said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    said = text.cap(said, RESULT_CHARS)
    fence = "`" * max(3, _longest_ticks(said) + 1)
    return f"{fence}{language}\n{said}\n{fence}"
