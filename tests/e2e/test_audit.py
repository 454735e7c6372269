"""Audit log from outside: acts of many at once, the operator's commands, and the administrators' list."""

import pytest
from conftest import E2E_LOGS
from playwright.sync_api import expect

from benchmarks.audit import __main__ as of_audit
from dev.progress import DevError

SEAL = "env['woow_paas_platform.audit_checkpoint']._cron_seal()"
ENTRIES = "woow_paas_platform_audit_entry"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def verify(odoo, *arguments):
    return odoo.command("ai_audit", "verify", f"--database={odoo.db}", *arguments)


def test_acts_of_many_at_once_are_all_there_and_what_is_removed_is_named(odoo):
    of_audit.measure(odoo, seconds=1, rounds=1)
    odoo.shell(SEAL)
    said = verify(odoo)
    assert "Problems: 0." in said
    head = said.partition("the last is ")[2].partition(";")[0]
    lines = odoo.command("ai_audit", "export", f"--database={odoo.db}").splitlines()
    count = int(odoo.sql(f"SELECT COUNT(*) FROM {ENTRIES}"))
    assert sum('"kind": "entry"' in line for line in lines) == count

    odoo.sql(f"CREATE TABLE kept AS TABLE {ENTRIES}")
    chain = "SELECT day || ' ' || shard FROM {} GROUP BY day, shard ORDER BY COUNT(*) DESC LIMIT 1"
    place = odoo.sql(chain.format(ENTRIES))
    of = f"day || ' ' || shard = '{place}'"
    try:
        odoo.sql(f"UPDATE {ENTRIES} SET act = 'deleted' WHERE {of} AND seq = 3")
        odoo.sql(f"DELETE FROM {ENTRIES} WHERE {of} AND (seq = 1 OR seq > 4)")
        with pytest.raises(DevError) as failed:
            verify(odoo, f"--head={head[:-1]}x")
    finally:
        odoo.sql(f"TRUNCATE {ENTRIES}; INSERT INTO {ENTRIES} SELECT * FROM kept; DROP TABLE kept")
    for told in ("entry 1 is missing", "entry 3 was changed", "the end is missing"):
        assert f"{place}: {told}" in str(failed.value)
    assert "is not here as it was written down" in str(failed.value)
    assert "Problems: 0." in verify(odoo, f"--head={head}")


def test_administrators_see_who_did_what(odoo, page_of):
    odoo.shell("env['ir.config_parameter'].set_param('woow_paas_platform.runs_at_once', '7')\n")
    page = page_of(odoo, "admin", viewport=WIDE)
    page.goto(f"{odoo.url}/odoo/ai-audit")
    expect(page.get_by_text("Setting changed").first).to_be_visible()
    expect(page.locator(".o_list_button_add")).to_have_count(0)
    page.screenshot(path=E2E_LOGS / "audit.png")
    page.get_by_text("Setting changed").first.click()
    expect(page.locator(".o_breadcrumb")).to_contain_text("Setting changed")
    expect(page.get_by_text("woow_paas_platform.runs_at_once").first).to_be_visible()
    page.screenshot(path=E2E_LOGS / "audit-entry.png")
    page.set_viewport_size(PHONE)
    page.screenshot(path=E2E_LOGS / "audit-entry-phone.png")
    page.goto(f"{odoo.url}/odoo/ai-audit")
    expect(page.get_by_text("Setting changed").first).to_be_visible()
    page.screenshot(path=E2E_LOGS / "audit-phone.png")
