"""A fleet in which nobody asks anything: connections, transactions, memory and processor time."""

import statistics
import time

from ..figures import row
from .bed import LOOKS, POOLER_IDLE

FEW = 10  # tenants
SECONDS = 3 * LOOKS
DEFAULT_IDLE = 600  # s, PgBouncer's own


def rest(fleet):
    with fleet.runner("all") as runner:
        with fleet.runner("few", f"--db-filter=^woow_fleet_00[0-{FEW - 1}]$") as other:
            of_all, of_few = (one.memory_full_info() for one in (runner, other))
        tenants = len(fleet.tenants)
        each = (of_all.uss - of_few.uss) / (tenants - FEW)
        row(
            f"memory of a runner, each tenant at rest ({FEW} → {tenants})",
            f"{each / 1024:.1f} kB",
            f"{of_few.rss >> 20} → {of_all.rss >> 20} MB in all",
            "≤ 1 MB",
        )
        for seconds in (DEFAULT_IDLE, POOLER_IDLE):  # the latter stays for what comes after
            fleet.pool_idles(seconds)
            time.sleep(2 * LOOKS)
            _watch(fleet, runner, seconds)


def _watch(fleet, runner, idle):
    """A while of three looks into each tenant."""
    watched = {"runner": runner, "HTTP worker": fleet.worker, "gevent": fleet.gevent}
    lines = {name: [] for name in watched}
    behind = []
    before, used, begun = fleet.transactions(), sum(runner.cpu_times()[:2]), time.monotonic()
    while time.monotonic() - begun < SECONDS:
        for name, process in watched.items():
            lines[name].append(fleet.connections(process))
        behind.append(fleet.backends())
        time.sleep(0.2)
    took = time.monotonic() - begun
    after, used = fleet.transactions(), sum(runner.cpu_times()[:2]) - used
    rates = [(after[name] - before[name]) / took * 10 for name in before]
    if idle == DEFAULT_IDLE:  # else each look begins with a connection, whose start counts, too
        row(
            "transactions in a tenant at rest, in 10 s",
            f"{statistics.median(rates):.1f}",
            f"most {max(rates):.1f}; {used / took * 100:.1f} % of a core",
            "≤ 1",
        )
        for name, seen in lines.items():
            row(
                f"connections of the {name} at rest",
                f"{statistics.median(seen):.0f}",
                f"at most {max(seen)}",
            )
    row(
        f"PostgreSQL's processes at rest, {len(fleet.tenants)} tenants",
        f"{statistics.median(behind):.0f}",
        f"at most {max(behind)}; server_idle_timeout {idle} s",
    )
