"""Lease heartbeat of one database: a native thread that waits for nothing but PostgreSQL.

Neither a slow callback on the loop nor another database delays it.
"""

import logging
import threading
import time
from collections.abc import Callable

from ... import const, metrics
from ..ports import Claim, Store, StoreGone

_logger = logging.getLogger(__name__)

BEATS = 5  # of one lease
STUCK = 120.0  # s; a loop that has not turned for so long is given up, others take its turns


class Heartbeat:
    """
    :param call_soon: runs a function on the loop, from any thread
    :param on_renewed: called on the loop with the claims that are lost and those whose stop was asked for
    """

    def __init__(
        self,
        store: Store,
        runner_id: str,
        lease: float,
        call_soon: Callable[..., object],
        on_renewed: Callable[[set[Claim], set[Claim]], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._store = store
        self._runner_id = runner_id
        self._lease = lease
        self._call_soon = call_soon
        self._on_renewed = on_renewed
        self._clock = clock
        self._claims: frozenset[Claim] = frozenset()  # replaced as a whole: two threads look at it
        self._turned = clock()
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="woow-ai-heartbeat", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def hold(self, claim: Claim) -> None:
        """Only what really runs here is kept: a turn that this runner lost track of goes to another."""
        self._claims |= {claim}

    def let_go(self, claim: Claim) -> None:
        """Extend this lease no more."""
        self._claims -= {claim}

    def beat(self) -> None:
        """Extend what is held, once.

        :raises ConnectionError: PostgreSQL is away; who holds what is for it to say when it is back
        """
        self._call_soon(self._mark, self._clock())
        claims = self._claims
        if not claims:
            return
        if self._clock() - self._turned > STUCK:
            _logger.error("The AI runner's loop is blocked: another process takes over its turns.")
            return
        lost, stops = self._store.heartbeat(self._runner_id, sorted(claims))
        if lost or stops:
            self._call_soon(self._on_renewed, lost, stops)

    def _mark(self, asked: float) -> None:
        self._turned = self._clock()
        metrics.observe("loop_lag_seconds", self._turned - asked)

    def _run(self) -> None:
        period, away = self._lease / BEATS, False
        pause = period
        while not self._ended.wait(pause):
            begun = time.monotonic()
            try:
                self.beat()
                away = False
            except (
                RuntimeError,
                StoreGone,
            ):  # the loop is closed; the claims' own loop tells of the other
                break
            except ConnectionError as error:
                if not away:
                    _logger.info("No heartbeat in %s: %s", self._store.name, error)
                away = True
            except Exception:
                _logger.exception("The heartbeat of %s failed.", self._store.name)
            pause = const.DB_RETRY if away else max(0.0, period - (time.monotonic() - begun))
        self._store.close()
