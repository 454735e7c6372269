from odoo import Command, api, fields, models
from odoo.exceptions import UserError, ValidationError


class ServiceLink(models.Model):
    """Ties any record, such as a task, to a cloud service: its chats use the service's tools."""

    _name = "woow_paas_platform.service_link"
    _description = "Cloud Service Link"
    _order = "cloud_service_id, id"
    _rec_name = "record"

    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", required=True, ondelete="cascade", index=True
    )
    record = fields.Reference(selection="_selection_record", required=True)

    _record_unique = models.UniqueIndex(
        "(record)", "This record is already linked to a cloud service."
    )

    @api.model
    def _selection_record(self):
        # sudo: ir.model - names of models; the record itself is chosen with the person's own rights
        found = (
            self.env["ir.model"]
            .sudo()
            .search([("transient", "=", False), ("abstract", "=", False)], order="name")
        )
        return [(model.model, model.name) for model in found if model.model in self.env]

    @api.constrains("record")
    def _check_record(self):
        for link in self:
            if not link.record or not link.record.exists():
                raise ValidationError(self.env._("The linked record does not exist."))

    @api.model_create_multi
    def create(self, vals_list):
        links = super().create(vals_list)
        links._check_record_access()
        links._offer_chat()
        return links

    def write(self, vals):
        result = super().write(vals)
        if "cloud_service_id" in vals:
            self.check_access("write")  # who moves a link must manage the service it goes to
        if "record" in vals:
            self._check_record_access()
            self._offer_chat()
        return result

    def _check_record_access(self):
        for link in self:
            link.record.check_access("read")

    def _offer_chat(self):
        """The action menu of the linked records' models offers the chat; made once for each model."""
        self._offer_chat_on({link.record._name for link in self})

    @api.model
    def _offer_chat_on(self, models_):
        """:param models_: names of models"""
        # sudo: ir.model, ir.actions.server - a fixed action of ours, which checks access when it is run
        Action = self.env["ir.actions.server"].sudo()
        for name in models_:
            model = self.env["ir.model"].sudo()._get(name)
            if not Action.search_count(
                [("binding_model_id", "=", model.id), ("woow_ai_chat", "=", True)], limit=1
            ):
                Action.create(
                    {
                        "name": "Chat with an Assistant",
                        "model_id": model.id,
                        "binding_model_id": model.id,
                        "binding_view_types": "form",
                        # readers of a record may chat about it, so not "who may write it"
                        "group_ids": [Command.link(self.env.ref("base.group_user").id)],
                        "state": "code",
                        "code": "action = env['woow_paas_platform.service_link']"
                        ".action_chat_about(record._name, record.id)",
                        "woow_ai_chat": True,
                    }
                )

    @api.model
    def action_chat_about(self, model, record_id):
        """Open a chat about a record: with its actions, and with the cloud service that it is linked to."""
        record = self.env[model].browse(record_id)
        record.check_access("read")
        link = self.search([("record", "=", f"{model},{record_id}")])
        about = {"res_model": model, "res_id": record_id, "res_name": record.display_name}
        if link:
            action = link.cloud_service_id.action_chat()
            return {**action, "params": {**action["params"], **about}}
        if self._has_actions(record):
            # sudo: ir.actions.client - the chat, which every internal user may open
            Actions = self.env["ir.actions.actions"].sudo()
            return {**Actions._for_xml_id("woow_paas_platform.ai_chat_action"), "params": about}
        raise UserError(
            self.env._(
                "“%(record)s” has no actions for an assistant and is not linked to a cloud service.",
                record=record.display_name,
            )
        )

    def _has_actions(self, record):
        """True if a chat can do something about a record that is linked to no service."""
        return bool(self.env["woow_paas_platform.action_type"]._for_record(record))

    @api.autovacuum
    def _gc_dangling(self):
        """A link goes with its record."""
        last = 0
        while links := self.search([("id", ">", last)], order="id", limit=1000):
            last = links[-1].id
            links.filtered(lambda link: not link.record or not link.record.exists()).unlink()


class IrActionsServer(models.Model):
    _inherit = "ir.actions.server"

    woow_ai_chat = fields.Boolean(
        readonly=True, help="Created for models whose records are linked to a cloud service."
    )
