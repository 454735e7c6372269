"""Turn log: numbered events of held turns in PostgreSQL; whoever lost the lease writes nothing."""

import json
import logging

from odoo.tools import SQL

from ...services import text
from ...services.errors import LeaseLost, TurnGone
from ...services.turn.ports import Claim, TurnsLocked
from ...tools import db, notify, sentences
from .turn_queue import TURN, TurnQueue

_logger = logging.getLogger(__name__)


class TurnLog(TurnQueue):
    """Part of the `Store`."""

    def _held(self, env, claim):
        """The locked turn.

        :raises LeaseLost: another runner took it, it ended, or this is a copy of the database that it was taken in
        """
        env.cr.execute(
            "SELECT state, lease_epoch, (SELECT oid FROM pg_database WHERE datname = current_database())"
            " FROM woow_paas_platform_ai_turn WHERE id = %s FOR NO KEY UPDATE",
            [claim.turn_id],
        )
        row = env.cr.fetchone()
        if not row:
            raise TurnGone
        if row != ("running", claim.epoch, self._oid or row[2]):
            raise LeaseLost
        return env[TURN].browse(claim.turn_id)

    def append(self, batch: dict[Claim, list[tuple[int, dict]]]) -> set[Claim]:
        """Write events of many turns at once; a turn that somebody has locked does not keep the others waiting.

        :return: the claims whose lease is lost, or whose numbers somebody else has used; nothing was written for them
        :raises TurnsLocked: nor for these, after the others were committed
        """

        def work(env):
            by_id = {claim.turn_id: claim for claim in batch}
            held = self._held_of(env, by_id, "FOR SHARE SKIP LOCKED")
            self._insert(env, {claim: batch[claim] for claim in held})
            rest = {claim.turn_id: claim for claim in batch if claim not in held}
            locked = self._held_of(env, rest, "") if rest else set()
            return set(batch) - held - locked, locked

        try:
            lost, locked = db.transaction(self.name, work)
        except LeaseLost as error:
            if len(batch) > 1:  # each finds out for itself whether it is the one
                lost, locked = self._append_each(batch)
            else:
                _logger.error("Turn %s: %s", next(iter(batch)).turn_id, error.detail)
                return set(batch)
        if locked:
            raise TurnsLocked(locked, lost)
        return lost

    def _append_each(self, batch):
        lost, locked = set(), set()
        for claim, events in batch.items():
            try:
                lost |= self.append({claim: events})
            except TurnsLocked as one:
                locked |= one.locked
        return lost, locked

    def _held_of(self, env, by_id, lock):
        """:return: of these claims those that are valid, by the turns' rows under this lock"""
        env.cr.execute(
            SQL(
                "SELECT id, lease_epoch FROM woow_paas_platform_ai_turn"
                " WHERE id = ANY(%s) AND state = 'running' ORDER BY id %s",
                sorted(by_id),
                SQL(lock),
            )
        )
        return {by_id[i] for i, epoch in env.cr.fetchall() if by_id[i].epoch == epoch}

    def _insert(self, env, batch):
        """Write numbered events; what stands there already is left alone.

        :raises LeaseLost: another event has the number of one of these
        """
        rows = [
            (claim.turn_id, seq, self._payload(env, claim, payload))
            for claim, events in batch.items()
            for seq, payload in events
        ]
        if not rows:
            return
        written = env.cr.execute_values(
            "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"
            " ON CONFLICT (turn_id, seq) DO NOTHING RETURNING turn_id, seq",
            rows,
            fetch=True,
        )
        if len(written) < len(rows):
            self._check_repeated(env, [row for row in rows if row[:2] not in set(written)])
        notify.events(env.cr)

    def _payload(self, env, claim, event):
        """The event as its person reads it."""
        if event["type"] == "notice":
            lang = env[TURN].browse(claim.turn_id)._language()
            event = {**event, "message": sentences.in_language(lang, event["message"])}
        return json.dumps(text.storable(event), ensure_ascii=False)

    def _check_repeated(self, env, rows):
        """A write may be repeated, but a number that somebody else has used means that somebody else writes."""
        taken = env.cr.execute_values(
            "SELECT e.turn_id, e.seq FROM woow_paas_platform_ai_turn_event e"
            " JOIN (VALUES %s) AS mine (turn_id, seq, payload)"
            " ON mine.turn_id = e.turn_id AND mine.seq = e.seq"
            " WHERE e.payload::jsonb IS DISTINCT FROM mine.payload::jsonb",
            rows,
            fetch=True,
        )
        if taken:
            raise LeaseLost(detail=f"another event has the number of (turn, event) {taken}")
