from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services.approval import conditions
from ...services.approval.approval import Rule
from ...tools import sentences


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
