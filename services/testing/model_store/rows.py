"""Rows of the model's database."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ...events import result_of
from ...specs import CallResult, Outcome

FINAL = ("done", "failed", "stopped")
OPEN = ("queued", "running", "waiting")


class NotPossible(Exception):
    """A person's act comes too late, or means nothing that is there."""


class NumberTaken(Exception):
    """Two writers gave the same number to different events."""


@dataclass(slots=True, kw_only=True)
class Server:
    """`is_reviewed`: a person has accepted the definitions of its tools."""

    id: int
    is_active: bool = True
    trust: str = "none"
    is_reviewed: bool = True


@dataclass(slots=True, kw_only=True)
class Record:
    """Row of the host's own; `version` grows with each write."""

    id: int
    value: str = ""
    version: int = 0

    def put(self, value: str) -> None:
        self.value, self.version = value, self.version + 1


@dataclass(slots=True, kw_only=True)
class Tool:
    """`definition` changes with what the server says that the tool does; `policy` is auto, ask or never.

    `records` is read or write for a tool on the host's own records, which has no server; an action may send something.
    `is_closed`: it reaches nothing outside its server.
    """

    id: int
    server: Server | None
    name: str
    alias: str = ""
    is_active: bool = True
    policy: str = "auto"
    definition: str = "1"
    is_harmless: bool = False
    is_closed: bool = False
    records: str = ""
    is_action: bool = False

    @property
    def is_usable(self) -> bool:
        return self.is_active and (self.server is None or self.server.is_active)

    @property
    def is_unreviewed(self) -> bool:
        """True if its definition holds foreign words, for calls of other tools than its server's."""
        server = self.server
        return server is not None and server.trust == "none" and not server.is_reviewed

    @property
    def is_foreign(self) -> bool:
        """True if its results hold foreign words."""
        return self.server is None or self.server.trust == "none" or not self.is_closed

    @property
    def is_inside(self) -> bool:
        """True if it only reads inside a trusted server or the host, which nothing foreign can abuse."""
        if self.server is None:
            return self.records == "read"
        return self.is_harmless and self.is_closed and self.server.trust != "none"

    @property
    def may_repeat(self) -> bool:
        return self.is_harmless and self.server is not None and self.server.trust != "none"


@dataclass(slots=True, kw_only=True)
class Question:
    """`action` is accept, decline, cancel or expired; empty while it is open.

    `answered_at` is set where a person, or the end of the wait, has given the answer.
    """

    id: str
    call: "Call"
    key: str
    kind: str
    ask_round: int = 0
    is_held: bool = False
    action: str = ""
    content: dict[str, Any] = field(default_factory=dict)
    answered_at: float | None = None
    asked: Any = None


@dataclass(slots=True, kw_only=True)
class Call:
    """`started` is the epoch in which it began, 0 for a call that is not in flight.

    `origin` is the id and the definition of the tool that was asked for, `tool` and `server` the rows while they
    are there.
    `denied` says what a verdict was for.
    `rehearsal` is what the person is shown of a change of records, `losses` how often its connection was lost.
    `is_foreign`: its result holds foreign words; `is_tainted`: it was asked about because of those of others.
    """

    id: str
    turn: "Turn"
    tool: Tool | None
    server: Server | None
    origin: tuple[int, str] | None
    arguments: dict[str, Any]
    round: int = 0
    records: str = ""
    started: int = 0
    outcome: Outcome | Literal[""] = ""
    text: str = ""
    approval: str = ""
    denied: str = ""
    is_changed: bool = False
    ask_round: int = 0
    more: dict[str, Any] | None = None
    questions: list[Question] = field(default_factory=list)
    rehearsal: dict[str, Any] | None = None
    is_asked_again: bool = False
    is_foreign: bool = False
    is_tainted: bool = False
    losses: int = 0

    @property
    def is_one_transaction(self) -> bool:
        """All that it does happens in one transaction, or not at all; else its start is on disk before."""
        is_action = self.tool is not None and self.tool.is_action
        return bool(self.records) and not is_action and "impossible" not in (self.rehearsal or {})

    def is_as_shown(self, shown: dict[str, Any] | None) -> bool:
        """True if a decision is one on what is asked now.

        :param shown: the rehearsal that the person has seen; None counts where the call was asked about once
        """
        return not self.is_asked_again if shown is None else shown == (self.rehearsal or {})

    @property
    def is_pending(self) -> bool:
        return self.approval == "pending" and not self.outcome

    @property
    def result(self) -> CallResult:
        """Result of a call that has one.

        :raises ValueError: it has none
        """
        if not self.outcome:
            raise ValueError(f"{self.id} has no result")
        return CallResult(outcome=self.outcome, text=self.text)

    def told(self, events: list) -> list:
        """Events as they are stored: with the result that the call has kept in the place of any other."""
        is_result = result_of(self.id).items()
        return [
            (seq, {**event, "outcome": self.outcome} if is_result <= event.items() else event)
            for seq, event in events
        ]

    def asked_now(self) -> list[Question]:
        """The questions with which it ended the last time."""
        return [q for q in self.questions if not q.is_held and q.ask_round == self.ask_round]


@dataclass(slots=True, kw_only=True)
class Turn:
    """`until` is the end of the lease, `waiting_until` of the wait, in seconds of the database's clock.

    `steers`: it may enter the turn before it; `entered` is that turn. `is_unattended`: it is of a run.
    `costs` are the requests to providers by their key, None until it is known what they took.
    `unreviewed` are the servers of which it was shown definitions that nobody had accepted.
    """

    id: int
    channel: int
    user: int = 1
    state: str = "queued"
    owner: str = ""
    epoch: int = 0
    until: float | None = None
    stop: bool = False
    progress: dict[str, Any] = field(default_factory=dict)
    waiting_round: int = 0
    waiting_until: float | None = None
    is_visible: bool = True
    steers: bool = False
    is_unattended: bool = False
    entered: int = 0
    unreviewed: set[int] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    costs: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    ended_at: float | None = None

    @property
    def last_seq(self) -> int:
        return max(self.events, default=0)

    def known(self) -> set[int]:
        """Turns whose messages stand in the transcript."""
        return set(self.known_each())

    def known_each(self) -> list[int]:
        messages = self.progress.get("messages", ())
        return [message["turn"] for message in messages if message["role"] == "user"]

    def open_calls(self) -> list[Call]:
        return [call for call in self.calls if not call.outcome]

    def open_questions(self) -> list[Question]:
        """Questions that the turn waits for."""
        return [
            question
            for call in self.open_calls()
            for question in call.questions
            if not question.action and not question.is_held
        ]

    @property
    def is_undecided(self) -> bool:
        return bool(
            self.waiting_round
            or any(call.is_pending for call in self.calls)
            or self.open_questions()
        )


@dataclass(slots=True, kw_only=True)
class Run:
    """`key` is the action, the record and the event; `turn` the one that it asked in, 0 while there is none.

    `depth` is the number of runs that led to it, each by its own change.
    """

    id: int
    key: tuple[int, int, str]
    user: int = 1
    depth: int = 0
    state: str = "scheduled"
    turn: int = 0


def copied(data: Any) -> Any:
    """A copy of JSON all the way down."""
    if isinstance(data, dict):
        return {key: copied(value) for key, value in data.items()}
    return [copied(value) for value in data] if isinstance(data, list) else data
