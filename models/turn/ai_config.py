from odoo import models
from odoo.fields import Domain


class AiConfig(models.Model):
    _inherit = "ai.config"

    def write(self, vals):
        result = super().write(vals)
        if vals.get("active") is False:
            # sudo: ai_turn - whoever asked; who may switch the provider ends what it is used for
            turns = self.env["woow_paas_platform.ai_turn"].sudo()
            config = "assistant_id.config_id"
            using = Domain(config, "in", self.ids) | Domain(f"{config}.fallback_id", "in", self.ids)
            running = turns.search(Domain("state", "=", "running") & using)
            for turn in running.filtered(lambda turn: turn._provider() in self):
                turn._request_stop()
        return result
