import secrets

from odoo import api, fields, models


class Workspace(models.Model):
    """A tenant. Its people hold a role in it."""

    _name = "woow_paas_platform.workspace"
    _description = "Workspace"
    _inherit = ["woow_paas_platform.readonly.mixin"]
    _order = "name, id"

    name = fields.Char(required=True)
    active = fields.Boolean(default=True)
    owner_id = fields.Many2one(
        "res.users",
        required=True,
        default=lambda self: self.env.user,
        ondelete="restrict",
        index=True,
    )
    access_ids = fields.One2many("woow_paas_platform.workspace_access", "workspace_id", "Members")
    service_ids = fields.One2many("woow_paas_platform.cloud_service", "workspace_id", "Services")
    folder = fields.Char(
        default=lambda self: secrets.token_hex(8),
        required=True,
        readonly=True,
        copy=False,
        help="Folder of this workspace below the workspace_root of the operator's file.",
    )

    _folder_unique = models.UniqueIndex("(folder)", "Another workspace already has this folder.")

    def _init_column(self, column_name):
        """Workspaces that are there already get a folder each, not one for all."""
        if column_name != "folder":
            return super()._init_column(column_name)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_workspace"
            " SET folder = left(replace(gen_random_uuid()::text, '-', ''), 16) WHERE folder IS NULL"
        )
        return None

    @api.model_create_multi
    def create(self, vals_list):
        workspaces = super().create(vals_list)
        workspaces._grant_owner()
        return workspaces

    def write(self, vals):
        result = super().write(vals)
        if "owner_id" in vals:
            self._grant_owner()
        return result

    def _grant_owner(self):
        """The owner always holds the role of owner; a former one stays as an admin."""
        for workspace in self:
            # sudo: workspace_access - follows owner_id, which the caller was allowed to write
            access = workspace.sudo().access_ids
            former = access.filtered(
                lambda a, w=workspace: a.role == "owner" and a.user_id != w.owner_id
            )
            former.role = "admin"
            own = access.filtered(lambda a, w=workspace: a.user_id == w.owner_id)
            if own:
                own.role = "owner"
            else:
                access.create(
                    {
                        "workspace_id": workspace.id,
                        "user_id": workspace.owner_id.id,
                        "role": "owner",
                    }
                )

    def _role_of(self, user):
        """:return: ``"owner"``, ``"admin"``, ``"user"``, ``"guest"`` or ``False``"""
        self.ensure_one()
        # sudo: workspace_access - answers for one user only
        return self.sudo().access_ids.filtered(lambda a: a.user_id == user).role
