"""Tests of assistants: made of turns or by hand, run against versions and providers, without any real call."""

import asyncio
import json
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import Form, new_test_user, tagged
from odoo.tools import SQL, mute_logger

from ..models.automation import assistant_test_run
from ..runtime.turns import replays
from ..runtime.turns.ledger import OdooLedger
from ..services.money import counting
from ..services.testing.scripted_llm import Reply, ScriptedLlm
from ..services.turn.queue import runner as _runner  # noqa: F401 loaded before the clock runs
from .common import TAIPEI, AiHttpCase, served_mcp

TEST = "woow_paas_platform.assistant_test"
RUN = "woow_paas_platform.assistant_test_run"
RESULT = "woow_paas_platform.assistant_test_result"
LINE = "woow_paas_platform.test_expectation"
OWN = ("assistant_test", "test_expectation", "test_run", "platform_cost")
SUNNY = {"tool": "forecast", "arguments": TAIPEI, "text": "Sunny, 31 degrees."}
CALLED = {"kind": "called", "tool": "forecast", "arguments": '{"city": "Tai*"}'}


class Loop:
    """Runner whose threads are the test's own."""

    async def db(self, _name, method, *args):
        return method(*args)

    async def once(self, _name, method, *args, **_share):
        return method(*args)

    def spawn(self, coroutine):
        return asyncio.ensure_future(coroutine)


async def written(function, *args):
    """Stands for the runner's executor."""
    return function(*args)


def obedient(body):
    """A model that calls the forecast, unless it is told to be careless."""
    messages = body["messages"]
    if "careless" in messages[0]["content"]:
        return Reply("It rains.")
    asked = max(number for number, one in enumerate(messages) if one["role"] == "user")
    if results := [one for one in messages[asked:] if one["role"] == "tool"]:
        return Reply(results[-1]["content"])
    return Reply(calls=[("weather__forecast", json.dumps({"city": "Taipei"}))])


@tagged("post_install", "-at_install")
class TestAssistantTests(AiHttpCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.provider.tool_protocol = "native"
        cls.env.cr.flush()
        cls.other = new_test_user(
            cls.env, "tests_other", groups="base.group_user,woow_paas_platform.group_admin"
        )
        cls.test = cls.env[TEST].create(cls._values())

    @classmethod
    def _values(cls, **values):
        return {
            "name": "Weather",
            "assistant_id": cls.assistant.id,
            "questions": "How is the weather in Taipei?",
            "user_id": cls.admin.id,
            "recordings_text": json.dumps([SUNNY]),
            "expectation_ids": [
                Command.create(CALLED),
                Command.create({"kind": "contains", "text": "sunny"}),
            ],
            **values,
        }

    def _run(self, script=(obedient,), tests=None, **values):
        """A run of the tests, up to its end.

        :return: the run, and the requests that the model got
        """
        given = {"assistant_id": self.assistant.id, "test_ids": (tests or self.test).ids, **values}
        run = self.env[RUN].create(given)
        run.action_start()
        return run, self._work(script)

    def _work(self, script=(obedient,)):
        async def work():
            engine = self._engine()
            async with ScriptedLlm(*script) as llm:
                self.provider.api_base_url = llm.base_url
                self.env.flush_all()
                store = replays.ReplayStore(self.env.cr.dbname)
                await replays.run_all(engine, Loop(), store)
            return llm.requests

        found = asyncio.run(work())
        self.env.invalidate_all()
        return found

    def _engine(self):
        from ..services.llm import reply
        from ..services.mcp.pool.pool import Pool
        from ..services.net.egress import EgressPolicy
        from ..services.turn import ai_client, tools

        class Engine:
            ledger = OdooLedger(written)

            async def run(self, request, progress, journal, stop):
                pool = Pool(EgressPolicy.parse("127.0.0.1:*"))
                try:
                    offered = tools.TurnTools(request, pool)
                    return await ai_client.run_turn(request, progress, journal, offered, stop)
                finally:
                    await pool.close()

            async def reply(self, request, timeout, faults, kind):
                from ..services.llm.connections import Connections

                connections = Connections()
                account = counting.Account(self.ledger, kind, request.payer, request.llm.database)
                try:
                    return await reply.reply(request, (), timeout, connections, faults, account)
                finally:
                    await connections.close()

        return Engine()

    def _digest(self):
        """Contents of every table but those of tests."""
        self.env.flush_all()
        self.env.cr.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        names = [name for (name,) in self.env.cr.fetchall() if not any(own in name for own in OWN)]
        found = {}
        for name in sorted(names):
            query = "SELECT COUNT(*), SUM(hashtext(t::text)::bigint) FROM %s t"
            found[name] = self.env.execute_query(SQL(query, SQL.identifier(name)))
        return found

    # ------------------------------------------------------------ runs

    def test_a_run_calls_no_server_and_changes_nothing(self):
        with served_mcp() as server:
            self.server.url = server.url
            writing = self._values(
                name="Writing",
                questions="Rename the contact with the ID 1.",
                is_live=True,
                expectation_ids=[Command.create({"kind": "not_called", "tool": "forecast"})],
            )
            self.assistant.record_access_ids = [
                Command.create({"model": "res.partner", "can_update": True})
            ]
            self.env.cr.flush()
            both = self.test | self.env[TEST].create(writing)
            run = self.env[RUN].create({"assistant_id": self.assistant.id, "test_ids": both.ids})
            run.action_start()
            self.env.cr.flush()
            with patch.object(self.env.registry[RUN], "_tell"):
                before = self._digest()
                self._work((self._reads_and_writes,))
                self.provider.api_base_url = "http://127.0.0.1:9/v1"
                self.env.cr.execute("SELECT 1")
                after = self._digest()
            self.assertEqual(server.connections, 0)
        changed = {name for name in before if before[name] != after[name]}
        # Its address, by the test itself, and who has changed that.
        self.assertLessEqual(changed, {"ai_config", "woow_paas_platform_audit_entry"})
        read, recorded = run.result_ids.sorted("id", reverse=True)
        self.assertEqual(run.state, "done")
        self.assertEqual(recorded.state, "failed", recorded.reason)
        self.assertIn("No recorded result for “update_records”", read.reason)
        self.assertIn("search_records", read.calls_text)

    @staticmethod
    def _reads_and_writes(body):
        said = [message for message in body["messages"] if message["role"] == "tool"]
        if not said:
            return Reply(calls=[("search_records", json.dumps({"model": "res.partner"}))])
        if len(said) == 1:
            values = {"model": "res.partner", "ids": [1], "values": {"name": "X"}}
            return Reply(calls=[("update_records", json.dumps(values))])
        return Reply("Done.")

    def test_two_versions_side_by_side(self):
        good = self.assistant.version_id
        self.assistant.system_prompt = "Be careless."
        self.env.cr.flush()
        worse = self.assistant.version_id
        run, requests = self._run(version_ids=(good | worse).ids)
        self.assertEqual((run.state, run.progress), ("done", 100))
        states = {result.version_id: result.state for result in run.result_ids}
        self.assertEqual(states, {good: "passed", worse: "failed"})
        failed = run.result_ids.filtered(lambda one: one.state == "failed")
        self.assertEqual(
            failed.reason,
            "The tool “forecast” was not called.\nThe answer does not contain “sunny”.",
        )
        self.assertEqual((failed.answer, failed.calls), ("It rains.", False))
        self.assertIn("Passed", run.comparison)
        self.assertIn("Failed", run.comparison)
        self.assertEqual(self.assistant.system_prompt, "Be careless.")
        self.assertEqual(len(requests), 3)

    def test_only_a_draft_that_passes_its_tests_is_published(self):
        for name in ("drafts", "publish_tested"):
            self.env["ir.config_parameter"].set_param(f"woow_paas_platform.{name}", "True")
        self.env.cr.flush()
        before = self.assistant.system_prompt
        mine = self.assistant.with_user(self.other).sudo(False)
        draft = mine.browse(mine.action_edit_draft()["res_id"])
        draft.system_prompt = "Be careless."
        with self.assertRaisesRegex(UserError, "not passed yet: Weather"):
            draft.action_publish()
        self.assertEqual(self._test(draft).failed_count, 1)
        with self.assertRaisesRegex(UserError, "not passed yet: Weather"):
            draft.action_publish()
        self.assertEqual(self.assistant.system_prompt, before)
        draft.system_prompt = "Be careful."
        run = self._test(draft)
        self.assertEqual((run.passed_count, run.result_ids.version_id.ids), (1, []))
        self.assertIn("Draft", run.comparison)
        later = [fields.Datetime.add(run.started_at, hours=1), tuple(self.test.expectation_ids.ids)]
        query = "UPDATE woow_paas_platform_test_expectation SET write_date = %s WHERE id IN %s"
        self.env.cr.execute(query, later)
        self.env.invalidate_all()
        with self.subTest("a test that was changed since"), self.assertRaises(UserError):
            draft.action_publish()
        self.env.cr.execute(query, [run.started_at, later[1]])
        self.env.invalidate_all()
        draft.action_publish()
        self.assertEqual(self.assistant.system_prompt, "Be careful.")

    def _test(self, draft):
        address = self.provider.api_base_url
        run = self.env[RUN].browse(draft.action_test_draft()["res_id"])
        self._work()
        self.provider.api_base_url = address  # part of what is published
        self.assertEqual(run.state, "done")
        return run

    def test_a_run_goes_by_the_settings_of_the_version_or_another_provider(self):
        self.provider.temperature = 0.7
        self.env.cr.flush()
        first = self.assistant.version_id
        self.provider.write({"temperature": 0.1, "model": "other"})
        self.env.cr.flush()
        _run, requests = self._run(version_ids=first.ids)
        self.assertEqual((requests[0]["model"], requests[0]["temperature"]), ("test", 0.7))
        with patch.object(self.env.registry["ai.config"], "_check_copy", lambda _self: None):
            second = self.provider.copy({"name": "Second", "api_key": "sk-2"})
        second.model = "second"

        async def work():
            async with ScriptedLlm(obedient) as llm:
                second.api_base_url = llm.base_url
                second.api_key = "sk-2"
                run = self.env[RUN].create(
                    {"assistant_id": self.assistant.id, "config_ids": second.ids}
                )
                run.action_start()
                self.env.flush_all()
                await replays.run_all(
                    self._engine(), Loop(), replays.ReplayStore(self.env.cr.dbname)
                )
                return run, llm.requests

        run, requests = asyncio.run(work())
        self.env.invalidate_all()
        self.assertEqual(requests[0]["model"], "second")
        self.assertEqual(run.result_ids.config_id, second)
        self.assertEqual(self.assistant.config_id, self.provider)

    def test_what_differs_in_repetitions_is_flaky(self):
        answers = iter([Reply("Rain."), Reply(calls=[("weather__forecast", json.dumps(TAIPEI))])])

        def moody(body):
            return next(answers, Reply("Sunny."))

        run, _requests = self._run((moody,), repetitions=2)
        self.assertEqual(sorted(run.result_ids.mapped("state")), ["failed", "passed"])
        self.assertEqual(run.result_ids.mapped("is_flaky"), [True, True])
        self.assertEqual(run.flaky_count, 1)
        self.assertIn("Flaky", run.comparison)

    def test_values_are_read_when_the_test_runs(self):
        partner = self.env["res.partner"].create({"name": "Acme Taipei", "color": 31})
        value = {"kind": "value", "model_id": self.env["ir.model"]._get_id("res.partner")}
        domain = repr([("id", "=", partner.id)])
        lines = [
            Command.clear(),
            Command.create({**value, "domain": domain, "field_name": "color"}),
            Command.create({"kind": "no_question"}),
            Command.create({"kind": "tokens", "number": 10_000}),
        ]
        self.test.expectation_ids = lines
        self.forecast.approval_policy = "ask"
        run, _requests = self._run()
        self.assertEqual(run.result_ids.reason, "The user would have been asked: forecast.")
        self.forecast.approval_policy = "auto"
        partner.color = 32
        run, _requests = self._run()
        self.assertEqual(run.result_ids.reason, "The answer does not contain the value 32.")

    def test_a_value_is_what_lists_and_tools_show(self):
        partner = self.env["ir.model"]._get_id("res.partner")
        name = self.assistant.partner_id.name
        self.env["res.partner"].create([{"name": name, "color": 7}, {"name": name, "color": 5}])
        values = {"test_id": self.test.id, "kind": "value", "model_id": partner}
        line = self.env[LINE].create({**values, "domain": repr([("name", "=", name)])})
        self.assertEqual(line._read_value(self.admin), 2, "the assistant itself is no contact")
        line.field_name = "color"
        self.assertEqual(line._read_value(self.admin), 12)
        line.domain = repr([("id", "=", 0)])
        self.assertEqual(line._read_value(self.admin), 0)

    def test_a_judge_has_the_last_word(self):
        self.test.write({"judge_id": self.provider.id, "rubric": "Does it name the sun?"})

        def judging(body):
            if "rubric" in body["messages"][-1]["content"]:
                return Reply("FAIL It does not.")
            return obedient(body)

        run, _requests = self._run((judging,))
        self.assertEqual(run.result_ids.verdict, "FAIL It does not.")
        self.assertEqual(run.result_ids.state, "failed")

    def test_what_it_costs_is_put_down_for_its_user(self):
        Cost = self.env["woow_paas_platform.cost"]
        self.test.write({"judge_id": self.provider.id, "rubric": "Does it name the sun?"})

        def judging(body):
            if "rubric" in body["messages"][-1]["content"]:
                return Reply("PASS It does.")
            return obedient(body)

        run, _requests = self._run((judging,))
        self.assertEqual(run.result_ids.state, "passed", run.result_ids.reason)
        costs = Cost.search([("kind", "in", ("test", "judge"))], order="id")
        self.assertEqual(costs.mapped("kind"), ["test", "test", "judge"])
        self.assertEqual(set(costs.mapped("state")), {"settled"})
        self.assertEqual(costs.mapped("input_tokens"), [10, 10, 10])
        self.assertEqual(costs.mapped("step"), [0, 1, 0])
        self.assertEqual(costs.mapped("tool_names"), ["weather__forecast", False, False])
        self.assertEqual((costs.user_id, costs.assistant_id), (self.admin, self.assistant))
        self.assertEqual(costs.version_id, run.result_ids.version_id)
        self.assertEqual(costs.company_id, self.admin.company_id)
        self.assertFalse(costs.turn_id)

    def test_it_ends_where_a_budget_does(self):
        self.env["woow_paas_platform.budget"].create(
            {"name": "Ours", "scope": "assistant", "assistant_id": self.assistant.id, "limit": 10}
            | {"measure": "tokens", "time_zone": "UTC"}
        )
        run, requests = self._run()
        self.assertEqual(run.result_ids.state, "failed")
        self.assertIn("“Ours” of 10 tokens a month is used up", run.result_ids.reason)
        self.assertEqual(len(requests), 1, "the first one went beyond the limit")

    # ------------------------------------------------------------ jobs

    def test_jobs_are_taken_up_again_stopped_and_wait_for_people(self):
        run = self.env[RUN].create({"assistant_id": self.assistant.id, "repetitions": 9})
        run.action_start()
        Result, store = self.env[RESULT], replays.ReplayStore(self.env.cr.dbname)
        waiting = self._ask(self.member).sudo()
        self.env.flush_all()
        self.assertEqual(store.claim(), assistant_test_run.PEOPLE_FIRST)
        waiting.state = "stopped"
        self.env.flush_all()
        taken = [store.claim() for _ in range(assistant_test_run.AT_ONCE)]
        self.assertEqual(len({one for one, _epoch in taken}), assistant_test_run.AT_ONCE)
        self.assertIsNone(store.claim())
        dead, epoch = taken[0]
        self.env.cr.execute(
            "UPDATE woow_paas_platform_assistant_test_result SET lease_until = '2020-01-01' WHERE id = %s",
            [dead],
        )
        self.assertEqual(store.claim(), (dead, epoch + 1))
        store.finish(dead, epoch, {"failures": []})
        self.env.invalidate_all()
        self.assertEqual(Result.browse(dead).state, "running", "the earlier claim is lost")
        self.assertFalse(store.extend(dead, epoch))
        self.assertTrue(store.extend(dead, epoch + 1))
        run.action_stop()
        self.env.flush_all()
        self.assertFalse(store.extend(dead, epoch + 1))
        self.assertEqual(set(run.result_ids.mapped("state")), {"stopped"})
        self.assertIsNone(store.claim())

    def test_a_job_that_kills_its_process_ends(self):
        run = self.env[RUN].create({"assistant_id": self.assistant.id})
        run.action_start()
        run.result_ids.sudo().tries = assistant_test_run.MAX_TRIES
        self.env.flush_all()
        store = replays.ReplayStore(self.env.cr.dbname)
        self.assertEqual(store.claim(), assistant_test_run.PEOPLE_FIRST)
        self.env.invalidate_all()
        self.assertEqual((run.result_ids.state, run.state), ("failed", "done"))

    @mute_logger("odoo.addons.woow_paas_platform.runtime.turns.replays")
    def test_what_cannot_be_run_says_why(self):
        self.assistant.group_ids = self.env.ref("base.group_portal")
        self.test.user_id = self.internal
        self.env.cr.flush()
        run, _requests = self._run()
        self.assertEqual(run.result_ids.reason, "This assistant is no longer available to you.")
        with patch.object(self.env.registry[TEST], "_replay_spec", side_effect=ZeroDivisionError):
            run, _requests = self._run()
        self.assertEqual(run.result_ids.state, "failed")

    # ------------------------------------------------------------ every night

    def test_administrators_are_told_when_a_test_that_passed_fails(self):
        Run = self.env[RUN]
        night = self.env.ref("woow_paas_platform.ir_cron_run_tests").ir_actions_server_id
        self.env[TEST].search([("id", "!=", self.test.id)]).is_nightly = False
        night.run()
        night.run()
        first = Run.search([("is_scheduled", "=", True)])
        self.assertEqual((len(first), first.assistant_id), (1, self.assistant))
        self._work()
        self.assertEqual((first.passed_count, first.activity_ids), (1, first.activity_ids.browse()))
        night.run()
        second = Run.search([("is_scheduled", "=", True)], limit=1)
        self._work((Reply("No idea."),))
        self.assertEqual(second.failed_count, 1)
        told = second.activity_ids
        self.assertIn(self.admin, told.user_id)
        self.assertNotIn(self.internal, told.user_id)
        self.assertIn("Helper", told[0].summary)
        self.assertIn("Weather", told[0].note)
        night.run()
        third = Run.search([("is_scheduled", "=", True)], limit=1)
        self._work((Reply("No idea."),))
        self.assertFalse(third.activity_ids, "it failed before")

    def test_a_run_whose_test_is_deleted_ends(self):
        Run = self.env[RUN]
        night = self.env.ref("woow_paas_platform.ir_cron_run_tests").ir_actions_server_id
        self.env[TEST].search([("id", "!=", self.test.id)]).is_nightly = False
        night.run()
        first = Run.search([("is_scheduled", "=", True)])
        self.test.unlink()
        self.assertEqual(first.state, "running")
        night.run()
        self.assertEqual(first.state, "done")

    # ------------------------------------------------------------ from a conversation

    def _turn(self, user, prompt="Weather?", channel=None):
        """A finished turn with one call."""
        turn = self._ask(user, prompt, channel=channel).sudo()
        self.env[f"{RUN.partition('.')[0]}.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": user.id,
                "call_id": f"call_{turn.id}",
                "tool_name": "forecast",
                "arguments": TAIPEI,
                "llm_text": f"Sunny for {prompt}",
                "outcome": "ok",
            }
        )
        turn.write({"state": "done", "ended_at": fields.Datetime.now()})
        return turn

    def test_an_own_turn_becomes_a_test_with_what_led_to_it(self):
        first = self._turn(self.admin, "First?")
        last = self._turn(self.admin, "Second?", channel=first.channel_id)
        action = last.with_user(self.admin).sudo(False).action_add_to_tests()
        test = self.env[TEST].browse(action["res_id"])
        self.assertEqual(test.questions, "First?\n---\nSecond?")
        self.assertEqual(test.user_id, self.admin)
        self.assertEqual(
            test.recordings,
            [
                {"tool": "forecast", "arguments": TAIPEI, "outcome": "ok", "text": said}
                for said in ("Sunny for First?", "Sunny for Second?")
            ],
        )
        self.assertEqual(test.expectation_ids.mapped("tool"), ["forecast"])
        run, requests = self._run(tests=test)
        self.assertEqual(run.result_ids.state, "passed", run.result_ids.reason)
        self.assertEqual(len(requests), 4)

    def test_others_turns_need_their_consent(self):
        self._turn(self.member, "Mine?")
        turn = self._turn(self.member, "Shared?")
        as_admin = turn.with_user(self.admin).sudo(False)
        with self.assertRaises(UserError):
            as_admin.action_add_to_tests()
        rating = {"turn_id": turn.id, "user_id": self.member.id, "value": "bad"}
        rating = self.env["woow_paas_platform.answer_rating"].create(rating)
        with self.assertRaises(UserError):
            as_admin.action_add_to_tests()
        rating.is_shared = True
        test = self.env[TEST].browse(as_admin.action_add_to_tests()["res_id"])
        self.assertEqual((test.questions, test.user_id), ("Shared?", self.admin))
        with self.assertRaises(AccessError):
            turn.with_user(self.member).sudo(False).action_add_to_tests()
        turn.state = "running"
        with self.assertRaises(UserError):
            as_admin.action_add_to_tests()

    # ------------------------------------------------------------ who may do what

    def test_nobody_uses_the_rights_of_somebody_else(self):
        other = self.test.with_user(self.other)
        for values in ({"questions": "Salaries?"}, {"is_live": True}, {"user_id": self.other.id}):
            with self.assertRaises(AccessError):
                other.write(values)
        with self.assertRaises(AccessError):
            self.env[TEST].with_user(self.other).create(self._values())
        line = {"test_id": self.test.id, "kind": "contains", "text": "x"}
        with self.assertRaises(AccessError):
            self.env[LINE].with_user(self.other).create(line)
        other.write({"name": "Renamed", "is_nightly": False})
        self.assertEqual(other.copy().user_id, self.other)
        root = new_test_user(self.env, "tests_root", groups="base.group_system")
        self.test.with_user(root).write({"is_live": True})
        run, _requests = self._run()
        Result = self.env[RESULT]
        mine = [("run_id", "=", run.id)]
        self.assertFalse(Result.with_user(self.other).search(mine))
        self.assertTrue(Result.with_user(self.admin).search(mine))
        self.assertTrue(Result.with_user(root).search(mine))
        self.assertEqual(run.with_user(self.other).result_count, 1)
        self.assertNotIn("Sunny", run.with_user(self.other).comparison)

    def test_a_run_that_was_started_stays_as_it_is(self):
        Run = self.env[RUN].with_user(self.admin)
        with self.assertRaises(AccessError):
            Run.create({"assistant_id": self.assistant.id, "state": "done"})
        run = Run.create({"assistant_id": self.assistant.id})
        with self.assertRaises(AccessError):
            run.state = "done"
        run.repetitions = 2
        run.action_start()
        with self.assertRaises(AccessError):
            run.repetitions = 1
        self.assertEqual(run.result_count, 2)
        run.action_stop()
        self.assertEqual(run.state, "stopped")

    # ------------------------------------------------------------ input

    def test_one_is_written_in_the_form(self):
        form = Form(self.env[TEST].with_user(self.admin).sudo(False))
        form.name = "By hand"
        form.assistant_id = self.assistant
        form.questions = "Weather?"
        with form.expectation_ids.new() as line:
            line.kind = "no_question"
        test = form.save()
        self.assertEqual((test.recording_count, test.expectation_ids.kind), (0, "no_question"))

    def test_bad_input_is_refused_with_a_sentence(self):
        row = json.dumps([SUNNY])
        for values in (
            {"questions": "---"},
            {"questions": "\n---\n".join("abcdefghijk")},
            {"questions": "x" * 40_000},
            {"recordings_text": "{"},
            {"recordings_text": "{}"},
            {"recordings_text": "[1]"},
            {"recordings_text": f"[{', '.join([row[1:-1]] * 51)}]"},
            {"judge_id": self.provider.id},
            {"user_id": self.public.id},
        ):
            refused = self.assertRaises(ValidationError)
            with self.subTest(values=str(values)[:60]), refused, self.env.cr.savepoint():
                self.test.write(values)
                self.env.flush_all()
        partner = self.env["ir.model"]._get_id("res.partner")
        keys = self.env["ir.model"]._get_id("res.users.apikeys")
        for line in (
            {"kind": "called"},
            {"kind": "called", "tool": "forecast", "arguments": "[]"},
            {"kind": "contains"},
            {"kind": "tokens"},
            {"kind": "value"},
            {"kind": "value", "model_id": keys},
            {"kind": "value", "model_id": partner, "domain": "[('x', '=', 1)]"},
            {"kind": "value", "model_id": partner, "domain": "__import__('os')"},
            {"kind": "value", "model_id": partner, "field_name": "nothing"},
        ):
            with (
                self.subTest(line=line),
                self.assertRaises(ValidationError),
                self.env.cr.savepoint(),
            ):
                self.env[LINE].create({"test_id": self.test.id, **line})
        versions = self.env["ai.assistant"].create({"name": "Other", "config_id": self.provider.id})
        self.env.cr.flush()
        with self.assertRaises(ValidationError):
            self.env[RUN].create(
                {"assistant_id": self.assistant.id, "version_ids": versions.version_id.ids}
            )
        with self.assertRaises(UserError):
            self.env[RUN].create({"assistant_id": versions.id}).action_start()
        with self.assertRaises(UserError):
            self.env[TEST].action_run()
