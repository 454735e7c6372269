from odoo import fields, models


class McpToolReview(models.Model):
    """Audit of decisions about a tool, its definition and its settings: rows are added and never changed."""

    _name = "woow_paas_platform.mcp_tool_review"
    _description = "Tool Decision"
    _order = "id desc"
    _rec_name = "tool_name"

    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", readonly=True, ondelete="set null", index="btree_not_null"
    )
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", readonly=True, ondelete="set null", index="btree_not_null"
    )
    tool_name = fields.Char(required=True, readonly=True)
    decision = fields.Selection(
        [
            ("first_seen", "First seen"),
            ("accepted", "Accepted"),
            ("refused", "Refused"),
            ("exempt", "Runs after untrusted content"),
            ("not_exempt", "Asks after untrusted content"),
            ("on", "Enabled"),
            ("off", "Disabled"),
            ("default", "Policy: based on its annotations"),
            ("auto", "Policy: always run"),
            ("ask", "Policy: ask first"),
            ("never", "Policy: never run"),
        ],
        required=True,
        readonly=True,
    )
    definition = fields.Json(readonly=True, help="Of decisions about a definition.")
    definition_hash = fields.Char(readonly=True)
    user_id = fields.Many2one("res.users", "Decided by", readonly=True, ondelete="set null")
    user_name = fields.Char(readonly=True, help="Kept when the user is deleted.")
