"""Artefacts that are made once for a content and shared by all clones of this user.

An entry is a folder named ``<kind>-<hash of what it is made from>``. It counts only when its
``.complete`` marker is there, and it is made under a lock, so two clones may set up at once.
Entries are built in place, because a Python environment cannot be moved afterwards.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dev.paths import cache_home
from dev.progress import say

MARKER = ".complete"


def digest(*parts: str | bytes) -> str:
    """A short hash over ``parts``; 12 hex digits tell a handful of entries apart."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part if isinstance(part, bytes) else part.encode())
        state.update(b"\0")
    return state.hexdigest()[:12]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path``; says so when another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"· waiting for another set-up that makes {path.stem} …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold an exclusive lock on ``path`` if nobody has it; yields whether it is held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """The cache entry ``name``; ``build`` fills the empty folder it is given when there is none."""
    entry = cache_home() / name
    if (entry / MARKER).exists():
        return entry
    with locked(cache_home() / "locks" / f"{name}.lock"):
        if (entry / MARKER).exists():
            return entry
        shutil.rmtree(entry, ignore_errors=True)
        entry.mkdir(parents=True)
        build(entry)
        (entry / MARKER).touch()
    return entry
