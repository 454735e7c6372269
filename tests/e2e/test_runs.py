"""Assistants that start without a person: a button, a schedule, a mail, and a decision that outlives the process."""

import base64
import contextlib
import email
import hashlib
import hmac
import json
import random
import re
import socketserver
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email import policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from chat import calls, first, then
from conftest import E2E_LOGS
from playwright.sync_api import expect
from test_crash import LEASE
from test_records import ACCESS, use_partners
from waiting import eventually

from dev import processes
from dev.setup import odoo_tree

ACTIONS = "ir.actions.server"
RUNS = "woow_paas_platform.ai_run"
WEBHOOKS = "woow_paas_platform.webhook"
DELIVERIES = "woow_paas_platform.webhook_delivery"
SEED = 20_261
MANY = 12  # open runs beside which more are started
OPEN = "SELECT COUNT(*) FROM woow_paas_platform_ai_run WHERE state IN ('scheduled', 'started')"


def an_action(odoo, model=ACTIONS, **values):
    """A server action, or a cron, that asks an assistant as the administrator.

    :return: its id
    """
    (partner,) = odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
    (admin,) = odoo.rpc("res.users", "search", [("login", "=", "admin")])
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1, order="id")[0]
    values = {
        "state": "woow_ask_assistant",
        "model_id": partner,
        "woow_assistant_id": assistant,
        "woow_run_as_id": admin,
        **values,
    }
    return odoo.rpc(model, "create", [values])[0]


def ended(odoo, action, *states):
    """The latest run of the action, once it is in one of these states."""

    def found():
        runs = odoo.rpc(
            RUNS,
            "search_read",
            [("action_id", "=", action)],
            ["state", "turn_state", "turn_id", "problem"],
        )
        return next((run for run in runs if run["state"] in states), None)

    return eventually(found)


class Mailbox(socketserver.ThreadingTCPServer):
    """A mail server that takes everything.

    :ivar mails: ``(recipients, mail)`` of each
    """

    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            recipients = []
            self._say("220 hello")
            for line in self.rfile:
                word = line[:4].upper()
                if word == b"RCPT":
                    recipients.append(line.decode().partition("<")[2].partition(">")[0])
                elif word == b"DATA":
                    self._say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    mail = email.message_from_bytes(b"".join(lines), policy=policy.default)
                    self.server.mails.append((recipients, mail))
                self._say("221 bye" if word == b"QUIT" else "250 ok")

        def _say(self, answer):
            self.wfile.write(f"{answer}\r\n".encode())

    def __enter__(self):
        self.mails = []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return super().__enter__()

    def __exit__(self, *_):
        self.shutdown()
        super().__exit__(*_)


def deliver(odoo, mail):
    """Deliver a mail as a mail server does, by Odoo's own script."""
    (admin,) = odoo.rpc("res.users", "search", [("login", "=", "admin")])
    path = odoo_tree.odoo_path()
    folders = [*odoo_tree.addons_paths(path), path / "odoo/addons"]
    scripts = (folder / "mail/static/scripts/odoo-mailgate.py" for folder in folders)
    script = next(script for script in scripts if script.exists())
    port = odoo.url.rpartition(":")[2]
    command = [odoo.instance.python, script, "-d", odoo.db, "-u", str(admin), "-p", "admin"]
    subprocess.run(
        [*command, "--host=127.0.0.1", f"--port={port}"], input=mail, text=True, check=True
    )


def test_a_mail_and_its_answer(odoo, scripted_llm, page_of):
    scripted_llm.script(first("How many orders", {"content": "There are **three** orders."}))
    (admin,) = odoo.rpc(
        "res.users", "search_read", [("login", "=", "admin")], ["email", "company_id"]
    )
    company = admin["company_id"][0]
    (domain,) = odoo.rpc("mail.alias.domain", "create", [{"name": "ask.example"}])
    assistant = odoo.rpc("ai.assistant", "search", [], limit=1, order="id")[0]
    (address,) = odoo.rpc(
        "woow_paas_platform.mail_address",
        "create",
        [{"assistant_id": assistant, "alias_name": "ask", "alias_domain_id": domain}],
    )
    odoo.rpc("res.users", "write", [admin["id"]], {"email": "boss@a.example"})
    with Mailbox(("127.0.0.1", 0), Mailbox.Handler) as box:
        sink = {"name": "Box", "smtp_host": "127.0.0.1", "smtp_port": box.server_address[1]}
        (server,) = odoo.rpc("ir.mail_server", "create", [{**sink, "sequence": 0}])
        try:
            deliver(
                odoo,
                "Authentication-Results: mx.example.com; dmarc=pass header.from=a.example\n"
                "From: Boss <boss@a.example>\nTo: ask@ask.example\nCc: all@a.example\n"
                "Subject: Orders\nMessage-Id: <1@a.example>\n\nHow many orders are there?\n",
            )
            ((recipients, answer),) = eventually(lambda: box.mails)
        finally:
            odoo.rpc("ir.mail_server", "unlink", [server])
    assert recipients == ["boss@a.example"]
    assert answer["In-Reply-To"] == "<1@a.example>" and answer["Auto-Submitted"] == "auto-replied"
    assert "ask@ask.example" in answer["Reply-To"] and answer["Cc"] is None
    assert "<strong>three</strong>" in answer.get_body(("html",)).get_content()
    page = page_of(odoo, "admin")
    page.goto(f"/odoo/ai-mail-addresses/{address}")
    expect(page.locator(".o_form_view")).to_contain_text("ask.example")
    page.screenshot(path=E2E_LOGS / "mail_address.png")
    odoo.rpc("woow_paas_platform.mail_address", "unlink", [address])
    odoo.rpc("res.company", "write", [company], {"alias_domain_id": False})
    odoo.rpc("mail.alias.domain", "unlink", [domain])
    odoo.rpc("res.users", "write", [admin["id"]], {"email": admin["email"]})


def test_a_button_in_the_actions_menu(odoo, scripted_llm, page_of):
    action = an_action(
        odoo,
        name="Check the contact",
        woow_instruction="Check the contact {{ object.name }}.",
        woow_answer_to="note",
    )
    odoo.rpc(ACTIONS, "create_action", [action])
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Works"}])
    scripted_llm.script(first("Check the contact", {"content": "Its **address** is missing."}))
    page = page_of(odoo, "admin")
    page.goto(f"/odoo/res.partner/{contact}")
    page.locator(".o_cp_action_menus button:has(.fa-cog)").click()
    page.get_by_role("menuitem", name="Check the contact").click()
    expect(page.locator(".o_notification", has_text="The assistant starts soon.")).to_be_visible()
    run = ended(odoo, action, "done")
    page.reload()
    note = page.locator(".o-mail-Message", has_text="Its address is missing.")
    expect(note).to_be_visible()
    page.screenshot(path=E2E_LOGS / "run_note.png")
    page.goto(f"/odoo/action-woow_paas_platform.ai_run_action/{run['id']}")
    expect(page.locator(".o_form_view")).to_contain_text("Zebra Works")
    page.screenshot(path=E2E_LOGS / "run_form.png")
    page.get_by_role("button", name="Open Chat").click()
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Its address is missing.")
    page.screenshot(path=E2E_LOGS / "run_chat.png")
    page.goto(f"/odoo/action-woow_paas_platform.ask_action_action/{action}")
    expect(page.locator(".o_form_view")).to_contain_text("Runs As")
    page.screenshot(path=E2E_LOGS / "run_action.png")
    page.goto("/odoo/action-woow_paas_platform.ai_run_action")
    page.screenshot(path=E2E_LOGS / "run_list.png")


def test_a_schedule(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Report of the morning", {"content": "Nothing happened."}))
    cron = an_action(
        odoo,
        "ir.cron",
        name="Morning report",
        woow_instruction="Report of the morning.",
        woow_answer_to="user",
        interval_number=1,
        interval_type="days",
    )
    ((action, _name),) = (
        odoo.rpc("ir.cron", "read", [cron], ["ir_actions_server_id"])[0]["ir_actions_server_id"],
    )
    run = ended(odoo, action, "done")
    chats = odoo.session("admin").get("/api/ai/conversations").json()["conversations"]
    assert "Morning report" in [chat["name"] for chat in chats]
    page = page_of(odoo, "admin")
    page.goto(f"/odoo/ai-schedules/{cron}")
    expect(page.locator(".o_form_view")).to_contain_text("Execute Every")
    page.screenshot(path=E2E_LOGS / "run_cron.png")
    page.locator("button", has_text="Runs").click()
    expect(page.locator(".o_list_view")).to_contain_text("Morning report")
    odoo.rpc("ir.cron", "unlink", [cron])
    assert run["problem"] is False


def test_a_decision_outlives_the_process_and_is_asked_again_when_the_record_has_changed(
    new_odoo, scripted_llm
):
    odoo = new_odoo("runs")
    use_partners(odoo, can_update=True)
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Works", "city": "Graz"}])
    change = {"model": "res.partner", "ids": [contact], "values": {"city": "Linz"}}
    scripted_llm.script(
        first("Move it", calls(("update_records", change))),
        then("Move it", {"content": "It moved."}),
    )
    action = an_action(odoo, name="Move", woow_instruction="Move it.", woow_answer_to="note")
    on = {"active_model": "res.partner", "active_ids": [contact]}
    odoo.rpc(ACTIONS, "run", [action], context=on)

    def asked():
        """The run, and what its open question shows."""
        (run,) = odoo.rpc(
            RUNS,
            "search_read",
            [("action_id", "=", action)],
            ["turn_state", "channel_id", "turn_id"],
        )
        if run["turn_state"] != "waiting":
            return None
        path = f"/api/ai/conversations/{run['channel_id'][0]}"
        (question,) = odoo.session("admin").get(path).json()["turn"]["waiting_for"]
        return run, question, str(question["rehearsal"])

    run, question, shown = eventually(asked)
    assert "Graz" in shown and "Linz" in shown
    odoo.restart()
    odoo.rpc("res.partner", "write", [contact], {"city": "Wien"})
    path = f"/api/ai/turns/{run['turn_id'][0]}/decision"

    def allow(question):
        body = {
            "id": question["id"],
            "decision": "approve_once",
            "shown": {question["id"]: question["review_hash"]},
        }
        answer = odoo.session("admin").post(path, json=body)
        assert answer.is_success, answer.text

    allow(question)
    run, question, shown = eventually(
        lambda: (now := asked()) and now[1]["review_hash"] != question["review_hash"] and now
    )
    before = str(question["rehearsal"].pop("before"))
    assert "Graz" in before and "Wien" not in before
    now = str(question["rehearsal"])
    assert "Wien" in now and "Graz" not in now
    assert odoo.rpc("res.partner", "read", [contact], ["city"])[0]["city"] == "Wien"
    allow(question)
    ended(odoo, action, "done")
    assert odoo.rpc("res.partner", "read", [contact], ["city"])[0]["city"] == "Linz"


def test_a_group_decides_about_the_run_of_somebody_else(odoo, scripted_llm, page_of, request):
    lines = use_partners(odoo, can_update=True)
    request.addfinalizer(lambda: odoo.rpc("woow_paas_platform.record_access", "unlink", lines))
    people = odoo.rpc("res.users", "search", [("login", "in", ("admin", "demo"))])
    (group,) = odoo.rpc("res.groups", "create", [{"name": "Deciders", "user_ids": people}])
    contacts = odoo.rpc("res.partner", "create", [{"name": "Okapi", "city": "Graz"}] * 2)
    action = an_action(
        odoo,
        name="Move to Linz",
        woow_instruction="Move contact {{ object.id }}.",
        woow_answer_to="none",
        woow_decider="group",
        woow_decider_group_id=group,
    )

    def asked(contact):
        """Link in the activity of the second user, once the run of a contact waits."""
        change = {"model": "res.partner", "ids": [contact], "values": {"city": "Linz"}}
        words = f'Move contact "{contact}"'
        scripted_llm.script(
            first(words, calls(("update_records", change))), then(words, {"content": "Moved."})
        )
        on = {"active_model": "res.partner", "active_ids": [contact]}
        odoo.rpc(ACTIONS, "run", [action], context=on)
        (demo,) = odoo.rpc("res.users", "search", [("login", "=", "demo")])
        mine = [("res_id", "=", contact), ("res_model", "=", "res.partner"), ("user_id", "=", demo)]
        found = eventually(lambda: odoo.rpc("mail.activity", "search_read", mine, ["note"]))
        return re.search('href="([^"]*)"', found[0]["note"])[1]

    def city(contact):
        return odoo.rpc("res.partner", "read", [contact], ["city"])[0]["city"]

    page = page_of(odoo, "demo")
    page.goto(asked(contacts[0]))
    row = page.locator(".o_woow_decision")
    expect(row.locator(".o_ai_chat_approval")).to_contain_text("Graz")
    expect(row.locator(".o_woow_decision_place")).to_contain_text("Okapi")
    page.screenshot(path=E2E_LOGS / "run_decider.png")
    row.get_by_role("button", name="Allow once").click()
    expect(page.locator(".o_woow_decisions")).to_contain_text("Nothing is waiting for you.")
    eventually(lambda: city(contacts[0]) == "Linz")

    call = asked(contacts[1]).rpartition("=")[2]

    def decide(session):
        question = session.get(f"/api/ai/decisions/{call}").json()
        body = {
            "id": call,
            "decision": "approve_once",
            "shown": {call: question["question"]["review_hash"]},
        }
        path = f"/api/ai/turns/{question['turn_id']}/decision"
        return lambda: session.post(path, json=body).status_code

    with ThreadPoolExecutor(2) as pool:
        both = [decide(odoo.session(login)) for login in ("admin", "demo")]
        assert sorted(pool.map(lambda one: one(), both)) == [200, 409]
    eventually(lambda: city(contacts[1]) == "Linz")


def test_an_answer_becomes_a_message_and_a_field_by_calls_that_are_decided(odoo, scripted_llm):
    lines = use_partners(odoo, can_update=True, can_message=True)
    scripted_llm.script(
        first("Answer them", {"content": "We **thank** you."}),
        first("Sum it up", {"content": "A good customer."}),
    )
    asked = "<p>Please send me your offer for thirty chairs soon.</p>"
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Works", "comment": asked}])
    (field,) = odoo.rpc(
        "ir.model.fields", "search", [("model", "=", "res.partner"), ("name", "=", "comment")]
    )
    about = [("model", "=", "res.partner"), ("res_id", "=", contact), ("body", "like", "thank")]
    on = {"active_model": "res.partner", "active_ids": [contact]}

    def asks(action):
        """The question of the action's run, which is its last call."""
        odoo.rpc(ACTIONS, "run", [action], context=on)

        def found():
            runs = odoo.rpc(
                RUNS, "search_read", [("action_id", "=", action)], ["channel_id", "turn_id"]
            )
            path = f"/api/ai/conversations/{runs[0]['channel_id'][0]}" if runs[0]["turn_id"] else ""
            turn = path and odoo.session("admin").get(path).json()["turn"]
            waits = turn and turn.get("waiting_for")
            return waits and (turn["id"], waits[0])

        return eventually(found)

    def decides(turn, question, decision):
        path, key = f"/api/ai/turns/{turn}/decision", question["id"]
        body = {"id": key, "decision": decision, "shown": {key: question["review_hash"]}}
        answer = odoo.session("admin").post(path, json=body)
        assert answer.is_success, answer.text

    # What the contact has written is foreign, so that nothing is granted for good.
    instruction = "Answer them: {{ object.comment }}"
    answers = an_action(odoo, name="Answer", woow_instruction=instruction, woow_answer_to="message")
    turn, question = asks(answers)
    assert question["choices"] == ["approve_once", "deny"]
    assert not odoo.rpc("mail.message", "search_count", about)
    decides(turn, question, "approve_once")
    assert ended(odoo, answers, "done")["problem"] is False
    (message,) = odoo.rpc("mail.message", "search_read", about, ["body", "author_id", "subtype_id"])
    assert "<strong>thank</strong>" in message["body"]
    assistant = odoo.rpc("ai.assistant", "search_read", [], ["partner_id"], limit=1, order="id")
    assert message["author_id"][0] == assistant[0]["partner_id"][0]
    assert message["subtype_id"][1] == "Discussions"

    sums = an_action(
        odoo,
        name="Sum up",
        woow_instruction="Sum it up.",
        woow_answer_to="field",
        woow_answer_field_id=field,
    )
    turn, question = asks(sums)
    assert "offer for thirty chairs" in str(question["rehearsal"])
    assert "A good customer." in str(question["rehearsal"])
    decides(turn, question, "deny")
    assert "was not put on the record" in ended(odoo, sums, "done")["problem"]
    assert "thirty chairs" in odoo.rpc("res.partner", "read", [contact], ["comment"])[0]["comment"]
    (later,) = odoo.rpc("res.partner", "create", [{"name": "Zebra Farm"}])
    on["active_ids"] = [later]
    decides(*asks(sums), "approve_once")
    eventually(
        lambda: (
            "A good customer."
            in str(odoo.rpc("res.partner", "read", [later], ["comment"])[0]["comment"])
        )
    )
    odoo.rpc(ACCESS, "unlink", lines)


@pytest.fixture(scope="module")
def mortal(new_odoo):
    """An Odoo that may be killed."""
    return new_odoo("killed_runs", operator={"lease_seconds": LEASE})


def test_kills_lose_no_run_and_double_none(mortal, scripted_llm, pytestconfig):
    """The note on the contact is written with the end of the turn, so there is one of each run."""
    odoo, kills = mortal, pytestconfig.getoption("run_kills")
    scripted_llm.script(first("Look at it", {"content": "Seen."}, latency=100))
    odoo.rpc("ir.config_parameter", "set_param", "woow_paas_platform.runs_per_hour", str(kills * 8))
    contacts = odoo.rpc(
        "res.partner", "create", [{"name": f"Contact {n}"} for n in range(kills * 4)]
    )
    action = an_action(odoo, name="Look", woow_instruction="Look at it.", woow_answer_to="note")
    chance = random.Random(SEED)
    for kill in range(kills):
        # A turn that ten processes did not survive fails, so runs may not pile up.
        eventually(lambda: int(odoo.sql(OPEN)) <= MANY)
        some = contacts[kill * 4 :][:4]
        odoo.rpc(
            ACTIONS, "run", [action], context={"active_model": "res.partner", "active_ids": some}
        )
        time.sleep(chance.uniform(0, 2))
        odoo.kill9()
        odoo.start()

    def states():
        return [
            run["state"]
            for run in odoo.rpc(RUNS, "search_read", [("action_id", "=", action)], ["state"])
        ]

    eventually(lambda: set(states()) == {"done"} or None, states)
    assert len(states()) == len(contacts)
    notes = odoo.sql(
        "SELECT res_id, COUNT(*) FROM mail_message WHERE model = 'res.partner' AND body LIKE '%Seen.%' GROUP BY res_id"
    )
    assert sorted(notes.split()) == sorted(f"{contact}|1" for contact in contacts)


def test_a_reminder_and_the_second_group_come_once_though_the_process_died(mortal, scripted_llm):
    """It is killed when the reminder is written and the second group is about to be told."""
    odoo = mortal
    use_partners(odoo, can_update=True)
    (demo,) = odoo.rpc("res.users", "search", [("login", "=", "demo")])
    (group,) = odoo.rpc("res.groups", "create", [{"name": "Directors", "user_ids": [demo]}])
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Okapi Works", "city": "Graz"}])
    change = {"model": "res.partner", "ids": [contact], "values": {"city": "Linz"}}
    scripted_llm.script(first("Move the okapi", calls(("update_records", change))))
    action = an_action(
        odoo,
        name="Move",
        woow_instruction="Move the okapi.",
        woow_answer_to="none",
        woow_remind_hours=1,
        woow_escalation_hours=2,
        woow_escalation_group_id=group,
    )
    on = {"active_model": "res.partner", "active_ids": [contact]}
    odoo.rpc(ACTIONS, "run", [action], context=on)
    waits = "turn_id.state", "=", "waiting"
    eventually(lambda: odoo.rpc(RUNS, "search", [("action_id", "=", action), waits]))
    odoo.sql(
        "UPDATE woow_paas_platform_ai_turn SET is_mailed = TRUE, waiting_since = waiting_since - interval '3 hours'"
        " WHERE state = 'waiting'"
    )
    name = ("cron_name", "=", "AI: send mails about waiting decisions")
    (cron,) = odoo.rpc("ir.cron", "search", [name])

    def hold():
        with contextlib.suppress(Exception):  # it is ended below
            odoo.sql("BEGIN; LOCK TABLE mail_activity IN EXCLUSIVE MODE; SELECT pg_sleep(600)")

    def remind():
        with contextlib.suppress(Exception):  # its process is killed
            odoo.rpc("ir.cron", "method_direct_trigger", [cron])

    held = "FROM pg_locks WHERE relation = 'mail_activity'::regclass AND mode LIKE '%ExclusiveLock'"
    with ThreadPoolExecutor(2) as pool:
        pool.submit(hold)
        eventually(lambda: odoo.sql(f"SELECT 1 {held} AND granted").strip())
        pool.submit(remind)
        eventually(lambda: odoo.sql(f"SELECT 1 {held} AND NOT granted").strip())
        odoo.kill9()
        odoo.sql(f"SELECT pg_terminate_backend(pid) {held} AND granted")
    odoo.start()
    for _again in range(2):
        odoo.rpc("ir.cron", "method_direct_trigger", [cron])
    told = odoo.sql(
        "SELECT starts_with(m.subject, 'Reminder'), COUNT(*) FROM mail_message m"
        " JOIN mail_message_res_partner_rel r ON r.mail_message_id = m.id"
        " WHERE m.subject LIKE '%waiting for your decision' GROUP BY 1 ORDER BY 1"
    )
    assert told.split() == ["f|1", "t|1"]
    mine = [("res_id", "=", contact), ("res_model", "=", "res.partner"), ("user_id", "=", demo)]
    assert odoo.rpc("mail.activity", "search_count", mine) == 1


class Receiver:
    """An address that keeps what it is told: ``[(headers, body)]``, and answers unless it is held."""

    def __init__(self, port):
        self.told, self.answers = [], threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                receiver.told.append((dict(self.headers), body))
                receiver.answers.wait()
                with contextlib.suppress(ConnectionError):
                    self.send_response(204)
                    self.end_headers()

            def log_message(self, *_arguments):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def ids(self):
        return [headers["webhook-id"] for headers, _body in self.told]

    def stop(self):
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()


def is_signed(secret, headers, body):
    """By the formula of Standard Webhooks."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{digest}" in headers["webhook-signature"].split(" ")


def test_a_webhook_is_told_after_the_address_and_the_process_were_away(mortal, scripted_llm):
    odoo, port = mortal, processes.free_port()
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    (webhook,) = odoo.rpc(
        WEBHOOKS,
        "create",
        [{"name": "Receiver", "url": f"http://127.0.0.1:{port}/hook", "secret": secret}],
    )

    def deliveries():
        found = [("webhook_id", "=", webhook)]
        return odoo.rpc(DELIVERIES, "search_read", found, ["message_id", "state", "tries"])

    scripted_llm.script(first("Look after it", {"content": "Seen by nobody else."}))
    (contact,) = odoo.rpc("res.partner", "create", [{"name": "Receiver Works"}])
    action = an_action(odoo, name="Look", woow_instruction="Look after it.", woow_answer_to="note")
    context = {"active_model": "res.partner", "active_ids": [contact]}
    odoo.rpc(ACTIONS, "run", [action], context=context)
    run = ended(odoo, action, "done")
    eventually(lambda: all(one["tries"] for one in deliveries()) and len(deliveries()) == 2)
    receiver = Receiver(port)
    try:
        eventually(receiver.ids, deliveries)  # the next try, which is not answered
        odoo.kill9()
        receiver.answers.set()
        odoo.start()
        odoo.sql(  # in place of waiting for as long as a try may take
            "UPDATE woow_paas_platform_webhook_delivery SET sending_until = NULL,"
            " next_try_at = now() AT TIME ZONE 'UTC' WHERE state = 'pending'"
        )
        (cron,) = odoo.rpc(
            "ir.cron", "search", [("cron_name", "=", "AI: deliver messages of webhooks")]
        )
        odoo.rpc("ir.cron", "method_direct_trigger", [cron])
        eventually(lambda: {one["state"] for one in deliveries()} == {"delivered"}, deliveries)
        ids = receiver.ids()
        assert set(ids) == {one["message_id"] for one in deliveries()}
        assert len(ids) == 3, "one was sent, and not recorded"
        assert all(is_signed(secret, *one) for one in receiver.told)
        assert not is_signed(secret, receiver.told[0][0], receiver.told[0][1] + " ")
        bodies = [json.loads(body) for _headers, body in receiver.told]
        messages = {body["type"]: body["data"] for body in bodies}
        assert messages["run.ended"]["run_id"] == run["id"]
        assert messages["run.ended"]["state"] == messages["turn.ended"]["state"] == "done"
        assert "Seen by" not in str(receiver.told)
    finally:
        receiver.stop()
