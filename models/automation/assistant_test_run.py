import logging
from dataclasses import replace
from itertools import product

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.fields import Command
from odoo.tools import SQL

from ...services import text
from ...services.errors import EngineError
from ...services.replay.recordings import canonical
from ...services.sentence import _lt, dump, load
from ...services.versions import difference
from ...tools import db, limits, notify, sentences, settings
from ..assistant.ai_assistant import MAX_TOLD
from ..turn.ai_turn import CLAIMABLE

_logger = logging.getLogger(__name__)

MAX_SIDES = 2  # versions, or providers, that a run compares
MAX_REPETITIONS = 10
MAX_RESULTS = 1_000  # of one run
MAX_OPEN = 3_000  # results that wait, of all runs
AT_ONCE = 4  # results of one database that run, in all processes
MAX_TRIES = 3  # processes that may try one result
PEOPLE_FIRST = 1.0  # s until it is looked again whether people's questions wait
MAX_NAMED = 10  # tests in a sentence
KEPT_RUNS = 200  # of one assistant
ANSWER_CHARS = 20_000
MAX_CALLS = 50  # of a result that are kept
CALL_CHARS = 2_000
NIGHTLY_BATCH = 200  # assistants
CHANGED = "woow_ai/test_run"  # on the bus: the run goes on
EDITABLE = {"assistant_id", "version_ids", "config_ids", "test_ids", "repetitions"}
ENDED = ("passed", "failed", "stopped")
NOT_FINISHED = _lt("No process finished the test, in %(tries)s tries.", tries=MAX_TRIES)
RESULT = "woow_paas_platform.assistant_test_result"


class AssistantTestRun(models.Model):
    """Test run: tests of an assistant, each asked so many times of up to two versions or providers.

    Its results are jobs of the runner, see `runtime/turns/replays.py`.
    """

    _name = "woow_paas_platform.assistant_test_run"
    _description = "Assistant Test Run"
    _inherit = ["mail.thread", "mail.activity.mixin", "woow_paas_platform.filter.mixin"]
    _order = "id desc"

    assistant_id = fields.Many2one("ai.assistant", required=True, ondelete="cascade", index=True)
    version_ids = fields.Many2many(
        "woow_paas_platform.assistant_version",
        "woow_paas_platform_test_run_version_rel",
        string="Versions",
        domain="[('assistant_id', '=', assistant_id)]",
        help="Up to two. Empty: the current version.",
    )
    config_ids = fields.Many2many(
        "ai.config",
        "woow_paas_platform_test_run_config_rel",
        string="Providers",
        help="Up to two that answer instead of the version's own provider.",
    )
    test_ids = fields.Many2many(
        "woow_paas_platform.assistant_test",
        "woow_paas_platform_test_run_test_rel",
        string="Tests",
        domain="[('assistant_id', '=', assistant_id)]",
        help="Empty: all tests of the assistant.",
    )
    repetitions = fields.Integer(
        default=1,
        required=True,
        aggregator=None,
        help="A test that passes only sometimes is marked as flaky.",
    )
    is_scheduled = fields.Boolean("Nightly", readonly=True)
    draft_content = fields.Json(
        readonly=True, copy=False, help="State of the draft that is tested instead of a version."
    )
    draft_digest = fields.Char("Draft", readonly=True, copy=False)
    state = fields.Selection(
        [("draft", "New"), ("running", "In Progress"), ("done", "Done"), ("stopped", "Stopped")],
        required=True,
        readonly=True,
        default="draft",
        copy=False,
    )
    started_at = fields.Datetime(readonly=True, copy=False)
    ended_at = fields.Datetime(readonly=True, copy=False)
    result_ids = fields.One2many(RESULT, "run_id", "Results", readonly=True)
    result_count = fields.Integer("All", compute="_compute_counts")
    passed_count = fields.Integer("Passed", compute="_compute_counts")
    failed_count = fields.Integer("Failed", compute="_compute_counts")
    flaky_count = fields.Integer("Flaky", compute="_compute_counts")
    progress = fields.Float(compute="_compute_counts")
    comparison = fields.Html("Side by Side", compute="_compute_comparison", sanitize=False)

    _repetitions_range = models.Constraint(
        f"CHECK (repetitions BETWEEN 1 AND {MAX_REPETITIONS})",
        f"A test can be repeated 1 to {MAX_REPETITIONS} times.",
    )

    @api.model
    def _fields_to_filter(self):
        return {"assistant_id", "state", "is_scheduled", "create_date", "create_uid", "ended_at"}

    @api.depends("assistant_id.name", "create_date")
    def _compute_display_name(self):
        for run in self:
            moment = fields.Datetime.context_timestamp(
                run, run.create_date or fields.Datetime.now()
            )
            run.display_name = f"{run.assistant_id.name or ''} {moment:%Y-%m-%d %H:%M}".strip()

    @api.depends("result_ids.state", "result_ids.is_flaky")
    def _compute_counts(self):
        # sudo: assistant_test_result - numbers only; results that show records are for their users
        rows = (
            self.env[RESULT]
            .sudo()
            ._read_group([("run_id", "in", self.ids)], ["run_id", "state", "is_flaky"], ["__count"])
        )
        counts = {}
        for run, state, is_flaky, count in rows:
            of_run = counts.setdefault(run.id, {})
            of_run[state] = of_run.get(state, 0) + count
            of_run["flaky"] = of_run.get("flaky", 0) + count * is_flaky
        for run in self:
            of_run = counts.get(run.id, {})
            flaky = of_run.pop("flaky", 0)
            run.result_count = sum(of_run.values())
            run.passed_count, run.failed_count = of_run.get("passed", 0), of_run.get("failed", 0)
            run.flaky_count = flaky // max(1, run.repetitions)
            ended = sum(of_run.get(state, 0) for state in ENDED)
            run.progress = 100 * ended / run.result_count if run.result_count else 0

    @api.depends("result_ids.state")
    @api.depends_context("lang")
    def _compute_comparison(self):
        for run in self:
            run.comparison = run._comparison()

    # ------------------------------------------------------------ limits

    @api.constrains("version_ids", "config_ids", "test_ids", "assistant_id")
    def _check_sides(self):
        for run in self:
            if max(len(run.version_ids), len(run.config_ids)) > MAX_SIDES:
                raise ValidationError(
                    self.env._("A run compares at most two versions and two providers.")
                )
            if (run.version_ids.assistant_id | run.test_ids.assistant_id) - run.assistant_id:
                raise ValidationError(
                    self.env._("Choose versions and tests of the assistant that is tested.")
                )

    @api.model_create_multi
    def create(self, vals_list):
        if not self.env.su and any(vals.keys() - EDITABLE for vals in vals_list):
            raise AccessError(self.env._("Runs of tests are written by Odoo itself."))
        return super().create(vals_list)

    def write(self, vals):
        if not self.env.su and (vals.keys() - EDITABLE or set(self.mapped("state")) - {"draft"}):
            raise AccessError(
                self.env._("A run of tests that was started cannot be changed. Make a new one.")
            )
        return super().write(vals)

    # ------------------------------------------------------------ buttons

    def action_start(self):
        """Queue every test for every version and provider, as often as wanted."""
        self.ensure_one()
        self.check_access("write")
        # sudo: assistant_test_run, assistant_test_result - written by the system; the caller may write the run
        self.sudo()._start()

    def action_stop(self):
        self.check_access("write")
        # sudo: see `action_start`
        self.sudo()._stop()

    def action_view_results(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.assistant_test_result_action"
        )
        return {**action, "domain": [("run_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ start and end

    def _start(self):
        if self.state != "draft":
            return
        tests = self.test_ids.filtered("active") or self.env[
            "woow_paas_platform.assistant_test"
        ].search([("assistant_id", "=", self.assistant_id.id)])
        versions = self.version_ids.sorted("number") or self.assistant_id.version_id
        if self.draft_digest:
            versions = versions.browse()
        sides = list(product(versions or [versions], self.config_ids or [self.config_ids]))
        count = len(tests) * len(sides) * self.repetitions
        if not count:
            raise UserError(self.env._("This assistant has no tests yet."))
        if count > MAX_RESULTS:
            raise UserError(
                self.env._(
                    "This would ask %(count)s times. A run asks at most %(limit)s times.",
                    count=count,
                    limit=MAX_RESULTS,
                )
            )
        Result = self.env[RESULT]
        if Result.search_count([("state", "in", ("queued", "running"))]) + count > MAX_OPEN:
            raise UserError(
                self.env._("Too many tests are waiting. Try again when some have ended.")
            )
        Result.create(
            [
                {
                    "run_id": self.id,
                    "test_id": test.id,
                    "version_id": version.id,
                    "config_id": config.id,
                    "repetition": number,
                    "user_id": test.user_id.id,
                    "uses_records": test.uses_records,
                }
                for number in range(1, self.repetitions + 1)
                for test in tests
                for version, config in sides
            ]
        )
        self.write(
            {
                "state": "running",
                "started_at": fields.Datetime.now(),
                "test_ids": [Command.set(tests.ids)],
                "version_ids": [Command.set(versions.ids)],
            }
        )
        self.env.flush_all()
        notify.tests(self.env.cr, self.id)

    # ------------------------------------------------------------ drafts

    @api.model
    def _of_draft(self, assistant, content):
        """Start a run of all tests of the assistant against this state.

        :param content: as `AssistantVersion._content_of`
        """
        # sudo: assistant_test_run - written by the system, for an administrator who has written the draft
        run = self.sudo().create(
            {
                "assistant_id": assistant.id,
                "draft_content": content,
                "draft_digest": difference.digest(content),
            }
        )
        run._start()
        return run.sudo(False)

    def _stop(self):
        for run in self.filtered(lambda run: run.state == "running"):
            run.result_ids.filtered(lambda result: result.state not in ENDED).state = "stopped"
            run.write({"state": "stopped", "ended_at": fields.Datetime.now()})
            run._tell()

    def _go_on(self):
        """End the run with its last result."""
        self.ensure_one()
        self.env.flush_all()
        open_ones = [("run_id", "=", self.id), ("state", "in", ("queued", "running"))]
        if self.state == "running" and not self.env[RESULT].search_count(open_ones, limit=1):
            self.result_ids._mark_flaky()
            self.write({"state": "done", "ended_at": fields.Datetime.now()})
            if self.is_scheduled:
                self._tell_of_regressions()
        self._tell()

    def _tell(self):
        self.create_uid._bus_send(CHANGED, {"id": self.id})

    # ------------------------------------------------------------ night

    @api.model
    def _cron_run_tests(self):
        """Run each active assistant's tests that are for every night, against its current version."""
        # sudo: assistant_test_run - the system's own
        run_model = self.sudo()
        for run in run_model.search([("state", "=", "running")]):
            run._go_on()  # the results that were left have gone with their test or user
        found = self.env["woow_paas_platform.assistant_test"]._read_group(
            [("is_nightly", "=", True), ("assistant_id.active", "=", True)],
            ["assistant_id"],
            ["id:recordset"],
            limit=NIGHTLY_BATCH,
        )
        for assistant, tests in found:
            is_open = [("assistant_id", "=", assistant.id), ("state", "=", "running")]
            if run_model.search_count([*is_open, ("is_scheduled", "=", True)], limit=1):
                continue
            run = run_model.create(
                {
                    "assistant_id": assistant.id,
                    "test_ids": [Command.set(tests.ids)],
                    "is_scheduled": True,
                }
            )
            try:
                with self.env.cr.savepoint():
                    run._start()
            except UserError as error:
                _logger.warning("Tests of assistant %s were not run: %s", assistant.id, error)
                run.unlink()

    def _regressions(self):
        """Tests of this run that failed, and passed in the run before it."""
        found = self.test_ids.browse()
        for test, results in self.result_ids.grouped("test_id").items():
            earlier = self.env[RESULT].search(
                [
                    ("test_id", "=", test.id),
                    ("run_id", "<", self.id),
                    ("state", "in", ("passed", "failed")),
                ],
                limit=1,
            )
            if "failed" in results.mapped("state") and earlier.state == "passed":
                found |= test
        return found

    def _tell_of_regressions(self):
        if not (tests := self._regressions()):
            return
        for user in self.env["ai.assistant"]._administrators()[:MAX_TOLD]:
            run = self.with_context(lang=user.lang, **db.SEND_LATER)
            run.activity_schedule(
                "mail.mail_activity_data_warning",
                summary=run.env._(
                    "Tests of “%(assistant)s” fail that passed before: %(count)s",
                    assistant=run.assistant_id.name,
                    count=len(tests),
                ),
                note=Markup("<br/>").join(tests.mapped("name")),
                user_id=user.id,
            )

    @api.autovacuum
    def _gc_runs(self):
        """Delete runs when the results of calls go, and more than are kept of an assistant."""
        self._due(limit=1000).unlink()

    @api.model
    def _due(self, limit=None):
        """:param limit: of those that are old, and of those of one assistant"""
        days = limits.get(self.env, "result_retention_days")
        old = fields.Datetime.subtract(fields.Datetime.now(), days=days)
        ended = [("state", "!=", "running")]
        due = self.search([*ended, ("create_date", "<", old)], limit=limit)
        for assistant, _count in self._read_group(
            ended, ["assistant_id"], ["__count"], having=[("__count", ">", KEPT_RUNS)]
        ):
            own = [*ended, ("assistant_id", "=", assistant.id)]
            due |= self.search(own, offset=KEPT_RUNS, limit=limit)
        return due

    # ------------------------------------------------------------ side by side

    def _comparison(self):
        """A row of each test, a column of each version and provider."""
        # sudo: assistant_test_result - names and numbers; answers and reasons are for who may read the result
        by_side = (
            self.sudo().result_ids.sorted("id").grouped(lambda one: (one.version_id, one.config_id))
        )
        if not by_side:
            return False
        draft = self.env._("Draft")
        head = Markup("").join(
            Markup("<th>%s</th>")
            % " · ".join(filter(None, [side[0].display_name or draft, side[1].display_name or ""]))
            for side in by_side
        )
        rows = Markup("").join(
            Markup("<tr><td>%s</td>%s</tr>")
            % (
                test.name,
                Markup("").join(
                    results.filtered(lambda one, test=test: one.test_id == test)._cell()
                    for results in by_side.values()
                ),
            )
            for test in self.sudo().result_ids.test_id.sorted()
        )
        return Markup(
            "<table class='table table-sm o_woow_test_comparison'><thead><tr><th>%s</th>%s</tr></thead>"
            "<tbody>%s</tbody></table>"
        ) % (self.env._("Test"), head, rows)


class AssistantTestResult(models.Model):
    """Result of one test with one version and provider; as long as it is open, a job with a lease."""

    _name = "woow_paas_platform.assistant_test_result"
    _description = "Assistant Test Result"
    _inherit = ["woow_paas_platform.filter.mixin"]
    _order = "id desc"
    _rec_name = "test_id"

    run_id = fields.Many2one(
        "woow_paas_platform.assistant_test_run",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    test_id = fields.Many2one(
        "woow_paas_platform.assistant_test",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    assistant_id = fields.Many2one(related="run_id.assistant_id")
    version_id = fields.Many2one(
        "woow_paas_platform.assistant_version", readonly=True, ondelete="cascade"
    )
    config_id = fields.Many2one("ai.config", "Provider", readonly=True, ondelete="set null")
    repetition = fields.Integer(readonly=True, aggregator=None)
    user_id = fields.Many2one("res.users", "Rights Of", readonly=True, ondelete="cascade")
    uses_records = fields.Boolean(readonly=True)
    state = fields.Selection(
        [
            ("queued", "Queued"),
            ("running", "Running"),
            ("passed", "Passed"),
            ("failed", "Failed"),
            ("stopped", "Stopped"),
        ],
        required=True,
        readonly=True,
        default="queued",
    )
    is_flaky = fields.Boolean(
        "Flaky", readonly=True, help="The same test passed and failed in this run."
    )
    failures = fields.Json(readonly=True)
    reason = fields.Text(compute="_compute_texts")
    verdict = fields.Text("Judge's Verdict", readonly=True)
    answer = fields.Text(readonly=True)
    calls = fields.Json(readonly=True)
    calls_text = fields.Text("Tool Calls", compute="_compute_texts")
    tokens = fields.Integer(readonly=True)
    seconds = fields.Float(readonly=True, digits=(10, 1), aggregator="avg")
    lease_until = fields.Datetime(readonly=True)
    tries = fields.Integer(readonly=True, help="Also the epoch of its lease.")

    _open = models.Index("(id) WHERE state IN ('queued', 'running')")

    @api.model
    def _fields_to_filter(self):
        return {
            "run_id",
            "test_id",
            "version_id",
            "config_id",
            "state",
            "is_flaky",
            "tokens",
            "seconds",
        }

    @api.depends("failures", "calls")
    @api.depends_context("lang")
    def _compute_texts(self):
        for result in self:
            said = (sentences.translated(self.env, load(one)) for one in result.failures or ())
            result.reason = "\n".join(said)
            lines = (f"{tool} {arguments}" for tool, arguments in result.calls or ())
            result.calls_text = "\n".join(lines)

    def _mark_flaky(self):
        for results in self.grouped(
            lambda one: (one.test_id, one.version_id, one.config_id)
        ).values():
            results.is_flaky = {"passed", "failed"} <= set(results.mapped("state"))

    def _cell(self):
        """Cell of a table for these repetitions of one test."""
        _ = self.env._
        passed = len(self.filtered(lambda one: one.state == "passed"))
        ended = self.filtered(lambda one: one.state in ("passed", "failed"))
        if not ended:
            return Markup("<td class='text-muted'>–</td>")
        colour = "success" if passed == len(ended) else "danger"
        if 0 < passed < len(ended):
            colour = "warning"
        labels = [
            f"{passed}/{len(ended)}" if len(ended) > 1 else "",
            _("Flaky") if colour == "warning" else _("Passed") if passed else _("Failed"),
        ]
        numbers = _(
            "%(tokens)s tokens, %(seconds)s s",
            tokens=sum(ended.mapped("tokens")) // len(ended),
            seconds=f"{sum(ended.mapped('seconds')) / len(ended):.1f}",
        )
        return Markup(
            "<td><span class='text-%s'>%s</span> <span class='text-muted'>%s</span></td>"
        ) % (
            colour,
            " ".join(filter(None, labels)),
            numbers,
        )

    # ------------------------------------------------------------ jobs, by `runtime/turns/replays.py`

    @api.model
    def _claim(self, lease):
        """Take a result that waits, while there is room; questions of people go first. The caller holds the table.

        :param lease: s for which it is taken
        :return: ``(id, epoch)``; seconds until the next look while people wait; None where there is nothing to do
        """
        row = self.env.execute_query(
            SQL(
                """
                SELECT id FROM woow_paas_platform_assistant_test_result
                 WHERE state = 'queued'
                    OR state = 'running' AND lease_until < now() AT TIME ZONE 'UTC'
                 ORDER BY id LIMIT 1
                """
            )
        )
        if not row:
            return None
        busy = SQL(
            """
            SELECT (SELECT COUNT(*) FROM woow_paas_platform_assistant_test_result
                     WHERE state = 'running' AND lease_until >= now() AT TIME ZONE 'UTC'),
                   (SELECT COUNT(*) FROM woow_paas_platform_ai_turn WHERE state = 'running'),
                   EXISTS (SELECT 1 FROM woow_paas_platform_ai_turn w WHERE %s)
            """,
            SQL(CLAIMABLE),
        )
        ((tests, turns, is_awaited),) = self.env.execute_query(busy)
        most = settings.get().turns_per_database
        if is_awaited or (most and turns + tests >= most):
            return PEOPLE_FIRST
        if tests >= AT_ONCE:
            return None
        result = self.browse(row[0])
        result.tries += 1
        if result.tries > MAX_TRIES:
            result._finish(result.tries, {"failures": [NOT_FINISHED]})
            return PEOPLE_FIRST
        result.state = "running"
        self.env.flush_all()
        result._extend(result.tries, lease)
        return result.id, result.tries

    def _extend(self, epoch, lease):
        """
        :return: whether the result is still wanted, and this claim's
        """
        rows = self.env.execute_query(
            SQL(
                """
                UPDATE woow_paas_platform_assistant_test_result
                   SET lease_until = now() AT TIME ZONE 'UTC' + %s * interval '1 second'
                 WHERE id = %s AND tries = %s AND state = 'running' RETURNING id
                """,
                lease,
                self.id,
                epoch,
            )
        )
        return bool(rows)

    def _replay_spec(self):
        """See `AssistantTest._replay_spec`.

        :raises EngineError: the test cannot be run
        """
        if self.state != "running":
            raise EngineError(_lt("The test was stopped."))
        try:
            # sudo: assistant_test_run - the state to test, read as its version would be
            content = self.version_id.content or self.sudo().run_id.draft_content
            spec, access = self.test_id._replay_spec(content, self.config_id)
        except (UserError, AccessError) as error:
            raise EngineError(text.one_line(str(error.args[0]), CALL_CHARS)) from error
        # not the one that the state is published as in the transaction that is rolled back
        payer = replace(spec.request.payer, version=self.version_id.id or 0)
        return replace(spec, request=replace(spec.request, payer=payer)), access

    def _finish(self, epoch, found):
        """Keep what a replay has come to.

        :param found: `failures` (sentences), and of a replay that took place also `answer`, `verdict`, `calls`,
            `tokens` and `seconds`
        """
        if not self.exists() or self.tries != epoch or self.state in ENDED:
            return
        failures = found["failures"]
        self.write(
            {
                "state": "failed" if failures else "passed",
                "failures": text.storable([dump(one) for one in failures]),
                "answer": text.storable(found.get("answer", "")[:ANSWER_CHARS]),
                "verdict": text.storable(found.get("verdict", "")),
                "calls": text.storable(
                    [
                        [tool, canonical(arguments)[:CALL_CHARS]]
                        for tool, _alias, arguments in found.get("calls", ())[:MAX_CALLS]
                    ]
                ),
                "tokens": found.get("tokens", 0),
                "seconds": round(found.get("seconds", 0.0), 1),
                "lease_until": False,
            }
        )
        self.run_id._go_on()


class AiAssistant(models.Model):
    """Drafts that are tested before they are published."""

    _inherit = "ai.assistant"

    def action_test_draft(self):
        """Run the tests of the published assistant against the draft."""
        self.ensure_one()
        self.check_access("write")
        if not self.draft_of_id:
            raise UserError(self.env._("This is not a draft."))
        # sudo: ai.assistant - read as versions read it
        content = self.env["woow_paas_platform.assistant_version"]._content_of(self.sudo())
        run = self.env["woow_paas_platform.assistant_test_run"]._of_draft(self.draft_of_id, content)
        return run.get_formview_action()

    def _check_publication(self, content):
        """Refuse a state that has not passed all tests of the assistant, as they are now, in one run."""
        super()._check_publication(content)
        # sudo: assistant_test, assistant_test_run, assistant_test_result - only whether they have passed
        env = self.sudo().env
        own = [("assistant_id", "=", self.id)]
        tests = env["woow_paas_platform.assistant_test"].search(own)
        if not tests or not limits.is_on(self.env, "publish_tested"):
            return
        of_state = [("state", "=", "done"), ("draft_digest", "=", difference.digest(content))]
        run = env["woow_paas_platform.assistant_test_run"].search([*own, *of_state], limit=1)
        changed = tests.filtered(lambda test: not run or test._changed_at() > run.started_at)
        results = run.result_ids.filtered(lambda result: result.test_id in tests - changed)
        failed = results.filtered(lambda result: result.state != "passed").test_id
        if left := (failed | (tests - results.test_id)).sorted():
            raise UserError(
                self.env._(
                    "Only what passes its tests is published. Choose Test Draft; not passed yet: %(names)s.",
                    names=", ".join(left[:MAX_NAMED].mapped("name")),
                )
            )
