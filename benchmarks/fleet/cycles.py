"""Tenants that are loaded for a turn and let go again, over and over: what of them stays in a runner?"""

import statistics
import time

from services.testing.scripted_llm import Reply

from ..figures import row

CYCLED = 10  # tenants
ROUNDS = 6
REST = 25  # s until a tenant is let go that has `idle_seconds` of 1


def cycles(fleet):
    fleet.llm.answer = lambda _body: Reply("Hello.")
    tenants, used = fleet.tenants[-CYCLED:], []
    with fleet.runner("cycles", WOOW_AI_IDLE_SECONDS="1") as runner:
        at_first = runner.memory_full_info().uss
        for _round in range(ROUNDS):
            for tenant in tenants:
                tenant.queue()
                tenant.wait_ended()
            busy = runner.memory_full_info().uss
            time.sleep(REST)
            used.append(runner.memory_full_info().uss)
    early, late = (statistics.mean(part) for part in (used[:2], used[-2:]))
    between = CYCLED * (ROUNDS - 2)
    row(
        f"memory of a runner, {CYCLED} tenants loaded and let go {ROUNDS} times",
        " → ".join(f"{one >> 20}" for one in used) + " MB",
        f"before {at_first >> 20}, loaded {busy >> 20} MB",
    )
    row("  a tenant that was loaded leaves", f"{(late - early) / between / 2**20:.2f} MB")
