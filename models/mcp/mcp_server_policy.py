from odoo import api, fields, models


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    my_policy = fields.Char("My Own Rule", compute="_compute_my_policy", exportable=False)

    @api.depends_context("uid")
    def _compute_my_policy(self):
        own = self.env["woow_paas_platform.person_rule"]._own(servers=self)
        for server in self:
            server.my_policy = own.get(server.id, "default")

    def _api_data(self, with_tools=False):
        return super()._api_data(with_tools) | {"my_policy": self.my_policy}

    def _set_my_policy(self, policy):
        self.ensure_one()
        Rule = self.env["woow_paas_platform.person_rule"]
        Rule._set_own(self, self.env["woow_paas_platform.mcp_tool"], policy)
        self.invalidate_recordset(["my_policy"])
