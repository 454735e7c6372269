from odoo import fields, models


class WorkspaceAccess(models.Model):
    _name = "woow_paas_platform.workspace_access"
    _description = "Workspace Member"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _rec_name = "user_id"
    _order = "workspace_id, id"

    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace", required=True, ondelete="cascade", index=True
    )
    user_id = fields.Many2one("res.users", required=True, ondelete="cascade", index=True)
    role = fields.Selection(
        [("owner", "Owner"), ("admin", "Admin"), ("user", "User"), ("guest", "Guest")],
        required=True,
        default="user",
    )

    _workspace_user_unique = models.Constraint(
        "UNIQUE (workspace_id, user_id)",
        "This person is already a member of the workspace.",
    )
