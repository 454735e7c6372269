"""A turn whose store is called by hand, without a runner."""

from dataclasses import asdict

from ..runtime.turns.store import OdooStore
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from .common import AiHttpCase

LEASE = 15.0


class StoreCase(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.store = OdooStore(self.env.cr.dbname)
        self.turn = self._ask(self.member, service=self.service).sudo()
        self.env.flush_all()

    def _claim(self, runner="one"):
        (claim,) = self.store.claim(runner, 1, LEASE)
        self.env.invalidate_all()
        return claim

    def _events(self):
        self.env.invalidate_all()
        rows = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.turn.id)], order="seq"
        )
        return [row.payload for row in rows]

    def _call(self, tool=None, call_id="call_1"):
        tool = tool or self.forecast
        return ToolCall(
            id=call_id,
            alias=tool.alias,
            round=1,
            tool=tool._tool_spec(),
            server=ServerSpec(id=tool.server_id.id, name=tool.server_id.name),
            arguments={"city": "台北"},
        )

    def _step(self, claim, *calls):
        self.store.save_step(claim, asdict(TurnProgress(step=1)), calls, [])
