"""Ranking of texts by meaning. Vectors are made beside the turns and kept in memory, so no turn waits for them."""

import asyncio
import contextlib
import hashlib
import heapq
import logging
import math
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from operator import mul

from .. import large
from ..errors import EngineError, LlmError
from ..llm.connections import Connections
from ..money.counting import Account, Ledger
from ..specs import LlmSpec, Payer
from . import endpoint

_logger = logging.getLogger(__name__)

QUERY_TIMEOUT = 3.0  # s that a look-up waits for the vectors of its queries
BATCH_TIMEOUT = 60.0  # s for those of one batch of tools
PAUSE = 60.0  # s after a failure in which words alone decide
RETOLD = 600.0  # s after which it is told again that a model answers: a process that met a failure may be gone
MAX_TEXTS = 2_000  # of one turn; half of what is kept of the largest vectors
MAX_KEPT = 64 * 1024 * 1024  # bytes of vectors: 40 000 of 384 numbers, 5 000 of 3 072
DEPTH = 100  # places of a ranking

OnState = Callable[[LlmSpec, LlmError | None], None]
"""Called on the loop with the provider and why its embedding model fails, or None: it answers; must not block."""


class EmbeddingIndex:
    """Vectors of one event loop. Databases, endpoints, keys and models share nothing.

    :param ledger: of what it costs
    :param on_state: told of each failure, and when an embedding model answers for the first time, again or still
    """

    def __init__(
        self,
        connections: Connections,
        ledger: Ledger,
        clock: Callable[[], float] = time.monotonic,
        on_state: OnState = lambda _spec, _error: None,
    ):
        self._connections = connections
        self._ledger = ledger
        self._clock = clock
        self._on_state = on_state
        self._well: dict[bytes, float] = {}  # when it was told that a model answers
        self._kept: OrderedDict[bytes, array] = OrderedDict()  # what was used last at the end
        self._bytes = 0
        self._resting: dict[bytes, float] = {}  # until when, by model
        self._making: dict[bytes, asyncio.Task] = {}

    def prepare(self, spec: LlmSpec, texts: Sequence[str], payer: Payer) -> None:
        """Make the vectors that are missing, beside whatever else runs; returns at once.

        :param texts: as they are embedded
        :param payer: for whom they are made; whoever comes later has them for nothing
        """
        key = _key(spec)
        if not spec.embedding_model or key in self._making or self._is_resting(key):
            return
        missing = [
            one for one in dict.fromkeys(texts[:MAX_TEXTS]) if _mark(key, one) not in self._kept
        ]
        if missing:
            task = asyncio.ensure_future(self._make(spec, missing, payer))
            self._making[key] = task
            task.add_done_callback(lambda _task: self._making.pop(key, None))

    async def prepared(self) -> None:
        """Wait for what is being made now."""
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    async def rank(
        self,
        spec: LlmSpec,
        texts: Sequence[str],
        queries: Sequence[str],
        payer: Payer,
        about: str = "",
    ) -> list[list[int]] | None:
        """Numbers of the texts that mean most what each query means, the best first.

        :param about: what all queries are about
        :return: None where words alone have to decide
        """
        key = _key(spec)
        if not spec.embedding_model or not queries or self._is_resting(key):
            return None
        marks = [_mark(key, one) for one in texts[:MAX_TEXTS]]
        if not all(mark in self._kept for mark in marks):
            self.prepare(spec, texts, payer)
            return None
        for mark in marks:
            self._kept.move_to_end(mark)
        kept = [self._kept[mark] for mark in marks]
        asked = [*queries, about] if about.strip() else queries
        try:
            vectors = await self._embed(spec, asked, QUERY_TIMEOUT, payer)
        except EngineError:
            return None
        if len(vectors[0]) != len(kept[0]):  # the endpoint has another model by this name now
            self._forget(marks)
            return None
        wanted, context = vectors[: len(queries)], vectors[len(queries) :]
        return await large.beside(_ranked, kept, wanted, context)

    async def close(self) -> None:
        for task in list(self._making.values()):
            task.cancel()

    async def _make(self, spec: LlmSpec, texts: Sequence[str], payer: Payer) -> None:
        key = _key(spec)
        with contextlib.suppress(EngineError):
            for start in range(0, len(texts), endpoint.MAX_TEXTS):
                batch = texts[start : start + endpoint.MAX_TEXTS]
                made = await self._embed(spec, batch, BATCH_TIMEOUT, payer)
                for one, vector in zip(batch, made, strict=True):
                    self._keep(_mark(key, one), vector)

    async def _embed(
        self, spec: LlmSpec, texts: Sequence[str], timeout: float, payer: Payer
    ) -> list[array]:
        """Embed as `endpoint.embed`; how it went is told, and a failure is followed by a pause."""
        key = _key(spec)
        account = Account(self._ledger, "embedding", payer, spec.database)
        try:
            made = await endpoint.embed(spec, texts, self._connections, timeout, account)
        except LlmError as error:
            self._rest(key, error)
            self._well.pop(key, None)
            self._on_state(spec, error)
            raise
        if self._well.get(key, -math.inf) + RETOLD <= self._clock():
            self._well[key] = self._clock()
            self._on_state(spec, None)
        return made

    def _keep(self, mark: bytes, vector: array) -> None:
        self._forget([mark])
        self._kept[mark] = vector
        self._bytes += len(vector) * vector.itemsize
        while self._bytes > MAX_KEPT:
            self._forget([next(iter(self._kept))])

    def _forget(self, marks: Iterable[bytes]) -> None:
        for mark in marks:
            if (vector := self._kept.pop(mark, None)) is not None:
                self._bytes -= len(vector) * vector.itemsize

    def _is_resting(self, key: bytes) -> bool:
        return self._resting.get(key, 0.0) > self._clock()

    def _rest(self, key: bytes, error: LlmError) -> None:
        now = self._clock()
        self._resting = {one: until for one, until in self._resting.items() if until > now}
        self._resting[key] = now + PAUSE
        _logger.warning("Tools are found by words alone for a while: %s %s", error, error.detail)


def _key(spec: LlmSpec) -> bytes:
    """Keeps no credential."""
    return _digest(repr((spec.database, spec.base_url, spec.api_key, spec.embedding_model)))


def _mark(key: bytes, text: str) -> bytes:
    return key + _digest(text)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _ranked(
    kept: Sequence[array], wanted: Sequence[array], context: Sequence[array]
) -> list[list[int]]:
    ranked = []
    for vector in wanted:
        for other in context:
            vector = array("f", map(sum, zip(vector, other, strict=True)))
        near = [sum(map(mul, vector, one)) for one in kept]
        best = heapq.nsmallest(DEPTH, range(len(near)), key=lambda n: (-near[n], n))
        ranked.append(best)
    return ranked
