"""Event schema of a turn's log: one function for each type, whoever writes it and whenever it is written again.

An event is a JSON object with its `type`; docs/api.md is the contract for those who read the stream. Moments are
ISO 8601 with a final "Z".
"""

from collections.abc import Mapping, Sequence
from typing import Any

Event = dict[str, Any]


def state(name: str, step: int | None = None) -> Event:
    """Event of a changed state of the turn.

    :param step: "running" with a step withdraws what that step has said
    """
    return {"type": "state", "state": name, **({} if step is None else {"step": step})}


def turn_started(
    turn_id: int, *, assistant: str, tools: int, servers: Sequence[Mapping[str, str]]
) -> Event:
    """:param servers: ``[{"name", "state"}]``"""
    return {
        "type": "turn_started",
        "turn_id": turn_id,
        "assistant": assistant,
        "tools": tools,
        "servers": list(servers),
    }


def text(content: str, step: int) -> Event:
    """A piece of the answer as the model writes it: Markdown, not yet a block.

    :param step: number of the model's answer in the turn, from 0
    """
    return {"type": "text", "content": content, "step": step}


def thinking(content: str, step: int, ms: int = 0) -> Event:
    """A piece of what the model thinks aloud before it answers, as plain text.

    :param ms: how long the thinking of this step has gone on
    """
    return {"type": "thinking", "content": content, "step": step, "ms": ms}


def text_block(index: int, html: str, step: int) -> Event:
    """A block of the answer that is complete, as HTML without anything that runs.

    :param index: of the block in the turn, from 0
    :param step: number of the model's answer in the turn, from 0
    """
    return {"type": "text_block", "index": index, "html": html, "step": step}


def notice(code: str, message: str) -> Event:
    """A remark about the turn between its answers; `code` is for programs, `message` for people."""
    return {"type": "notice", "code": code, "message": message}


def conversation_summary(
    content: str,
    *,
    html: str,
    until: int,
    messages: int,
    tokens_before: int,
    tokens_after: int,
    model: str,
) -> Event:
    """The model has summed up the earlier part of the conversation, which it is not shown any more.

    :param content: Markdown, as the model reads it
    :param html: the same as people read it, without anything that runs
    :param until: the last turn that was summed up
    :param messages: how many messages were summed up now, whatever a former summary stands for
    """
    return {
        "type": "conversation_summary",
        "content": content,
        "html": html,
        "until": until,
        "messages": messages,
        "tokens_before": tokens_before,
        "tokens_after": tokens_after,
        "model": model,
    }


def steered(turn_id: int, content: str, message_id: int | None = None) -> Event:
    """Event of a message that has entered the running turn.

    :param turn_id: the turn that the message would have started
    """
    return {
        "type": "steered",
        "turn_id": turn_id,
        "content": content,
        **({} if message_id is None else {"message_id": message_id}),
    }


def tool_call(
    call_id: str,
    *,
    tool: str,
    title: str,
    server: str,
    arguments: Mapping[str, Any],
    fixed: Sequence[str],
    round_: int,
    max_rounds: int,
    records: str = "",
) -> Event:
    """:param fixed: names of arguments that the record filled in
    :param records: ``read`` or ``write`` of a call on the host's own records; no server can say so
    """
    return {
        "type": "tool_call",
        "id": call_id,
        "tool": tool,
        "args": arguments,
        "server": server,
        "title": title,
        "round": round_,
        "max_rounds": max_rounds,
        **({"fixed": list(fixed)} if fixed else {}),
        **({"records": records} if records else {}),
    }


def tool_progress(call_id: str, progress: float, total: float | None, message: str) -> Event:
    """Progress of a call, in the server's own unit.

    :param total: None where the server does not say
    """
    return {
        "type": "tool_progress",
        "id": call_id,
        "progress": progress,
        "total": total,
        "message": message,
    }


def tool_result(
    call_id: str,
    *,
    tool: str,
    result: Any,
    outcome: str,
    is_error: bool,
    duration_ms: int,
    truncated: bool,
    attachments: Sequence[Mapping[str, Any]] = (),
    arguments: Mapping[str, Any] | None = None,
) -> Event:
    """:param result: what people read: text, or JSON of a structured result
    :param attachments: files of the call, ``[{"id", "name", "mimetype", "url"}]``
    :param arguments: those that a person has changed
    """
    return {
        "type": "tool_result",
        "id": call_id,
        "tool": tool,
        "result": result,
        "is_error": is_error,
        "outcome": outcome,
        "duration_ms": duration_ms,
        "truncated": truncated,
        "attachments": list(attachments),
        **({} if arguments is None else {"args": arguments}),
    }


def result_of(call_id: str) -> Event:
    """The place of a `tool_result` in the log: the store writes there what it has kept of the result."""
    return {"type": "tool_result", "id": call_id}


def approval_required(
    call_id: str,
    *,
    tool: str,
    title: str,
    server: str,
    arguments: Mapping[str, Any],
    fixed: Sequence[str],
    schema: Mapping[str, Any],
    choices: Sequence[str],
    reason: str,
    description: str,
    is_destructive: bool,
    expires_at: str | None,
    manage_path: str | None = None,
    rehearsal: Mapping[str, Any] | None = None,
    review_hash: str = "",
    foreign_values: Sequence[str] = (),
) -> Event:
    """A call waits for a person.

    :param schema: JSON Schema of the arguments, for the form that changes them
    :param choices: decisions that are possible
    :param rehearsal: what the call would change in the host's own records
    :param review_hash: of what the question shows; empty where that cannot change
    :param foreign_values: values of the arguments that stand in what strangers may have written
    :param description: what the server says that the tool does
    :param manage_path: the page on which this very person changes what is asked, None for who may not
    """
    return {
        "type": "approval_required",
        "id": call_id,
        "tool": tool,
        "server": server,
        "title": title,
        "args": arguments,
        "fixed": list(fixed),
        "schema": schema,
        "choices": list(choices),
        "reason": reason,
        "description": description,
        "destructive": is_destructive,
        "expires_at": expires_at,
        "manage_path": manage_path,
        "foreign_values": list(foreign_values),
        **({} if rehearsal is None else {"rehearsal": rehearsal, "review_hash": review_hash}),
    }


def confirm_required(
    round_: int, *, max_rounds: int, choices: Sequence[str], expires_at: str | None
) -> Event:
    """The turn waits before another round of calls.

    :param round_: the one to be confirmed, from 1
    :param max_rounds: that the turn may have
    :param choices: decisions that are possible
    :param expires_at: moment in ISO 8601
    """
    return {
        "type": "confirm_required",
        "id": round_id(round_),
        "round": round_,
        "max_rounds": max_rounds,
        "choices": list(choices),
        "expires_at": expires_at,
    }


def round_confirmed(round_: int, *, decision: str, by: str) -> Event:
    """Event of a decided round for the history: question and decision in one.

    :param round_: the one that was to be confirmed, from 1
    :param by: name of the person
    """
    return {
        "type": "confirm_required",
        "id": round_id(round_),
        "round": round_,
        "decision": decision,
        "by": by,
    }


def round_id(round_: int) -> str:
    """Id under which a round is confirmed, `round_` from 1."""
    return f"round-{round_}"


def input_required(
    question_id: str,
    *,
    call_id: str,
    kind: str,
    tool: str,
    title: str,
    server: str,
    message: str,
    schema: Mapping[str, Any],
    url: str,
    host: str,
    choices: Sequence[str],
    expires_at: str | None,
) -> Event:
    """A server asks the person something in the middle of a call.

    :param kind: form, url or sign_in
    """
    return {
        "type": "input_required",
        "id": question_id,
        "call_id": call_id,
        "kind": kind,
        "tool": tool,
        "server": server,
        "title": title,
        "message": message,
        "schema": schema,
        "url": url,
        "host": host,
        "choices": list(choices),
        "expires_at": expires_at,
    }


def decided(
    id_: str,
    decision: str,
    *,
    by: str,
    reason: str | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Event:
    """A call, a round or a question was decided.

    :param by: the person's name, empty if nobody decided in time
    :param reason: of a call only
    :param arguments: those that the person has changed
    """
    return {
        "type": "decided",
        "id": id_,
        "decision": decision,
        "by": by,
        **({} if reason is None else {"reason": reason}),
        **({} if arguments is None else {"args": arguments}),
    }


def usage(tokens: Mapping[str, Any]) -> Event:
    """Tokens, milliseconds and counts of the turn.

    :param tokens: ``{"input_tokens", "output_tokens", "duration_ms", "rounds", "tool_calls"}``, with ``"context"`` if
        that was measured
    """
    return {"type": "usage", **tokens}


def done(name: str, message_id: int | None) -> Event:
    """The last event of a turn that is done or stopped.

    :param name: the state
    """
    return {"type": "done", "message_id": message_id, "state": name}


def error(code: str, message: str, message_id: int | None) -> Event:
    """The last event of a turn that failed."""
    return {"type": "error", "code": code, "message": message, "message_id": message_id}
