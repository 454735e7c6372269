"""Server-sent events as bytes in, events out; pure and incremental (WHATWG HTML, 9.2.6)."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import ResultTooLarge


@dataclass(slots=True)
class Event:
    """`id` and `retry` (ms) are None where the server gave none."""

    data: str = ""
    event: str = "message"
    id: str | None = None
    retry: int | None = None

    def encode(self) -> bytes:
        lines = [] if self.event == "message" else [f"event: {self.event}"]
        if self.id is not None:
            lines.append(f"id: {self.id}")
        if self.retry is not None:
            lines.append(f"retry: {self.retry}")
        lines += [f"data: {line}" for line in self.data.split("\n")] if self.data else []
        return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")


class Decoder:
    """:param cap: characters of one event, beyond it `ResultTooLarge` is raised"""

    def __init__(self, cap: int):
        self._cap = cap
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._after_return = False
        self._first = True
        self._size = 0
        self._clear()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        text = self._text.decode(chunk)
        if self._first and text:
            text = text.removeprefix("\ufeff")
            self._first = False
        if self._after_return and text:
            text = text.removeprefix("\n")
            self._after_return = False
        if text.endswith("\r"):
            self._after_return = True
        *lines, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if lines:
            lines[0] = "".join(self._rest) + lines[0]
            self._rest = []
        self._rest.append(rest)
        for line in lines:
            if event := self._line(line):
                yield event
        self._size = self._size + len(rest) if not lines else self._kept + len(rest)
        if self._size > self._cap:
            raise ResultTooLarge(detail=f"an event larger than {self._cap} characters")

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._kept += len(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isdecimal():
            self._retry = min(int(value[:12]), 3_600_000)
        else:
            return None
        self._touched = True
        return None

    def _dispatch(self) -> Event | None:
        if not self._touched:
            return None
        event = Event("\n".join(self._data), self._event or "message", self._id, self._retry)
        self._clear()
        return event

    def _clear(self) -> None:
        self._data: list[str] = []
        self._kept = 0
        self._event = ""
        self._id: str | None = None
        self._retry: int | None = None
        self._touched = False
