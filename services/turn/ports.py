"""Ports: what the engine asks of its host. The Odoo side and the test doubles implement these."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import ElicitationRequired, SignInRequired
from ..events import Event
from ..mcp.session.elicitation import ElicitRequest, ElicitResult
from ..specs import CallResult, ModelRequest, ToolCall, TurnProgress, TurnRequest, Verdict
from .interrupt import Interrupt


class StoreGone(Exception):
    """The queue exists no more: its database was dropped, or the addon uninstalled."""


class NotNow(ConnectionError):
    """The database answers, and cannot carry this out just now: others are in the way, or a limit of its own is.

    Nothing of it is on disk.
    """


class OutcomeUnknown(Exception):
    """A write failed after an earlier try of it had lost its answer, so it may be on disk."""


class TurnsLocked(Exception):
    """Raised where another process has locked these turns just now; events of the others are written.

    :ivar lost: of the others, those whose lease is lost
    """

    def __init__(self, locked: set["Claim"], lost: set["Claim"]):
        super().__init__(f"{len(locked)} turns are locked")
        self.locked = locked
        self.lost = lost


class Journal(Protocol):
    """The event log and the durable state of one turn, held under a lease.

    Every coroutine raises `LeaseLost` when another runner took the turn over; the engine then stops at once and
    writes nothing more.
    """

    def emit(self, event: Event) -> None:
        """Append one event of `services.events`; returns at once. Order is kept, text is coalesced to 40 ms.

        :param event: JSON, without a number
        """

    async def save_step(
        self,
        progress: TurnProgress,
        calls: tuple[ToolCall, ...] = (),
        more_events: Sequence[Event] = (),
    ) -> None:
        """Put the progress, the calls that the last answer asked for and their `tool_call` events on disk.

        :param more_events: those that belong to this step alone
        :raises LeaseLost: nothing was written
        """

    async def reserve(self, request: ModelRequest, spent: list[dict[str, Any]]) -> str:
        """Put a request to a provider on disk before it is sent; what it took comes with the next one or step.

        :param spent: requests that have ended, see `TurnProgress.spent`; what is settled leaves the list
        :return: its key for ``TurnProgress.spent``, unique among all claims of the turn
        :raises EngineError: it must not be sent
        """
        ...

    async def take_steering(self, known: Collection[int]) -> list[dict[str, Any]]:
        """Take messages that the person has sent meanwhile for this turn, see `Store.take_steering`.

        :param known: ids of turns whose messages the transcript has
        :return: ``[{"turn", "message_id", "content"}]`` in order
        """
        ...

    async def begin_call(self, call: ToolCall) -> Verdict:
        """Record that the call starts now, after reading every switch again; one that is behind others only asks."""
        ...

    async def read_records(self, call: ToolCall, interrupt: Interrupt) -> CallResult:
        """Carry out a call that reads the host's own records.

        :raises RecordError: it was not carried out
        """
        ...

    async def rehearse_call(self, call: ToolCall, interrupt: Interrupt) -> None:
        """Find out what a call that asks would change, for the question that the person gets.

        :raises RecordError: it could not be carried out: nobody need be asked
        """

    async def perform_call(self, call: ToolCall, interrupt: Interrupt) -> CallResult | None:
        """Carry out a call that changes the host's own records: its effect, its result and the event of it are
        on disk together, or nothing is. None if it would change something else than was shown, and asks again.

        :raises RecordError: it was not carried out
        """

    async def suspend_call(
        self, call: ToolCall, wanted: ElicitationRequired | SignInRequired
    ) -> str:
        """Record that the call ended with questions and goes on when a person has answered them.

        :return: empty, or why nobody can be asked: then the call has to get its result
        """
        ...

    async def ask(self, call: ToolCall, request: ElicitRequest) -> ElicitResult:
        """Ask while the server waits; after `const.SESSION_ASK_TIMEOUT`, or with nobody to ask, it is cancelled."""
        ...

    async def end_call(self, call: ToolCall, result: CallResult) -> None:
        """Record the one result of the call; the store writes the `tool_result` event of it."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """The right to run a turn: valid while the turn's `epoch` is this one."""

    turn_id: int
    epoch: int  # one more with each claim of the turn
    next_seq: int  # number of the first event that its runner writes
    lease: float = 15.0  # s for which it was taken, and is extended
    person: int = 0  # whose turn it is
    tries: int = (
        1  # claims since the last saved step, with this one and without those that were given back
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A claimed turn as its runner gets it."""

    request: TurnRequest
    progress: TurnProgress  # empty for a new turn
    stop_requested: bool = False
    has_unread_files: bool = False  # `read_files` comes first, then `load` once more


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Data that the store needs to close a turn."""

    state: str  # as of a `TurnResult`
    html: str = ""  # the last answer
    usage: dict[str, Any] = field(default_factory=dict)  # as the event `usage` has it
    progress: dict[str, Any] | None = None  # `TurnProgress` as JSON, None where it was never loaded
    error_code: str = ""
    error_message: str = ""  # a `Sentence` for people
    error_detail: str = ""  # for the log and administrators
    confirm: int = 0  # the round that a waiting turn asks for
    next_seq: int = 1  # number of the first event that the store adds by itself


NumberedEvents = list[tuple[int, Event]]


class Store(Protocol):
    """A queue of turns with their logs, in a database of the host.

    Blocking methods, called from executor threads; each is one transaction and may be repeated. A `ConnectionError`
    means try again, a `NotNow` a few times. All that take a claim raise `LeaseLost` where another runner has the turn,
    and `TurnGone` where it exists no more, unless they say otherwise.
    What reads, rehearses or performs a call on records is one try, and raises `TryAgain` where another one may succeed.

    :ivar name: of the database, for people
    :raises StoreGone: of each method
    """

    name: str

    def claim(self, runner_id: str, limit: int, lease: float) -> list[Claim]:
        """Take queued turns, at most one of a conversation and the oldest of it.

        :param limit: turns at most
        :param lease: s for which each is taken
        """
        ...

    def heartbeat(self, runner_id: str, claims: list[Claim]) -> tuple[set[Claim], set[Claim]]:
        """Extend these leases; called from a thread of its own.

        A claim that cannot be extended because somebody has locked the turn is not lost.

        :return: the claims that are lost; those whose stop was asked for
        """
        ...

    def close(self) -> None:
        """Close what `heartbeat` keeps open, at the end of its thread."""

    def release(self, runner_id: str, keep: Collection[Claim] = ()) -> int:
        """Give back all turns that the runner holds beside `keep`; these tries do not count.

        :return: how many stay because somebody has locked them
        """
        ...

    def sweep(self) -> None:
        """Requeue the turns of dead runners, and carry out stops that met a locked turn."""

    def load(self, claim: Claim) -> Loaded:
        """Freeze everything that the engine needs, as the turn's user sees it.

        :raises EngineError: the turn cannot run; it ends as failed
        """
        ...

    def read_files(self, claim: Claim) -> None:
        """Read the question's files that nobody has read yet, which takes seconds."""

    def append(self, batch: dict[Claim, NumberedEvents]) -> set[Claim]:
        """Write events of many turns at once; it waits for no lock.

        :return: the claims that are lost, of which nothing was written
        :raises TurnsLocked: after all but the locked turns were written
        """
        ...

    def save_step(
        self,
        claim: Claim,
        progress: dict[str, Any],
        calls: tuple[ToolCall, ...],
        events: NumberedEvents,
    ) -> None:
        """Keep the progress, each call that is not known yet, and the events; settle the requests that have ended.

        :param progress: `TurnProgress` as JSON
        """

    def reserve(
        self, claim: Claim, request: ModelRequest, spent: Sequence[dict[str, Any]] = ()
    ) -> None:
        """Settle requests that have ended, then keep one that is about to be sent; the same key again is the same
        request.

        :param spent: see `TurnProgress.spent`; settled also where the new one must not be sent
        :raises EngineError: it must not be sent
        """

    def take_steering(self, claim: Claim, known: Collection[int]) -> list[dict[str, Any]]:
        """Let messages that the person has sent meanwhile enter the turn; asked again, the same ones enter.

        :param known: ids of turns whose messages the transcript has
        :return: ``[{"turn", "message_id", "content"}]`` in order
        """
        ...

    def begin_call(self, claim: Claim, call: ToolCall) -> Verdict:
        """Record the start of a call after reading every switch again, and renew the lease."""
        ...

    def read_records(self, claim: Claim, call_id: str, interrupt: Interrupt) -> CallResult:
        """Carry out a call that only reads the host's own records.

        :raises RecordError: it was not carried out
        """
        ...

    def rehearse_call(self, claim: Claim, call_id: str, interrupt: Interrupt) -> None:
        """Find out what a call that asks would change, and keep it for the question.

        :raises RecordError: it could not be carried out, so that nobody is asked
        """

    def perform_call(
        self, claim: Claim, call_id: str, events: NumberedEvents, interrupt: Interrupt
    ) -> CallResult:
        """Carry out a call that changes the host's own records: its effect, result and events, all or nothing.

        :raises RecordError: it was not carried out
        :raises RehearsalDiffers: it would change something else than was shown
        """
        ...

    def lose_call(self, claim: Claim, call_id: str) -> tuple[CallResult | None, int]:
        """Look for what has become of a try whose connection was lost.

        :return: the result if the try was committed; how often this has happened to the call
        """
        ...

    def ask_again(self, claim: Claim, call_id: str, found: dict[str, Any]) -> None:
        """Have the person decide once more.

        :param found: the rehearsal that differs, as JSON
        """

    def suspend_call(
        self,
        claim: Claim,
        call_id: str,
        wanted: ElicitationRequired | SignInRequired,
        events: NumberedEvents,
    ) -> str:
        """Record that the call ended with questions, which are shown once the turn waits.

        :return: empty, or why nobody can be asked; then nothing was changed
        """
        ...

    def ask(
        self, claim: Claim, call_id: str, request: ElicitRequest, seconds: float
    ) -> Event | None:
        """Ask for a server that waits in its session; the same question, while it is open, is not asked twice.

        :param seconds: time that the person has
        :return: the event that asks, None with nobody to ask
        """
        ...

    def take_answer(
        self, claim: Claim, question_id: str, is_late: bool
    ) -> tuple[ElicitResult, Event] | tuple[None, None]:
        """Look for the answer to a question of `ask`.

        :param is_late: from now on nobody may answer: an open question is cancelled
        :return: the answer and the event that tells of it, None twice while there is none
        """
        ...

    def end_call(
        self, claim: Claim, call_id: str, result: CallResult, events: NumberedEvents
    ) -> None:
        """Give the call its result, with its files, and close its questions; a call that has one keeps it.

        :param events: written in the same transaction; what tells the result tells the one that is kept
        """

    def finish(self, claim: Claim, ending: Ending, events: NumberedEvents) -> None:
        """Let go of the turn: write the events, close all that is open, and add the last events by itself. Requests
        to providers of which nothing was told stay as they were estimated.

        A turn that is to wait is queued at once when nothing is left to decide, and ends as stopped when that was
        asked for.

        :param events: written first, numbered below ``ending.next_seq``
        """
