"""Odoo's own records in real processes: read, rehearsed, changed once, whatever dies in between."""

import contextlib
import re
import socket
import threading
import time

import httpx
import pytest
from chat import Chat, calls, first, of, text_of, then
from test_approval import asked, decide
from waiting import eventually

from dev.progress import DevError

ACCESS = "woow_paas_platform.record_access"
GATEWAY = "woow_paas_platform.gateway"
SLOW = """
record.write({'ref': str(int(record.ref or 0) + 1)})
env.cr.execute('SELECT pg_sleep(3)')
"""

# After the last statement nothing of PostgreSQL's is waited for, for longer than any test waits.
OUTSIDE = """
record.write({'ref': '1'})
record.flush_recordset()
env.cr.execute("SELECT 'outside'")
time.sleep(150)
"""


def busy_with(query, state="active"):
    """A statement: who does this in the database that is asked, and not in those of other tests."""
    return (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        f" AND query = $${query}$$ AND state = '{state}'"
    )


IS_OUTSIDE = busy_with("SELECT 'outside'", "idle in transaction")


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


@pytest.fixture
def client_of(with_partners):
    """Calls a tool at a gateway, as an MCP client of the administrator; assistants let clients change records."""
    odoo, opened = with_partners, {"is_open_to_clients": True, "is_changed_by_clients": True}
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, opened)
    lines = odoo.rpc(ACCESS, "search", [("model", "=", "res.partner")])
    odoo.rpc(ACCESS, "write", lines, {"policy": "auto"})
    values = {"code": "desk", "name": "Desk", "record_access_ids": lines}
    (gateway,) = odoo.rpc(GATEWAY, "create", [{**values, "assistant_ids": assistants}])
    admin = odoo.session("admin")
    named = {"name": "e2e", "days": 30, "password": "admin"}
    key = admin.post("/api/mcp/keys", json=named).json()["key"]

    def call(path, name, **arguments):
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.post(odoo.url + path, json=message, headers=headers, timeout=60)
        return answer.json()["result"]

    yield call
    for known in admin.get("/api/mcp/keys").json()["keys"]:
        admin.delete(f"/api/mcp/keys/{known['id']}")
    odoo.rpc(GATEWAY, "unlink", [gateway])
    odoo.rpc("ai.assistant", "write", assistants, dict.fromkeys(opened, False))


@pytest.mark.parametrize("path", ["/mcp", "/mcp/desk"])
def test_a_client_changes_a_record_once_it_is_allowed(with_partners, client_of, path):
    odoo, admin = with_partners, with_partners.session("admin")
    (partner,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Works", "city": "Graz"}])

    def move(city):
        values = {"city": city}
        return client_of(path, "update_records", model="res.partner", ids=[partner], values=values)

    def decide_on_it(decision):
        (asked,) = admin.get("/api/ai/decisions").json()["decisions"]
        (change,) = asked["changes"]
        assert (change["name"], change["fields"][0]["new"]) == ("Zebra Works", city)
        said = {"id": asked["id"], "decision": decision}
        path = f"/api/ai/turns/{asked['turn_id']}/decision"
        assert admin.post(path, json=said).status_code < 300

    def city_now():
        return odoo.rpc("res.partner", "read", [partner], ["city"])[0]["city"]

    for city, decision in (("Linz", "approve_once"), ("Wien", "deny")):
        before = city_now()
        for _ in range(2):
            assert move(city)["_meta"]["code"] == "approval_required"
        assert city_now() == before
        decide_on_it(decision)
        told = move(city)
        assert told["isError"] == (decision == "deny"), told
        assert city_now() == ("Linz" if decision == "approve_once" else before)
    assert move("Wien")["_meta"]["code"] == "approval_required", "denied once is asked anew"
    decide_on_it("deny")


def test_a_client_asks_an_assistant(with_partners, client_of, scripted_llm):
    (assistant,) = with_partners.rpc("ai.assistant", "search_read", [], ["name"], limit=1)
    words = "_".join(re.findall(r"[a-z0-9]+", assistant["name"].lower()))
    scripted_llm.script(first("Which orders are late", {"content": "None is late."}))
    result = client_of("/mcp/desk", f"ask_{words}", question="Which orders are late?")
    assert result["content"][0]["text"] == "None is late."


def test_an_action_that_was_killed_in_the_middle_is_not_run_again(new_odoo, scripted_llm):
    mortal = new_odoo("records")
    (model,) = mortal.rpc("ir.model", "search", [("model", "=", "res.partner")])
    action = {"name": "Count up", "model_id": model, "state": "code", "code": SLOW}
    (action_id,) = mortal.rpc("ir.actions.server", "create", [action])
    use_partners(mortal, policy="auto", action_ids=[(6, 0, [action_id])])
    (partner,) = mortal.rpc("res.partner", "create", [{"name": "Counted"}])
    run = ("run_action", {"model": "res.partner", "ids": [partner], "action": "Count up"})
    scripted_llm.script(first("count up", calls(run)), then("count up", {"content": "Counted."}))
    turn = Chat(mortal, client=mortal.login("admin")).ask(f"count up {partner}")
    eventually(lambda: mortal.sql(busy_with("SELECT pg_sleep(3)")).strip())
    mortal.kill9()
    assert not mortal.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    mortal.restart()
    assert turn.wait_ended() == "done"
    assert not mortal.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    rows = mortal.sql(f"SELECT outcome FROM woow_paas_platform_tool_call WHERE turn_id = {turn.id}")
    assert rows.split() == ["unknown"], "an action may have sent something"


RECIPIENT = "hot@example.com"
HOT = f"""
env['mail.mail'].create({{'email_to': '{RECIPIENT}', 'body_html': 'x'}}).send() if record.comment else None
env.cr.execute('SELECT pg_sleep(0.5)')
if record.function:
    raise UserError(record.function)
record.write({{'ref': str(int(record.ref or 0) + 1)}})
"""


class Integration:
    """Another program that writes the same record all the time."""

    def __init__(self, odoo, partner):
        self._sql = f"UPDATE res_partner SET street = clock_timestamp()::text WHERE id = {partner}"
        self._odoo, self._ended = odoo, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._ended.is_set():
            self._odoo.sql(self._sql)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_error):
        self._ended.set()
        self._thread.join()


class Locked:
    """Another program that has locked the record and thinks."""

    THINKS = "SELECT pg_sleep(60)"
    IS_THERE = f"FROM pg_stat_activity WHERE query LIKE '%{THINKS}' AND pid <> pg_backend_pid()"

    def __init__(self, odoo, partner):
        self._lock = f"SELECT 1 FROM res_partner WHERE id = {partner} FOR UPDATE; {self.THINKS}"
        self._odoo = odoo
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        with contextlib.suppress(DevError):  # how it ends
            self._odoo.sql(self._lock)

    def __enter__(self):
        self._thread.start()
        eventually(lambda: self._odoo.sql(f"SELECT 1 {self.IS_THERE}"))

    def __exit__(self, *_error):
        self._odoo.sql(f"SELECT pg_terminate_backend(pid) {self.IS_THERE}")
        self._thread.join()


class MailServer:
    """Counts mails to `RECIPIENT`, and takes none; others may be sent by a cron."""

    def __init__(self):
        self.came = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                line, _address = self._socket.accept()
                with line, line.makefile("rwb", 0) as said:
                    self._answer(said)

    def _answer(self, said):
        said.write(b"220 sink\r\n")
        for words in said:
            names_recipient = words.upper().startswith(b"RCPT")
            self.came += names_recipient and RECIPIENT.encode() in words
            said.write(b"550 no\r\n" if names_recipient else b"250 ok\r\n")

    def close(self):
        self._socket.close()


@pytest.fixture
def busy(odoo):
    """An Odoo whose assistants run an action on contacts; gives what is told to the model, by a name."""
    (model,) = odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
    actions = {"Count up": HOT, "Sleep": SLOW.replace("(3)", "(9)"), "Wait outside": OUTSIDE}
    values = [
        {"name": name, "model_id": model, "state": "code", "code": code}
        for name, code in actions.items()
    ]
    ids = odoo.rpc("ir.actions.server", "create", values)
    lines = use_partners(odoo, policy="auto", action_ids=[(6, 0, ids)])
    yield odoo
    odoo.rpc(ACCESS, "unlink", lines)


def ran(odoo, llm, action, name, **partner):
    """A turn that runs this action on a contact of its own.

    :return: the turn, and the contact's id
    """
    (partner,) = odoo.rpc("res.partner", "create", [{"name": name, **partner}])
    run = ("run_action", {"model": "res.partner", "ids": [partner], "action": action})
    llm.script(first(name, calls(run)), then(name, {"content": "Well."}))
    return lambda: Chat(odoo, "admin").ask(f"{name} {partner}"), partner


def test_a_record_that_others_keep_changing_is_given_up(busy, scripted_llm):
    ask, partner = ran(busy, scripted_llm, "Count up", "hot one")
    with Integration(busy, partner):
        events = ask().events()
    (result,) = of(events, "tool_result")
    assert result["outcome"] == "error" and "Others keep changing" in result["result"]
    assert not busy.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()


@pytest.mark.parametrize(
    ("others", "partner", "said"),
    [
        (Integration, {}, ""),
        (Locked, {}, "Somebody else is changing these records"),
        (lambda *_: contextlib.nullcontext(), {"function": "Closed today."}, "Closed today."),
    ],
    ids=["conflict", "lock", "refusal"],
)
def test_mail_that_was_sent_before_is_not_sent_again(busy, scripted_llm, others, partner, said):
    mails = MailServer()
    server = {"name": "Sink", "smtp_host": "127.0.0.1", "smtp_port": mails.port, "sequence": 0}
    (server_id,) = busy.rpc("ir.mail_server", "create", [server])
    try:
        ask, partner = ran(busy, scripted_llm, "Count up", "sent one", comment="mails", **partner)
        turn = ask()
        (question,) = asked(turn)
        assert not mails.came, "a mail is asked about, also where changes run"
        with others(busy, partner):
            decide(turn, question["id"], "approve_once")
            events = turn.events()
    finally:
        busy.rpc("ir.mail_server", "unlink", [server_id])
        mails.close()
    (result,) = of(events, "tool_result")
    assert (result["outcome"], mails.came) == ("unknown", 1)
    assert "may have taken effect" in result["result"] and said in result["result"]
    assert not busy.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()


def test_a_stop_waits_for_no_code_of_others(busy, scripted_llm):
    ask, partner = ran(busy, scripted_llm, "Wait outside", "outside one")
    turn = ask()
    eventually(lambda: busy.sql(IS_OUTSIDE).strip())
    turn.stop()
    assert turn.wait_ended() == "stopped"
    # Its connection is cut; PostgreSQL hears of that a moment later, long before the action ends.
    eventually(lambda: not busy.sql(IS_OUTSIDE).strip())
    assert not busy.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    rows = busy.sql(f"SELECT outcome FROM woow_paas_platform_tool_call WHERE turn_id = {turn.id}")
    assert rows.split() == ["cancelled"]


def test_a_stop_ends_the_statement_of_a_change(busy, scripted_llm):
    ask, partner = ran(busy, scripted_llm, "Sleep", "slow one")
    turn = ask()
    eventually(lambda: busy.sql(busy_with("SELECT pg_sleep(9)")).strip())
    begun = time.monotonic()
    turn.stop()
    assert turn.wait_ended() == "stopped"
    assert time.monotonic() - begun < 6, "it waited for the statement"
    assert not busy.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    rows = busy.sql(f"SELECT outcome FROM woow_paas_platform_tool_call WHERE turn_id = {turn.id}")
    assert rows.split() == ["cancelled"]
