import json

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessError

from ..services.approval import approval, explanation
from ..tools import sentences


class CallPreview(models.TransientModel):
    """Call preview: the checks that a call would meet now, without making it."""

    _name = "woow_paas_platform.call_preview"
    _description = "Call Preview"

    tool_id = fields.Many2one("woow_paas_platform.mcp_tool", required=True, ondelete="cascade")
    user_id = fields.Many2one(
        "res.users", required=True, default=lambda self: self.env.user, ondelete="cascade"
    )
    assistant_id = fields.Many2one(
        "ai.assistant",
        ondelete="cascade",
        help="Leave empty to see what holds for every assistant.",
    )
    arguments = fields.Text(default="{}", help="JSON object, for rules with a condition.")
    is_tainted = fields.Boolean(
        "After Untrusted Content",
        help="As if the assistant had read text that strangers may have written.",
    )
    problem = fields.Char(compute="_compute_result")
    result = fields.Html(compute="_compute_result", sanitize=False)

    @api.model
    def _open(self, **values):
        """Action of a dialog with these values."""
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("What Would Happen"),
            "res_model": self._name,
            "view_mode": "form",
            "target": "new",
            "context": {f"default_{name}": value for name, value in values.items()},
        }

    @api.depends("tool_id", "user_id", "assistant_id", "arguments", "is_tainted")
    def _compute_result(self):
        for preview in self:
            arguments = preview._read_arguments()
            preview.problem = (
                self.env._("The arguments are not a JSON object.") if arguments is None else False
            )
            preview.result = preview._steps(arguments or {}) if preview.tool_id else False

    def _read_arguments(self):
        """:return: the arguments, None if they cannot be read"""
        try:
            arguments = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return arguments if isinstance(arguments, dict) else None

    def _steps(self, arguments):
        tool, user = self.tool_id, self.user_id
        trace = [("offered", "yes" if self._is_offered() else "no")]
        trace.append(("switches", "off" if tool._switch_refusal() else "on"))
        seen = approval.Taint(is_foreign=self.is_tainted, is_exempt=tool.is_exempt)
        decision = tool._decision(arguments, self.assistant_id, user, taint=seen)
        trace += decision.trace
        if decision.policy == "ask":
            is_granted = decision.grantable and tool._is_allowed_for_good(user)
            trace.append(("grant", "yes" if is_granted else "no"))
        item = Markup("<li>%s <strong>%s</strong></li>")
        return Markup("<ol>%s</ol>") % Markup("").join(
            item % (self._said(explanation.TITLES[check]), self._said(words))
            for check, answer in trace
            for words in (explanation.ANSWERS[f"{check}.{answer}"],)
        )

    def _is_offered(self):
        tool, assistant = self.tool_id, self.assistant_id
        if assistant and not tool._offered_by(assistant):
            return False
        try:
            return bool(self.user_id) and tool._is_offered_to(self.user_id)
        except AccessError:  # a user without any access to assistants
            return False

    def _said(self, sentence):
        return sentences.translated(self.env, sentence)
