"""Question: what a person sends to an assistant, on its way from the request to the row of its turn."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Question:
    """Message that an assistant is to answer.

    :param content: its text, which files and a `/compact` may come without
    :param client_token: the client's name for it, so that it is asked once however often it is sent
    :param message: `mail.message` that stands in the channel already (Discuss)
    :param attachments: `ir.attachment` records for a message that does not; those of `message` belong to it
    :param mentions: records that it names, as `{"model", "id", "name"}`; None says nothing of
        them, so that another wording keeps those of the former one
    :param prompt_server: name of the MCP server whose prompt `content` is
    :param companies: ids of companies; None: those of the environment
    :param steers: enter the answer that is being written; not with files or records, which are read when a turn begins
    :param edits: `ai_turn` whose question it words anew
    :param compacts: sum up the conversation; `content` is what the summary is to keep
    :param client_messages: what a program says went before, see `services.openai_api.question.ChatRequest`
    :param foreign_name: name of a record whose words stand in `content`
    :param is_unattended: asked by an action, so that nobody waits for the answer
    :param is_response: a program may find the answer by its id and go on from it
    :param given: ``{"alias", "arguments", "models"}`` of a call on records of these models that a program asks for; the
        turn does nothing else
    :param in_browser: asked on a page, whose person is told of the answer; programs tell nobody what they have read
    """

    content: str
    client_token: str | None = None
    message: Any = None
    attachments: Any = None
    mentions: list | None = None
    prompt_server: str | None = None
    companies: list[int] | None = None
    steers: bool = False
    edits: Any = None
    compacts: bool = False
    client_messages: list | None = None
    foreign_name: str | None = None
    is_unattended: bool = False
    in_browser: bool = False
    is_response: bool = False
    given: dict | None = None
