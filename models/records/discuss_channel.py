from odoo import models

from ...services.records import mentions


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _ask_edited(self, asked, content, client_token=None, attachments=None):
        """Records that the former wording named stay with the question, as long as it names them."""
        # sudo: ai_turn - the caller's own question
        kept = mentions.still_named(asked.sudo().mentions or (), content)
        attached = self.env.context.get("woow_ai_mentions") or kept
        channel = self.with_context(woow_ai_mentions=attached)
        return super(DiscussChannel, channel)._ask_edited(asked, content, client_token, attachments)
