"""What Redis and NATS send to who listens to a channel, decoded as it comes. Pure: bytes in, messages out.

https://redis.io/docs/latest/develop/reference/protocol-spec/ (RESP 2) and
https://docs.nats.io/reference/reference-protocols/nats-protocol
"""

MAX_MESSAGE = 64 * 1024  # bytes; ours have 7 000
MAX_LINE = 64 * 1024  # bytes; the longest is what a server tells of itself
MAX_PARTS = 3  # of an answer of Redis to who listens
LONGER = "It sends more than a message can have."


class BadAnswer(ConnectionError):
    """It refuses, or is no such server."""


class _Decoder:
    def __init__(self):
        self._buffer = bytearray()

    def _line(self, start: int) -> tuple[bytes, int] | None:
        """The line that begins there and where the next one does; None while a part of it is missing."""
        end = self._buffer.find(b"\r\n", start)
        if end < 0:
            if len(self._buffer) - start > MAX_LINE:
                raise BadAnswer(LONGER)
            return None
        return bytes(self._buffer[start:end]), end + 2

    def _text(self, start: int, length: int) -> tuple[bytes, int] | None:
        if length > MAX_MESSAGE:
            raise BadAnswer(LONGER)
        end = start + length
        if len(self._buffer) < end + 2:
            return None
        return bytes(self._buffer[start:end]), end + 2


class RedisDecoder(_Decoder):
    """Answers of Redis: texts, numbers, and lists of them, as a list; a lone one is a list of one."""

    def feed(self, data: bytes) -> list[list]:
        """:raises BadAnswer: an error of the server's, or nothing that it would say"""
        self._buffer += data
        answers = []
        while (found := self._answer(0)) is not None:
            answer, end = found
            del self._buffer[:end]
            answers.append(answer if isinstance(answer, list) else [answer])
        return answers

    def _answer(self, start: int, is_part: bool = False) -> tuple | None:
        if (line := self._line(start)) is None:
            return None
        text, start = line
        match text[:1]:
            case b"-":
                raise BadAnswer(said(text[1:]))
            case b"+":
                return text[1:], start
            case b":":
                return number(text[1:]), start
            case b"$":
                length = number(text[1:])
                return (b"", start) if length < 0 else self._text(start, length)
            case b"*" if not is_part:
                return self._parts(start, number(text[1:]))
        raise BadAnswer("It does not speak the protocol of Redis.")

    def _parts(self, start: int, count: int) -> tuple | None:
        if count > MAX_PARTS:
            raise BadAnswer(LONGER)
        parts = []
        for _part in range(count):
            if (found := self._answer(start, is_part=True)) is None:
                return None
            part, start = found
            parts.append(part)
        return parts, start


class NatsDecoder(_Decoder):
    """Operations of a NATS server: ``(name, payload)``; of INFO its JSON, of MSG the message."""

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """:raises BadAnswer: an error of the server's, or nothing that it would say"""
        self._buffer += data
        operations = []
        while (found := self._operation()) is not None:
            operation, end = found
            del self._buffer[:end]
            operations.append(operation)
        return operations

    def _operation(self) -> tuple[tuple[str, bytes], int] | None:
        if (line := self._line(0)) is None:
            return None
        text, start = line
        name, _, rest = text.partition(b" ")
        match name.upper():
            case b"-ERR":
                raise BadAnswer(said(rest))
            case b"MSG":
                if (payload := self._text(start, number(rest.rpartition(b" ")[2]))) is None:
                    return None
                return ("MSG", payload[0]), payload[1]
            case b"INFO" | b"PING" | b"PONG" | b"+OK":
                return (name.upper().decode(), rest), start
        raise BadAnswer("It does not speak the protocol of NATS.")


def number(text: bytes) -> int:
    """:raises BadAnswer: it is none, or longer than any of theirs"""
    if len(text) > 19 or not text.removeprefix(b"-").isdigit():
        raise BadAnswer("It does not send a number where one belongs.")
    return int(text)


def said(text: bytes) -> str:
    return text[:200].decode(errors="replace").strip(" '")
