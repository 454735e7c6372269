"""Event log of a held turn: ordered, numbered without gaps, written in batches, guarded by the lease."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from .. import events
from ..errors import LeaseLost, TurnGone
from .ports import Claim, OutcomeUnknown, StoreGone

FLOWING = ("text", "thinking")  # events whose pieces are joined


class EventLog:
    """
    :param db: runs a blocking store method in the executor and retries it while PostgreSQL is away
    :param wake: tells the writer that there is something to flush
    :param on_lost: called once, when nothing more may be written
    """

    def __init__(
        self,
        claim: Claim,
        db: Callable[..., Awaitable[Any]],
        wake: Callable[["EventLog", bool], None],
        on_lost: Callable[[], None],
    ):
        self.claim = claim
        self.lock = asyncio.Lock()
        self._row = (
            asyncio.Lock()
        )  # each write locks the turn's row: none waits for another in a thread
        self.lost = False
        self.next_seq = claim.next_seq
        self._db = db
        self._wake = wake
        self._on_lost = on_lost
        self._pending: list[dict[str, Any]] = []
        self._writing: set[asyncio.Future] = set()

    def emit(self, event: events.Event) -> None:
        last = self._pending[-1] if self._pending else None
        is_flowing = event["type"] in FLOWING
        is_of_kind = is_flowing and last is not None and event["type"] == last["type"]
        if last and is_of_kind and event["step"] == last["step"]:
            last.update(event, content=last["content"] + event["content"])
        else:
            self._pending.append(event)
        self._wake(self, is_flowing)

    def drain(self) -> list[tuple[int, dict[str, Any]]]:
        """Number and hand out what is pending; the caller holds `lock` until it is on disk."""
        pending, self._pending = self._pending, []
        first, self.next_seq = self.next_seq, self.next_seq + len(pending)
        return list(enumerate(pending, first))

    def put_back(self, drained: list[tuple[int, events.Event]]) -> None:
        """Put events back that were drained and not written; the caller still holds `lock`.

        :param drained: as `drain` has given them
        """
        if drained and not self.lost:
            self.next_seq = drained[0][0]
            self._pending[:0] = [event for _seq, event in drained]

    def lose(self) -> None:
        if not self.lost:
            self.lost = True
            self._pending.clear()
            self._on_lost()

    def forget(self) -> None:
        """Drop what is not on disk yet."""
        self._pending.clear()

    async def _write(self, method, *args, own_events=(), **lane):
        """Write to the end even when cancelled, so that no number is given twice or left out."""

        def arguments(earlier):
            return [*args, [*earlier, *self._numbered(own_events)]]

        return await self._undisturbed(method, arguments, **lane)

    def _numbered(self, unnumbered):
        first, self.next_seq = self.next_seq, self.next_seq + len(unnumbered)
        return enumerate(unnumbered, first)

    async def _undisturbed(self, method, arguments: Callable[[list], list], **lane):
        writing = asyncio.get_running_loop().create_task(self._locked(method, arguments, **lane))
        self._writing.add(writing)
        writing.add_done_callback(self._written)
        return await asyncio.shield(writing)

    def _written(self, writing: asyncio.Future) -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # who waits for it has it, if anybody does

    async def _locked(self, method, arguments: Callable[[list], list], db=None, **lane):
        """
        :param arguments: of the method, from the numbered events that stand before
        :param db: instead of the one of all writes
        """
        async with self.lock:
            if self.lost:
                raise LeaseLost
            first = self.next_seq
            earlier = self.drain()
            try:
                async with self._row:
                    return await (db or self._db)(
                        method, self.claim, *arguments(earlier), is_over=self._is_lost, **lane
                    )
            except (LeaseLost, TurnGone, StoreGone):
                self.lose()
                raise
            except OutcomeUnknown as error:  # the next runner reads what is on disk
                self.lose()
                raise LeaseLost(detail=str(error)) from error
            except Exception:  # nothing of it is on disk: what others said goes with the next write
                self.next_seq = first
                self.put_back(earlier)
                raise

    def _is_lost(self) -> bool:
        return self.lost

    async def _call_store(self, method, *args, db=None, **lane):
        """:param lane: one of its own only for what does not lock the turn's row for long"""
        try:
            async with contextlib.nullcontext() if lane else self._row:
                return await (db or self._db)(
                    method, self.claim, *args, is_over=self._is_lost, **lane
                )
        except (LeaseLost, TurnGone, StoreGone):
            self.lose()
            raise
