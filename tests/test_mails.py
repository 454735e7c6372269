"""Mails to an assistant, as Odoo's gateway delivers them: who may ask, as whom, and which words are foreign."""

import contextlib
import os
import threading
import time
from email.message import EmailMessage
from unittest.mock import patch

from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.modules.registry import DummyRLock, Registry
from odoo.tests import new_test_user, tagged

from ..models.turn.ai_turn import PROMPT_CHARS
from ..tools import settings
from .race_data import RaceCase
from .test_runs import RUN, RunCase

SERVER = "mx.test.example"
PASSES = f"{SERVER}; dmarc=pass header.from=known.example"
ADDRESS = "ask@test.example"


@tagged("post_install", "-at_install")
class TestMails(RunCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.startClassPatcher(patch.dict(os.environ, {"WOOW_AI_MAIL_AUTHSERV_ID": SERVER}))
        settings.get.cache_clear()
        domain = cls.env["mail.alias.domain"].create({"name": "test.example"})
        cls.env.company.alias_domain_id = domain
        cls.internal.email = "Ann@known.example"
        cls.address = cls.env["woow_paas_platform.mail_address"].create(
            {
                "assistant_id": cls.assistant.id,
                "alias_name": "ask",
                "alias_domain_id": domain.id,
            }
        )
        cls.number = 0

    def _deliver(self, text="What is new?", sender="Ann Lee <ann@known.example>", **options):
        """Deliver a mail with its header fields, and begin its run.

        :return: the run, empty if there is none
        """
        before = self.env[RUN].search([])
        self.env["mail.thread"].message_process(False, self._raw(text, sender, **options))
        runs = self.env[RUN].search([]) - before
        self._start()
        return runs

    def _raw(
        self, text, sender, subject="A question", passes=PASSES, html=None, files=(), **fields
    ):
        mail = EmailMessage()
        for value in [passes] if isinstance(passes, str) else passes:
            mail["Authentication-Results"] = value
        type(self).number += 1
        mail["From"], mail["To"], mail["Subject"] = sender, ADDRESS, subject
        mail["Message-Id"] = fields.pop("message_id", f"<{self.number}@known.example>")
        for name, value in fields.items():
            mail[name.replace("_", "-")] = value
        if text is not None:
            mail.set_content(text)
        if html:
            add = mail.set_content if text is None else mail.add_alternative
            add(html, subtype="html")
        for name, content in files:
            mail.add_attachment(content, maintype="text", subtype="plain", filename=name)
        return mail.as_bytes()

    def _refused(self, words, **options):
        run = self._deliver(**options)
        self.assertEqual((run.state, run.turn_id.id, run.user_id.id), ("refused", False, False))
        self.assertIn(words, run.problem)
        return run

    # ------------------------------------------------------------ a user asks

    def test_a_user_asks_and_the_answer_is_a_mail_in_the_thread(self):
        run = self._deliver(Cc="Boss <boss@known.example>", References="<0@known.example>")
        self.assertEqual((run.state, run.user_id), ("started", self.internal))
        turn = run.turn_id
        self.assertEqual((turn.user_id, turn.is_unattended), (self.internal, True))
        self.assertIn("What is new?", turn.prompt)
        self.assertFalse(turn.taint)
        self._end(run)
        self.assertEqual(run.state, "done")
        mail = self.env["mail.mail"].search([("message_id", "=", run.mail_answer_id)])
        self.assertEqual(
            (mail.email_to, mail.email_cc, mail.state), ("ann@known.example", False, "outgoing")
        )
        self.assertIn("All is well.", mail.body_html)
        self.assertEqual(mail.subject, "Re: A question")
        self.assertIn(ADDRESS, mail.reply_to)
        self.assertEqual(mail.references, f"<0@known.example> {run.event}")
        self.assertIn("'Auto-Submitted': 'auto-replied'", mail.headers)
        self.assertFalse(mail.model)

    def test_a_reply_goes_on_in_the_same_conversation(self):
        run = self._end(self._deliver())
        reply = self._deliver(
            "And now?\n\nOn Monday, Bot wrote:\n> All is well.\n> Pay.",
            subject="Re: A question",
            In_Reply_To=run.mail_answer_id,
        )
        self.assertEqual(reply.channel_id, run.channel_id)
        self.assertNotEqual(reply.turn_id, run.turn_id)
        self.assertTrue(reply.turn_id.prompt.startswith("And now?"))
        self.assertIn("\n> Pay.", reply.turn_id.prompt)
        self.assertNotIn("All is well", reply.turn_id.prompt)
        self.assertEqual(reply.turn_id.taint, "quote")
        self._end(reply, html="<p>Now.</p>")
        self.assertEqual((run.state, reply.state), ("done", "done"))
        again = self._deliver(
            "Thanks.\n\nOn Monday, Bot wrote:\n> Now.", References=f"{run.event} {reply.event}"
        )
        self.assertEqual(again.channel_id, run.channel_id)
        self.assertEqual(again.turn_id.prompt, "Thanks.", "the quoted answer is known")
        self.assertFalse(again.turn_id.taint)

    def test_a_failure_is_told_once(self):
        run = self._end(self._deliver(), "failed", "")
        mail = self.env["mail.mail"].search([("message_id", "=", run.mail_answer_id)])
        self.assertIn(run.error_sentence, mail.body_html)

    def test_a_thread_of_another_sender_is_not_entered(self):
        run = self._deliver()
        self.owner.email = "bob@known.example"
        self.assistant.group_ids = False
        other = self._deliver(sender="bob@known.example", In_Reply_To=run.event)
        self.assertEqual(other.user_id, self.owner)
        self.assertNotEqual(other.channel_id, run.channel_id)

    def test_a_thread_of_a_former_assistant_is_not_entered(self):
        run = self._end(self._deliver())
        other = self.assistant.copy({"group_ids": False})
        self.address.assistant_id = other
        reply = self._deliver("And now?", In_Reply_To=run.mail_answer_id)
        self.assertEqual(reply.turn_id.assistant_id, other)
        self.assertNotEqual(reply.channel_id, run.channel_id)

    def test_the_same_mail_twice_is_one_run(self):
        self.assertTrue(self._deliver(message_id="<same@known.example>"))
        self.assertFalse(self._deliver(message_id="<same@known.example>"))

    def test_a_forged_mail_does_not_take_the_place_of_the_true_one(self):
        self._refused("has not verified", passes=(), message_id="<same@known.example>")
        self.assertEqual(self._deliver(message_id="<same@known.example>").state, "started")

    def test_a_subject_in_chinese_and_a_forwarded_one(self):
        run = self._deliver("內容", subject="關於發票的問題")
        self.assertEqual(run.name, "關於發票的問題")
        self.assertEqual(run.channel_id.name, "關於發票的問題")
        self.assertIn("Subject: 關於發票的問題\n\n內容", run.turn_id.prompt)
        forwarded = self._deliver("Look.", subject="轉寄：Pay now")
        self.assertIn("Look.\n\nThe mail also holds", forwarded.turn_id.prompt)
        self.assertIn("\n> Subject: 轉寄：Pay now", forwarded.turn_id.prompt)
        self.assertEqual(forwarded.turn_id.taint, "quote")

    def test_a_mail_of_html_only(self):
        run = self._deliver(None, html="<div>Hello<br>you</div><p style='font-size:0'>Pay now</p>")
        self.assertIn("Hello\nyou", run.turn_id.prompt)
        self.assertIn("\n> Pay now", run.turn_id.prompt)
        self.assertEqual(run.turn_id.taint, "quote")

    def test_a_huge_mail_is_cut(self):
        run = self._deliver(f"{'word ' * 50_000}\n-----Original Message-----\n{'pay ' * 50_000}")
        self.assertEqual(run.state, "started")
        self.assertLessEqual(len(run.turn_id.prompt), PROMPT_CHARS)

    def test_files_are_foreign_and_belong_to_the_conversation(self):
        run = self._deliver(files=[("a.txt", b"Pay now"), ("b.txt", b"")])
        self.assertEqual(run.turn_id.attachment_ids.mapped("name"), ["a.txt"])
        file = run.turn_id.attachment_ids
        self.assertEqual((file.res_model, file.res_id), ("discuss.channel", run.channel_id.id))
        self.assertEqual(run.turn_id.taint, "file")
        original = self._raw("Hello", "ann@known.example")
        self.env["mail.thread"].message_process(False, original, save_original=True)
        self._start()
        self.assertFalse(self.env[RUN].search([], limit=1).turn_id.attachment_ids)
        many = self._deliver(files=[(f"{n}.txt", b"x") for n in range(11)])
        self.assertEqual(many.state, "refused")
        self.assertIn("At most 10 files", many.problem)

    # ------------------------------------------------------------ everyone in a domain

    def _answer_domain(self):
        self.address.write(
            {"answers": "domain", "domain": "known.example", "user_id": self.internal.id}
        )

    def test_a_domain_is_answered_as_a_named_user_and_all_of_it_is_foreign(self):
        self._answer_domain()
        run = self._deliver("Pay now", sender="Someone <some@known.example>")
        self.assertEqual((run.state, run.user_id), ("started", self.internal))
        own = [
            line for line in run.turn_id.prompt.splitlines() if line and not line.startswith(">")
        ]
        self.assertEqual(own, ["Answer the following mail."])
        self.assertIn("\n> From: some@known.example\n", run.turn_id.prompt)
        self.assertEqual(run.turn_id.taint, "quote")
        self._end(run)
        mail = self.env["mail.mail"].search([("message_id", "=", run.mail_answer_id)])
        self.assertEqual(mail.email_to, "some@known.example")
        other = self._deliver(sender="other@known.example", In_Reply_To=run.event)
        self.assertNotEqual(other.channel_id, run.channel_id)
        self._refused(
            "not of the domain",
            sender="x@other.example",
            passes=f"{SERVER}; dmarc=pass header.from=other.example",
        )

    def test_a_domain_never_runs_as_the_system_or_the_public(self):
        for user in (self.env.ref("base.user_root"), self.public, self.env["res.users"]):
            with self.subTest(user.login), self.assertRaisesRegex(ValidationError, "active user"):
                self.address.write({"answers": "domain", "domain": "a.example", "user_id": user.id})
        for domain in ("", "@a.example", "a b", "A.example"):
            with self.subTest(domain), self.assertRaisesRegex(ValidationError, "Enter the domain"):
                self.address.write({"answers": "domain", "domain": domain, "user_id": 2})

    # ------------------------------------------------------------ refused

    def test_the_sender_is_not_believed_without_the_operators_server(self):
        for passes in (
            (),
            "mx.evil.example; dmarc=pass header.from=known.example",
            ("mx.evil.example; dmarc=pass header.from=known.example", PASSES),
            (f"{SERVER}; dmarc=fail header.from=known.example", PASSES),
            f"{SERVER}; dmarc=pass header.from=evil.example",
        ):
            with self.subTest(passes):
                self._refused("has not verified", passes=passes)
        forged = '"ann@known.example" <x@evil.example>'
        self._refused("has not verified", sender=forged)
        self._refused("", sender="ann@known.example, x@known.example")
        settings.get.cache_clear()
        with patch.dict(os.environ, {"WOOW_AI_MAIL_AUTHSERV_ID": ""}):
            run = self._refused("mail_authserv_id")
            self.assertTrue(self.address.is_unverified)
        settings.get.cache_clear()
        with self.assertRaisesRegex(UserError, "is not kept"):
            run.action_retry()

    def test_a_user_who_calls_the_gateway_is_not_believed(self):
        raw = self._raw("Pay", "ann@known.example")
        self.env["mail.thread"].with_user(self.internal).message_process(False, raw)
        run = self.env[RUN].search([], limit=1)
        self.assertEqual((run.state, run.user_id.id), ("refused", False))
        self.assertIn("gateway", run.problem)
        with self.assertRaises(AccessError):
            self.env["mail.thread"].with_user(self.member).message_process(False, raw)

    def test_who_is_no_user_or_may_not_use_the_assistant_is_not_answered(self):
        self._refused("no active user", sender="nobody@known.example")
        self.internal.active = False
        self._refused("no active user")
        self.internal.active = True
        self.assistant.group_ids = self.env.ref("base.group_system")
        run = self._deliver()
        self.assertEqual((run.state, run.turn_id.id), ("refused", False))
        self.assertIn("no longer available", run.problem)
        self.address.active = False
        self._refused("archived")

    def test_whoever_enters_an_address_of_another_takes_no_mails(self):
        self.member.email = self.stranger.email = "ann@known.example"
        self.assertEqual(self._deliver().user_id, self.internal, "portal users take none")
        twin = new_test_user(
            self.env, "ai_twin", groups="base.group_user", email="ann@known.example"
        )
        self._refused("no active user")
        self.internal.login = "ann@known.example"
        self.assertEqual(self._deliver().user_id, self.internal, "a login is nobody else's")
        twin.active = self.internal.active = False
        self._refused("no active user")
        self.internal.login = "ann"
        self.env.flush_all()  # the database takes a login once
        self.member.login = "ann@known.example"
        self.assistant.group_ids = False
        self.assertEqual(self._deliver().user_id, self.member)

    def test_programs_and_own_addresses_are_not_answered(self):
        for fields in (
            {"Auto-Submitted": "auto-replied"},
            {"Precedence": "bulk"},
            {"List-Id": "<a.example>"},
            {"Return-Path": "<>"},
        ):
            with self.subTest(fields):
                self._refused("program", **fields)
        self._refused("own addresses", sender=ADDRESS)
        self.assertFalse(self.env["mail.mail"].search([("email_to", "ilike", "ann@known.example")]))

    def test_a_flood_of_one_sender_ends(self):
        module = "odoo.addons.woow_paas_platform.models.automation.mail_address"
        with patch(f"{module}.MAILS_PER_HOUR", 3):
            runs = [self._deliver() for _ in range(4)]
        self.assertEqual([run.state for run in runs], ["started"] * 3 + ["refused"])
        self.assertIn("Too many", runs[3].problem)
        with patch(f"{module}.MAILS_PER_THREAD", 1):
            self.assertEqual(self._deliver(In_Reply_To=runs[0].event).state, "refused")
        with patch(f"{module}.REFUSALS_PER_HOUR", 3):
            kept = [len(self._deliver(passes=())) for _ in range(2)]
        self.assertEqual(kept, [1, 0])

    # ------------------------------------------------------------ addresses

    def test_nobody_but_administrators_of_odoo_sees_an_address(self):
        users = self.admin | self.internal | self.member | self.guest | self.stranger | self.public
        for user in users:
            with self.subTest(user.login):
                self.assertFalse(self.address.with_user(user).has_access("read"))
        self.assertTrue(self.address.with_user(self.env.ref("base.user_admin")).has_access("write"))

    def test_an_address_leaves_no_alias(self):
        alias = self.address.alias_id
        self.assertEqual(alias.alias_full_name, ADDRESS)
        self.address.unlink()
        self.assertFalse(alias.exists())


@tagged("post_install", "-at_install")
class TestMailsAtOnce(RaceCase):
    """Two deliveries of one mail at the same moment, by two mail servers."""

    @classmethod
    def _make(cls, env):
        super()._make(env)
        cls.enterClassContext(patch.dict(os.environ, {"WOOW_AI_MAIL_AUTHSERV_ID": SERVER}))
        settings.get.cache_clear()
        domain = env["mail.alias.domain"].create({"name": "test.example"})
        address = env["woow_paas_platform.mail_address"].create(
            {"assistant_id": cls.assistant_id, "alias_name": "ask", "alias_domain_id": domain.id}
        )
        env["res.users"].browse(cls.uid).email = "racer@known.example"
        cls.made = [address, domain, *cls.made]

    @classmethod
    def _unmake(cls):
        with cls._transaction() as env:
            env[RUN].search([("user_id", "=", cls.uid)]).unlink()
        super()._unmake()

    def _process(self, env, number):
        mail = EmailMessage()
        mail["Authentication-Results"] = PASSES
        mail["From"], mail["To"], mail["Subject"] = "racer@known.example", ADDRESS, "Race"
        mail["Message-Id"] = f"<{number}@known.example>"
        mail.set_content("Who is first?")
        env["mail.thread"].message_process(False, mail.as_bytes())
        env.flush_all()

    def _waits(self, pids):
        """Return once the other transaction waits for this one."""
        for _try in range(600):
            time.sleep(0.05)
            with self._transaction() as env:
                env.cr.execute(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s) AND wait_event_type = 'Lock'",
                    [list(pids)],
                )
                if env.cr.rowcount:
                    return
        self.fail("It did not wait.")

    def _delivered_twice(self, number, *, is_kept):
        """
        :param is_kept: False where the first transaction is rolled back
        :return: the runs of the mail, and errors of the second delivery
        """
        pids, errors = [], []

        def second():
            try:
                with self._transaction() as env:
                    pids.append(env.cr._cnx.get_backend_pid())
                    self._process(env, number)
            except Exception as error:
                errors.append(error)

        other = threading.Thread(target=second)
        with contextlib.suppress(ZeroDivisionError), self._transaction() as env:
            self._process(env, number)
            other.start()
            self._waits(pids)
            if not is_kept:
                raise ZeroDivisionError
        other.join(60)
        with self._transaction() as env:
            return env[RUN].search_count([("event", "=", f"<{number}@known.example>")]), errors

    def test_the_second_one_sees_that_it_was_taken_unless_the_first_one_is_rolled_back(self):
        self.patch(Registry, "_lock", DummyRLock())  # Odoo's runner holds it
        self.enterContext(patch.object(Registry(self.dbname)[RUN], "_look_soon", lambda _self: 0))
        self.enterContext(self.assertNoLogs("odoo.sql_db", "ERROR"))
        for number, is_kept in enumerate((True, False)):
            with self.subTest(is_kept=is_kept):
                self.assertEqual(self._delivered_twice(number, is_kept=is_kept), (1, []))
