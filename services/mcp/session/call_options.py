"""Call options: what a caller wants of a request beside its method and params. The last four are the pool's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .elicitation import OnElicit
from .logs import OnLog

OnProgress = Callable[[float, float | None, str], None]
"""Called on the loop with progress, total and message; must not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Wishes of a caller; without `on_elicit`, questions of the server are cancelled."""

    schema: Mapping[str, Any] | None = None  # of the arguments; may ask for headers (2026-07-28)
    on_progress: OnProgress | None = None
    on_log: OnLog | None = None  # takes log messages from `log_level` on
    log_level: str = "debug"
    on_elicit: OnElicit | None = None  # answers for the user, whose time does not count
    may_repeat: bool = False  # without side effects: repeated even if it may have happened
    suspends: bool = False  # questions end the call where the server need not be waited for
    takes_task: bool = False  # the server may make a task of the call, see `pool.server_tasks`
    resume: Mapping[str, Any] | None = None  # the answers to those, see `elicitation.retry_params`


DEFAULTS = CallOptions()
