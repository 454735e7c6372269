"""Turn store: a held turn and its log in PostgreSQL, as the runner writes them while the turn runs.

Every method is one short transaction, called from the runner's executor threads. It locks the turn's row
and compares the lease's epoch first, so that a runner which was paused past its lease can do nothing more.
Each is safe to repeat after a lost connection.
"""

import time
from typing import Any

from ...services import text
from ...services.errors import EngineError, LeaseLost
from ...services.specs import TurnProgress
from ...services.turn.ports import Claim, Loaded
from ...tools import db, notify
from ..records import mentions
from ..records.record_calls import RecordCalls
from . import question_files
from .turn_calls import COST, TurnCalls
from .turn_queue import TURN

ROW_LOCK_TIMEOUT = (
    0.3  # s that a Stop waits for who holds the row; its answer is promised within 0.5 s
)


class OdooStore(TurnCalls, RecordCalls):
    def load(self, claim: Claim) -> Loaded:
        """Freeze everything that the engine needs, as the turn's user sees it.

        :raises EngineError: the turn cannot run; it must end as failed
        """

        def work(env, said: str | None = None) -> Any:
            turn = self._held(env, claim)._for_its_user()
            if reason := turn._check_still_allowed():
                raise EngineError(reason)
            if turn.mentions and said is None:
                return None
            progress = TurnProgress(**(turn.transcript or {}))
            return Loaded(
                # sudo: the user may use the assistant (checked above), not read its servers' secrets
                request=turn.with_user(turn.user_id).sudo()._turn_request(said or ""),
                progress=progress,
                stop_requested=turn._is_stop_requested(),
                has_unread_files=bool(turn._unread_files()),
            )

        if loaded := db.transaction(self.name, work):
            return loaded
        # It counts in what fits the model, so it is read first: in a transaction that only reads and locks nothing.
        said = mentions.contents(self.name, claim.turn_id)
        return db.transaction(self.name, lambda env: work(env, said))

    def read_files(self, claim: Claim) -> None:
        """Read the files of the question that nobody has read yet, which takes seconds; no cursor is open meanwhile."""

        def held(work):
            return db.transaction(self.name, lambda env: work(self._in_its_language(env, claim)))

        for file_id in held(lambda turn: turn._unread_files().ids):
            question_files.read(file_id, held)

    def take_steering(self, claim, known) -> list[dict]:
        """Messages that the person has sent meanwhile and that enter the turn; theirs are the same, asked again,
        until a saved transcript has them.

        :param known: ids of turns whose messages the transcript has
        :return: ``[{"turn", "message_id", "content"}]``
        """

        def work(env):
            return self._held(env, claim)._take_steering(known)

        return db.transaction(self.name, work)

    def finish(self, claim, ending, events) -> None:
        """Let go of the turn: write `events` and, numbered from ``ending.next_seq``, the last ones after them.

        In a final state the answer is posted, and what is still open is closed: a call that had started gets
        the outcome "unknown", any other "cancelled", each with its `tool_result`; open questions are
        dismissed. A turn that is to wait ends as stopped when its Stop was asked for, and is queued at once
        when nothing is left to decide. Whatever happens is one transaction.

        :param ending: `services.turn.ports.Ending`
        """

        def work(env):
            turn = self._in_its_language(env, claim)
            if ending.progress:
                turn._keep_progress(ending.progress)
                env[COST]._settle_for(turn, ending.progress.get("spent", ()))
            env[COST]._give_up_for(turn)
            if ending.state == "waiting" and not turn._is_stop_requested():
                last = turn._begin_wait(ending.confirm)
            else:
                state = "stopped" if ending.state == "waiting" else ending.state
                error = None
                if ending.error_code:
                    error = (ending.error_code, text.storable(ending.error_message))
                last = turn._end(state, ending.html, usage=ending.usage, error=error)
                turn._record_cause(ending.error_code, ending.error_message, ending.error_detail)
            env.flush_all()
            self._insert(env, {claim: [*events, *enumerate(last, ending.next_seq)]})
            notify.queued(env.cr, 0)  # the conversation's next turn may be waiting

        try:
            db.transaction(self.name, work)
        except LeaseLost:
            # It may have ended by a COMMIT whose answer was lost, of which nobody was told.
            db.raw(self.name, lambda cr: (notify.events(cr), notify.queued(cr, 0)))
            raise

    def _in_its_language(self, env, claim):
        turn = self._held(env, claim)
        return turn.with_context(lang=turn._language(), tz=turn.user_id.tz)

    def request_stop(self, turn_id: int) -> str:
        """Stop a turn, whoever holds its row; answers within half a second.

        Queued or waiting, it ends here and now. Running, `stop_requested` is written for its runner: `heartbeat`
        tells it, `load` too, `finish` waits no more. While somebody else keeps the row locked, the wish is
        written beside it, and `sweep` carries it out.

        :return: the turn's state after the request, "running" while it is up to who holds the row
        """
        deadline = time.monotonic() + ROW_LOCK_TIMEOUT
        return db.transaction(
            self.name, lambda env: env[TURN].browse(turn_id)._request_stop(deadline)
        )
