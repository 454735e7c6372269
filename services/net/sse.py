"""SSE decoder: bytes in, events out; pure and incremental (WHATWG HTML, 9.2.6)."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import ResultTooLarge

MAX_FIELD = 4_096  # bytes of a line that is no data


@dataclass(slots=True)
class Event:
    """`data` stays bytes, which may be large; `id` and `retry` (ms) are None where the server gave none."""

    data: bytes | bytearray = b""
    event: str = "message"
    id: str | None = None
    retry: int | None = None

    def encode(self) -> bytes:
        lines = [] if self.event == "message" else [f"event: {self.event}"]
        if self.id is not None:
            lines.append(f"id: {self.id}")
        if self.retry is not None:
            lines.append(f"retry: {self.retry}")
        head = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        data = (
            b"".join(b"data: %b\n" % line for line in self.data.split(b"\n")) if self.data else b""
        )
        return head + data + b"\n"


class Decoder:
    """:param cap: bytes of one event, beyond it `ResultTooLarge` is raised"""

    def __init__(self, cap: int):
        self._cap = cap
        self._rest = bytearray()
        self._after_return = False
        self._first = True
        self._clear()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take bytes in; the events that they complete.

        :raises ResultTooLarge: an event has more bytes than the cap
        """
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        if chunk.endswith(b"\r"):
            self._after_return = True
        *ended, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        lines: list[bytes | bytearray] = [*reversed(ended)]
        del ended
        if lines:
            self._rest += lines[-1]
            lines[-1], self._rest = self._rest, bytearray()
        self._rest += rest
        while lines:  # which lets go of each line: it may be large
            if event := self._line(lines.pop()):
                yield event
        if self.size > self._cap:
            raise ResultTooLarge(detail=f"an event larger than {self._cap} bytes")

    @property
    def size(self) -> int:
        """Bytes of the event that is not complete."""
        return self._kept + len(self._rest)

    def _line(self, line: bytes | bytearray) -> Event | None:
        if self._first:
            line = line.removeprefix(BOM_UTF8)
            self._first = False
        if not line:
            return self._dispatch()
        if line.startswith(b"data:"):  # maybe large: looked at once
            self._data.append(_cut(line, 6 if line[5:6] == b" " else 5))
            self._kept += len(line) + 1
            self._touched = True
            return None
        self._kept += min(len(line), MAX_FIELD)
        name, _, value = line[:MAX_FIELD].decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(b"")
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
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        event = Event(data, self._event or "message", self._id, self._retry)
        self._clear()
        return event

    def _clear(self) -> None:
        self._data: list[bytes | bytearray] = []
        self._kept = 0
        self._event = ""
        self._id: str | None = None
        self._retry: int | None = None
        self._touched = False


def _cut(line: bytes | bytearray, start: int) -> bytes | bytearray:
    """Cut the beginning off; a large line is not copied."""
    if isinstance(line, bytes):
        return line[start:]
    del line[:start]
    return line
