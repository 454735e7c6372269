"""How many of their tests the demo's assistants pass, and a worse version of each: ``make bench-assistants``.

The model is the embedded one with its examples, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY``
any other. Of MCP tools the recorded results are used; records of Odoo are read. Arguments: names of assistants
(``demo``, ``sales``, ``orders``), ``published`` or ``worse`` for one version, ``-v`` for reasons and answers, and
``replays`` for the time of recorded turns with a scripted model, see `replays`.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from dev import processes
from dev.checks import testbed
from dev.checks.testbed import OdooServer
from dev.servers import addon, mcp_servers

from ..bed import deployment
from ..figures import run
from ..records import database
from ..records.models import the_model
from . import replays

NAMES = ("demo", "sales", "orders")
VERSIONS = ("published", "worse")
SECONDS = 1_800.0  # that a run may take
# Four tests ask at once, and the embedded model answers one after the other.
PATIENCE = {"first_token_timeout": 600.0, "idle_timeout": 300.0}
WORSE = {  # an administrator takes away what seemed unused: field of the assistant, and what goes
    "demo": ("mcp_server_ids", "woow_paas_platform.mcp_server", ("name", "=", "time")),
    "sales": ("record_access_ids", "woow_paas_platform.record_access", ("model", "=", "crm.lead")),
    "orders": (
        "record_access_ids",
        "woow_paas_platform.record_access",
        ("model", "=", "sale.order"),
    ),
}
RUNS = "woow_paas_platform.assistant_test_run"
RESULTS = "woow_paas_platform.assistant_test_result"


@contextmanager
def demo() -> Iterator[OdooServer]:
    """The demo's Odoo with its assistants, their tests, model and MCP servers."""
    with ExitStack() as stack:
        llm = stack.enter_context(the_model(with_examples=True))
        made = stack.enter_context(database.source("woow_bench_assistants"))
        servers = [
            mcp_servers.start_everything(processes.free_port()),
            mcp_servers.start_clock(processes.free_port()),
        ]
        for server in servers:
            stack.callback(server.stop)
            server.wait()
        facts = {
            "WOOW_AI_DEMO_LLM_URL": llm.base_url,
            "WOOW_AI_DEMO_LLM_MODEL": llm.model,
            "WOOW_AI_DEMO_LLM_KEY": llm.key,
            "WOOW_AI_DEMO_GROUNDED": "yes",
            "WOOW_AI_EGRESS_ALLOW": testbed.LOOPBACK,
        }
        facts |= {f"WOOW_AI_DEMO_MCP_{one.name.upper()}_URL": one.url for one in servers}
        odoo = OdooServer(made, "bench_assistants_run", environment=facts)
        addon.refresh_demo(odoo.instance, {**made.postgres.environment, **facts})
        odoo.start()
        stack.callback(odoo.stop)
        providers = odoo.rpc("ai.config", "search", [])
        odoo.rpc("ai.config", "write", providers, PATIENCE)
        yield odoo


def run_of(odoo: OdooServer, assistant: int) -> list[dict[str, Any]]:
    """Results of all tests of an assistant, in their order."""
    (run,) = odoo.rpc(RUNS, "create", [{"assistant_id": assistant}])
    odoo.rpc(RUNS, "action_start", [run])
    until = time.monotonic() + SECONDS
    while odoo.rpc(RUNS, "read", [run], ["state"])[0]["state"] == "running":
        if time.monotonic() > until:
            raise SystemExit(f"The tests took longer than {SECONDS:.0f} s.")
        time.sleep(1)
    names = ["test_id", "state", "reason", "answer", "calls_text", "seconds"]
    return odoo.rpc(RESULTS, "search_read", [("run_id", "=", run)], names, order="id")


def worsen(odoo: OdooServer, name: str, assistant: int) -> None:
    """Take from the assistant what `WORSE` names; with instructions alone the embedded model goes on as before."""
    field, model, what = WORSE[name]
    (now,) = odoo.rpc("ai.assistant", "read", [assistant], [field])
    gone = odoo.rpc(model, "search", [("id", "in", now[field]), what])
    odoo.rpc("ai.assistant", "write", [assistant], {field: [(3, one) for one in gone]})


def report(odoo: OdooServer, name: str, arguments: list[str]) -> None:
    """Print how many tests pass now, and with the worse version."""
    model = "ir.model.data"
    (data,) = odoo.rpc(
        model, "search_read", [("name", "=", f"ai_assistant_{name}")], ["res_id"], limit=1
    )
    assistant = data["res_id"]
    for version in [one for one in VERSIONS if one in arguments] or VERSIONS:
        if version == "worse":
            worsen(odoo, name, assistant)
        begun = time.monotonic()
        results = run_of(odoo, assistant)
        passed = sum(one["state"] == "passed" for one in results)
        print(
            f"{name}, {version}: {passed} of {len(results)} pass, {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        for one in results if "-v" in arguments else ():
            print(f"  {one['seconds']:5.1f} s  {one['test_id'][1]} {one['state']}")
            for said in ("reason", "calls_text", "answer"):
                print(f"      {said}: {' '.join((one[said] or '').split())}", flush=True)


def main(arguments: list[str]) -> int:
    parts = [one for one in (*NAMES, "replays") if one in arguments] or [*NAMES, "replays"]
    failed = []
    if "replays" in parts:
        parts.remove("replays")
        with deployment() as (llm, new_odoo), new_odoo("replays") as odoo:
            failed = run({"replays": lambda: replays.report(odoo, llm)})
    if parts:
        with demo() as odoo:
            for name in parts:
                report(odoo, name, arguments)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
