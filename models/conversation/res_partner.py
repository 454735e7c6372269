from odoo import api, models
from odoo.addons.mail.tools.discuss import Store
from odoo.fields import Domain


class ResPartner(models.Model):
    _inherit = "res.partner"

    def _compute_im_status(self):
        result = super()._compute_im_status()
        # sudo: ai.assistant - only which of these partners is one, as OdooBot shows it
        assistants = self.env["ai.assistant"].sudo().with_context(active_test=False)
        assistants.search([("partner_id", "in", self.ids)]).partner_id.im_status = "bot"
        return result

    @api.readonly
    @api.model
    def name_search(self, name="", domain=None, operator="ilike", limit=100):
        """Assistants are offered nowhere as a customer, a contact or a follower."""
        return super().name_search(name, self._without_assistants(domain), operator, limit)

    @api.readonly
    @api.model
    def web_search_read(self, domain, specification, *args, **kwargs):
        """Lists of contacts show people and companies."""
        return super().web_search_read(
            self._without_assistants(domain), specification, *args, **kwargs
        )

    @api.readonly
    @api.model
    def web_read_group(self, domain, groupby, *args, **kwargs):
        """Groups of such a list, with what they count and show."""
        return super().web_read_group(self._without_assistants(domain), groupby, *args, **kwargs)

    @api.readonly
    @api.model
    def formatted_read_group(self, domain, *args, **kwargs):
        """Pivots and graphs of contacts count people and companies."""
        return super().formatted_read_group(self._without_assistants(domain), *args, **kwargs)

    @api.model
    def _without_assistants(self, domain):
        # sudo: ai.assistant - which contacts are those of one; nothing of them is shown
        assistants = (
            self.env["ai.assistant"]
            .sudo()
            .with_context(active_test=False)
            .search([("partner_id", "!=", False)])
        )
        return Domain(domain or Domain.TRUE) & Domain("id", "not in", assistants.partner_id.ids)

    @api.readonly
    @api.model
    def get_mention_suggestions_from_channel(self, channel_id, search, limit=8):
        """Assistants are offered where they answer."""
        data = super().get_mention_suggestions_from_channel(channel_id, search, limit)
        channel = self.env["discuss.channel"].search([("id", "=", channel_id)])
        root = channel.parent_channel_id or channel
        if root.woow_ai_mentions:
            for model, rows in self._assistant_suggestions(root, search, limit).items():
                data.setdefault(model, []).extend(rows)
        return data

    def _assistant_suggestions(self, channel, search, limit):
        found = [("name", "ilike", search), ("cloud_service_id", "=", False)]
        assistants = self.env["ai.assistant"].search(found, limit=limit)
        # sudo: res.partner - name and picture of assistants that the person may use
        partners = assistants.sudo().partner_id
        store = Store().add(partners, extra_fields=partners._get_store_mention_fields())
        for partner in partners:
            # the web client offers only contacts of the group that the channel is restricted to
            store.add(partner, {"group_ids": [("ADD", channel.group_public_id.ids)]})
        return store.get_result()
