"""People's data: the inventory of columns, its export and its erasure."""

import base64
import io
import json
import logging
import os
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from odoo import fields
from odoo.exceptions import AccessError, UserError
from odoo.tests import new_test_user, tagged

from ..models.automation import assistant_test_run
from ..models.governance.personal_data import TRIES
from ..models.turn.ai_turn import Question
from ..services.personal_data import INVENTORY, KEEP, reviewed
from ..tools.refusals import Refusal
from .common import AiCase, AiHttpCase, TurnByHandCase, retention

ADDON = "woow_paas_platform"
MARK = "Zebrafink"
DATA = f"{ADDON}.personal_data"
DENIAL = "The user denied this call. The user's reason: "
BY_ODOO = {"create_uid", "write_uid"}  # of each table; ids without words
WORDS = {"char", "text", "html", "json", "binary"}


def _is_ours(model, field):
    return model._name.startswith(("ai.", f"{ADDON}.")) or field.name.startswith("woow_")


def erase(person):
    return person.env[DATA]._erase(person)


def request(asker, kind, person):
    return asker.env[DATA].with_user(asker)._request(kind, person)


def fill_folder(env, person):
    """:return: a file of the person's new folder"""
    folder = env[f"{ADDON}.conversation_folder"].with_user(person)._make_folder(MARK)
    folder._instruct(f"Say {MARK}.")
    channel = env["discuss.channel"].with_user(person)
    folder._set_files(channel._attach_unsent("b.txt", MARK.encode()).ids)
    return folder._files()


@tagged("post_install", "-at_install")
class TestInventory(AiCase):
    def _columns(self):
        for name in self.env.registry:
            model = self.env[name]
            if model._abstract or model._transient:  # Odoo deletes dialogs within hours
                continue
            for field in model._fields.values():
                is_kept = field.store and field.name not in BY_ODOO and not field.related
                # what Odoo's own mixins keep of activities and messages is Odoo's
                is_of_addon = ADDON in (field._modules or (ADDON,))
                if is_kept and is_of_addon and _is_ours(model, field):
                    yield model, field

    def test_each_column_with_a_person_or_words_is_in_the_inventory(self):
        known = reviewed()
        missing = [
            f"{model._name}.{field.name}"
            for model, field in self._columns()
            if field.comodel_name in ("res.users", "res.partner") or field.type in WORDS
            if field.name not in known.get(model._name, ())
        ]
        self.assertFalse(
            missing, "Say in services/personal_data/inventory.py what becomes of these."
        )

    def test_the_inventory_names_what_there_is(self):
        for entry in INVENTORY:
            model = self.env[entry.model_name]
            for name in (*entry.people, *entry.words):
                with self.subTest(model=entry.model, column=name):
                    self.assertTrue(model._fields[name].store)
            for name in entry.people:
                self.assertEqual(
                    model._fields[name].comodel_name,
                    "res.partner" if name == "partner_id" else "res.users",
                )
            if entry.of:
                self.assertIn(entry.of, entry.people)


@tagged("post_install", "-at_install")
class TestErasure(TurnByHandCase):
    """A person who has typed the same word everywhere, and is forgotten."""

    def setUp(self):
        super().setUp()
        self.lines = []
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())
        root = logging.getLogger()
        root.addHandler(handler)
        self.addCleanup(root.removeHandler, handler)

    def _type_everywhere(self):
        env, member = self.env, self.member
        self._stop()
        file = base64.b64encode(f"{MARK} in a file".encode()).decode()
        self._sign_in(member)
        status, chat = self._call(
            "POST",
            "/api/ai/conversations",
            {"assistant_id": self.assistant.id, "name": f"{MARK} title"},
        )
        self.assertEqual(status, 201)
        path = f"/api/ai/conversations/{chat['id']}"
        _status, kept = self._call(
            "POST", f"{path}/attachments", {"name": f"{MARK}.txt", "data": file}
        )
        self._call("POST", f"{path}/attachments", {"name": f"{MARK}-unsent.txt", "data": file})
        self._upload(f"{MARK}-anywhere.txt", f"{MARK} anywhere".encode())
        status, asked = self._call(
            "POST",
            f"{path}/messages",
            {"content": f"{MARK} question", "attachment_ids": [kept["id"]]},
        )
        self.assertEqual(status, 202)
        self._call(
            "POST",
            "/api/mcp/servers",
            {"name": "mine", "description": f"{MARK} note", "url": "http://127.0.0.1:9/mcp"},
        )
        turn = env[f"{ADDON}.ai_turn"].browse(asked["turn_id"])
        self.turn, self.claim = turn, None
        self._begin((self.forecast, {"city": MARK}))
        call = turn.call_ids
        call.write(
            {"llm_text": f"{MARK} result", "result": {"text": MARK}, "approval_reason": MARK}
        )
        env[f"{ADDON}.call_question"].create({"call_id": call.id, "kind": "form", "message": MARK})
        turn.write({"state": "done", "ended_at": fields.Datetime.now(), "lease_owner": False})
        turn._append_events([{"type": "text_delta", "text": MARK}])
        rating = {
            "turn_id": turn.id,
            "user_id": member.id,
            "value": "bad",
            "text": MARK,
            "is_shared": True,
        }
        env[f"{ADDON}.answer_rating"].create(rating)
        plain = self._ask(member, f"{MARK} without files").sudo()
        plain.write({"state": "done", "ended_at": fields.Datetime.now()})
        env[f"{ADDON}.answer_rating"].create({**rating, "turn_id": plain.id})
        Test = env[f"{ADDON}.assistant_test"].with_user(self.admin)
        test = Test._add_turn(plain.with_user(self.admin))
        self.assertIn(MARK, test.questions)
        plain.channel_id.unlink()  # the test stays, and is found all the same
        env[f"{ADDON}.delivered_prompt"]._keep(member.id, "weather", [MARK])
        env[f"{ADDON}.tool_call"].create(
            {
                "user_id": member.id,
                "call_id": "direct",
                "tool_name": "forecast",
                "arguments": {"city": MARK},
            }
        )
        env[f"{ADDON}.ai_run"].create(
            {"user_id": member.id, "event": MARK, "mail_from": MARK, "mail": {"question": MARK}}
        )
        service, budget = f"/my/services/{self.service.id}/mcp", f"/odoo/{ADDON}.budget/1"
        for path in (f"/my/ai/{chat['id']}", service, budget):
            member._woow_ai_mail(MARK, MARK, path)
        env[f"{ADDON}.mcp_tool_review"].create(
            {
                "tool_name": "forecast",
                "server_id": self.server.id,
                "user_id": member.id,
                "user_name": MARK,
                "decision": "accepted",
            }
        )
        theirs = self._ask(self.stranger).sudo()
        decided = env[f"{ADDON}.tool_call"].create(
            {
                "turn_id": theirs.id,
                "call_id": "theirs",
                "tool_name": "forecast",
                "decided_by_id": member.id,
                "decision_reason": f"{MARK} “no”",
                "llm_text": f"{DENIAL}{MARK} “no”",
            }
        )
        theirs.transcript = {"messages": [{"text": f"{DENIAL}{MARK} “no”"}]}
        theirs._append_events([{"type": "decided", "id": "theirs", "reason": f"{MARK} “no”"}])
        channel = self._channel(member, self.stranger)
        said = channel.message_post(body=f"{MARK} mention", author_id=member.partner_id.id)
        question = Question(f"{MARK} mention", message=said)
        env[f"{ADDON}.ai_turn"].with_user(member)._start(
            channel.with_user(member), question, assistant=self.assistant
        )
        env.flush_all()
        return turn, test, decided

    def _hits(self):
        """Tables of the database in which the word stands, and files of the file store."""
        self.env.flush_all()
        self.env.cr.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
            " AND table_name ~ '^(woow_|ai_|discuss_|mail_|ir_attachment)'"
        )
        found = []
        for (table,) in self.env.cr.fetchall():
            self.env.cr.execute(
                f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{MARK}%"]
            )
            if count := self.env.cr.fetchone()[0]:
                found.append((table, count))
        return found

    def test_nothing_of_a_person_is_left(self):
        turn, test, decided = self._type_everywhere()
        files = [
            Path(self.env["ir.attachment"]._full_path(name))
            for name in self.env["ir.attachment"]
            .search([("name", "ilike", MARK), ("res_field", "=", False)])
            .mapped("store_fname")
            if name
        ]
        self.assertGreater(len(self._hits()), 10)
        preview = self.env[DATA]._preview(self.member)
        self.assertEqual({one["fate"] for one in preview}, {"cascade", "anonymise"})
        self.assertEqual(len(self._hits()), len(self._hits()), "a preview changes nothing")
        folded = self.env[f"{ADDON}.tool_call_sum"].search_count([])
        erase(self.member)
        self.assertEqual(self._hits(), [])
        self.assertFalse((turn | decided.turn_id).exists() - decided.turn_id)
        self.assertFalse(test.exists())
        self.assertTrue(decided.exists() and not decided.decided_by_id)
        self.assertGreaterEqual(self.env[f"{ADDON}.tool_call_sum"].search_count([]), folded)
        self.assertFalse([line for line in self.lines if MARK in line])
        self.env["ir.attachment"]._gc_file_store_unsafe()
        self.assertFalse([str(path) for path in files if path.exists()])
        self.assertTrue(self.member.exists(), "the user itself is Odoo's")
        self.assertEqual(erase(self.member), 0, "a second erasure finds nothing")
        left = {one["fate"] for one in self.env[DATA]._preview(self.member)}
        self.assertLessEqual(left, {KEEP})

    def test_a_reason_goes_and_all_other_words_of_a_conversation_stay(self):
        for reason in ("1", "no", "user", "太貴了"):
            with self.subTest(reason=reason):
                theirs = self._ask(self.stranger).sudo()
                call = self.env[f"{ADDON}.tool_call"].create(
                    {
                        "turn_id": theirs.id,
                        "call_id": "theirs",
                        "tool_name": "forecast",
                        "approval": "denied",
                        "decided_by_id": self.member.id,
                        "decision_reason": reason,
                        "llm_text": f"{DENIAL}{reason}",
                        "result": f"{DENIAL}{reason}",
                    }
                )
                asked = {"role": "user", "content": "a\nok, no 1"}
                of_other = {"role": "tool", "content": f"{DENIAL}{reason} way"}
                denied = {"role": "tool", "content": f"{DENIAL}{reason}"}
                theirs.transcript = {"step": 1, "messages": [asked, of_other, denied]}
                theirs._append_events(
                    [
                        {"type": "decided", "id": "theirs", "reason": reason},
                        {"type": "decided", "id": "other", "reason": reason},
                    ]
                )
                erase(self.member)
                self.env.flush_all()
                self.env.invalidate_all()
                left = "The user denied this call."
                self.assertEqual(
                    theirs.transcript,
                    {"step": 1, "messages": [asked, of_other, {"role": "tool", "content": left}]},
                )
                self.assertEqual(
                    (call.llm_text, call.result, call.decision_reason), (left, left, False)
                )
                events = self.env[f"{ADDON}.ai_turn_event"].search([("turn_id", "=", theirs.id)])
                decided = [one.payload for one in events if one.payload["type"] == "decided"]
                self.assertEqual([one["reason"] for one in decided], ["", reason])
                theirs.channel_id.unlink()

    def test_a_rule_about_nobody_else_goes_and_others_lose_the_person(self):
        Rule = self.env[f"{ADDON}.person_rule"]
        forgets = (erase, lambda person: person.unlink())
        for number, forget in enumerate(forgets):
            with self.subTest(number=number):
                person = new_test_user(self.env, f"ai_gone_{number}", groups="base.group_portal")
                about = {"server_id": self.server.id, "policy": "never", "user_ids": person.ids}
                alone, of_group, of_others = Rule.create(
                    [
                        about,
                        {**about, "group_ids": self.env.ref("base.group_portal").ids},
                        {**about, "user_ids": [person.id, self.stranger.id]},
                    ]
                )
                forget(person)
                self.assertFalse(alone.exists())
                self.assertFalse(of_group.user_ids)
                self.assertEqual(of_others.user_ids, self.stranger)

    def test_others_keep_theirs(self):
        theirs = self._ask(self.stranger, f"{MARK} of the stranger").sudo()
        erase(self.member)
        self.assertEqual(theirs.exists().prompt, f"{MARK} of the stranger")

    def test_who_deletes_the_user_erases(self):
        person = new_test_user(self.env, "ai_gone", groups="base.group_portal")
        turn = self._ask(person, MARK).sudo()
        file = fill_folder(self.env, person)
        person.unlink()  # as Odoo's privacy look-up does
        self.assertFalse(turn.exists())
        self.assertFalse(file.exists())
        self.assertEqual(self._hits(), [])

    def test_an_answer_is_stopped_first_and_a_lost_process_is_followed_by_another_try(self):
        asked = request(self.env.ref("base.user_admin"), "erasure", self.member)
        self._begin((self.forecast, {}))
        with patch.object(self.env.cr, "commit"):
            self.assertFalse(asked._carry_out())
            self.assertTrue(self.turn.stop_requested)
            self.assertEqual(asked.state, "queued")
            self.turn.write({"state": "stopped", "ended_at": fields.Datetime.now()})
            with (
                patch.object(type(asked), "_erase_mails", side_effect=MemoryError),
                patch.object(self.env.cr, "rollback"),
                self.assertLogs("odoo.addons.woow_paas_platform", "ERROR"),
            ):
                asked._carry_out()
            self.assertEqual((asked.state, asked.tries), ("queued", 1))
            with patch.object(type(self.env["ir.attachment"]), "_gc_file_store"):
                self.assertTrue(asked._carry_out())
        self.assertEqual(asked.state, "done")
        self.assertFalse(self.turn.exists())

    def test_only_administrators_of_odoo_erase_and_no_user_of_the_system(self):
        for user in (self.admin, self.member, self.internal, self.stranger):
            with self.subTest(user=user.login), self.assertRaises(AccessError):
                request(user, "erasure", self.member)
        root = self.env.ref("base.user_admin")
        for name in ("base.public_user", "base.user_root"):
            with self.assertRaises(Refusal):
                request(root, "erasure", self.env.ref(name))
        dialog = self.env.ref("base.user_admin")
        opened = self.member.with_user(dialog).action_woow_personal_data()
        wizard = self.env[opened["res_model"]].with_user(dialog).browse(opened["res_id"])
        self.assertIn("<table", wizard.preview)
        wizard.confirmation = "somebody else"
        with self.assertRaises(UserError):
            wizard.action_erase()
        wizard.confirmation = self.member.login
        wizard.action_erase()
        self.assertEqual(self.env[DATA].search([]).user_id, self.member)


@tagged("post_install", "-at_install")
class TestExport(AiHttpCase):
    def _carry_out(self):
        with (
            patch.object(self.env.cr, "commit"),
            patch.object(type(self.env["ir.cron"]), "_commit_progress", lambda *_, **__: 1.0),
        ):
            self.env[DATA]._cron_carry_out()

    def _zip(self, path="/my/ai/data/file"):
        answer = self.url_open(path)
        self.assertEqual(answer.headers["Content-Type"], "application/zip")
        return zipfile.ZipFile(io.BytesIO(answer.content))

    def _say_something(self):
        chat = self._conversation(self.member)
        chat.sudo().name = "../Wetter 天氣"
        file = chat.sudo()._keep_files(
            [{"name": "../a.txt", "mimetype": "text/plain", "data": base64.b64encode(b"words")}]
        )
        turn = self._ask(self.member, "Will it rain?", channel=chat).sudo()
        answer = chat.sudo()._post_answer(self.assistant, "<p>It <b>will</b>.</p>")
        turn.write(
            {"answer_message_id": answer.id, "state": "done", "ended_at": fields.Datetime.now()}
        )
        self.env[f"{ADDON}.server_credential"]._keep(self.server, self.member, "sk-member-secret")
        self._ask(self.stranger, "Words of the stranger")
        return chat, file

    def test_a_person_prepares_and_downloads_the_own_data(self):
        chat, file = self._say_something()
        chat.sudo().woow_beginning = {"text": "Earlier words", "sources": []}
        kept = fill_folder(self.env, self.member)
        self._sign_in(self.member)
        page = self.url_open("/my/ai/data").text
        self.assertIn("Prepare my data", page)
        token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
        self.assertIn("being prepared", self.url_open("/my/ai/data", {"csrf_token": token}).text)
        self._carry_out()
        self.assertIn("/my/ai/data/file", self.url_open("/my/ai/data").text)
        archive = self._zip()
        names = archive.namelist()
        self.assertFalse([name for name in names if name.startswith(("/", ".")) or "../" in name])
        folder = f"conversations/{chat.id} Wetter 天氣"
        self.assertEqual(archive.read(f"{folder}/files/{file.id} a.txt"), b"words")
        self.assertEqual(archive.read(f"folders/{kept.res_id}/{kept.id} b.txt"), MARK.encode())
        (folders,) = [name for name in names if "conversation_folder" in name]
        self.assertEqual(json.loads(archive.read(folders))[0]["instructions"], f"Say {MARK}.")
        (about,) = json.loads(archive.read("conversations.json"))
        self.assertEqual(about["continues"], "Earlier words")
        self.assertIn("It **will**.", archive.read(f"{folder}/conversation.md").decode())
        (turn,) = json.loads(archive.read(f"{folder}/turns.json"))
        self.assertEqual(turn["question"], "Will it rain?")
        whole = b"".join(archive.read(name) for name in names).decode()
        for secret in ("sk-member-secret", "secret-of-a-test", "Words of the stranger"):
            self.assertNotIn(secret, whole)
        for other in (self.stranger, self.admin):
            self._sign_in(other)
            for path in ("/my/ai/data/file", f"/my/ai/data/file?user_id={self.member.id}"):
                self.assertIn("does not exist any more", self.url_open(path).text)
        self._sign_in(self.member)
        self.env[DATA].search([]).expires_at = fields.Datetime.now() - timedelta(seconds=1)
        self.env.flush_all()
        self.assertIn("does not exist any more", self.url_open("/my/ai/data/file?user_id=x").text)
        self.env[DATA]._gc_expired()
        self.assertFalse(self.env["ir.attachment"].search([("res_model", "=", DATA)]))

    def test_who_is_no_administrator_any_more_gets_nothing_of_others(self):
        system = self.env.ref("base.group_system")
        former = new_test_user(
            self.env,
            "ai_former",
            groups="base.group_user,base.group_system",
            password="secret-of-a-test",
        )
        self._say_something()
        request(former, "export", self.member)
        own = request(former, "export", former)
        self._carry_out()
        path = f"/my/ai/data/file?user_id={self.member.id}"
        self._sign_in(former)
        self.assertIn("conversations.json", self._zip(path).namelist())
        queued = request(former, "erasure", self.member)
        former.group_ids -= system
        self.env.flush_all()
        self.assertIn("does not exist any more", self.url_open(path).text)
        self.assertTrue(self._zip().namelist(), "one's own stays")
        self._carry_out()
        self.assertEqual((own.state, queued.state), ("done", "failed"))
        self.assertTrue(self.env[f"{ADDON}.ai_turn"].search([("user_id", "=", self.member.id)]))

    def test_an_export_whose_process_was_killed_each_time_is_given_up(self):
        asked = request(self.member, "export", self.member)
        asked.tries = TRIES
        with self.assertLogs("odoo.addons.woow_paas_platform", "ERROR"):
            self._carry_out()
        self.assertEqual(asked.state, "failed")

    def test_a_large_export_fills_no_memory_and_leaves_no_file(self):
        chat, _file = self._say_something()
        rows = [
            {
                "channel_id": chat.id,
                "user_id": self.member.id,
                "prompt": "x" * 500,
                "state": "done",
                "ended_at": fields.Datetime.now(),
            }
            for _ in range(1_000)
        ]
        self.env[f"{ADDON}.ai_turn"].create(rows)
        self.env.flush_all()
        asked = request(self.member, "export", self.member)
        self.assertEqual(request(self.member, "export", self.member), asked, "one at a time")
        read, left = [], []
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.patch(tempfile, "tempdir", folder)
        search = type(self.env[f"{ADDON}.ai_turn"]).search

        def counted(model, *args, **kwargs):
            found = search(model, *args, **kwargs)
            read.append(len(found))
            left.extend(os.listdir(folder))  # if the process were killed now
            return found

        with patch.object(type(self.env[f"{ADDON}.ai_turn"]), "search", counted):
            self._carry_out()
        self.assertEqual(asked.state, "done")
        self.assertIn(100, read)
        self.assertFalse(left)


@tagged("post_install", "-at_install")
class TestRetention(AiCase):
    def test_the_preview_counts_runs_of_tests_as_they_go(self):
        Run = self.env[f"{ADDON}.assistant_test_run"]
        vals = {"assistant_id": self.assistant.id, "state": "done"}
        runs = Run.create([dict(vals) for _number in range(4)])
        long_ago = fields.Datetime.now() - timedelta(days=200)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_assistant_test_run SET create_date = %s WHERE id = %s",
            [long_ago, runs[0].id],
        )
        self.env.invalidate_all()
        dialog = self.env[f"{ADDON}.retention"].create({})
        with patch.object(assistant_test_run, "KEPT_RUNS", 2):
            self.assertIn(
                "<td>Runs of tests, with results</td><td class='text-end'>180</td><td class='text-end'>2</td>",
                dialog.preview,
            )

    def test_the_preview_says_what_then_goes(self):
        old, new = (self._ask(self.member, text).sudo() for text in ("old", "new"))
        (old | new).write({"state": "done", "ended_at": fields.Datetime.now()})
        open_turn = self._ask(self.member, "open").sudo()
        long_ago = fields.Datetime.now() - timedelta(days=31)
        (old | open_turn).channel_id.last_interest_dt = long_ago
        dialog = self.env[f"{ADDON}.retention"].create({})
        self.assertEqual(dialog._kinds()[0][1:3], (0, 0), "off by default")
        retention(self.env)
        self.assertTrue(old.exists())
        self.env["ir.config_parameter"].set_param(f"{ADDON}.conversation_retention_days", "30")
        self.assertEqual(dialog._kinds()[0][1:3], (30, 1))
        self.assertIn(">30<", dialog.preview)
        retention(self.env)
        self.assertFalse(old.exists())
        self.assertTrue(new.exists() and open_turn.exists())
        self.assertEqual(dialog._kinds()[0][2], 0)
        with self.assertRaises(AccessError):
            self.env[f"{ADDON}.retention"].with_user(self.admin).create({})
