"""Turn queue and lease in PostgreSQL: how turns come to a runner and leave it.

Every method is one short transaction, called from the runner's executor threads, and safe to repeat after a
lost connection. `heartbeat` has a thread and a connection of its own.
"""

import time
from collections.abc import Collection

from odoo.modules import module as odoo_module
from psycopg2.errors import UniqueViolation

from ...models.turn.ai_turn import CLAIMABLE
from ...services.turn.ports import Claim
from ...services.turn.queue.heartbeat import BEATS
from ...tools import copies, db, notify, settings
from ...tools.pg_connection import PgConnection

TURN = "woow_paas_platform.ai_turn"
STOPS = """
    SELECT 1 FROM woow_paas_platform_ai_turn_stop
     UNION ALL
    SELECT 1 FROM woow_paas_platform_ai_turn
     WHERE state IN ('queued', 'waiting') AND stop_requested
     LIMIT 1
    """
LOCKED_RETRY = 0.1  # s until a turn that somebody had locked is tried again


class TurnQueue:
    """Queue of turns: those that wait, their runners and leases."""

    def __init__(self, dbname: str):
        self.name = dbname
        self._line: PgConnection | None = None
        self._oid = 0  # of the database whose turns are run, once it is known whose they are

    def claim(self, runner_id: str, limit: int, lease: float) -> list[Claim]:
        """Take queued turns, at most one of a conversation, each for `lease` seconds; also one that was committed
        after a younger one waits until that one has ended or waits itself.

        Who has fewest goes first, and nobody has more than `turns_per_person` at a time, all together no more than
        `turns_per_database`.
        """

        def work(cr):
            # Under a living server this name may come to lead to a copy.
            if (oid := copies.oid(cr)) != self._oid:
                copies.settle(cr)
            cr.execute(
                """
                WITH busy AS (
                    SELECT user_id, COUNT(*) AS turns FROM woow_paas_platform_ai_turn
                     WHERE state = 'running' GROUP BY user_id),
                line AS (
                    SELECT w.id,
                           ROW_NUMBER() OVER (PARTITION BY w.user_id ORDER BY w.id)
                           + COALESCE(busy.turns, 0) AS place
                      FROM woow_paas_platform_ai_turn w LEFT JOIN busy USING (user_id)
                     WHERE CLAIMABLE),
                taken AS MATERIALIZED (
                    SELECT q.id FROM woow_paas_platform_ai_turn q JOIN line ON line.id = q.id
                     WHERE q.state = 'queued' AND line.place <= %(per_person)s
                     ORDER BY line.place, q.id
                       FOR UPDATE OF q SKIP LOCKED
                     LIMIT GREATEST(0, LEAST(%(limit)s,
                           %(per_database)s - (SELECT COALESCE(SUM(turns), 0)::int FROM busy))))
                UPDATE woow_paas_platform_ai_turn t
                   SET state = 'running', lease_owner = %(runner)s,
                       lease_epoch = COALESCE(t.lease_epoch, 0) + 1,
                       lease_until = now() AT TIME ZONE 'UTC' + %(lease)s * interval '1 second',
                       started_at = COALESCE(t.started_at, now() AT TIME ZONE 'UTC'),
                       version_id = (SELECT a.version_id FROM ai_assistant a WHERE a.id = t.assistant_id)
                  FROM taken
                 WHERE t.id = taken.id AND t.state = 'queued'
             RETURNING t.id, t.lease_epoch,
                       (SELECT COALESCE(MAX(seq), 0) + 1
                          FROM woow_paas_platform_ai_turn_event e WHERE e.turn_id = t.id),
                       t.user_id,
                       t.lease_epoch - COALESCE((t.transcript ->> 'epoch')::int, 0)
                """.replace("CLAIMABLE", CLAIMABLE),
                {
                    "runner": runner_id,
                    "lease": lease,
                    "limit": limit,
                    "per_person": settings.get().turns_per_person,
                    "per_database": settings.get().turns_per_database or None,
                },
            )
            return oid, [
                Claim(turn_id, epoch, next_seq, lease, person, tries)
                for turn_id, epoch, next_seq, person, tries in sorted(cr.fetchall())
            ]

        try:
            self._oid, claims = db.raw(self.name, work)
        except UniqueViolation:  # of one conversation two were taken at the same moment
            self._oid, claims = db.raw(self.name, work)
        return claims

    def heartbeat(self, runner_id: str, claims: list[Claim]) -> tuple[set[Claim], set[Claim]]:
        """Extend these leases; what somebody has locked just now is held all the same, and tried again for a while.

        :return: the claims that are lost; those whose stop was asked for
        """
        until = time.monotonic() + min(claim.lease for claim in claims) / BEATS
        lost, stops, left = set(), set(), claims
        while True:
            locked = []
            by_key = {(claim.turn_id, claim.epoch): claim for claim in left}
            for turn_id, epoch, is_held, is_extended, is_stopped in self._extend(runner_id, left):
                claim = by_key[turn_id, epoch]
                if not is_held:
                    lost.add(claim)
                elif not is_extended:
                    locked.append(claim)
                if is_stopped:
                    stops.add(claim)
            left = locked
            if not left or lost or stops or time.monotonic() > until:
                return lost, stops
            time.sleep(LOCKED_RETRY)

    def _extend(self, runner_id, claims) -> list[tuple]:
        """:return: of each claim its turn and epoch, whether it is held, was extended, is to be stopped"""
        statement = """
            WITH mine AS (
                SELECT * FROM unnest(%s::int[], %s::int[], %s::float[]) AS c (id, epoch, lease)),
            free AS MATERIALIZED (
                SELECT t.id, mine.lease FROM woow_paas_platform_ai_turn t JOIN mine
                    ON mine.id = t.id AND mine.epoch = t.lease_epoch
                 WHERE t.state = 'running'
                   FOR NO KEY UPDATE OF t SKIP LOCKED),
            extended AS (
                UPDATE woow_paas_platform_ai_turn t
                   SET lease_until = now() AT TIME ZONE 'UTC' + free.lease * interval '1 second',
                       lease_owner = %s
                  FROM free WHERE t.id = free.id
             RETURNING t.id)
            SELECT mine.id, mine.epoch, t.id IS NOT NULL, extended.id IS NOT NULL,
                   t.stop_requested IS TRUE OR EXISTS (
                       SELECT 1 FROM woow_paas_platform_ai_turn_stop s WHERE s.turn_id = t.id)
              FROM mine LEFT JOIN extended USING (id)
              LEFT JOIN woow_paas_platform_ai_turn t
                     ON t.id = mine.id AND t.lease_epoch = mine.epoch AND t.state = 'running'
            """
        values = [
            [claim.turn_id for claim in claims],
            [claim.epoch for claim in claims],
            [claim.lease for claim in claims],
            runner_id,
        ]
        if odoo_module.current_test:

            def work(cr):
                cr.execute(statement, values)
                return cr.fetchall()

            return db.raw(self.name, work)
        try:
            if self._line is None:
                self._line = PgConnection(self.name, min(claim.lease for claim in claims) / 3)
            return self._line.query(statement, values)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection of the thread that calls `heartbeat`."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _renew(self, env, claim: Claim) -> None:
        """Extend the lease of a turn that this transaction has locked."""
        env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn"
            " SET lease_until = now() AT TIME ZONE 'UTC' + %s * interval '1 second' WHERE id = %s",
            [claim.lease, claim.turn_id],
        )

    def release(self, runner_id: str, keep: Collection[Claim] = ()) -> int:
        """Give back what this runner still holds, but these: another process goes on, and this try does not count.

        :return: how many could not be given back, since somebody has locked them just now
        """

        def work(cr):
            cr.execute(
                """
                WITH mine AS MATERIALIZED (
                    SELECT id FROM woow_paas_platform_ai_turn
                     WHERE state = 'running' AND lease_owner = %s
                       AND (id, lease_epoch) NOT IN (SELECT * FROM unnest(%s::int[], %s::int[]))),
                free AS MATERIALIZED (
                    SELECT t.id FROM woow_paas_platform_ai_turn t JOIN mine USING (id)
                     WHERE t.state = 'running' FOR NO KEY UPDATE OF t SKIP LOCKED),
                given AS (
                    UPDATE woow_paas_platform_ai_turn t
                       SET state = 'queued', lease_owner = NULL, lease_until = NULL,
                           transcript = jsonb_set(COALESCE(t.transcript, '{}'), '{epoch}', to_jsonb(LEAST(
                               t.lease_epoch, COALESCE((t.transcript ->> 'epoch')::int, 0) + 1)))
                      FROM free WHERE t.id = free.id
                 RETURNING t.id)
                SELECT (SELECT COUNT(*) FROM given), (SELECT COUNT(*) FROM mine)
                """,
                [
                    runner_id,
                    [claim.turn_id for claim in keep],
                    [claim.epoch for claim in keep],
                ],
            )
            given, mine = cr.fetchone()
            if given:
                notify.queued(cr, 0)
            return mine - given

        return db.raw(self.name, work)

    def sweep(self) -> None:
        """Requeue the turns of dead runners, and carry out each Stop that met a locked row."""

        def work(cr):
            sweep(cr)
            cr.execute(STOPS)
            return bool(cr.fetchone())

        if db.raw(self.name, work):
            db.transaction(self.name, lambda env: env[TURN]._apply_stops())


def sweep(cr) -> None:
    """Requeue what nobody holds; the notification wakes a runner.

    A lease that is over loses its owner first, for a while: whoever lives and was kept away, by a lock or
    because PostgreSQL was, takes it again with the next beat. Who does not is dead.
    """
    cr.execute(
        """
        WITH late AS MATERIALIZED (
            SELECT id, lease_owner FROM woow_paas_platform_ai_turn
             WHERE state = 'running' AND lease_until < now() AT TIME ZONE 'UTC'
               FOR UPDATE SKIP LOCKED),
        doubted AS (
            UPDATE woow_paas_platform_ai_turn t
               SET lease_owner = NULL,
                   lease_until = now() AT TIME ZONE 'UTC' + %s * interval '1 second'
              FROM late WHERE t.id = late.id AND late.lease_owner IS NOT NULL)
        UPDATE woow_paas_platform_ai_turn t SET state = 'queued', lease_until = NULL
          FROM late WHERE t.id = late.id AND late.lease_owner IS NULL
        """,
        [settings.get().lease_seconds / 3],
    )
    if cr.rowcount or has_queued(cr):
        notify.queued(cr, 0)


def has_queued(cr) -> bool:
    cr.execute("SELECT 1 FROM woow_paas_platform_ai_turn WHERE state = 'queued' LIMIT 1")
    return bool(cr.fetchone())


def has_left(cr) -> bool:
    """True if a turn is queued, or its runner seems to be dead."""
    cr.execute(
        "SELECT 1 FROM woow_paas_platform_ai_turn"
        " WHERE state = 'queued' OR (state = 'running' AND lease_owner IS NULL) LIMIT 1"
    )
    return bool(cr.fetchone())
