from odoo import api, models


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    @api.constrains("company_id")
    def _check_company_of_assistants(self):
        # sudo: ai.assistant - those of other companies use it, too
        Assistant = self.env["ai.assistant"].sudo().with_context(active_test=False)
        Assistant.search([("mcp_server_ids", "in", self.ids)])._check_company(["mcp_server_ids"])
