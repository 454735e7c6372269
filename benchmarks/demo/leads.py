"""How often the demo's model follows the demo's rule for new leads: ``make bench-leads``.

The rule *Qualify new leads* is to propose one activity, which waits in *Decisions*. The model is the embedded one
with its examples, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY`` any other. Leads are drawn by
seed; the run is stopped. Argument: number of leads (10).
"""

import random
import sys
import time
from collections import Counter

from dev.checks.testbed import OdooServer

from ..interval import rate
from ..records import database
from ..records.models import the_model

LEADS = 10
SEED = 20_261_128
APPS = ("base_automation", "crm", "sale_management")
SECONDS = 300.0  # that a run may take
RUNS = "woow_paas_platform.ai_run"
CALLS = "woow_paas_platform.tool_call"
THINGS = ("chairs", "desks", "lamps", "shelves", "whiteboards")
WANTS = ("Offer for {n} {thing}", "{n} {thing} for a new office", "Question about {thing}")
PEOPLE = ("Ann Lee", "王小明", "José Pérez", "Mia Novak", "陳怡君")


def leads(count: int) -> list[dict[str, str]]:
    """Values of so many leads."""
    drawn = random.Random(SEED)
    return [
        {
            "name": drawn.choice(WANTS).format(n=drawn.randint(5, 90), thing=drawn.choice(THINGS)),
            "contact_name": drawn.choice(PEOPLE),
            "type": "opportunity",
        }
        for _lead in range(count)
    ]


def outcome(odoo: OdooServer, lead: int) -> str:
    """What became of the run of a lead; ``right`` if it proposes one activity on it."""
    until, run = time.monotonic() + SECONDS, None
    while time.monotonic() < until:
        about = [("res_model", "=", "crm.lead"), ("res_id", "=", lead)]
        found = odoo.rpc(RUNS, "search_read", about)
        run = next(iter(found), None)
        if run and (run["state"] not in ("scheduled", "started") or run["turn_state"] == "waiting"):
            break
        time.sleep(0.5)
    if not run or run["turn_state"] != "waiting":
        return f"ended as {run['state']} without a proposal" if run else "no run"
    asked = odoo.rpc(
        CALLS, "search_read", [("turn_id", "=", run["turn_id"][0]), ("approval", "=", "pending")]
    )
    odoo.rpc(RUNS, "action_stop", [run["id"]])
    kinds = [(call["tool_name"], call["arguments"].get("id")) for call in asked]
    return "right" if kinds == [("schedule_activity", lead)] else f"proposes {kinds}"


def report(odoo: OdooServer, count: int) -> int:
    """Print each lead and the share that was right.

    :return: how many were right
    """
    found: Counter[bool] = Counter()
    for values in leads(count):
        begun = time.monotonic()
        (lead,) = odoo.rpc("crm.lead", "create", [values], as_login="demo")
        said = outcome(odoo, lead)
        found[said == "right"] += 1
        print(f"{time.monotonic() - begun:4.0f} s  {values['name']}: {said}", flush=True)
    print(f"one activity is proposed: {rate(found[True], count)}")
    return found[True]


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else LEADS
    with (
        the_model(with_examples=True) as llm,
        database.source("woow_bench_leads", APPS) as made,
        database.demo(made, "bench_leads_run", llm) as odoo,
    ):
        report(odoo, count)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
