"""Automation rules that ask an assistant: a stage, a webhook and a mail, from the event to the note on the record."""

from email.message import EmailMessage

import pytest
from chat import calls, first
from conftest import E2E_LOGS, WORKER
from playwright.sync_api import expect
from test_runs import ended

from benchmarks.demo.leads import report
from dev.checks import testbed
from dev.checks.runners import APPLICATIONS

LEAD = "crm.lead"


@pytest.fixture(scope="module")
def ruled(template, demo_facts):
    """An Odoo with CRM and automation rules."""
    apps = testbed.with_modules(template, APPLICATIONS)
    source = testbed.with_demo_servers(apps, demo_facts, f"rules_{WORKER}")
    odoo = testbed.OdooServer(source, f"ruled_{WORKER}", environment=demo_facts)
    # Of other addons, whose crons and enrichment of contacts meet a new database without a network.
    odoo.expect_log("iap|partner_autocomplete|orderpoint|stock|Procurement")
    odoo.start()
    yield odoo
    odoo.stop()


@pytest.fixture
def rule(ruled):
    """Makes a rule that asks an assistant as the administrator; it is gone after the test.

    :return: ``(trigger, **values)`` → id of the rule and of its action
    """
    made = []
    of_demo = ruled.rpc("base.automation", "search", [])
    ruled.rpc("base.automation", "write", of_demo, {"active": False})

    def make(trigger, **values):
        (lead,) = ruled.rpc("ir.model", "search", [("model", "=", LEAD)])
        (admin,) = ruled.rpc("res.users", "search", [("login", "=", "admin")])
        action = {
            "name": f"Qualify after {trigger}",
            "usage": "base_automation",
            "state": "woow_ask_assistant",
            "model_id": lead,
            "woow_assistant_id": ruled.rpc("ai.assistant", "search", [], limit=1, order="id")[0],
            "woow_instruction": "Qualify {{ object.name }}.",
            "woow_run_as_id": admin,
            "woow_answer_to": "note",
        }
        values = {
            "name": trigger,
            "model_id": lead,
            "trigger": trigger,
            "action_server_ids": [(0, 0, action)],
            **values,
        }
        made.extend(ruled.rpc("base.automation", "create", [values]))
        (rule,) = ruled.rpc("base.automation", "read", made[-1:], ["action_server_ids", "url"])
        return rule, rule["action_server_ids"][0]

    yield make
    ruled.rpc("base.automation", "unlink", made)
    ruled.rpc("base.automation", "write", of_demo, {"active": True})


def expect_note(page, lead, words):
    page.goto(f"/odoo/{LEAD}/{lead}")
    expect(page.locator(".o-mail-Message", has_text=words)).to_have_count(1)


def test_a_stage(ruled, rule, scripted_llm, page_of):
    scripted_llm.script(first("Fifty chairs", {"content": "A **good** lead."}))
    (won,) = ruled.rpc("crm.stage", "create", [{"name": "To qualify"}])
    (lead,) = ruled.rpc(LEAD, "create", [{"name": "Fifty chairs", "type": "opportunity"}])
    (field,) = ruled.rpc(
        "ir.model.fields", "search", [("model", "=", LEAD), ("name", "=", "stage_id")]
    )
    _rule, action = rule("on_stage_set", trg_field_ref=won, trigger_field_ids=[(6, 0, [field])])
    page = page_of(ruled, "admin")
    page.goto(f"/odoo/{LEAD}/{lead}")
    page.locator(".o_statusbar_status button", has_text="To qualify").click()
    page.locator(".o_form_button_save").click()
    ended(ruled, action, "done")
    expect_note(page, lead, "A good lead.")
    page.screenshot(path=E2E_LOGS / "rule_stage.png")


def test_the_rule_of_the_demo_is_counted_in_small(ruled, scripted_llm, capsys):
    """`make bench-leads`, with a scripted model: it proposes one activity, which waits."""
    leads = ruled.rpc(LEAD, "search", [], limit=1, order="id desc") or [0]
    plan = {"model": LEAD, "id": leads[0] + 1, "summary": "Call back"}
    scripted_llm.script(first("schedule one activity", calls(("schedule_activity", plan))))
    assert report(ruled, 1) == 1, capsys.readouterr().out


def test_a_webhook(ruled, rule, scripted_llm, page_of):
    scripted_llm.script(first("Sixty chairs", {"content": "A rich lead."}))
    (lead,) = ruled.rpc(LEAD, "create", [{"name": "Sixty chairs", "type": "opportunity"}])
    found, action = rule("on_webhook", record_getter="model.browse(payload.get('id'))")
    path = found["url"].removeprefix(found["url"].split("/web/hook")[0])
    assert ruled.session("admin").post(path, json={"id": lead}).is_success
    ended(ruled, action, "done")
    expect_note(page_of(ruled, "admin"), lead, "A rich lead.")


def test_a_mail_through_the_gateway(ruled, rule, scripted_llm, page_of):
    """As `odoo-mailgate` hands it over, twice: the second is the same mail."""
    scripted_llm.script(first("Seventy chairs", {"content": "An old lead."}))
    _rule, action = rule("on_create")
    mail = EmailMessage()
    mail["From"], mail["To"] = "Ann <ann@example.com>", "leads@example.com"
    mail["Subject"], mail["Message-Id"] = "Seventy chairs", "<seventy@example.com>"
    mail.set_content("Please make an offer.")
    for _time in range(2):
        ruled.rpc("mail.thread", "message_process", LEAD, mail.as_string())
    run = ended(ruled, action, "done")
    (row,) = ruled.rpc("woow_paas_platform.ai_run", "search_read", [("action_id", "=", action)])
    assert row["id"] == run["id"]
    expect_note(page_of(ruled, "admin"), row["res_id"], "An old lead.")
