"""Tasks: calls whose clients come back for the result, as MCP's extension of 2026-07-28 defines them.

Source: modelcontextprotocol/ext-tasks, schema 2026-07-28 (SEP-2663).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from .. import const, jsonrpc
from . import envelope
from .messages import Message, RpcError, lacks_capability

EXTENSION = const.TASKS
POLL = 1_000  # ms between two looks of a client
MAX_ID = 100  # characters

OVER = ("completed", "failed", "cancelled")

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """State of a task.

    :ivar created_at: ISO 8601, as `updated_at`
    :ivar ttl: ms after `created_at` in which the task is known
    :ivar message: for people, empty without one
    :ivar requests: open questions by their keys, see `questions.Asked`
    :ivar result: ``CallToolResult`` of a completed task
    :ivar error: of JSON-RPC, of a failed task
    """

    id: str
    status: Status
    created_at: str
    updated_at: str
    ttl: int
    message: str = ""
    requests: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None

    def created(self) -> dict[str, Any]:
        """``CreateTaskResult``, in place of the result of a call."""
        return {"resultType": "task", **self._base()}

    def detailed(self) -> dict[str, Any]:
        """``DetailedTask``: only what its status has."""
        shown = self._base()
        if self.status == "input_required":
            shown["inputRequests"] = dict(self.requests or {})
        elif self.status == "completed":
            shown["result"] = {"resultType": "complete", **(self.result or {})}
        elif self.status == "failed":
            shown["error"] = dict(self.error or {})
        return shown

    def _base(self) -> dict[str, Any]:
        said = {"statusMessage": self.message} if self.message else {}
        return {
            "taskId": self.id,
            "status": self.status,
            **said,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.updated_at,
            "ttlMs": self.ttl,
            "pollIntervalMs": POLL,
        }


def takes(message: Message) -> bool:
    """True if the client of this modern request takes a task in place of a result."""
    extensions = envelope.capabilities(message).get("extensions")
    return isinstance(extensions, Mapping) and isinstance(extensions.get(EXTENSION), Mapping)


def check_taken(message: Message) -> None:
    """:raises RpcError: the client has not declared the extension"""
    if not takes(message):
        needed = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise lacks_capability(f"The client has to declare the extension {EXTENSION}.", needed)


def id_of(message: Message) -> str:
    """Task that a request is about, not checked.

    :raises RpcError: the client has not declared the extension, or names none
    """
    check_taken(message)
    found = message.params.get("taskId")
    if not is_id(found):
        raise unknown()
    return found


def is_id(found: Any) -> TypeGuard[str]:
    """True of what may be the id of a task.

    >>> is_id("c1f0-ab"), is_id("a\\x00"), is_id(7)
    (True, False, False)
    """
    return isinstance(found, str) and 0 < len(found) <= MAX_ID and found.isprintable()


def unknown() -> RpcError:
    """Refusal of a task that is not there, of somebody else, or of another client."""
    return RpcError(jsonrpc.INVALID_PARAMS, "There is no such task, or it has expired.")
