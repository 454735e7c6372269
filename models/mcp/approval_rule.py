from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Domain

from ...services.approval import conditions
from ...services.approval.approval import Rule
from ...tools import sentences

STRICTER = ("ask", "never")


class ApprovalRule(models.Model):
    """An approval rule: calls of a tool run, ask or are refused; for one assistant or all, on a condition or always."""

    _name = "woow_paas_platform.approval_rule"
    _description = "Approval Rule"
    _inherit = ["woow_paas_platform.exchange.mixin", "woow_paas_platform.audited.mixin"]
    _exchanged = ("sequence", "tool_id", "condition", "policy")
    _order = "sequence, id"
    _rec_name = "tool_id"

    sequence = fields.Integer(default=10, help="The first rule that matches applies.")
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", required=True, ondelete="cascade", index=True
    )
    assistant_id = fields.Many2one(
        "ai.assistant",
        ondelete="cascade",
        index="btree_not_null",
        help="Leave empty to apply the rule to all assistants.",
    )
    condition = fields.Char(
        help="Compares arguments of the call, for example: amount > 1000 and currency != 'TWD'. Leave "
        "empty to match every call. A call without the argument is not let through.",
    )
    policy = fields.Selection(
        [("auto", "Run"), ("ask", "Ask first"), ("never", "Never run")],
        required=True,
        default="ask",
    )

    @api.constrains("condition")
    def _check_condition(self):
        for rule in self.filtered("condition"):
            try:
                conditions.check(rule.condition)
            except conditions.ConditionError as error:
                raise ValidationError(
                    self.env._(
                        "The condition of a rule is not valid. Write a comparison of arguments, such as “amount > "
                        "1000”. %(problem)s",
                        problem=sentences.translated(self.env, str(error)),
                    )
                ) from error

    @api.model
    def _exchange_find(self, key):
        """Rules of an assistant travel with it."""
        return super()._exchange_find(key).filtered(lambda rule: not rule.assistant_id)

    @api.model
    def _blocked(self, tools, assistant):
        """The tools that the first rule blocks in each chat with this assistant, whatever the arguments."""
        rules = self.search(
            [
                ("tool_id", "in", tools.ids),
                ("assistant_id", "in", (False, assistant.id)),
                ("policy", "=", "never"),
                ("condition", "in", (False, "")),
            ]
        )
        return rules.tool_id.filtered(
            lambda tool: self._rules_of(tool, assistant)[0] == Rule("never")
        )

    @api.model
    def _rules_of(self, tool, assistant):
        """The rules that may apply, those of the assistant first."""
        return [
            Rule(rule.policy, rule.condition or "") for rule in self._records_of(tool, assistant)
        ]

    @api.model
    def _records_of(self, tool, assistant):
        rules = self.search(
            [("tool_id", "=", tool.id), ("assistant_id", "in", (False, assistant.id))]
        )
        return rules.sorted(lambda rule: not rule.assistant_id)


class PersonRule(models.Model):
    """A tool rule for users: their calls of one tool, or of all tools of a server, run, ask or are refused.

    Administrators make them for anybody. A person makes own ones, which only restrict.
    """

    _name = "woow_paas_platform.person_rule"
    _description = "Tool Rule for Users"
    _inherit = ["woow_paas_platform.readonly.mixin", "woow_paas_platform.audited.mixin"]
    _order = "server_id, tool_id, id"
    _rec_name = "server_id"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server",
        required=True,
        ondelete="cascade",
        index=True,
        context={"active_test": False},
    )
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool",
        ondelete="cascade",
        index="btree_not_null",
        domain="[('server_id', '=', server_id)]",
        context={"active_test": False},
        help="Leave empty to apply the rule to all tools of the server.",
    )
    user_ids = fields.Many2many(
        "res.users", "woow_paas_platform_person_rule_user_rel", string="Users"
    )
    group_ids = fields.Many2many(
        "res.groups", "woow_paas_platform_person_rule_group_rel", string="Groups"
    )
    policy = fields.Selection(
        [("auto", "Run"), ("ask", "Always ask"), ("never", "Never run")],
        required=True,
        default="ask",
        help="The strictest of all rules applies. “Run” decides only where nothing else does.",
    )
    owner_id = fields.Many2one(
        "res.users",
        "Set by the User",
        readonly=True,
        ondelete="cascade",
        index="btree_not_null",
        help="The user who restricts their own calls with this rule.",
    )

    _own_once = models.UniqueIndex(
        "(owner_id, server_id, COALESCE(tool_id, 0)) WHERE owner_id IS NOT NULL",
        "A user can set only one rule for the same tool or server.",
    )

    @api.constrains("server_id", "tool_id", "user_ids", "group_ids", "policy", "owner_id")
    def _check_rule(self):
        for rule in self:
            if not rule.user_ids and not rule.group_ids:
                raise ValidationError(self.env._("Choose the users or groups this rule is for."))
            if rule.tool_id and rule.tool_id.server_id != rule.server_id:
                raise ValidationError(self.env._("The tool of a rule must belong to its server."))
            if rule.owner_id and (
                rule.policy not in STRICTER or rule.user_ids != rule.owner_id or rule.group_ids
            ):
                raise ValidationError(
                    self.env._("Users can only restrict their own calls. Add a rule instead.")
                )

    @api.model
    def _policies(self, tool, user):
        """Policies of the rules that apply to a person's call of a tool."""
        return self._rules_for(tool, user).mapped("policy")

    @api.model
    def _blocked(self, tools, user):
        """Tools among these whose calls by this person never run."""
        rules = self._rules_for(tools, user).filtered(lambda rule: rule.policy == "never")
        servers = rules.filtered(lambda rule: not rule.tool_id).server_id
        return tools.filtered(lambda tool: tool in rules.tool_id or tool.server_id in servers)

    @api.model
    def _rules_for(self, tools, user):
        # sudo: person_rule - rules that people do not see, read to decide
        rules = self.sudo()
        about = Domain("server_id", "in", tools.server_id.ids)
        about &= Domain("tool_id", "in", [False, *tools.ids])
        # Mostly there is none, and the groups take longer to read.
        if not rules.search_count(about, limit=1):
            return rules
        groups = user.sudo().all_group_ids.ids  # Odoo's cache of them misses a new group with users
        of_user = Domain("user_ids", "in", user.ids) | Domain("group_ids", "in", groups)
        return rules.search(about & of_user, order="id")

    @api.model
    def _own(self, servers=None, tools=None):
        """The current user's own policies: ``{server or tool id: policy}``."""
        domain = Domain("owner_id", "=", self.env.uid)
        if tools is None:
            domain &= Domain("tool_id", "=", False) & Domain("server_id", "in", servers.ids)
        else:
            domain &= Domain("tool_id", "in", tools.ids)
        # sudo: person_rule - the caller's own
        rules = self.sudo().search(domain)
        return {
            (rule.server_id if tools is None else rule.tool_id).id: rule.policy for rule in rules
        }

    @api.model
    def _set_own(self, server, tool, policy):
        """Restrict the current user's own calls; ``default`` lifts it.

        :param tool: empty for all tools of the server
        """
        # sudo: person_rule - people have no access to write; the caller's own, checked by `_check_rule`
        own = self.sudo()
        tool_id = tool.id if tool else False
        rule = own.search(
            [
                ("owner_id", "=", self.env.uid),
                ("server_id", "=", server.id),
                ("tool_id", "=", tool_id),
            ]
        )
        if policy == "default":
            rule.unlink()
        elif rule:
            rule.policy = policy
        else:
            own.create(
                {
                    "server_id": server.id,
                    "tool_id": tool_id,
                    "user_ids": [self.env.uid],
                    "owner_id": self.env.uid,
                    "policy": policy,
                }
            )
