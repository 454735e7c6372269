from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Domain

from ..base.discuss_channel import CONVERSATION
from .conversation_folder import FOLDER


class DiscussChannelMember(models.Model):
    _inherit = "discuss.channel.member"

    # each person's own: neither other members nor RPC reach it
    woow_is_pinned = fields.Boolean("Pinned in the Chat", groups=fields.NO_ACCESS)
    woow_is_archived = fields.Boolean("Archived in the Chat", groups=fields.NO_ACCESS)
    woow_folder_id = fields.Many2one(
        FOLDER,
        "Folder in the Chat",
        ondelete="set null",
        index="btree_not_null",
        groups=fields.NO_ACCESS,
    )

    # few of a person's are pinned, and each list begins with them
    _woow_pinned = models.Index("(partner_id) WHERE woow_is_pinned IS TRUE")
    _woow_archived = models.Index("(partner_id) WHERE woow_is_archived IS TRUE")

    @api.constrains("partner_id", "guest_id", "channel_id")
    def _check_ai_conversation(self):
        self.channel_id._check_conversation_members()

    @api.model
    def _kept_by_caller(self, field, value=True):
        """Condition on conversations by a field of the caller's own membership."""
        mine = Domain("partner_id", "=", self.env.user.partner_id.id)
        return Domain("channel_member_ids", "any!", mine & Domain(field, "=", value))

    def _set_last_seen_message(self, message, notify=True):
        """Mark as read everywhere; other pages are not notified unless the person did it."""
        result = super()._set_last_seen_message(message, notify=notify)
        is_own = self.partner_id == self.env.user.partner_id
        if notify and is_own and self.channel_id.channel_type == CONVERSATION:
            self.env["woow_paas_platform.ai_turn"]._see(self.channel_id)
        return result

    @api.ondelete(at_uninstall=False)
    def _unlink_except_ai_conversation(self):
        if any(self.channel_id.mapped(lambda channel: channel.channel_type == CONVERSATION)):
            raise ValidationError(
                self.env._("The members of a conversation with an assistant cannot be changed.")
            )
