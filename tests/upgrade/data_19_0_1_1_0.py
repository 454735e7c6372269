"""What a company that used 19.0.1.1.0 has in its database, of what that version knows and the next one changes.

Run once in ``odoo-bin shell`` of that version (commit 31f3236) on its demo data, with the secret key of the test that
restores it; then pg_dump. The addon of today is never asked to run it.
"""

import json
from dataclasses import asdict

from odoo import Command
from odoo.addons.woow_paas_platform.runtime.turns.store import OdooStore
from odoo.addons.woow_paas_platform.services.specs import (
    CallResult,
    ServerSpec,
    ToolCall,
    ToolSpec,
    TurnProgress,
)
from odoo.addons.woow_paas_platform.services.turn.ports import Ending

env = globals()["env"]  # the shell's
env = env(
    context={**env.context, "woow_no_sync": True, "mail_notrack": True, "tracking_disable": True}
)
env["ir.config_parameter"].set_param("ir_attachment.location", "db")
ref = env.ref
M = "woow_paas_platform."
SCHEMA = json.dumps({"type": "object", "properties": {"city": {"type": "string"}}})
owner, user = ref(M + "user_owner"), ref(M + "user_user")
service, assistant = ref(M + "cloud_service_demo"), ref(M + "ai_assistant_demo")
ref(M + "ai_config_demo").api_key = "sk-provider-of-the-dump"

Server, Tool = env[M + "mcp_server"], env[M + "mcp_tool"]
weather = Server.create(
    {
        "name": "weather",
        "title": "The weather",
        "url": "https://weather.example.com/mcp",
        "api_key": "key-of-weather",
        "headers_json": json.dumps({"X-Tenant": "acme"}),
        "trust_level": "annotations",
    }
)
# The owner's has the name of the system's, as was possible.
Server.create(
    {
        "name": "weather",
        "url": "https://flows.example.com/mcp",
        "scope": "user",
        "cloud_service_id": service.id,
        "api_key": "key-of-flows",
    }
)
forecast, alerts = Tool.create(
    [
        {"name": name, "server_id": weather.id, "input_schema": SCHEMA, "approval_policy": policy}
        for name, policy in (("forecast", "auto"), ("alerts", "ask"))
    ]
)
assistant.mcp_server_ids += weather
assistant.record_access_ids = [
    Command.create({"model": "res.partner", "can_update": True, "hidden_fields": "email"})
]
env["ir.config_parameter"].set_param(M + "result_retention_days", "30")
env.cr.commit()
store = OdooStore(env.cr.dbname)


def ask(person, content, tool, about, channel=None):
    """A turn that has asked for one call of this tool."""
    channel = channel or env["discuss.channel"].with_user(person)._create_ai_conversation(
        assistant.with_user(person), None
    )
    turn = channel._ask(content)
    env.cr.commit()
    (claim,) = store.claim("dump", 1, 3600.0)
    assert claim.turn_id == turn.id
    spec = ToolSpec(
        id=tool.id,
        server_id=weather.id,
        name=tool.name,
        alias=tool.alias,
        definition=tool._definition(),
    )
    call = ToolCall(
        id=f"call_{turn.id}",
        alias=tool.alias,
        round=1,
        tool=spec,
        server=ServerSpec(id=weather.id, name=weather.name),
        arguments=about,
    )
    asked = {
        "id": call.id,
        "alias": call.alias,
        "name": call.alias,
        "arguments": about,
        "origin": ["tool", tool.id, weather.id, 0, spec.definition],
    }
    messages = [{"role": "assistant", "content": "", "tool_calls": [asked]}]
    progress = TurnProgress(step=1, round=1, started=True, messages=messages)
    started = {"type": "turn_started", "turn_id": turn.id, "assistant": assistant.name, "tools": 2}
    called = {
        "type": "tool_call",
        "id": call.id,
        "tool": tool.name,
        "args": about,
        "server": weather.name,
        "title": tool.name,
        "round": 1,
        "max_rounds": 5,
    }
    seq = claim.next_seq
    events = [(seq, {**started, "servers": []}), (seq + 1, called)]
    store.save_step(claim, asdict(progress), [call], events)
    return turn, claim, call, progress, seq + 2


def finish(claim, progress, seq, state="done", html=""):
    ending = Ending(state=state, html=html, progress=asdict(progress), next_seq=seq)
    store.finish(claim, ending, [])
    env.cr.commit()  # a new snapshot
    env.invalidate_all()


def answered(person, content, result, channel=None):
    turn, claim, call, progress, seq = ask(
        person, content, forecast, {"city": "Taipei"}, channel=channel
    )
    assert store.begin_call(claim, call).kind == "run"
    said = {
        "type": "tool_result",
        "id": call.id,
        "tool": "forecast",
        "result": result,
        "is_error": False,
        "outcome": "ok",
        "duration_ms": 120,
        "truncated": False,
    }
    found = CallResult(outcome="ok", text=result, display=result, bytes=len(result))
    store.end_call(claim, call.id, found, [(seq, said)])
    progress.messages += [
        {"role": "tool", "call_id": call.id, "content": result},
        {"role": "assistant", "content": "It is sunny in **Taipei**."},
    ]
    progress.step = 2
    finish(claim, progress, seq + 1, html="<p>It is sunny in <strong>Taipei</strong>.</p>")
    return turn


# 1: a large result; 2: one that was removed, but for what later questions tell the model; 3: waits; 4: queued.
first = answered(user, "How is the weather in Taipei? 台北天氣如何？", "Sunny. " * 1_000)
second = answered(owner, "And today?", "Removed of old.")
second.sudo().call_ids.write({"result": False, "llm_text": False, "result_pruned": True})
env.flush_all()
env.cr.execute(
    "UPDATE woow_paas_platform_tool_call SET create_date = create_date - interval '60 days'"
    " WHERE result_pruned"
)
turn, claim, call, progress, seq = ask(
    user, "Alerts?", alerts, {"city": "Paris"}, channel=first.channel_id
)
verdict = store.begin_call(claim, call)
assert verdict.kind == "ask"
finish(claim, progress, seq, state="waiting")
internal = env["res.users"].create(
    {"name": "Ines", "login": "internal", "group_ids": [Command.set([ref("base.group_user").id])]}
)
env["discuss.channel"].with_user(internal)._create_ai_conversation(
    assistant.with_user(internal), None
)._ask("Who am I?")
env[M + "tool_grant"].sudo()._grant(first, forecast, "always")
env["ir.attachment"].search([("url", "=like", "/web/assets/%")]).unlink()
env["bus.bus"].sudo().search([]).unlink()
env.cr.commit()
