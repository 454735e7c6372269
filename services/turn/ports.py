"""Ports: what the engine asks of its host. The Odoo side and the test doubles implement these."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import ElicitationRequired, SignInRequired
from ..events import Event
from ..mcp.session.elicitation import ElicitRequest, ElicitResult
from ..specs import CallResult, ToolCall, TurnProgress, TurnRequest, Verdict
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
        """Append one event; returns at once. Order is kept, text is coalesced to 40 ms."""

    async def save_step(
        self,
        progress: TurnProgress,
        calls: tuple[ToolCall, ...] = (),
        more_events: Sequence[Event] = (),
    ) -> None:
        """Put the progress, the calls that the last answer asked for and their `tool_call` events on disk.

        :param more_events: those that belong to this step alone
        """

    async def take_steering(self, known: Collection[int]) -> list[dict[str, Any]]:
        """Take messages that the person has sent meanwhile for this turn, see `Store.take_steering`."""
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
    """The right to run a turn: valid while the turn's `epoch` is this one.

    `lease` is for how many seconds it was taken, and is extended. `person` is whose turn it is. `tries` counts the
    claims since the turn's last step was saved, this one included, without those that were given back.
    """

    turn_id: int
    epoch: int
    next_seq: int
    lease: float = 15.0
    person: int = 0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Loaded:
    request: TurnRequest
    progress: TurnProgress
    stop_requested: bool = False
    has_unread_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Data that the store needs to close a turn."""

    state: str
    html: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] | None = None
    error_code: str = ""
    error_message: str = ""
    error_detail: str = ""
    confirm: int = 0
    next_seq: int = 1


class Store(Protocol):
    """A queue of turns. Blocking methods, called from executor threads; `ConnectionError` means try again, `NotNow` a
    few times.

    `heartbeat` is called from a thread of its own. It returns the claims that are lost and those whose stop was
    asked for; a claim that it could not extend because somebody has locked the turn is not lost. That thread
    calls `close` at its end. `begin_call` renews the lease. `release` gives back what the runner holds beside `keep`,
    and says how many of these somebody has locked, so that they stay.
    What reads, rehearses or performs a call on records is one try, and raises `TryAgain` where another one may succeed.

    :raises StoreGone: of each method
    :raises TurnsLocked: of `append`, which waits for nobody
    """

    name: str

    def claim(self, runner_id: str, limit: int, lease: float) -> list[Claim]: ...
    def heartbeat(self, runner_id: str, claims: list[Claim]) -> tuple[set[Claim], set[Claim]]: ...
    def close(self) -> None: ...
    def release(self, runner_id: str, keep: Collection[Claim] = ()) -> int: ...
    def sweep(self) -> None: ...
    def load(self, claim: Claim) -> Loaded: ...
    def read_files(self, claim: Claim) -> None: ...
    def append(self, batch: dict[Claim, list]) -> set[Claim]: ...
    def save_step(self, claim: Claim, progress: dict, calls: tuple, events: list) -> None: ...
    def take_steering(self, claim: Claim, known: Collection[int]) -> list[dict]: ...
    def begin_call(self, claim: Claim, call: ToolCall) -> Verdict: ...
    def read_records(self, claim: Claim, call_id: str, interrupt: Interrupt) -> CallResult: ...
    def rehearse_call(self, claim: Claim, call_id: str, interrupt: Interrupt) -> None: ...
    def perform_call(
        self, claim: Claim, call_id: str, events: list, interrupt: Interrupt
    ) -> CallResult: ...
    def lose_call(self, claim: Claim, call_id: str) -> tuple[CallResult | None, int]: ...
    def ask_again(self, claim: Claim, call_id: str, found: dict) -> None: ...
    def suspend_call(self, claim: Claim, call_id: str, wanted: Any, events: list) -> str: ...
    def ask(self, claim: Claim, call_id: str, asked: Any, limit: float) -> dict | None: ...
    def take_answer(self, claim: Claim, question: str, is_late: bool) -> tuple[Any, dict]: ...
    def end_call(self, claim: Claim, call_id: str, result: Any, events: list) -> None: ...
    def finish(self, claim: Claim, ending: Ending, events: list) -> None: ...
