import re

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError
from odoo.fields import Domain

from ...services.records import placeholders
from ..turn.ai_turn import PROMPT_CHARS

SAVED_PROMPT = "woow_paas_platform.saved_prompt"
NAME = re.compile(r"\w[\w.-]{0,39}")  # what can be typed after a slash
TAKEN = ("clear", "compact", "help", "mcp")  # commands of the chat
MAX_CHARS = PROMPT_CHARS // 2  # leaves room for what is filled in
MAX_FIELDS = 20  # of one prompt
FIELD_CHARS = 4_000  # of what is filled into one
MAX_PROMPTS = 100  # of one person, or of one workspace


class SavedPrompt(models.Model):
    """Saved prompt: a person's own or a workspace's, typed as `/name` in a chat; used over routes only.

    Not a `default_prompt`: that one is an administrator's, for records of a model, whose values it is filled with.
    """

    _name = "woow_paas_platform.saved_prompt"
    _description = "Saved Prompt"
    _order = "name, id"

    name = fields.Char(required=True, readonly=True)
    content = fields.Text(required=True, readonly=True)
    has_foreign_words = fields.Boolean(
        readonly=True, help="The text holds a quote or a prompt of an MCP server."
    )
    user_id = fields.Many2one("res.users", readonly=True, ondelete="cascade")
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace", readonly=True, ondelete="cascade"
    )

    _one_owner = models.Constraint(
        "CHECK ((user_id IS NULL) != (workspace_id IS NULL))",
        "A prompt belongs to a user or to a workspace.",
    )
    _name_once = models.UniqueIndex(
        "(user_id, lower(name)) WHERE user_id IS NOT NULL", "This prompt already exists."
    )
    _name_once_in_workspace = models.UniqueIndex(
        "(workspace_id, lower(name)) WHERE workspace_id IS NOT NULL", "This prompt already exists."
    )

    @api.model
    def _prompts_of_caller(self):
        """The caller's own, then those of the caller's workspaces."""
        of_workspaces = [
            ("workspace_id.access_ids.user_id", "=", self.env.uid),
            ("workspace_id.active", "=", True),
        ]
        found = self.search(Domain("user_id", "=", self.env.uid) | Domain(of_workspaces))
        return found.sorted(lambda prompt: bool(prompt.workspace_id))

    def _prompt_of_caller(self):
        """The record when the caller may use it, else an empty set."""
        return self & self._prompts_of_caller()

    @api.model
    def _managed_workspaces(self):
        """Workspaces whose prompts the caller writes."""
        own = [("access_ids.user_id", "=", self.env.uid)]
        workspaces = self.env["woow_paas_platform.workspace"].search(own)
        return workspaces.filtered(lambda workspace: self.env.user in workspace._managers())

    @api.model
    def _make_prompt(self, name, content, workspace):
        """
        :param workspace: that it belongs to; empty: it is the caller's own
        :raises AccessError: the caller does not manage the workspace
        :raises UserError: see `_checked`, or there are as many as one owner may have
        """
        self._check_manages(workspace)
        self.env.user._woow_one_at_a_time()
        values = self._checked(name, content, workspace)
        if len(self._prompts_of(workspace)) >= MAX_PROMPTS:
            raise UserError(
                self.env._(
                    "You have reached the limit of %(limit)s prompts. Delete some first.",
                    limit=MAX_PROMPTS,
                )
            )
        owner = {"workspace_id": workspace.id} if workspace else {"user_id": self.env.uid}
        # sudo: saved_prompt - people have no access to write; the caller's own, or of a workspace that they manage
        return self.sudo().create({**values, **owner}).sudo(False)

    def _change_prompt(self, name, content):
        """See `_make_prompt`."""
        self._check_manages(self.workspace_id)
        # sudo: saved_prompt - see `_make_prompt`
        self.sudo().write(self._checked(name, content, self.workspace_id))

    def _delete_prompt(self):
        self._check_manages(self.workspace_id)
        # sudo: saved_prompt - see `_make_prompt`
        self.sudo().unlink()

    def _check_manages(self, workspace):
        if workspace and self.env.user not in workspace._managers():
            raise AccessError(
                self.env._("Only owners and admins of a workspace can change its prompts.")
            )

    def _prompts_of(self, workspace):
        if workspace:
            return self.search([("workspace_id", "=", workspace.id)])
        return self.search([("user_id", "=", self.env.uid)])

    def _checked(self, name, content, workspace):
        """:raises UserError: the name cannot be typed or is used, or the text is empty or too long"""
        _ = self.env._
        name, content = name.strip().removeprefix("/"), content.strip()
        if not NAME.fullmatch(name):
            raise UserError(
                _("A name has up to 40 letters, digits, dots, hyphens and underscores, no blanks.")
            )
        others = self._prompts_of(workspace) - self
        if name.lower() in {*TAKEN, *(other.name.lower() for other in others)}:
            raise UserError(_("There is already a command “/%(name)s”.", name=name))
        if not content:
            raise UserError(_("Write the text of the prompt."))
        if len(content) > MAX_CHARS:
            raise UserError(_("The prompt can have at most %(limit)s characters.", limit=MAX_CHARS))
        if len(placeholders.fields_of(content)) > MAX_FIELDS:
            raise UserError(_("The prompt can have at most %(limit)s fields.", limit=MAX_FIELDS))
        delivered = self.env["woow_paas_platform.delivered_prompt"]
        former = self.content if self.has_foreign_words else ""
        is_foreign = delivered._is_foreign(content, former)
        return {"name": name, "content": content, "has_foreign_words": is_foreign}

    def _fill(self, values):
        """Text to read and send; that of a workspace stays the words of others, whoever wrote it last.

        :param values: ``{field: words}``
        :raises UserError: one of them is too long
        """
        self.ensure_one()
        if any(len(words) > FIELD_CHARS for words in values.values()):
            raise UserError(
                self.env._("A field can have at most %(limit)s characters.", limit=FIELD_CHARS)
            )
        filled = placeholders.fill_fields(self.content, values, PROMPT_CHARS)
        if self.workspace_id or self.has_foreign_words:
            # sudo: workspace - the name of the caller's own
            label = self.workspace_id.sudo().name or self.name
            delivered = self.env["woow_paas_platform.delivered_prompt"]
            delivered._keep(self.env.uid, label, [filled, self.content])
        return filled

    def _prompt_data(self):
        # sudo: workspace - the name of the caller's own
        workspace = self.workspace_id.sudo()
        return {
            "id": self.id,
            "name": self.name,
            "content": self.content,
            "fields": placeholders.fields_of(self.content),
            "workspace": {"id": workspace.id, "name": workspace.name} if workspace else None,
            "can_edit": not workspace or self.env.user in workspace._managers(),
        }
