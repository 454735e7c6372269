from odoo import api, fields, models
from odoo.exceptions import UserError

from ...tools import mcp_switch, sentences


class McpServer(models.Model):
    """The buttons of the form and the list."""

    _inherit = "woow_paas_platform.mcp_server"

    tool_count = fields.Integer("Number of Tools", compute="_compute_tool_count")
    review_count = fields.Integer("Tools to Review", compute="_compute_tool_count")
    refused_count = fields.Integer("Refused Tools", compute="_compute_tool_count")
    warned_count = fields.Integer(
        "Suspicious Tools",
        compute="_compute_tool_count",
        help="Tools in use whose definition contains a link, or mentions passwords or keys.",
    )

    @api.depends(
        "tool_ids.available", "tool_ids.active", "tool_ids.review_state", "tool_ids.warning_codes"
    )
    def _compute_tool_count(self):
        for server in self:
            tools = server.tool_ids.filtered("available")
            of_state = tools.grouped("review_state")
            count = {state: len(of_these) for state, of_these in of_state.items()}
            in_use = of_state.get("approved", tools.browse()).filtered("active")
            server.tool_count = len(tools)
            server.review_count = count.get("new", 0) + count.get("changed", 0)
            server.refused_count = count.get("refused", 0)
            server.warned_count = len(in_use.filtered("warning_codes"))

    def _counts(self, model):
        """How many records of the model each server has: ``{server: number}``."""
        in_these = [("server_id", "in", self.ids)]
        return dict(self.env[model]._read_group(in_these, ["server_id"], ["__count"]))

    def action_test_connection(self):
        """Show the test of `POST /api/mcp/servers/<id>/test`, step by step."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_connection_test",
            "params": {"path": f"/api/mcp/servers/{self.id}/test"},
        }

    def action_sync_tools(self):
        """Read `tools/list` in the background and bring the tool records up to date; what came of it is notified."""
        self.check_access("write")
        if notice := mcp_switch.notice(self.env):
            raise UserError(notice)
        self._sync_after_commit(notify=True)
        if len(self) > 1:
            return self._notify(
                self.env._(
                    "The tools of %(count)s servers are being reloaded. Their states will be updated shortly.",
                    count=len(self),
                ),
                kind="info",
            )
        return self._notify(
            self.env._(
                "The tools of “%(server)s” are being reloaded. You will be notified of the result.",
                server=self.name,
            ),
            kind="info",
        )

    def _tell_synced(self, uid, added, changed, gone):
        """Notify who has asked for a sync, in their language.

        :param uid: None where nobody waits for it
        """
        if not uid:
            return
        user = self.env["res.users"].browse(uid)
        server = self.with_context(lang=user.lang)
        if added or changed or gone:
            message = server.env._(
                "“%(server)s”: %(added)s new tools, %(changed)s changed, %(gone)s no longer offered.",
                server=server.name,
                added=added,
                changed=changed,
                gone=gone,
            )
        else:
            message = server.env._(
                "“%(server)s” is up to date: %(count)s tools.",
                server=server.name,
                count=server.tool_count,
            )
        user._bus_send("simple_notification", {"type": "success", "message": message})

    def _tell_failed(self, uid, error):
        """As `_tell_synced`."""
        if not uid:
            return
        user = self.env["res.users"].browse(uid)
        message = sentences.of_error(self.with_user(user).with_context(lang=user.lang).env, error)
        user._bus_send(
            "simple_notification", {"type": "danger", "title": self.name, "message": message}
        )

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    def action_export(self):
        """Download the ``mcpServers`` document of these servers."""
        ids = ",".join(map(str, self.ids))
        return {"type": "ir.actions.act_url", "url": f"/api/mcp/export?ids={ids}&download=1"}

    def action_view_tools(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.mcp_tool_action")
        return {
            **action,
            "domain": [("server_id", "=", self.id)],
            "context": {"active_test": False},
        }

    def action_review_tools(self):
        action = self.action_view_tools()
        return {**action, "context": {**action["context"], "search_default_to_review": 1}}

    def _notify(self, message, kind="success"):
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": kind,
                "message": message,
                "next": {"type": "ir.actions.client", "tag": "soft_reload"},
            },
        }
