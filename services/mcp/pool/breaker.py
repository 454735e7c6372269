"""Circuit breaker: a server that fails again and again is paused, instead of costing every turn its time-out.

Requests that are under way together and fail count once: a network that flaps, or a process that
was frozen for some seconds and finds all its time-outs over, is one failure and not many in a row.

Pure: no I/O, the clock is a parameter.
"""

import time
from collections.abc import Callable
from typing import Literal

from ... import metrics
from ...errors import (
    ConfigError,
    ConnectFailed,
    EngineError,
    PoolFull,
    ServerBusy,
    ServerPaused,
    ServerRefused,
    ServerTimeout,
)
from ...sentence import _lt

OPEN_AFTER = 3  # failures in a row
PAUSE = 30.0  # s until one request may try again

State = Literal["closed", "open", "half_open"]


class Breaker:
    """:ivar reason: what the last failure said, empty while all is well
    :param on_change: called with the new state and the reason
    """

    def __init__(
        self,
        on_change: Callable[[State, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.state: State = "closed"
        self.reason = ""
        self._failures = 0
        self._until = 0.0
        self._tickets = 0  # given out
        self._counted = 0  # the last ticket that the last failure speaks for
        self._trial: int | None = None  # the ticket that may try while half open
        self._on_change = on_change
        self._clock = clock

    def enter(self) -> int:
        """Before a request; returns the ticket to leave with.

        :raises ServerPaused: at once, the server is not asked
        """
        if self.state != "closed":
            self._try()
        self._tickets += 1
        if self.state == "half_open":
            self._trial = self._tickets
        return self._tickets

    def _try(self) -> None:
        left = self._until - self._clock()
        if left > 0 or self._trial is not None:
            raise ServerPaused(
                _lt(
                    "Calls to the MCP server are paused after %(count)s failures in a row. %(reason)s",
                    count=OPEN_AFTER,
                    reason=self.reason,
                ),
                retry_after=max(left, 0.0),
            )
        self._become("half_open", self.reason)

    def reset(self) -> None:
        """Close the breaker: another process has seen the server well."""
        self._failures = 0
        self._become("closed", "")

    @property
    def is_untouched(self) -> bool:
        """No request has failed since the last that was answered."""
        return self.state == "closed" and not self._failures

    def leave(self, ticket: int, error: BaseException | None) -> None:
        """Count the outcome of a request.

        :param ticket: of `enter`
        :param error: how it ended, None for an answer
        """
        self.leave_unheard(ticket)
        if is_unheard(error):
            return
        if not counts(error):
            self.reset()
            return
        if ticket <= self._counted:  # it was under way when the last one failed
            return
        self._counted = self._tickets
        self._failures += 1
        if self.state == "half_open" or self._failures >= OPEN_AFTER:
            self._until = self._clock() + PAUSE
            self._become("open", str(error))

    def leave_unheard(self, ticket: int) -> None:
        """Forget a request that says nothing about the server.

        :param ticket: of `enter`
        """
        if ticket == self._trial:
            self._trial = None

    def would_open(self, ticket: int) -> bool:
        """True if a failure of this request were one too many.

        :param ticket: of `enter`
        """
        last = self.state == "half_open" or self._failures + 1 >= OPEN_AFTER
        return last and ticket > self._counted

    def _become(self, state: State, reason: str) -> None:
        changed = (state, reason) != (self.state, self.reason)
        if state != self.state:
            metrics.add("breaker_changes", state=state)
        self.state, self.reason = state, reason
        if changed and self._on_change:
            self._on_change(state, reason)


def is_unheard(error: BaseException | None) -> bool:
    """True if the server was not asked at all, or its answer not waited for.

    :param error: how a request ended, None for an answer
    """
    if error is None:
        return False
    not_asked = ConfigError | PoolFull | ServerBusy | ServerPaused
    return not isinstance(error, EngineError) or isinstance(error, not_asked)


def counts(error: BaseException | None) -> bool:
    """True if the server itself is not well: not reached, too slow, or 5xx. A 4xx shows that it is there.

    :param error: how a request ended, None for an answer
    """
    if isinstance(error, ServerRefused):
        return error.status >= 500
    return isinstance(error, ConnectFailed | ServerTimeout)
