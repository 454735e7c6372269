from odoo import api, fields, models
from odoo.exceptions import UserError

FOLDER = "woow_paas_platform.conversation_folder"
NAME_CHARS = 60
MAX_FOLDERS = 200  # of one person


class ConversationFolder(models.Model):
    """A folder for conversations: each person's own, used over routes only."""

    _name = "woow_paas_platform.conversation_folder"
    _description = "Folder of Conversations"
    _order = "name, id"

    name = fields.Char(required=True, readonly=True)
    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")

    _name_once = models.UniqueIndex("(user_id, lower(name))", "This folder already exists.")

    @api.model
    def _folders_of_caller(self):
        return self.search([("user_id", "=", self.env.uid)])

    def _own_folder(self):
        """The record when it is a folder of the caller, else an empty set."""
        # sudo: conversation_folder - decides only whether the record is the caller's own
        own = self.sudo().exists().filtered(lambda folder: folder.user_id == self.env.user)
        return own.sudo(False)

    @api.model
    def _make_folder(self, name):
        """
        :raises UserError: the name is empty or used, or the caller has as many as one person may
        """
        name = self._free_name(name)
        if self.search_count([("user_id", "=", self.env.uid)]) >= MAX_FOLDERS:
            raise UserError(
                self.env._(
                    "You have reached the limit of %(limit)s folders. Delete some first.",
                    limit=MAX_FOLDERS,
                )
            )
        # sudo: conversation_folder - people have no access to write; the caller's own
        return self.sudo().create({"name": name, "user_id": self.env.uid}).sudo(False)

    def _rename_folder(self, name):
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().name = self._free_name(name)

    def _delete_folder(self):
        """Its conversations stay, in no folder."""
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().unlink()

    def _free_name(self, name):
        name = " ".join(name.split())[:NAME_CHARS].strip()
        if not name:
            raise UserError(self.env._("Name the folder."))
        others = self._folders_of_caller() - self
        if name.lower() in {other.name.lower() for other in others}:
            raise UserError(self.env._("You already have a folder “%(name)s”.", name=name))
        return name

    def _folder_data(self):
        return {"id": self.id, "name": self.name}
