"""Wake-up channel: tells the processes of all hosts that there is something new, for all databases of this one.

It may lose everything: whoever waits looks by itself, more often while the channel is deaf. So it stands
beside the transactions, not in them: a NOTIFY in a commit would take a lock that all databases share.
Works in native threads and, with gevent's patched primitives, in greenlets.
"""

import atexit
import contextlib
import itertools
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol

from ...services import metrics
from ...services.pace import Pace
from ...services.turn.ports import StoreGone
from ...tools.notify import Notes, process_id

_logger = logging.getLogger(__name__)

INTERVAL = 0.045  # s between two messages of a process that speaks all the time
BURST = 2  # messages that may follow another at once after a pause; 25 in no second are exceeded
SILENCE = 10.0  # s without a message, then a process asks whether it still hears itself
ECHO = 2.0  # s that its own message may take to come back
FLUSH_TIMEOUT = 0.5  # s that a process which ends waits for its last message
RECONNECT = (0.1, 0.5, 1.0, 2.0, 5.0)  # s, pauses between tries; the last one repeats
MAX_PAYLOAD = 7_000  # bytes; PostgreSQL allows 8 000
UNREAD_REPORT = 60.0  # s between two lines of the log about messages that cannot be read
MAX_IDS = 100  # of one kind and database in one message; who misses one finds out by itself
EVERYTHING: Notes = {"queued": {0}, "events": {0}}  # what may have been missed

Hear = Callable[[Notes, bool], None]


class Reason(NamedTuple):
    """Reason of a process that does not hear itself: a word for monitors, a sentence for the log."""

    code: str
    sentence: str


UNREACHABLE = "unreachable"
UNKNOWN = Reason("unknown", "Nothing says why.")


class Transport(Protocol):
    """One connection of a process to whatever carries its messages.

    :raises ConnectionError: of each method, and of whatever makes it; it is closed then
    """

    def exchange(self, payloads: list[str], timeout: float, wake: int) -> list[str]:
        """Send these, then wait for what others, and this process itself, have sent.

        :param timeout: s
        :param wake: number of a file that ends the waiting once it can be read
        """
        ...

    def explain(self) -> Reason:
        """Diagnose a lost notification, as far as it can be seen from here."""
        ...

    def close(self) -> None: ...


class Channel:
    """
    :param connect: makes a `Transport`
    :param name: what this process is called among all others
    """

    def __init__(self, connect: Callable[[], Transport], name: str | None = None):
        self._connect = connect
        self._name = name or process_id()
        self._lock = threading.Lock()  # held for moments only
        self._members: dict[str, Hear] = {}
        self._outbox: dict[str, Notes] = {}
        self._taken: dict[str, Notes] = {}  # out of it, the last time
        self._sent = self._echoed = 0
        self._begun_at = 0.0
        self._asked_at = 0.0  # when the first message was sent that has not come back
        self._is_heard = False
        self._is_deaf = False  # and said so
        self._reason: Reason | None = None
        self._unread = 0  # since the last line about them
        self._unread_reported_at = float("-inf")
        self._wake: Any = None  # the ends of a pipe, before the thread begins
        self._thread: threading.Thread | None = None

    def join(self, token: str, hear: Hear) -> None:
        """Let ``hear(notes, is_own)`` be called for each message of a database; idempotent."""
        with self._lock:
            self._members[token] = hear
        self._begin()

    def leave(self, hear: Hear) -> None:
        with self._lock:
            self._members = {
                token: member for token, member in self._members.items() if member != hear
            }

    def publish(self, token: str, notes: Notes) -> None:
        """Tell this process at once, and all others soon. Waits for nobody."""
        with self._lock:
            merge(self._outbox.setdefault(token, {}), notes, MAX_IDS)
            member = self._members.get(token)
        self._begin()
        self._wake_up()
        if member:
            member(notes, True)

    def is_heard(self) -> bool:
        """True if this process hears its own notifications."""
        return self._is_heard

    def state(self) -> Literal["heard", "starting", "deaf"]:
        """State for monitors."""
        if self._is_heard:
            return "heard"
        is_new = time.monotonic() - self._begun_at < ECHO
        return "starting" if self._thread is None or is_new else "deaf"

    def reason(self) -> str | None:
        """Reason for monitors why this process is deaf, None where it is not."""
        if self.state() != "deaf":
            return None
        return (self._reason or UNKNOWN).code

    def flush(self, timeout: float) -> None:
        """Wait until everything was sent, if anything can be."""
        until = time.monotonic() + timeout
        while self._outbox and self._is_heard and time.monotonic() < until:
            time.sleep(INTERVAL / 4)

    # ------------------------------------------------------------ in the channel's thread

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None:
                if self._wake is None:
                    self._wake = os.pipe()
                    for end in self._wake:
                        os.set_blocking(end, False)
                    atexit.register(self.flush, FLUSH_TIMEOUT)
                self._begun_at = time.monotonic()
                self._thread = threading.Thread(
                    target=self._run, name="woow-ai-wakeup", daemon=True
                )
                self._thread.start()

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # then it is awake
            os.write(self._wake[1], b"\0")

    def _run(self) -> None:
        tries = 0
        while True:
            transport = None
            try:
                transport = self._connect()
                self._serve(transport)
                return
            except (ConnectionError, StoreGone) as error:
                self._reason = Reason(UNREACHABLE, str(error))
                if tries == 0 or self._is_heard:
                    _logger.info("The wake-up channel is interrupted: %s", error)
            except Exception:
                _logger.exception("The wake-up channel failed.")
            finally:
                tries = 0 if self._is_heard else tries + 1
                self._set_heard(False)
                if transport is not None:
                    transport.close()
            with self._lock:
                if not self._members:
                    self._thread = None
                    return
            time.sleep(RECONNECT[min(tries, len(RECONNECT) - 1)])

    def _serve(self, transport: Transport) -> None:
        """Send and hear until nobody needs it."""
        self._sent = self._echoed = 0
        last_sent, pace = float("-inf"), Pace(INTERVAL, BURST)
        while True:
            now = time.monotonic()
            if now - last_sent >= SILENCE and self._may_rest():
                return
            payloads = []
            if now >= (pace.due if self._outbox else last_sent + SILENCE):
                payloads = self._take()
                last_sent = now
                pace.take(now)
            due = pace.due if self._outbox else last_sent + SILENCE
            if self._echoed < self._sent:
                due = min(due, self._asked_at + ECHO)
            try:
                heard = transport.exchange(payloads, max(0.0, due - now), self._wake[0])
            except (ConnectionError, StoreGone):
                if payloads:
                    self._give_back()
                raise
            for payload in heard:
                self._hear(payload)
            self._empty_wake()
            if self._echoed < self._sent and time.monotonic() - self._asked_at >= ECHO:
                self._become_deaf(transport)
                self._set_heard(False)
                self._asked_at = time.monotonic()

    def _become_deaf(self, transport: Transport) -> None:
        if self._is_deaf:
            return
        self._reason, self._is_deaf = transport.explain(), True
        metrics.level("wakeup_deaf", 1)
        _logger.warning(
            "The wake-up channel is deaf: its own message did not come back within %.0f s. Turns go on, a second later"
            " each. %s See docs/deployment.md.",
            ECHO,
            self._reason.sentence,
        )

    def _may_rest(self) -> bool:
        with self._lock:
            if self._outbox or self._members:
                return False
            self._thread = None
            return True

    def _take(self) -> list[str]:
        with self._lock:
            outbox, self._outbox = self._outbox, {}
            self._taken = outbox
        if self._echoed == self._sent:
            self._asked_at = time.monotonic()
        payloads = []
        for part in _parts(outbox):
            self._sent += 1
            payloads.append(_message(self._name, self._sent, part))
        return payloads

    def _give_back(self) -> None:
        """Send again what may not have left with a broken connection; twice does no harm."""
        with self._lock:
            for token, notes in self._taken.items():
                merge(self._outbox.setdefault(token, {}), notes, MAX_IDS)

    def _empty_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake[0], 4096):
                pass

    def _hear(self, payload: str) -> None:
        try:
            message = json.loads(payload)
            sender, number = message["by"], int(message["n"])
            notes = {
                str(token): {str(kind): {int(one) for one in ids} for kind, ids in kinds.items()}
                for token, kinds in message["to"].items()
            }
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            OverflowError,
            RecursionError,
        ):
            self._report_unread(payload)
            return
        if sender == self._name:
            if number <= self._sent:
                self._echoed = max(self._echoed, number)
                self._asked_at = time.monotonic()
                self._set_heard(True)
            return
        with self._lock:
            concerned = [
                (hear, notes[token]) for token, hear in self._members.items() if token in notes
            ]
        for hear, changes in concerned:
            hear(changes, False)

    def _report_unread(self, payload: str) -> None:
        """Log unreadable notifications, at a bounded rate: any client of PostgreSQL may write into the channel."""
        self._unread += 1
        now = time.monotonic()
        if now - self._unread_reported_at < UNREAD_REPORT:
            return
        _logger.warning(
            "%s messages of the wake-up channel could not be read, the last of them: %.100r",
            self._unread,
            payload,
        )
        self._unread, self._unread_reported_at = 0, now

    def _set_heard(self, is_heard: bool) -> None:
        if is_heard == self._is_heard:
            return
        self._is_heard = is_heard
        self._is_deaf = self._is_deaf and not is_heard
        if is_heard:
            self._reason = None
            metrics.level("wakeup_deaf", 0)
        with self._lock:
            members = list(self._members.values())
        for hear in members:
            hear(EVERYTHING if is_heard else {}, False)


def merge(into: Notes, notes: Notes, most: int | None = None) -> None:
    """:param most: ids of one kind; the others are left out"""
    for kind, ids in notes.items():
        known = into.setdefault(kind, set())
        room = None if most is None else max(0, most - len(known))
        known.update(itertools.islice(ids - known, room))


def _parts(outbox: dict[str, Notes]) -> Iterable[dict[str, Notes]]:
    """Messages that PostgreSQL takes; an empty one if there is nothing to tell."""
    part: dict[str, Notes] = {}
    size = 0
    for token, notes in outbox.items():
        length = len(_message("", 0, {token: notes}))
        if part and size + length > MAX_PAYLOAD:
            yield part
            part, size = {}, 0
        part[token] = notes
        size += length
    yield part


def _message(sender: str, number: int, part: dict[str, Notes]) -> str:
    addressed = {
        token: {kind: sorted(ids) for kind, ids in notes.items()} for token, notes in part.items()
    }
    return json.dumps({"by": sender, "n": number, "to": addressed}, separators=(",", ":"))
