"""The queue and the lease in PostgreSQL: how turns come to a runner and leave it.

Every method is one short transaction, called from the runner's executor threads, and safe to repeat after a
lost connection.
"""

from ..services.ports import Claim
from . import db, notify, settings

TURN = "woow_paas_platform.ai_turn"


class TurnQueue:
    """Which turns wait, who runs them, and until when."""

    def __init__(self, dbname: str):
        self.name = dbname

    def claim(self, runner_id: str, limit: int, lease: float) -> list[Claim]:
        """Take queued turns, at most one of a conversation, each for `lease` seconds; also one that was committed
        after a younger one waits until that one has ended or waits itself.

        Who has fewest goes first, and nobody has more than `turns_per_person` at a time.
        """

        def work(env):
            env.cr.execute(
                """
                WITH busy AS (
                    SELECT user_id, COUNT(*) AS turns FROM woow_paas_platform_ai_turn
                     WHERE state = 'running' GROUP BY user_id),
                line AS (
                    SELECT w.id,
                           ROW_NUMBER() OVER (PARTITION BY w.user_id ORDER BY w.id)
                           + COALESCE(busy.turns, 0) AS place
                      FROM woow_paas_platform_ai_turn w LEFT JOIN busy USING (user_id)
                     WHERE w.state = 'queued'
                       AND NOT EXISTS (
                            SELECT 1 FROM woow_paas_platform_ai_turn o
                             WHERE o.channel_id = w.channel_id
                               AND (o.state = 'running'
                                    OR o.id < w.id AND o.state IN ('queued', 'waiting')))),
                taken AS MATERIALIZED (
                    SELECT q.id FROM woow_paas_platform_ai_turn q JOIN line ON line.id = q.id
                     WHERE q.state = 'queued' AND line.place <= %(per_person)s
                     ORDER BY line.place, q.id
                       FOR UPDATE OF q SKIP LOCKED
                     LIMIT %(limit)s)
                UPDATE woow_paas_platform_ai_turn t
                   SET state = 'running', lease_owner = %(runner)s,
                       lease_epoch = COALESCE(t.lease_epoch, 0) + 1,
                       lease_until = now() AT TIME ZONE 'UTC' + %(lease)s * interval '1 second',
                       started_at = COALESCE(t.started_at, now() AT TIME ZONE 'UTC')
                  FROM taken
                 WHERE t.id = taken.id AND t.state = 'queued'
             RETURNING t.id, t.lease_epoch,
                       (SELECT COALESCE(MAX(seq), 0) + 1
                          FROM woow_paas_platform_ai_turn_event e WHERE e.turn_id = t.id)
                """,
                {
                    "runner": runner_id,
                    "lease": lease,
                    "limit": limit,
                    "per_person": settings.get().turns_per_person,
                },
            )
            return [Claim(*row, lease) for row in sorted(env.cr.fetchall())]

        return db.transaction(self.name, work)

    def heartbeat(self, runner_id: str, claims: list[Claim]) -> tuple[set[Claim], set[Claim]]:
        """Extend these leases.

        :return: the claims that are lost; those whose stop was asked for
        """

        def work(env):
            # Locked in the order of `append`, so that the two never wait for each other.
            env.cr.execute(
                """
                UPDATE woow_paas_platform_ai_turn t
                   SET lease_until = now() AT TIME ZONE 'UTC' + held.lease * interval '1 second'
                  FROM (SELECT h.id, c.lease FROM woow_paas_platform_ai_turn h
                          JOIN unnest(%s, %s, %s) AS c (id, epoch, lease)
                            ON c.id = h.id AND c.epoch = h.lease_epoch
                         WHERE h.state = 'running'
                         ORDER BY h.id FOR NO KEY UPDATE OF h) AS held
                 WHERE t.id = held.id
             RETURNING t.id, t.stop_requested
                """,
                [
                    [claim.turn_id for claim in claims],
                    [claim.epoch for claim in claims],
                    [claim.lease for claim in claims],
                ],
                log_exceptions=False,  # two writers met: `transaction` repeats it
            )
            rows = env.cr.fetchall()
            by_id = {claim.turn_id: claim for claim in claims}
            held = {by_id[i] for i, _ in rows}
            return set(claims) - held, {by_id[i] for i, stop in rows if stop}

        return db.transaction(self.name, work)

    def _renew(self, env, claim: Claim) -> None:
        """Of a turn that this transaction has locked."""
        env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn"
            " SET lease_until = now() AT TIME ZONE 'UTC' + %s * interval '1 second' WHERE id = %s",
            [claim.lease, claim.turn_id],
        )

    def release(self, runner_id: str) -> None:
        """Give back what this runner still holds: another process goes on."""

        def work(env):
            env.cr.execute(
                """
                UPDATE woow_paas_platform_ai_turn
                   SET state = 'queued', lease_owner = NULL, lease_until = NULL
                 WHERE state = 'running' AND lease_owner = %s RETURNING id
                """,
                [runner_id],
            )
            if env.cr.rowcount:
                notify.queued(env.cr, 0)

        db.transaction(self.name, work)

    def sweep(self) -> None:
        """Requeue the turns of dead runners, and carry out each Stop that met a locked row."""
        db.transaction(self.name, lambda env: env[TURN]._cron_sweep())
