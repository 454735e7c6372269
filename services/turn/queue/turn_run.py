"""Held turn: one turn while this process has its lease, from loading it to writing its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from ... import events, large, metrics, traces
from ...concurrency import Race
from ...errors import EngineError, LeaseLost, TurnGone
from ...render import markdown
from ...sentence import _lt
from ...specs import TurnProgress, TurnRequest, TurnResult
from ..journal import TurnJournal
from ..ports import Claim, Ending, Store, StoreGone

_logger = logging.getLogger(__name__)

FILES = "files"  # the lane of reading a question's files, which takes seconds
MAX_TRIES = 10  # runners that may try one step of a turn; one that kills each of them must end


class Stopped(Exception):
    """The person has stopped what could not be done yet."""


class TurnRun:
    """
    :param db: runs a method of the store while the turn is held, see `QueueWorker._held_db`
    :param runner: the `Runner` that has the engine and the clock
    :ivar is_ending: its last write is under way
    """

    def __init__(
        self,
        claim: Claim,
        journal: TurnJournal,
        store: Store,
        db: Callable[..., Awaitable[Any]],
        runner,
    ):
        self.claim = claim
        self.journal = journal
        self.stop = asyncio.Event()
        self.task: asyncio.Task | None = None
        self.is_ending = False
        self._store = store
        self._db = db
        self._runner = runner

    def cancel(self) -> None:
        """Give the turn up: what it waits for ends at once."""
        if self.task:
            self.task.cancel()

    async def run(self) -> None:
        """
        :raises LeaseLost, TurnGone, StoreGone: it is not this process's any more
        """
        begun = self._runner.clock()
        journal = self.journal
        progress = None
        try:
            if self.claim.tries > MAX_TRIES:  # loading it may be what they die of
                error = EngineError(detail=f"no runner survived it, {MAX_TRIES} tries")
                error.code = "internal_error"
                raise error
            loaded = await self._db(
                self._store.load, self.claim, is_over=self._is_lost, stop=self.stop
            )
            request, progress = loaded.request, loaded.progress
            journal.max_rounds = request.limits.max_rounds
            if loaded.stop_requested:
                self.stop.set()
            journal.emit(events.state("running", progress.step))
            with traces.turn(request, self.claim.epoch, self._runner.clock() - begun) as span:
                async with asyncio.timeout(request.limits.turn_timeout):
                    if loaded.has_unread_files:
                        request = await self._with_files()
                    result = await self._runner.run_engine(request, progress, journal, self.stop)
                span.end_turn(result)
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except Stopped:
            result = TurnResult(state="stopped")
        except TimeoutError:
            error = EngineError(_lt("The answer took too long and was stopped. Try again."))
            error.code = "turn_timeout"
            result = TurnResult(state="failed", error=error)
        except EngineError as error:
            result = TurnResult(state="failed", error=error)
        except Exception as error:
            _logger.exception(
                "Turn %s of %s failed unexpectedly.", self.claim.turn_id, self._store.name
            )
            result = TurnResult(state="failed", error=error)
        await self._finish(result, progress, begun)

    async def _with_files(self) -> TurnRequest:
        """Have the question's files read first; who stops does not wait for that."""
        reading = asyncio.ensure_future(
            self._db(self._store.read_files, self.claim, is_over=self._is_lost, lane=FILES)
        )
        try:
            with Race(self.stop) as race:
                if await race.is_done(reading):
                    reading.result()
        finally:
            reading.cancel()
        loaded = await self._db(self._store.load, self.claim, is_over=self._is_lost, stop=self.stop)
        return loaded.request

    def _is_lost(self) -> bool:
        return self.journal.lost

    async def _finish(
        self, result: TurnResult, progress: TurnProgress | None, begun: float
    ) -> None:
        """It must end whatever refuses to be written, or runner after runner would ask the model again."""
        journal, self.is_ending = self.journal, True
        begun += journal.asked.seconds  # what a person takes is not the turn's
        metrics.add("turns", state=result.state)
        metrics.observe("turn_seconds", self._runner.clock() - begun)
        if progress:
            progress.epoch = self.claim.epoch
        try:
            html = await self._html(result.text)
            return await self._end(result, progress, begun, html)
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except Exception as error:
            _logger.exception(
                "The end of turn %s of %s cannot be written.", self.claim.turn_id, self._store.name
            )
            failed = TurnResult(state="failed", error=error)
        try:
            return await self._end(failed, None, begun)
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except Exception:
            journal.forget()
            return await self._end(failed, None, begun)

    async def _end(self, result, progress, begun, html="") -> None:
        await self.journal.finish(
            lambda seq: ending(result, progress, self._runner.clock() - begun, seq, html)
        )

    async def _html(self, source: str) -> str:
        if len(source) > markdown.INLINE_CHARS:
            return await large.beside(self._runner.render, source)
        return self._runner.render(source) if source else ""


def ending(
    result: TurnResult,
    progress: TurnProgress | None,
    seconds: float,
    next_seq: int,
    html: str = "",
) -> Ending:
    """The turn's end for the store.

    :param seconds: that this process took
    """
    error = result.error
    if error is not None and not isinstance(error, EngineError):
        error = EngineError()
        error.code = "internal_error"
    if error is not None and error.detail:
        _logger.warning("A turn failed: %s (%s)", error.code, error.detail)
    usage: dict[str, Any] = dict(progress.usage) if progress else {}
    if progress and progress.context:
        usage["context"] = {k: v for k, v in progress.context.items() if k != "ratio"}
    usage["duration_ms"] = usage.get("duration_ms", 0) + int(seconds * 1000)
    if progress:  # a turn that waits for a decision goes on counting from here
        progress.usage["duration_ms"] = usage["duration_ms"]
    usage["rounds"] = progress.round if progress else 0
    usage.setdefault("input_tokens", 0)
    usage.setdefault("output_tokens", 0)
    usage["tool_calls"] = (
        sum(message["role"] == "tool" for message in progress.messages) if progress else 0
    )
    return Ending(
        state=result.state,
        html=html,
        usage=usage,
        progress=asdict(progress) if progress else None,
        error_code=error.code if error is not None else "",
        error_message=str(error) if error is not None else "",
        error_detail=error.detail if error is not None else "",
        confirm=result.confirm,
        next_seq=next_seq,
    )
