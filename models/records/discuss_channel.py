from odoo import models


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _ask_edited(self, asked, content, client_token=None, attachments=None):
        """Records of the former wording stay with the question, unless the new one says which it has, or none."""
        channel = self
        if self.env.context.get("woow_ai_mentions") is None:
            # sudo: ai_turn - the caller's own question
            channel = self.with_context(woow_ai_mentions=asked.sudo().mentions)
        return super(DiscussChannel, channel)._ask_edited(asked, content, client_token, attachments)
