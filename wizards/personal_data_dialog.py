from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import UserError

DATA = "woow_paas_platform.personal_data"


class PersonalDataDialog(models.TransientModel):
    """Export and erasure of a person's data, with a preview and a confirmation."""

    _name = "woow_paas_platform.personal_data_dialog"
    _description = "Personal Data"

    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")
    preview = fields.Html(compute="_compute_preview", sanitize=False)
    export_state = fields.Selection(
        [("queued", "In progress"), ("done", "Ready"), ("failed", "Failed")],
        "Export",
        compute="_compute_states",
    )
    is_downloadable = fields.Boolean(compute="_compute_states")
    expires_at = fields.Datetime("Available Until", compute="_compute_states")
    erasure_state = fields.Selection(
        [("queued", "In progress"), ("done", "Done"), ("failed", "Failed")],
        "Erasure",
        compute="_compute_states",
    )
    confirmation = fields.Char(
        "Login to Confirm", help="Enter the login of the person whose data you erase."
    )

    @api.model
    def _open(self, user):
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("Personal Data of %(name)s", name=user.name),
            "res_model": self._name,
            "res_id": self.create({"user_id": user.id}).id,
            "views": [(False, "form")],
            "target": "new",
        }

    def _compute_states(self):
        for dialog in self:
            export = self.env[DATA]._last("export", dialog.user_id)
            dialog.export_state = export.state
            dialog.expires_at = export.expires_at
            dialog.is_downloadable = export._is_downloadable()
            dialog.erasure_state = self.env[DATA]._last("erasure", dialog.user_id).state

    @api.depends("user_id")
    def _compute_preview(self):
        titles = {
            "cascade": self.env._("Deleted"),
            "anonymise": self.env._("Kept without the person"),
            "keep": self.env._("Kept"),
        }
        row = Markup("<tr><td>%s</td><td>%s</td><td class='text-end'>%s</td><td>%s</td></tr>")
        head = Markup("<tr><th>%s</th><th>%s</th><th class='text-end'>%s</th><th>%s</th></tr>") % (
            self.env._("What happens"),
            self.env._("Data"),
            self.env._("Rows"),
            self.env._("Why"),
        )
        table = Markup(
            "<div class='table-responsive'><table class='table table-sm'>"
            "<thead>%s</thead><tbody>%s</tbody></table></div><p>%s</p>"
        )
        stays = self.env._(
            "Records of Odoo that assistants changed for the person, and files in folders of workspaces, are "
            "business data and stay."
        )
        for dialog in self:
            dialog.preview = table % (
                head,
                Markup("").join(
                    row % (titles[one["fate"]], one["what"], one["count"], one["reason"])
                    for one in self.env[DATA]._preview(dialog.user_id)
                ),
                stays,
            )

    def action_export(self):
        self.ensure_one()
        self.env[DATA]._request("export", self.user_id)
        return self._open(self.user_id)

    def action_download(self):
        self.ensure_one()
        return {
            "type": "ir.actions.act_url",
            "url": f"/my/ai/data/file?user_id={self.user_id.id}",
            "target": "self",
        }

    def action_erase(self):
        self.ensure_one()
        if (self.confirmation or "").strip() != self.user_id.login:
            raise UserError(
                self.env._("Enter the login of the person to confirm: %s", self.user_id.login)
            )
        self.env[DATA]._request("erasure", self.user_id)
        return self._open(self.user_id)
