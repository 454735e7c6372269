from odoo import models


class McpTool(models.Model):
    _inherit = ["woow_paas_platform.mcp_tool", "woow_paas_platform.lock.mixin"]
    _name = "woow_paas_platform.mcp_tool"

    _locked_is_off = models.Constraint(
        "CHECK (is_locked IS NOT TRUE OR active IS NOT TRUE)", "A locked tool is switched off."
    )

    def _is_run_by(self, user):
        # sudo: mcp_server - who owns it, read to decide
        return self.sudo().server_id._is_run_by(user)

    def _check_write(self, vals):
        result = super()._check_write(vals)
        self._check_lock(vals)
        return result

    def _after_write(self, vals):
        self._lock_for_owners(vals)
        if "is_locked" in vals:
            # sudo: mcp_server - only to tell those who show it
            self.sudo().server_id._tell_managers()
        return super()._after_write(vals)
