"""A script for ``odoo-bin shell``: the demo's records follow this start's model and MCP servers.

Reads the environment's ``WOOW_AI_DEMO_*`` variables and prints, after a mark each, what every question to one of
the demo's assistants begins with, as an OpenAI request.
"""

import json
import logging
import os
import tomllib
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

from odoo import fields
from odoo.addons.woow_paas_platform.runtime import process
from odoo.addons.woow_paas_platform.services.errors import EngineError
from odoo.addons.woow_paas_platform.services.records import catalog
from odoo.addons.woow_paas_platform.services.specs import Limits
from odoo.addons.woow_paas_platform.services.turn.tools import TurnTools

MARK = "@@opening@@"  # see dev/servers/addon.py
EMBEDDED_TIMEOUT = 300  # s until the first token
# One for salespeople, which is the first that they meet, and one for customers, whom the demo assistant meets first.
ASSISTANTS = {
    "ai_assistant_sales": {
        "name": "Sales Assistant",
        "description": "Knows contacts, leads and orders; makes activities and quotations when you allow it.",
        "sequence": 5,
        "system_prompt": "You are a helpful assistant for salespeople. Look things up with the tools instead of"
        " guessing. Contacts and customers are in res.partner, leads and opportunities in crm.lead, quotations and"
        " orders in sale.order, their lines in sale.order.line, products in product.product. The state of a quotation"
        " is draft or sent, that of an order is sale. Count and add up with aggregate_records, list with"
        " search_records. Answer briefly and in the language of the question:"
        " 用繁體中文問的，用繁體中文回答；用简体中文问的，用简体中文回答。",
        "group_ids": "sales_team.group_sale_salesman",
        "is_open_to_clients": True,
        "record_access_ids": [
            (0, 0, {"model": "res.partner", "can_schedule": True}),
            (0, 0, {"model": "crm.lead", "can_schedule": True}),
            (0, 0, {"model": "sale.order", "can_create": True, "can_schedule": True}),
            (0, 0, {"model": "sale.order.line", "can_create": True}),
            (0, 0, {"model": "product.product"}),
        ],
    },
    "ai_assistant_orders": {
        "name": "Order Assistant",
        "description": "Knows your quotations and orders.",
        "sequence": 8,
        "system_prompt": "You are a helpful assistant for customers. Look things up with the tools instead of"
        " guessing. Quotations and orders are in sale.order, their lines in sale.order.line. The state of a quotation"
        " is draft or sent, that of an order is sale. Use search_records: without filters it lists them all, with"
        " a filter on name it finds one. Answer briefly and in the language of the question:"
        " 用繁體中文問的，用繁體中文回答；用简体中文问的，用简体中文回答。",
        "group_ids": "base.group_portal",
        "is_open_to_clients": True,
        "record_access_ids": [
            (0, 0, {"model": "sale.order"}),
            (0, 0, {"model": "sale.order.line"}),
        ],
    },
}

IN_CHINESE = {
    "ai_assistant_sales": {
        "name": {"zh_TW": "業務助理", "zh_CN": "销售助手"},
        "description": {
            "zh_TW": "了解聯絡人、商機與訂單；經您允許後可建立活動與報價單。",
            "zh_CN": "了解联系人、商机与订单；经您允许后可创建活动与报价单。",
        },
    },
    "ai_assistant_orders": {
        "name": {"zh_TW": "訂單助理", "zh_CN": "订单助手"},
        "description": {"zh_TW": "了解您的報價單與訂單。", "zh_CN": "了解您的报价单与订单。"},
    },
}

QUALIFY = "Read the lead {{ object.name }} and schedule one activity on it: the next step with this customer."
REPORT = "How many quotations are open, and what is their total? Answer in two sentences."


PROMPTS = {  # of the buttons over a lead
    "default_prompt_lead_state": (
        {"en_US": "Where do we stand?", "zh_TW": "目前進度", "zh_CN": "目前进展"},
        {
            "en_US": "Where do we stand with {{ object.name }}? Three sentences for a colleague who takes over.",
            "zh_TW": "{{ object.name }} 目前進展如何？請用三句話說明給接手的同事。",
            "zh_CN": "{{ object.name }} 目前进展如何？请用三句话说明给接手的同事。",
        },
    ),
    "default_prompt_lead_mail": (
        {"en_US": "Draft a reply", "zh_TW": "草擬回覆", "zh_CN": "草拟回复"},
        {
            "en_US": "Draft a short, friendly reply to {{ object.contact_name }} about {{ object.name }}.",
            "zh_TW": "請草擬一封簡短親切的回覆給 {{ object.contact_name }}，主題是 {{ object.name }}。",
            "zh_CN": "请草拟一封简短亲切的回复给 {{ object.contact_name }}，主题是 {{ object.name }}。",
        },
    ),
}


def demo(name):
    return env.ref(f"woow_paas_platform.{name}", False)  # noqa: F821 of the shell


def variable(name, default=""):
    return os.environ.get(f"WOOW_AI_DEMO_{name}", default)


def opening(assistant):
    """Beginning of every question to it, as an OpenAI request."""
    may = {name for one in assistant._record_access().values() for name in one.operations}
    own = [tool.spec for tool in catalog.TOOLS.values() if tool.operation in may]
    tools = assistant._system_tools() - assistant.mcp_tool_disabled_ids
    servers = tuple(server._server_spec() for server in tools.server_id)
    limits = Limits(definition_tokens=assistant.definition_tokens)
    specs = (*own, *tools._tool_specs())
    request = SimpleNamespace(servers=servers, tools=specs, history=(), limits=limits)
    prompt = [assistant.system_prompt]
    prompt += [catalog.PROMPT.format(today=fields.Date.today().isoformat())] if own else []
    messages = [
        {"role": "system", "content": "\n\n".join(prompt)},
        {"role": "user", "content": "Hi"},
    ]
    return {"messages": messages, "tools": TurnTools(request, None).functions}


def make(model, name, values):
    """Make a record of the demo, unless it was made before."""
    if not demo(name):
        data = {"xml_id": f"woow_paas_platform.{name}", "values": values, "noupdate": True}
        env[model]._load_records([data])  # noqa: F821


def make_automation(assistant):
    """A rule on new leads and a report of the morning, both as the demo's salesperson."""
    asks = {
        "state": "woow_ask_assistant",
        "woow_assistant_id": assistant.id,
        "woow_run_as_id": env.ref("base.user_demo").id,  # noqa: F821
    }
    lead = env["ir.model"]._get_id("crm.lead")  # noqa: F821
    qualify = {"name": "Qualify", "model_id": lead, "woow_instruction": QUALIFY, **asks}
    rule = {"name": "Qualify new leads", "model_id": lead, "trigger": "on_create"}
    action = {**qualify, "usage": "base_automation"}
    make(
        "base.automation", "automation_demo_leads", {**rule, "action_server_ids": [(0, 0, action)]}
    )
    morning = fields.Datetime.today().replace(hour=6) + timedelta(days=1)
    report = {"name": "Morning report", "model_id": lead, "woow_instruction": REPORT, **asks}
    timing = {"interval_number": 1, "interval_type": "days", "nextcall": morning}
    make("ir.cron", "ir_cron_demo_report", {**report, **timing, "woow_answer_to": "user"})


def make_prompts(assistant, wanted):
    """Default prompts for leads, with translations into the languages of the demo."""
    lead = env["ir.model"]._get_id("crm.lead")  # noqa: F821
    for name, texts in PROMPTS.items():
        if demo(name):
            continue
        values = dict(zip(("name", "prompt_text"), (text["en_US"] for text in texts), strict=True))
        make(
            "woow_paas_platform.default_prompt",
            name,
            {**values, "model_id": lead, "assistant_id": assistant.id},
        )
        for field, translations in zip(values, texts, strict=True):
            said = {lang: text for lang, text in translations.items() if lang in wanted}
            demo(name).update_field_translations(field, said)


def make_tests():
    """Tests of the demo's assistants, as a user that each is for; not every night, when nobody looks at a demo."""
    askers = {"ai_assistant_sales": "base.user_demo", "ai_assistant_orders": "base.demo_user0"}
    tests = tomllib.loads(Path(variable("TESTS")).read_text()) if variable("TESTS") else {}
    for name, those in tests.items():
        assistant = demo(name)
        user = env.ref(askers.get(name, "base.user_admin"), False)  # noqa: F821
        for number, about in enumerate(those, 1) if assistant and user else ():
            values = {
                "name": about["name"],
                "sequence": number,
                "assistant_id": assistant.id,
                "user_id": user.id,
                "questions": about["questions"].strip(),
                "recordings": about.get("recorded", []),
                "is_live": "recorded" not in about,
                "is_nightly": False,
                "expectation_ids": [(0, 0, line) for line in expectations(about)],
            }
            make("woow_paas_platform.assistant_test", f"{name}_test_{number}", values)


def expectations(about):
    """Lines of a test, as its table in the file says."""
    if called := about.get("called"):
        yield {"kind": "called", **called}
    for tool in about.get("not_called", ()):
        yield {"kind": "not_called", "tool": tool}
    if said := about.get("contains"):
        yield {"kind": "contains", "text": said}
    if said := about.get("not_contains"):
        yield {"kind": "not_contains", "text": said}
    if value := {**about.get("value", {})}:
        model = env["ir.model"]._get_id(value.pop("model"))  # noqa: F821
        yield {"kind": "value", "model_id": model, **value}


wanted = [code for code in variable("LANGUAGES").split(",") if code]
if missing := set(wanted) - {code for code, _name in env["res.lang"].get_installed()}:  # noqa: F821
    langs = env["res.lang"].with_context(active_test=False).search([("code", "in", [*missing])])  # noqa: F821
    env["base.language.install"].create({"lang_ids": langs.ids}).lang_install()  # noqa: F821
if (provider := demo("ai_config_demo")) and (url := variable("LLM_URL")):
    model, key = variable("LLM_MODEL", provider.model), variable("LLM_KEY")
    length = int(variable("LLM_CONTEXT", "0"))  # of the embedded model
    patience = provider.default_get(["first_token_timeout"])
    if length:  # on a slow machine it reads 30 tokens a second of a long prompt
        patience["first_token_timeout"] = EMBEDDED_TIMEOUT
    address = {"api_base_url": url, "model": model, "api_key": key}
    provider.write({**address, "context_length": length, **patience})
for name in ("everything", "time"):
    server, url = demo(f"mcp_server_demo_{name}"), variable(f"MCP_{name.upper()}_URL")
    if server and url:
        server.url = url
        try:
            server._apply_discovery(process.discover(server._server_spec()))
            # The clock is the demo's own: an older demo knows it with other tools, and nobody has to look at these.
            for tool in server.tool_ids if name == "time" else ():
                tool._decide_definition("accepted", tool.review_hash)
        except EngineError as error:
            logging.getLogger(__name__).warning(
                "The demo's server %s is not there: %s", name, error
            )
has_apps = {"crm.lead", "sale.order"} <= env.registry.keys()  # noqa: F821
for name, about in ASSISTANTS.items() if provider and has_apps else ():
    if not demo(name):
        groups = [(6, 0, env.ref(about["group_ids"]).ids)]  # noqa: F821
        values = {**about, "config_id": provider.id, "group_ids": groups}
        data = {"xml_id": f"woow_paas_platform.{name}", "values": values, "noupdate": True}
        assistant = env["ai.assistant"]._load_records([data])  # noqa: F821
        for field, texts in IN_CHINESE[name].items():
            texts = {lang: said for lang, said in texts.items() if lang in wanted}
            assistant.update_field_translations(field, texts)
if assistant := demo("ai_assistant_sales"):
    make_prompts(assistant, wanted)
    if "base.automation" in env:  # noqa: F821
        make_automation(assistant)
for name in (*ASSISTANTS, "ai_assistant_demo"):
    if (assistant := demo(name)) and variable("GROUNDED"):
        assistant.is_grounded = True
if assistant := demo("ai_assistant_demo"):
    assistant.definition_tokens = 2_500  # its model has a small context
    tools, kept = assistant.mcp_server_ids.tool_ids, variable("TOOLS").split(",")
    assistant.mcp_tool_disabled_ids = tools.filtered(lambda tool: tool.name not in kept)
make_tests()
env.cr.commit()  # noqa: F821
env.registry.signal_changes()  # a rule that was made now is heard by the server, too  # noqa: F821
for name in ("ai_assistant_demo", "ai_assistant_orders", "ai_assistant_sales"):
    if assistant := demo(name):
        print(MARK + json.dumps([assistant.name, opening(assistant)]))
