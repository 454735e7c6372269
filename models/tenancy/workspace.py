import secrets

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError
from odoo.tools import email_normalize

MANAGING = ("owner", "admin")  # roles of who manages what the workspace's services have
MAX_ADDRESS = 254  # characters of an email address, RFC 5321


class Workspace(models.Model):
    """A tenant. Its people hold a role in it."""

    _name = "woow_paas_platform.workspace"
    _description = "Workspace"
    _inherit = ["woow_paas_platform.readonly.mixin", "woow_paas_platform.audited.mixin"]
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

    def unlink(self):
        # sudo: cloud_service - they go with their workspace, by the ORM for the sake of what they take along
        self.sudo().with_context(active_test=False).service_ids.unlink()
        return super().unlink()

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

    def _managers(self):
        """The people who manage what its services have."""
        # sudo: workspace_access - who they are, read to decide
        return self.sudo().access_ids.filtered(lambda a: a.role in MANAGING).user_id

    # ------------------------------------------------------------ members, as the owner changes them in the portal

    def _is_owned(self):
        """True if the caller is the owner."""
        return self._role_of(self.env.user) == "owner"

    def _add_member(self, address):
        """Let a user of the owner's company in; no account is made.

        Nothing tells whether somebody elsewhere has this address.

        :raises AccessError: the caller is not the owner
        :raises UserError: nobody of the company has this address, or its user is a member already
        """
        self._check_owned()
        person = self._colleague(address)
        if not person:
            raise UserError(self.env._("No user of your company has this email address."))
        if self._role_of(person):
            raise UserError(self.env._("%(person)s is already a member.", person=person.name))
        self._let_in(person)

    def _let_in(self, person):
        # In SQL, because somebody may add the same person now: the loser is repeated and meets a member.
        self.env.cr.execute(
            """
            INSERT INTO woow_paas_platform_workspace_access
                        (workspace_id, user_id, role, create_uid, create_date, write_uid, write_date)
                 VALUES (%(workspace)s, %(person)s, 'user', %(by)s, %(now)s, %(by)s, %(now)s)
            ON CONFLICT DO NOTHING
              RETURNING id
            """,
            {
                "workspace": self.id,
                "person": person.id,
                "by": self.env.uid,
                "now": self.env.cr.now(),
            },
            log_exceptions=False,
        )
        if added := self.env.cr.fetchone():
            Access = self.env["woow_paas_platform.workspace_access"]
            Access.browse(added[0])._record_act("created", of=person)
        self.invalidate_recordset(["access_ids"])

    def _remove_member(self, access_id):
        """
        :raises AccessError: the caller is not the owner
        :raises UserError: it is the owner who would be removed
        """
        self._check_owned()
        # sudo: workspace_access - of a workspace that the caller owns
        member = self.sudo().access_ids.filtered(lambda access: access.id == access_id)
        if member.role == "owner":
            raise UserError(self.env._("The owner cannot be removed."))
        member.unlink()

    def _check_owned(self):
        if not self._is_owned():
            raise AccessError(self.env._("Only the owner of a workspace can change its members."))

    def _colleague(self, address):
        """The one user of the caller's company with this address."""
        address = email_normalize((address or "")[: MAX_ADDRESS + 1])
        company = self.env.user.commercial_partner_id
        own = [("commercial_partner_id", "=", company.id)]
        return self.env["res.users"]._woow_of_address(address, own)


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
