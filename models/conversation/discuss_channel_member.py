from odoo import api, models
from odoo.exceptions import ValidationError

from ..turn.ai_turn import CONVERSATION


class DiscussChannelMember(models.Model):
    _inherit = "discuss.channel.member"

    @api.constrains("partner_id", "guest_id", "channel_id")
    def _check_ai_conversation(self):
        self.channel_id._check_conversation_members()

    @api.ondelete(at_uninstall=False)
    def _unlink_except_ai_conversation(self):
        if any(self.channel_id.mapped(lambda channel: channel.channel_type == CONVERSATION)):
            raise ValidationError(
                self.env._("The members of a conversation with an assistant cannot be changed.")
            )
