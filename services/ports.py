"""What the engine asks of its host. The Odoo side and the test doubles implement these."""

from typing import Any, Protocol

from .errors import InputRequired, SignInRequired
from .inputs import InputAnswer, InputRequest
from .specs import CallResult, ToolCall, TurnProgress, Verdict


class Journal(Protocol):
    """The event log and the durable state of one turn, held under a lease.

    Every coroutine raises `LeaseLost` when another runner took the turn over; the engine then stops at once and
    writes nothing more.
    """

    def emit(self, type_: str, /, **fields: Any) -> None:
        """Append one event; returns at once. Order is kept, text is coalesced to 40 ms."""

    async def save_step(self, progress: TurnProgress, calls: tuple[ToolCall, ...] = ()) -> None:
        """Put the progress, the calls that the last answer asked for and their `tool_call` events on disk."""

    async def begin_call(self, call: ToolCall) -> Verdict:
        """Record that the call starts now, after reading every switch again."""

    async def suspend_call(self, call: ToolCall, wanted: InputRequired | SignInRequired) -> str:
        """Record that the call ended with questions and goes on when a person has answered them.

        :return: empty, or why nobody can be asked: then the call has to get its result
        """

    async def ask(self, call: ToolCall, asked: InputRequest) -> InputAnswer:
        """Ask while the server waits; after `const.SESSION_ASK_TIMEOUT`, or with nobody to ask, it is cancelled."""

    async def end_call(self, call: ToolCall, result: CallResult) -> None:
        """Record the one result of the call and its `tool_result` event."""
