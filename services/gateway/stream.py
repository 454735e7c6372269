"""Streams of messages: progress of a call and its response, or changes of what a client has listed.

Sources: MCP 2025-11-25, basic/transports and basic/utilities/progress; 2026-07-28, basic/transports/streamable-http and
basic/patterns/subscriptions.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import const, jsonrpc
from ..mcp.session import logs
from ..mcp.session.elicitation import ElicitRequest
from . import envelope, questions, tasks
from .envelope import Era, Headers
from .messages import Message, RpcError, request_id
from .sessions import Session
from .tasks import Task

TYPE = "text/event-stream"
KEEPALIVE = b": keep-alive\n\n"
LOG_LEVEL = f"{const.META_PREFIX}logLevel"  # in `_meta` of a request
RETRY = 1_000  # ms until a client resumes a stream
PRIMED_SINCE = "2025-11-25"  # revision whose clients take an event without a message
MAX_TASK_IDS = 20  # of one subscription
MAX_EVENT_ID = 200  # characters


@dataclass(slots=True)
class Stream:
    """One call whose client takes more than its result at once.

    :ivar token: with which the client wants progress, None without
    :ivar is_cancelled_by_close: closing the connection cancels the call; in legacy revisions a line may be lost
    :ivar is_taken: the client takes a stream
    :ivar takes_task: the client comes back for the result
    :ivar shows: kinds of questions that the client shows its user, see `questions.modes`
    :ivar resumes: id of the request and version of a client that may resume the stream, see `resumed`
    :ivar log_level: of log messages that the client takes, empty for none
    :ivar name: of the call, in ids of events; empty where nobody resumes it
    """

    token: jsonrpc.Id | None
    is_cancelled_by_close: bool
    is_taken: bool = True
    takes_task: bool = False
    shows: frozenset[questions.Mode] = frozenset()
    resumes: tuple[jsonrpc.Id, str] | None = None
    log_level: str = ""
    name: str = ""
    _reached: float | None = None
    _events: int = 0

    def begun(self) -> bytes:
        """First event: clients of 2025-11-25 may lose the line from here on."""
        if self.name and self.resumes and self.resumes[1] >= PRIMED_SINCE:
            return pause(self._id())
        return KEEPALIVE

    def progress(self, progress: float, total: float | None, message: str) -> bytes:
        """Event of a progress notification, empty where nobody wants it or it does not go on.

        :param progress: of the server; it has to grow
        :param message: of the server, for people
        """
        if self.token is None or (self._reached is not None and progress <= self._reached):
            return b""
        self._reached = progress
        params: dict[str, Any] = {"progressToken": self.token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        return self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def log(self, message: Mapping[str, Any], server: str) -> bytes:
        """Event of a log message.

        :param message: of `logs.cleaned`
        :param server: name of who says it
        """
        logger = f"{server}/{message['logger']}" if message.get("logger") else server
        params = {**message, "logger": logger}
        return self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    def question(self, key: str, question: ElicitRequest, server: str) -> bytes:
        """Event of a question to the user of a legacy client.

        :param key: id of the request, which comes back with the answer
        """
        (asked,) = questions.requests({key: question}, server).values()
        if question.url:
            asked["params"]["elicitationId"] = key
        return self.event({"jsonrpc": "2.0", "id": key, **asked})

    def event(self, message: Mapping[str, Any]) -> bytes:
        """A message as the next event.

        :param message: of JSON-RPC
        """
        return event(message, self._id())

    def _id(self) -> str:
        self._events += 1
        return f"{self.name}.{self._events}" if self.name else ""


def of_call(
    message: Message, era: Era, headers: Headers, session: Session, log_level: str = ""
) -> Stream | None:
    """Stream in which a call may be answered, None where the client takes only JSON.

    :param message: of ``tools/call``, not checked
    :param log_level: that a legacy client has set
    """
    is_taken = TYPE in headers.get("accept", "")
    meta = message.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    token = request_id({"id": token})
    if era == "legacy":
        if not is_taken or message.id is None:
            return None
        version = headers.get(envelope.VERSION, const.LEGACY_VERSIONS[-1])
        return Stream(
            token,
            is_cancelled_by_close=False,
            shows=session.shows,
            resumes=(message.id, version),
            log_level=log_level,
        )
    wanted = meta.get(LOG_LEVEL) if isinstance(meta, Mapping) else None
    return Stream(
        token,
        is_cancelled_by_close=True,
        is_taken=is_taken,
        takes_task=tasks.takes(message),
        shows=questions.modes(message),
        log_level=wanted if is_taken and wanted in logs.LEVELS else "",
    )


def event(message: Mapping[str, Any], event_id: str = "") -> bytes:
    """A message as an event of a stream.

    :param message: of JSON-RPC
    :param event_id: empty without one
    """
    named = f"id: {event_id}\n" if event_id else ""
    return f"event: message\n{named}data: {json.dumps(message, ensure_ascii=False)}\n\n".encode()


def pause(event_id: str) -> bytes:
    """Event without a message, after which the client may resume the stream."""
    return f"id: {event_id}\nretry: {RETRY}\ndata: \n\n".encode()


def resumed(event_id: str) -> str:
    """Name of the call whose stream a client resumes, not checked.

    >>> resumed("direct_a1.12"), resumed("12")
    ('direct_a1', '')
    """
    return event_id.rpartition(".")[0] if len(event_id) <= MAX_EVENT_ID else ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Stream on which a client is told that its tools, or its tasks, have changed.

    :ivar id: of the request, None in legacy revisions, which have no subscriptions but a stream of their own
    """

    id: jsonrpc.Id | None
    wants_tools: bool = True
    task_ids: tuple[str, ...] = ()

    def begun(self) -> bytes:
        """First event: what will be told."""
        if self.id is None:
            return KEEPALIVE
        told: dict[str, Any] = {"toolsListChanged": True} if self.wants_tools else {}
        if self.task_ids:
            told["taskIds"] = list(self.task_ids)
        return self._notice("notifications/subscriptions/acknowledged", notifications=told)

    def changed(self) -> bytes:
        """Event of other tools, empty where nobody wants it."""
        return self._notice("notifications/tools/list_changed") if self.wants_tools else b""

    def task(self, task: Task) -> bytes:
        """Event of a task in another state."""
        return self._notice("notifications/tasks", **task.detailed())

    def ended(self) -> bytes:
        """Last event, of a stream that ends by itself."""
        if self.id is None:
            return b""
        result = {"resultType": "complete", "_meta": self._meta()}
        return event(jsonrpc.result(self.id, result))

    def _meta(self) -> dict[str, Any]:
        return {} if self.id is None else {f"{const.META_PREFIX}subscriptionId": self.id}

    def _notice(self, method: str, **params: Any) -> bytes:
        meta = self._meta()
        params = {**params, "_meta": meta} if meta else params
        more = {"params": params} if params else {}
        return event({"jsonrpc": "2.0", "method": method, **more})


def of_subscription(message: Message) -> Subscription:
    """Stream that a client has asked for.

    :param message: of ``subscriptions/listen``, not checked
    :raises RpcError: it does not say what the client wants to be told
    """
    wanted = message.params.get("notifications")
    if not isinstance(wanted, Mapping):
        raise RpcError(jsonrpc.INVALID_PARAMS, "`notifications` must be an object.", status=400)
    task_ids = wanted.get("taskIds", [])
    if not isinstance(task_ids, list) or not all(map(tasks.is_id, task_ids)):
        raise RpcError(jsonrpc.INVALID_PARAMS, "`taskIds` must be a list of task ids.", status=400)
    if task_ids:
        tasks.check_taken(message)
    return Subscription(
        message.id,
        wants_tools=wanted.get("toolsListChanged") is True,
        task_ids=tuple(dict.fromkeys(task_ids[:MAX_TASK_IDS])),
    )
