from datetime import timedelta

from odoo import api, fields, models

from ...services import text
from ...tools import sentences

KEPT_DAYS = 7  # that a process which says nothing more is remembered


class McpServerProcess(models.Model):
    """The state of a server in one process of Odoo: each has its own connections and circuit breaker."""

    _name = "woow_paas_platform.mcp_server_process"
    _description = "MCP Server State per Process"
    _order = "write_date desc, id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, readonly=True, ondelete="cascade"
    )
    name = fields.Char("Process", required=True, readonly=True, help="Host and process.")
    state = fields.Selection(
        [
            ("closed", "Closed"),
            ("open", "Open (paused)"),
            ("half_open", "Half-open"),
        ],
        required=True,
        readonly=True,
        default="closed",
        help="After three failures in a row, a process pauses calls to the server for 30 seconds. The "
        "next call then tests whether it works again.",
    )
    reason = sentences.SentenceField(readonly=True, help="Message of the last failure.")
    reason_sentence = fields.Char("Pause Reason", compute="_compute_reason_sentence")
    since = fields.Datetime(readonly=True)
    stderr = fields.Text(
        "Output", readonly=True, prefetch=False, help="Last output of the server's process."
    )

    _server_process_unique = models.UniqueIndex(
        "(server_id, name)", "There can be only one row per server and process."
    )

    @api.depends("reason")
    @api.depends_context("lang")
    def _compute_reason_sentence(self):
        for process in self:
            reason = process.reason
            process.reason_sentence = reason and sentences.translated(self.env, reason)

    @api.model
    def _put(self, server_id, name, **values):
        """Write down what a process has learned. A server that is gone meanwhile is nobody's business."""
        server = self.env["woow_paas_platform.mcp_server"].browse(server_id).exists()
        if not server:
            return
        row = self.search([("server_id", "=", server_id), ("name", "=", name)])
        if row:
            row.write(values)
        else:
            self.create({"server_id": server_id, "name": name, **values})
        server._tell_managers()

    @api.model
    def _put_state(self, server_id, name, state, reason):
        """:param reason: the engine's sentence"""
        self._put(
            server_id,
            name,
            state=state,
            reason=text.storable(reason) or False,
            since=fields.Datetime.now(),
        )

    @api.autovacuum
    def _gc_processes(self):
        old = fields.Datetime.now() - timedelta(days=KEPT_DAYS)
        self.search([("write_date", "<", old)]).unlink()
