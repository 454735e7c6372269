"""Call options: what a caller wants of a request beside its method and params. The last three are the pool's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .elicitation import OnElicit

OnProgress = Callable[[float, float | None, str], None]
"""Called on the loop with progress, total and message; must not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """:ivar schema: of the tool's arguments; it may ask for headers (2026-07-28)
    :ivar on_elicit: answers what the server asks the user meanwhile, and that time does not count; without it
        such questions are cancelled
    :ivar may_repeat: the request has no side effects, so one that may have happened is repeated too
    :ivar suspends: where the server need not be waited for, its questions end the call
    :ivar resume: the answers to such questions, see `elicitation.retry_params`
    """

    schema: Mapping[str, Any] | None = None
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    may_repeat: bool = False
    suspends: bool = False
    resume: Mapping[str, Any] | None = None


DEFAULTS = CallOptions()
