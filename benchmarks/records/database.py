"""Odoo with CRM, Sales and their demo data: one database, made once, of which each side gets a copy."""

import contextlib
from collections.abc import Iterator, Sequence

from dev.checks import testbed
from dev.servers import addon
from dev.servers.instance import Instance

from .models import Llm

APPS = ("crm", "sale_management")
MODELS = ("res.partner", "crm.lead", "crm.stage", "sale.order", "sale.order.line")
FLAGS = (
    *("can_create", "can_update", "can_archive"),
    *("can_message", "can_schedule"),
)
PROMPT = "You are the assistant of a salesperson. Answer briefly, in the language of the question."


@contextlib.contextmanager
def source(name: str = "woow_bench_records", apps: Sequence[str] = APPS) -> Iterator[Instance]:
    base = testbed.template()
    with testbed.running_postgres(base):
        made = Instance(base.name, name, throw_away=True)
        made.postgres = base.postgres
        made.write_config()
        addon.bring_up_to_date(made, made.postgres.environment, apps)
        yield made


@contextlib.contextmanager
def demo(made: Instance, name: str, llm: Llm) -> Iterator[testbed.OdooServer]:
    """An Odoo with a fresh copy, the demo's assistants and this model."""
    facts = {
        "WOOW_AI_DEMO_LLM_URL": llm.base_url,
        "WOOW_AI_DEMO_LLM_MODEL": llm.model,
        "WOOW_AI_DEMO_LLM_KEY": llm.key,
        "WOOW_AI_EGRESS_ALLOW": testbed.LOOPBACK,
    }
    odoo = testbed.OdooServer(made, name, environment=facts)
    addon.refresh_demo(odoo.instance, {**made.postgres.environment, **facts})
    odoo.start()
    try:
        yield odoo
    finally:
        odoo.stop()


@contextlib.contextmanager
def running(made: Instance, name: str) -> Iterator[testbed.OdooServer]:
    """An Odoo with a fresh copy."""
    odoo = testbed.OdooServer(made, f"bench_records_{name}")
    odoo.start()
    try:
        yield odoo
    finally:
        odoo.stop()


def prepare(odoo: testbed.OdooServer, base_url: str, model: str, key: str) -> int:
    """An assistant that may use these models without asking; its id."""
    provider = {"name": "Benchmark", "api_base_url": base_url, "model": model, "api_key": key}
    (config,) = odoo.rpc("ai.config", "create", [{**provider, "temperature": 0.0}])
    lines = [
        (0, 0, {"model": name, **dict.fromkeys(FLAGS, True), "policy": "auto"}) for name in MODELS
    ]
    values = {"name": "Benchmark", "config_id": config, "system_prompt": PROMPT}
    (assistant,) = odoo.rpc("ai.assistant", "create", [{**values, "record_access_ids": lines}])
    return assistant
