"""Turns whose assistant may use Odoo's own records; calls are made by hand, as the runner makes them."""

import json
from dataclasses import asdict

from odoo import Command
from odoo.tests import HttpCase

from ..runtime.turns.store import OdooStore
from ..services.records import catalog
from ..services.records.errors import RecordError, RehearsalDiffers
from ..services.specs import ToolCall, TurnProgress
from .common import AiCase

PARTNER = {"model": "res.partner"}
ALL = ("can_create", "can_update", "can_archive", "can_delete", "can_message", "can_schedule")
MODELS = ("res.partner", "res.partner.category", "res.users", "res.company", "res.country")


ALONE = 1_000  # a number of rounds that no test gives itself


class RecordsCase(AiCase):
    """Each test has turns of its own; `_use` makes a call in a turn of a person."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.assistant.record_access_ids = [Command.create({"model": model}) for model in MODELS]
        cls.line = cls.assistant.record_access_ids.filtered(lambda one: one.model == "res.partner")

    def setUp(self):
        super().setUp()
        if not isinstance(self, HttpCase):  # whose class is in this mode
            self.registry_enter_test_mode()
        self.store = OdooStore(self.env.cr.dbname)
        self.turns, self.claims, self.number = {}, {}, 0

    def _turn(self, person):
        if person not in self.turns:
            self.turns[person] = self._ask(person).sudo()
            self.env.flush_all()
            (self.claims[person],) = self.store.claim("one", 1, 15.0)
        return self.turns[person]

    def _begin(self, person, name, arguments, round_=1, *, begins=True):
        """:return: the call, and the verdict of its beginning"""
        turn, claim = self._turn(person), self.claims.get(person)
        self.number += 1
        call = ToolCall(
            id=f"call_{turn.id}_{self.number}",
            alias=name,
            round=round_,
            tool=catalog.TOOLS[name].spec,
            arguments=arguments,
        )
        self.env.flush_all()
        progress = asdict(TurnProgress(step=self.number))
        self.store.save_step(claim, progress, [call], [])
        return call, self.store.begin_call(claim, call) if begins else None

    def _read(self, person, tool, /, **arguments):
        """:return: what the model reads, and what people are shown"""
        call, verdict = self._begin(person, tool, arguments)
        if verdict.kind != "run":
            raise RecordError(verdict.reason, outcome="denied")
        result = self.store.read_records(self.claims[person], call.id)
        json.dumps(result.display)
        return result.text, result.display["records"]

    def _refused(self, person, tool, /, **arguments):
        """:return: the sentence with which a call is refused"""
        return self._error(self._read, person, tool, **arguments)

    def _error(self, method, /, *args, of=RecordError, **kwargs):
        """Odoo's `assertRaises` would take back the turn, too."""
        try:
            method(*args, **kwargs)
        except of as error:
            return str(error)
        return self.fail("It was not refused.")

    def _names(self, person, **arguments):
        _said, data = self._read(person, "search_records", **arguments)
        return [row["name"] for row in data["rows"]]


class WritesCase(RecordsCase):
    """Changes that ask nobody: `_write` makes one, `_refuses` says why not."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write(dict.fromkeys(ALL, True))
        cls.assistant.record_access_ids.policy = "auto"
        cls.azure = cls.env["res.partner"].create({"name": "Azurite Interior", "city": "Fremont"})
        cls.tag = cls.env["res.partner.category"].create({"name": "Wholesale"})
        cls.env.flush_all()

    def _write(self, name, *, person=None, **arguments):
        """:return: the result; the call's row stays in `self.row`"""
        person = person or self.internal
        call, verdict = self._begin(person, name, arguments)
        self.row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertEqual(verdict.kind, "run", verdict.reason)
        self.seq = self.turns[person]._last_seq() + 1
        told = {"type": "tool_result", "id": call.id}
        try:
            return self.store.perform_call(self.claims[person], call.id, [(self.seq, told)])
        finally:
            self.env.invalidate_all()

    def _refuses(self, name, **arguments):
        return self._error(self._write, name, **arguments)


class RehearsalCase(RecordsCase):
    """Changes that ask: `_rehearse` shows one, `_allow` makes it."""

    def _rehearse(self, name, *, answer=None, **arguments):
        """
        :param answer: the number of that which the call is a part of, else it is alone
        :return: what the question tells; the call stays in `self.call`, its row in `self.row`
        """
        round_ = answer or ALONE + self.number
        self.call, verdict = self._begin(self.internal, name, {**PARTNER, **arguments}, round_)
        self.row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", self.call.id)])
        self.assertEqual(verdict.kind, "ask")
        self.store.rehearse_call(self.claims[self.internal], self.call.id)
        self.env.invalidate_all()
        return self.row._approval_event()["rehearsal"]

    def _allow(self):
        self.row.write({"approval": "approved", "decision": "approve_once"})
        self.env.flush_all()
        try:
            return self.store.perform_call(self.claims[self.internal], self.call.id, [])
        finally:
            self.env.invalidate_all()

    def _differs(self):
        """The rehearsal that is found in the place of the one that was allowed."""
        try:
            self._allow()
        except RehearsalDiffers as error:
            return error.rehearsal
        return self.fail("It was committed.")

    def _field(self, one, name):
        return next((f for f in one["fields"] if f["name"] == name), None)


class PartnersCase(RecordsCase):
    """Some partners, one of which a rule keeps from everybody."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Partner = cls.env["res.partner"]
        cls.tag = cls.env["res.partner.category"].create({"name": "Wholesale"})
        cls.azure, cls.gemini, cls.secret = Partner.create(
            [
                {
                    "name": "Azurite Interior",
                    "city": "Fremont",
                    "email": "azurite@example.com",
                    "category_id": [Command.link(cls.tag.id)],
                },
                {"name": "Gemini Furniture", "city": "Fairfield", "ref": "G-77"},
                {"name": "Secret Partner", "city": "Hidden City", "ref": "hidden"},
            ]
        )
        cls.child = Partner.create({"name": "Brandon", "parent_id": cls.azure.id})
        cls.child_of_secret = Partner.create({"name": "Child", "parent_id": cls.secret.id})
        cls.mine = [("id", "in", (cls.azure | cls.gemini | cls.secret | cls.child).ids)]
        cls.env["ir.rule"].create(
            {
                "name": "Not the secret one",
                "model_id": cls.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {cls.secret.id})]",
            }
        )
        cls.env.flush_all()
