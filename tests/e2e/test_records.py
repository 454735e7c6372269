"""Odoo's own records in real processes: read, rehearsed, changed once, whatever dies in between."""

import pytest
from chat import Chat, calls, first, of, text_of, then
from test_approval import asked, decide
from waiting import eventually

ACCESS = "woow_paas_platform.record_access"
SLOW = """
record.write({'ref': str(int(record.ref or 0) + 1)})
env.cr.execute('SELECT pg_sleep(3)')
"""


def use_partners(odoo, **line):
    """The assistants of this Odoo may use contacts from now on.

    :return: the ids of the lines
    """
    assistants = odoo.rpc("ai.assistant", "search", [])
    values = [{"assistant_id": one, "model": "res.partner", **line} for one in assistants]
    return odoo.rpc(ACCESS, "create", values)


@pytest.fixture
def with_partners(odoo):
    lines = use_partners(odoo, can_create=True, can_update=True)
    yield odoo
    odoo.rpc(ACCESS, "unlink", lines)


def test_a_question_and_a_change_that_is_shown_before_it_happens(with_partners, scripted_llm):
    odoo = with_partners
    partner = odoo.rpc("res.partner", "create", [{"name": "Zebra Works", "city": "Graz"}])[0]
    search = (
        "search_records",
        {"model": "res.partner", "filters": [{"field": "name", "value": "Zebra Works"}]},
    )
    change = (
        "update_records",
        {"model": "res.partner", "ids": [partner], "values": {"city": "Linz"}},
    )
    scripted_llm.script(
        first("where is it", calls(search)),
        then("where is it", {"content": "In Graz."}),
        first("move it", calls(change)),
        then("move it", {"content": "It moved."}),
    )
    chat = Chat(odoo, "admin")
    events = chat.ask("where is it").events()
    (found,) = of(events, "tool_result")
    assert found["outcome"] == "ok"
    assert [row["id"] for row in found["result"]["records"]["rows"]] == [partner]
    (called,) = of(events, "tool_call")
    assert (called["server"], called["records"]) == ("Odoo", "read")
    assert "Zebra Works" in str(scripted_llm.requests()[-1]["body"]["messages"])
    turn = chat.ask("move it")
    (question,) = asked(turn)
    (shown,) = question["rehearsal"]["changes"]
    assert (shown["id"], shown["name"]) == (partner, "Zebra Works")
    city = next(one for one in shown["fields"] if one["name"] == "city")
    assert (city["old"], city["new"]) == ("Graz", "Linz")
    assert odoo.rpc("res.partner", "read", [partner], ["city"])[0]["city"] == "Graz"
    decide(turn, question["id"], "approve_once")
    events = turn.events()
    assert of(events, "tool_result")[0]["outcome"] == "ok" and text_of(events) == "It moved."
    assert odoo.rpc("res.partner", "read", [partner], ["city"])[0]["city"] == "Linz"


def test_what_was_killed_in_the_middle_happens_once(new_odoo, scripted_llm):
    mortal = new_odoo("records")
    (model,) = mortal.rpc("ir.model", "search", [("model", "=", "res.partner")])
    action = {"name": "Count up", "model_id": model, "state": "code", "code": SLOW}
    (action_id,) = mortal.rpc("ir.actions.server", "create", [action])
    use_partners(mortal, policy="auto", action_ids=[(6, 0, [action_id])])
    (partner,) = mortal.rpc("res.partner", "create", [{"name": "Counted"}])
    run = ("run_action", {"model": "res.partner", "ids": [partner], "action": "Count up"})
    scripted_llm.script(first("count up", calls(run)), then("count up", {"content": "Counted."}))
    turn = Chat(mortal, client=mortal.login("admin")).ask(f"count up {partner}")
    eventually(
        lambda: mortal.sql(
            "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(3)'"
        ).strip()
    )
    mortal.kill9()
    assert not mortal.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    mortal.restart()
    assert turn.wait_ended() == "done"
    assert mortal.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip() == "1"
    rows = mortal.sql(f"SELECT outcome FROM woow_paas_platform_tool_call WHERE turn_id = {turn.id}")
    assert rows.split() == ["ok"]
