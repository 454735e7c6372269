"""Fork safety: threads, locks and connections, which a process has once, do not come along with a fork."""

import os
from typing import TypeVar

_T = TypeVar("_T")


def renewed(made: _T) -> _T:
    """Let it be made again, in place, in each child of this process.

    :param made: ``__init__`` without arguments makes all of it
    """
    os.register_at_fork(after_in_child=made.__init__)
    return made
