from odoo import api, fields, models

from ...tools.moments import utc


class ToolGrant(models.Model):
    """A permission: a person's “always” for one tool, until it is revoked or the tool changes.

    Of changes of Odoo's own records it is for one tool on one model.
    """

    _name = "woow_paas_platform.tool_grant"
    _description = "Tool Permission"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _audited_acts = {"create": "permission_given", "unlink": "permission_revoked"}
    _order = "id desc"

    name = fields.Char(required=True, readonly=True)
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", readonly=True, ondelete="cascade", index=True
    )
    records = fields.Char(
        "Odoo Records",
        readonly=True,
        help="Tool and model, and the action where it runs one, such as “create_record crm.lead”.",
    )
    scope = fields.Selection(
        [("conversation", "In one conversation"), ("always", "Always")],
        required=True,
        readonly=True,
    )
    channel_id = fields.Many2one(
        "discuss.channel",
        "Conversation",
        readonly=True,
        ondelete="cascade",
        index="btree_not_null",
    )
    definition = fields.Char(
        required=True, readonly=True, help="Hash of the definition that the user agreed to."
    )

    _scope_channel = models.Constraint(
        "CHECK ((scope = 'conversation') = (channel_id IS NOT NULL))",
        "A permission for one conversation must specify that conversation.",
    )
    _tool_or_records = models.Constraint(
        "CHECK ((tool_id IS NULL) <> (records IS NULL))",
        "A permission is for a tool or for a change of records.",
    )
    _unique = models.UniqueIndex(
        "(user_id, tool_id, COALESCE(channel_id, 0))", "This tool is already allowed."
    )
    _records_unique = models.UniqueIndex(
        "(user_id, records, COALESCE(channel_id, 0))", "This change is already allowed."
    )

    def _audit_codes(self):
        subject = {"tool": self.tool_id} if self.tool_id else {"records": self.records}
        return {**subject, "scope": self.scope, "of": self.user_id}

    @api.model
    def _grants_of(self, turn, subject):
        return self.search(
            [
                ("user_id", "=", turn.user_id.id),
                ("channel_id", "in", (False, turn.channel_id.id)),
                *((name, "=", value) for name, value in subject.items()),
            ]
        )

    @api.model
    def _is_granted(self, turn, tool):
        subject, now = tool._grant_subject()
        return any(
            grant.definition == now["definition"] for grant in self._grants_of(turn, subject)
        )

    @api.model
    def _is_always_granted(self, user, tool):
        """True if the person has allowed the tool in all conversations, as it is now."""
        # sudo: tool_grant - the person's own
        return bool(
            self.sudo().search_count(
                [
                    ("user_id", "=", user.id),
                    ("tool_id", "=", tool.id),
                    ("scope", "=", "always"),
                    ("definition", "=", tool._pinned()),
                ]
            )
        )

    @api.model
    def _grant(self, turn, tool, scope):
        """Remember the decision of the turn's user."""
        channel = turn.channel_id if scope == "conversation" else turn.channel_id.browse()
        subject, now = tool._grant_subject()
        grant = self._grants_of(turn, subject).filtered(lambda known: known.channel_id == channel)
        if grant:
            grant.definition = now["definition"]
            grant._record_act("permission_given", **grant._audit_codes())
            return grant
        return self.create(
            {
                **subject,
                **now,
                "user_id": turn.user_id.id,
                "scope": scope,
                "channel_id": channel.id,
            }
        )

    def _grant_data(self):
        return [
            {
                "id": grant.id,
                "tool": grant.name,
                "scope": grant.scope,
                # sudo: discuss.channel - the name of the person's own conversation
                "conversation": {
                    "id": grant.channel_id.id,
                    "name": grant.sudo().channel_id.name,
                }
                if grant.channel_id
                else None,
                "granted_at": utc(grant.write_date),
            }
            for grant in self
        ]
