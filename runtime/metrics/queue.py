"""The queue of one database, for Prometheus; it is the same whichever process is asked."""

# pyright: reportMissingImports=false
# prometheus_client is an extra, which is not there where types are checked.

QUEUE = """
    SELECT COUNT(*) FILTER (WHERE state = 'queued'),
           COUNT(*) FILTER (WHERE state = 'running'),
           COUNT(*) FILTER (WHERE state = 'waiting'),
           COUNT(*) FILTER (WHERE state = 'running' AND lease_until < now() AT TIME ZONE 'UTC'),
           COALESCE(EXTRACT(EPOCH FROM now() AT TIME ZONE 'UTC'
                    - MIN(GREATEST(create_date, write_date)) FILTER (WHERE state = 'queued')), 0)
      FROM woow_paas_platform_ai_turn WHERE state IN ('queued', 'running', 'waiting')
    """
STATES = ("queued", "running", "waiting", "orphaned")
DEPTH = (
    "queue_turns",
    "Turns of the database that have not ended; orphaned ones run without a runner",
)
AGE = "queue_age_seconds", "How long the oldest queued turn has waited"


def families(cr, prefix: str, database: str = "") -> list:
    """
    :param database: its name, where the operator wants it told
    """
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

    cr.execute(QUEUE)
    *depths, age = cr.fetchone()
    names, values = (["database"], [database]) if database else ([], [])
    depth = GaugeMetricFamily(prefix + DEPTH[0], DEPTH[1], labels=["state", *names])
    for state, turns in zip(STATES, depths, strict=True):
        depth.add_metric([state, *values], turns)
    oldest = GaugeMetricFamily(prefix + AGE[0], AGE[1], labels=names)
    oldest.add_metric(values, float(age))
    return [depth, oldest]
