"""What a company that used 19.0.1.0.0 has in its database.

Run once in ``odoo-bin shell`` of that version on its demo data, with the secret key of the test that restores it; then
pg_dump. The addon of today is never asked to run it.
"""

import base64
import json
from dataclasses import asdict

from odoo import Command
from odoo.addons.woow_paas_platform.runtime import tokens
from odoo.addons.woow_paas_platform.runtime.store import OdooStore
from odoo.addons.woow_paas_platform.services.ports import Ending
from odoo.addons.woow_paas_platform.services.specs import (
    CallResult,
    ServerSpec,
    ToolCall,
    ToolSpec,
    TurnProgress,
)
from odoo.addons.woow_paas_platform.services.testing import fake_api

env = globals()["env"]  # the shell's
env = env(
    context={**env.context, "woow_no_sync": True, "mail_notrack": True, "tracking_disable": True}
)
env["ir.config_parameter"].set_param("ir_attachment.location", "db")
ref = env.ref
M = "woow_paas_platform."
SCHEMA = json.dumps({"type": "object", "properties": {"city": {"type": "string"}}})
owner, user = ref(M + "user_owner"), ref(M + "user_user")
workspace, service = ref(M + "workspace_demo"), ref(M + "cloud_service_demo")
ref(M + "ai_config_demo").api_key = "sk-provider-of-the-dump"
lead = env["res.users"].create(
    {
        "name": "Ines Internal",
        "login": "internal",
        "password": "internal",
        "group_ids": [Command.set([ref("base.group_user").id])],
    }
)

Server, Tool = env[M + "mcp_server"], env[M + "mcp_tool"]
weather = Server.create(
    {
        "name": "weather",
        "url": "https://weather.example.com/mcp",
        "api_key": "key-of-weather",
        "headers_json": json.dumps({"X-Tenant": "acme"}),
        "trust_level": "annotations",
    }
)
flows = Server.create(
    {
        "name": "flows",
        "url": "https://flows.example.com/mcp",
        "scope": "user",
        "cloud_service_id": service.id,
        "api_key": "key-of-flows",
    }
)
own = Server.create(
    {"name": "own", "url": "https://own.example.com/mcp", "scope": "user", "owner_user_id": user.id}
)
signed = Server.create(
    {
        "name": "signed",
        "url": "https://signed.example.com/mcp",
        "authorization": "oauth_server",
        "oauth_client_id": "client",
        "oauth_client_secret": "client-secret",
        "oauth_issuer": "https://as.example.com",
    }
)
forecast, alerts, gone = Tool.create(
    [
        {
            "name": "forecast",
            "server_id": weather.id,
            "description": "The weather of a city.",
            "input_schema": SCHEMA,
            "annotations": json.dumps({"readOnlyHint": True}),
        },
        {
            "name": "alerts",
            "server_id": weather.id,
            "input_schema": SCHEMA,
            "approval_policy": "ask",
        },
        {
            "name": "gone",
            "server_id": weather.id,
            "input_schema": SCHEMA,
            "active": False,
            "available": False,
        },
    ]
)
run_flow = Tool.create({"name": "run_flow", "server_id": flows.id, "input_schema": SCHEMA})
assistant = ref(M + "ai_assistant_demo")
assistant.mcp_server_ids += weather | signed
assistant.mcp_tool_disabled_ids += alerts
env[M + "approval_rule"].create(
    {
        "tool_id": forecast.id,
        "assistant_id": assistant.id,
        "policy": "ask",
        "condition": "city == 'Paris'",
    }
)
env[M + "mcp_sign_in"]._of(signed.id, 0, tokens.address_of(signed), make=True)._keep(
    {
        "access_token": "token-of-the-dump",
        "refresh_token": "r",
        "issuer": "https://as.example.com",
        "scope": "mcp",
    }
)

# A knowledge network over an OpenAPI service.
box = env[M + "toolbox"].create(
    {
        "name": "orders",
        "base_url": "https://orders.example.com/v1",
        "document_file": base64.b64encode(json.dumps(fake_api.DOCUMENT).encode()),
    }
)
network = env[M + "knowledge_network"].create({"name": "Customers", "kn_id": "kn-customers"})
env[M + "action_type"].create(
    {
        "network_id": network.id,
        "model_id": env["ir.model"]._get("res.partner").id,
        "name": "Orders",
        "at_id": "at-orders",
        "source": "tool",
        "operation_id": box.operation_ids[0].id,
        "identity_fields": "ref",
    }
)
env[M + "service_link"].create(
    {"cloud_service_id": service.id, "record": f"res.partner,{lead.partner_id.id}"}
)
env["ir.config_parameter"].set_param("woow_paas_platform.approval_hours", "12")
env.cr.commit()

store = OdooStore(env.cr.dbname)


def conversation(person, service_=None):
    Channel = env["discuss.channel"].with_user(person)
    return Channel._create_ai_conversation(
        assistant.with_user(person), service_ and service_.with_user(person)
    )


def ask(person, content, tools, service_=None, channel=None):
    env.cr.commit()
    channel = channel or conversation(person, service_)
    turn = channel._ask(content)
    env.cr.commit()
    (claim,) = store.claim("dump", 1, 3600.0)
    assert claim.turn_id == turn.id
    calls = [
        ToolCall(
            id=f"call_{turn.id}_{n}",
            alias=t.alias,
            round=1,
            tool=ToolSpec(id=t.id, server_id=t.server_id.id, name=t.name, alias=t.alias),
            server=ServerSpec(id=t.server_id.id, name=t.server_id.name),
            arguments=a,
        )
        for n, (t, a) in enumerate(tools, 1)
    ]
    messages = (
        [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": c.id, "alias": c.alias, "name": c.alias, "arguments": c.arguments}
                    for c in calls
                ],
            }
        ]
        if calls
        else []
    )
    progress = TurnProgress(step=1, round=1 if calls else 0, started=True, messages=messages)
    seq = claim.next_seq
    events = [
        (
            seq,
            {
                "type": "turn_started",
                "turn_id": turn.id,
                "assistant": assistant.name,
                "tools": 2,
                "servers": [],
            },
        )
    ]
    for c in calls:
        seq += 1
        events.append(
            (
                seq,
                {
                    "type": "tool_call",
                    "id": c.id,
                    "tool": c.tool.name,
                    "args": c.arguments,
                    "server": c.server.name,
                    "title": c.tool.name,
                    "round": 1,
                    "max_rounds": 5,
                },
            )
        )
    store.save_step(claim, asdict(progress), calls, events)
    return turn, claim, calls, progress, seq


def finish(claim, progress, seq, state="done", html="", **more):
    store.finish(
        claim,
        Ending(
            state=state,
            html=html,
            usage={
                "input_tokens": 10,
                "output_tokens": 5,
                "rounds": 1,
                "tool_calls": 1,
                "duration_ms": 900,
            },
            progress=asdict(progress),
            next_seq=seq + 1,
            **more,
        ),
        [],
    )
    env.cr.commit()  # a new snapshot
    env.invalidate_all()


# 1: done, with a result, a denied call and a file; 2: waits for a decision; 3: failed; 4: queued; 5: about a service.
turn, claim, calls, progress, seq = ask(
    user,
    "How is the weather in Taipei? 台北天氣如何？",
    [(forecast, {"city": "Taipei"}), (gone, {"city": "Bonn"})],
)
verdict = store.begin_call(claim, calls[0].id)
store.end_call(
    claim,
    calls[0].id,
    CallResult(
        outcome="ok",
        text="Sunny, 28 °C",
        display={"text": "Sunny, 28 °C"},
        duration_ms=120,
        bytes=14,
    ),
    [
        (
            seq + 1,
            {
                "type": "tool_result",
                "id": calls[0].id,
                "tool": "forecast",
                "result": "Sunny",
                "is_error": False,
                "outcome": "ok",
                "duration_ms": 120,
                "truncated": False,
            },
        )
    ],
)
store.begin_call(claim, calls[1].id)
store.end_call(
    claim,
    calls[1].id,
    CallResult(
        outcome="denied",
        text="This tool is switched off.",
        display={"text": "This tool is switched off."},
    ),
    [
        (
            seq + 2,
            {
                "type": "tool_result",
                "id": calls[1].id,
                "tool": "gone",
                "result": "",
                "is_error": True,
                "outcome": "denied",
                "duration_ms": 0,
                "truncated": False,
            },
        )
    ],
)
progress.messages += [
    {"role": "tool", "call_id": calls[0].id, "content": "Sunny, 28 °C"},
    {"role": "tool", "call_id": calls[1].id, "content": "off"},
    {"role": "assistant", "content": "It is sunny in **Taipei**."},
]
progress.step = 2
finish(claim, progress, seq + 2, html="<p>It is sunny in <strong>Taipei</strong>.</p>")
first = turn

turn, claim, calls, progress, seq = ask(
    user, "And in Paris?", [(forecast, {"city": "Paris"})], channel=turn.channel_id
)
store.begin_call(claim, calls[0].id)
finish(claim, progress, seq, state="waiting")
waiting = turn

turn, claim, calls, progress, seq = ask(owner, "What failed?", [])
finish(
    claim,
    progress,
    seq,
    state="failed",
    error_code="llm_unavailable",
    error_message="The language model cannot be reached.",
)

turn, claim, calls, progress, seq = ask(
    owner, "Run the flow", [(run_flow, {"city": "x"})], service_=service
)
verdict = store.begin_call(claim, calls[0].id)
finish(claim, progress, seq, state="waiting" if verdict.kind == "ask" else "done")

queued = conversation(lead)._ask("Who am I?")
env[M + "tool_grant"].sudo()._grant(first, forecast, "always")
attachment = env["ir.attachment"].create(
    {
        "name": "notes.txt",
        "raw": b"kept",
        "res_model": "discuss.channel",
        "res_id": first.channel_id.id,
        "mimetype": "text/plain",
    }
)
env["ir.attachment"].search([("url", "=like", "/web/assets/%")]).unlink()
env.cr.commit()
