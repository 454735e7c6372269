"""The store in PostgreSQL and its model side by side: every act is done on both, and told apart by nothing."""

from datetime import timedelta
from unittest.mock import patch

from odoo import fields

from ..models.governance import cost
from ..models.turn.ai_turn import Question
from ..services.errors import (
    BudgetExhausted,
    ElicitationRequired,
    LeaseLost,
    SignInRequired,
    TurnGone,
)
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import ModelRequest, ServerSpec, ToolCall, ToolSpec
from ..services.testing import model_store
from ..tools import db

TURN = "woow_paas_platform.ai_turn"
RUN = "woow_paas_platform.ai_run"
COST = "woow_paas_platform.cost"
BUDGET = 600  # tokens
AT_ONCE = 2  # turns of runs
LEASE = 15.0
PAST = timedelta(hours=-1)
TOLD = ("type", "id", "call_id", "state", "decision", "outcome", "code", "kind")  # of an event
REFUSALS = (404, 409, 422)

WANTED = {
    "form": ElicitationRequired(
        questions={"q": ElicitRequest(message="Which?")}, more={"requestState": "s"}
    ),
    "page": ElicitationRequired(
        questions={"0": ElicitRequest(message="Visit.", url="https://mcp.example.com/")}, more=None
    ),
    "sign_in": SignInRequired(url="https://login.example.com/", state="s"),
}


class StorePair:
    """:ivar real: `OdooStore` · :ivar model: `model_store.Database` with the same ids"""

    def __init__(self, case, store):
        self.case, self.real = case, store
        self.env = case.env(context={**case.env.context, "woow_no_sync": True})
        self.clock = 0.0
        self.model = model_store.Database(store.name, now=lambda: self.clock)
        self.questions = {}  # public id -> the model's
        self.runs = {}  # the model's id -> the row
        self.channels = [case._conversation(case.member, case.service).sudo() for _ in range(2)]
        self.tools = (case.forecast | case.alerts | case.run_flow).with_env(self.env)
        case.server.trust_level = "annotations"
        case.forecast.annotations = '{"readOnlyHint": true}'
        self.tools.server_id.authorization = "oauth_user"
        servers = {
            server.id: model_store.Server(id=server.id, trust=server.trust_level)
            for server in self.tools.server_id
        }
        for tool in self.tools:
            self.model.add_tool(
                model_store.Tool(
                    id=tool.id,
                    server=servers[tool.server_id.id],
                    name=tool.name,
                    is_harmless=tool == case.forecast,
                )
            )

        self._furnish_runs()
        self.budget = self.env["woow_paas_platform.budget"].create(
            {
                "name": "Tokens",
                "scope": "assistant",
                "assistant_id": case.assistant.id,
                "measure": "tokens",
                "limit": BUDGET,
                "owner_id": False,
            }
        )
        self.model.budget = BUDGET

    def _furnish_runs(self):
        """Two actions and two records of which runs may be."""
        env, case = self.env, self.case
        env["ir.config_parameter"].set_param("woow_paas_platform.runs_at_once", str(AT_ONCE))
        self.model.AT_ONCE = AT_ONCE
        self.records = env["res.partner"].create([{"name": "Acme"}, {"name": "Zebra"}])
        action = {
            "state": "woow_ask_assistant",
            "model_id": env["ir.model"]._get_id("res.partner"),
            "woow_assistant_id": case.assistant.id,
            "woow_instruction": "Look.",
            "woow_run_as_id": case.internal.id,
            "woow_answer_to": "none",
        }
        self.actions = env["ir.actions.server"].create(
            [{**action, "name": name} for name in ("Look", "See")]
        )

    # ------------------------------------------------------------ doing and comparing

    def both(self, real, model):
        """Do it on both.

        :return: what the model said, None where both refused
        """
        self.env.flush_all()
        said = [_said(real), _said(model)]
        self.env.invalidate_all()
        self._pair_questions()
        self.case.assertEqual(self._plain(said[0], self.questions), self._plain(said[1], {}))
        self.compare()
        return said[1][1]

    def _plain(self, said, questions):
        """:param questions: the model's ids of Odoo's questions; those of the model look alike"""
        kind, value = said
        if isinstance(value, dict):  # an event
            return kind, self._event(value, questions)
        if isinstance(value, list) and value and isinstance(value[0], dict):  # what enters a turn
            return kind, [sent["turn"] for sent in value]
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
            return kind, value[0], self._event(value[1], questions)
        if hasattr(value, "kind"):  # a verdict
            outcome = value.result.outcome if value.result else None
            return kind, value.kind, outcome, value.arguments, value.resume
        if isinstance(value, str) and " " in value:  # a sentence for the model
            return kind, "refused"
        return kind, value

    def _event(self, payload, questions):
        told = {name: payload[name] for name in TOLD if payload.get(name) not in (None, "")}
        if told.get("id") in questions:
            told["id"] = questions[told["id"]]
        return told

    def _pair_questions(self):
        for turn in self.turns():
            asked = turn.call_ids.question_ids.sorted("id")
            mine = [q for call in self.model.turns[turn.id].calls for q in call.questions]
            mine.sort(key=lambda question: int(question.id.split("-")[1]))
            self.case.assertEqual(len(asked), len(mine))
            self.questions |= {q._public_id(): m.id for q, m in zip(asked, mine, strict=True)}

    def turns(self):
        channels = {channel.id for channel in self.channels}
        channels |= {run.channel_id.id for run in self.runs.values()}
        return self.env[TURN].search([("channel_id", "in", sorted(channels))], order="id")

    def compare(self):
        turns = self.turns()
        self.case.assertEqual(turns.ids, sorted(self.model.turns))
        for turn in turns:
            mine = self.model.turns[turn.id]
            self.case.assertEqual(self._row(turn), _model_row(mine))
            events = self.env["woow_paas_platform.ai_turn_event"].search(
                [("turn_id", "=", turn.id)], order="seq"
            )
            self.case.assertEqual(
                {event.seq: self._event(event.payload, self.questions) for event in events},
                {seq: self._event(event, {}) for seq, event in sorted(mine.events.items())},
            )

        period = self.budget.period_ids
        self.case.assertEqual(
            (round(period.spent), round(period.reserved)),
            (self.model.spent, sum(self.model.holds.values())),
        )
        for number, run in self.runs.items():
            mine = self.model.runs[number]
            turn = mine.turn if mine.turn in self.model.turns else 0
            real = (run.state, run.depth, run.turn_id.id or 0)
            self.case.assertEqual(real, (mine.state, mine.depth, turn))

    def _row(self, turn):
        calls = {
            call.call_id: (
                call.outcome or "",
                call.approval or "",
                call.started_epoch,
                call.tool_id.id,
                call.arguments or {},
                call.ask_round,
                [
                    (self.questions[q._public_id()], q.kind, q.is_held, q.action or "")
                    for q in call.question_ids
                ],
            )
            for call in turn.call_ids
        }
        lease = (turn.lease_owner or "", turn.lease_epoch, bool(turn.lease_until))
        held = (turn.state, *lease, turn.entered_id.id or 0)
        waits = (turn.waiting_round, bool(turn.waiting_until))
        costs = self.env[COST].search([("turn_id", "=", turn.id)])
        is_open = {cost.key.split("-", 2)[2]: cost.state == "reserved" for cost in costs}
        return held, turn.stop_requested, waits, _progress(turn.transcript or {}), calls, is_open

    # ------------------------------------------------------------ what is passed to both

    def call(self, number, tool):
        """The same call for both: their definitions of a tool have other names."""
        specs = [None, None]
        if tool:
            definitions = tool._definition(), self.model.tools[tool.id].definition
            specs = [
                ToolSpec(
                    id=tool.id,
                    server_id=tool.server_id.id,
                    name=tool.name,
                    alias="a",
                    definition=definition,
                )
                for definition in definitions
            ]
        server = ServerSpec(id=tool.server_id.id, name=tool.server_id.name) if tool else None
        return [
            ToolCall(
                id=f"call_{number}",
                alias="a",
                round=1,
                tool=spec,
                server=server,
                arguments={"city": f"c{number}"},
            )
            for spec in specs
        ]

    def request(self, claim, number, tokens):
        """A request to the model under a claim."""
        return ModelRequest(
            key=f"{claim.epoch}-{number}",
            kind="answer",
            llm_id=self.case.assistant.config_id.id,
            model="gpt",
            step=0,
            input_tokens=tokens,
            output_limit=50,
        )

    def close_lost(self):
        def real():
            with patch.object(cost, "LOST", -60):
                self.env[COST]._cron_close_lost()
            self.env.flush_all()

        self.both(real, self.model.close_lost)

    # ------------------------------------------------------------ acts of people

    def post(self, channel, *, steers=False):
        """A member asks; who has nothing left of the budget is refused."""
        member = self.case.member
        asked = []

        def real():
            with self.env.cr.savepoint():
                asked.append(channel.with_user(member)._ask(Question("Hello", steers=steers)))

        def mine():
            self.model.check_budget()
            self.model.post(asked[0].id, channel.id, member.id, steers=steers)

        self.both(real, mine)

    def over_http(self, turn_id, model, **body):
        def real():
            status, _answer = self.case._call("POST", f"/api/ai/turns/{turn_id}/decision", body)
            if status in REFUSALS:
                raise model_store.NotPossible
            self.case.assertEqual(status, 200)

        def mine():
            if self.model.turns[turn_id].user != self.case.member.id:
                raise model_store.NotPossible
            return model()

        return self.both(real, mine)

    # ------------------------------------------------------------ runs

    def schedule(self, action, record, event, writer):
        """:param writer: turn whose call is the trigger, or 0"""
        action, record = self.actions[action], self.records[record]

        def real():
            with db.written_by(writer):
                run = self.env[RUN]._schedule(action, record, event)
            if run:
                self.runs[len(self.runs) + 1] = run
            return bool(run)

        key = (action.id, record.id, event)
        self.both(real, lambda: bool(self.model.schedule(key, self.case.internal.id, writer)))
        self.case.assertEqual(set(self.model.runs), set(self.runs))

    def start_runs(self):
        def real():
            with patch.object(
                self.env.registry["ir.cron"], "_commit_progress", lambda *_, **__: 1.0
            ):
                self.env[RUN]._cron_start()

        def model():
            while run := self.model.next_run():
                begun = self.runs[run.id]
                self.model.begin_run(run, begun.turn_id.id, begun.channel_id.id)

        self.both(real, model)

    def stop_run(self, number):
        run, mine = self.runs[number], self.model.runs[number]
        self.both(
            lambda: run.with_user(self.case.internal).action_stop() and None,
            lambda: self.model.stop_run(mine),
        )

    def delete_run(self, number):
        """A person deletes its conversation."""
        channel = self.runs[number].channel_id
        of_model = self.model.turns[self.model.runs[number].turn].channel
        self.both(
            lambda: channel.unlink() and None, lambda: self.model.delete_conversation(of_model)
        )

    def lapse(self):
        """The leases of all that runs are over."""
        self.turns().filtered(lambda turn: turn.state == "running").lease_until = (
            fields.Datetime.now() + PAST
        )
        for turn in self.model.turns.values():
            turn.until = -1.0 if turn.state == "running" else turn.until

    def doubt(self):
        """The first of the two looks at a lease that is over; the model needs one."""
        self.env.flush_all()
        self.real.sweep()
        self.env.invalidate_all()

    def expire(self, turn_id):
        def real():
            turn = self.env[TURN].browse(turn_id)
            if turn.state == "waiting":
                turn.waiting_until = fields.Datetime.now() + PAST
            with patch.object(
                self.env.registry["ir.cron"], "_commit_progress", lambda *_, **__: 1.0
            ):
                turn._cron_expire_decisions()
            self.env.flush_all()

        def model():
            turn = self.model.turns[turn_id]
            if turn.state == "waiting":
                turn.waiting_until = -1.0
            self.model.expire()

        self.both(real, model)

    def sign_in(self, server):
        def real():
            sign_in = self.env["woow_paas_platform.mcp_sign_in"].sudo()
            user = self.case.member
            own = sign_in._of(server.id, user.id, server.url, make=True).with_user(user).sudo()
            own.env["woow_paas_platform.call_question"]._go_on_after(own)
            self.env.flush_all()

        self.both(real, lambda: self.model.sign_in(server.id, self.case.member.id))


def _said(act):
    try:
        return "said", act()
    except (BudgetExhausted, LeaseLost, TurnGone, model_store.NotPossible) as refused:
        return type(refused).__name__, None


def _model_row(turn):
    calls = {
        call.id: (
            call.outcome,
            call.approval,
            call.started,
            call.tool.id if call.tool else False,
            call.arguments,
            call.ask_round,
            [(q.id, q.kind, q.is_held, q.action) for q in call.questions],
        )
        for call in turn.calls
    }
    held = (turn.state, turn.owner, turn.epoch, turn.until is not None, turn.entered)
    waits = (turn.waiting_round, turn.waiting_until is not None)
    is_open = {key: used is None for key, used in turn.costs.items()}
    return held, turn.stop, waits, _progress(turn.progress), calls, is_open


def _progress(transcript):
    """What the engine goes on from; asides are for the reader."""
    return {name: value for name, value in transcript.items() if name != "asides"}
