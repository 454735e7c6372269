from odoo import api, fields, models

TOOL = "woow_paas_platform.mcp_tool"


class DefinitionReview(models.TransientModel):
    """Definition that waits for a decision, as a person saw it: the decision counts for that, and for nothing newer.

    Rows are made by Odoo only; people read and use their own.
    """

    _name = "woow_paas_platform.definition_review"
    _description = "Tool Definition Review"

    seen = fields.Json(
        required=True, readonly=True, help="Hash of the displayed definition by tool ID."
    )
    content = fields.Html("Definitions", readonly=True, sanitize=False)
    has_warnings = fields.Boolean(
        readonly=True, help="Something was found in a definition, so refusing is the first choice."
    )
    is_outdated = fields.Boolean(
        readonly=True, help="A newer definition has arrived during the review."
    )

    @api.model
    def _open(self, tools, is_outdated=False):
        """
        :return: the action that shows what waits, and closes the dialog where nothing does
        :raises AccessError: the caller does not manage one of the servers
        """
        tools.check_access("write")
        waiting = tools.filtered("review_hash")
        if not waiting:
            return {"type": "ir.actions.act_window_close"}
        content = self.env["ir.qweb"]._render(
            "woow_paas_platform.definition_review_content", {"tools": waiting}
        )
        # sudo: definition_review - nobody else makes rows; the caller may write the tools
        review = self.sudo().create(
            {
                "seen": {str(tool.id): tool.review_hash for tool in waiting},
                "content": content,
                "has_warnings": any(waiting.mapped("warnings")),
                "is_outdated": is_outdated,
            }
        )
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("Review"),
            "res_model": self._name,
            "res_id": review.id,
            "views": [(False, "form")],
            "target": "new",
        }

    def action_accept(self):
        return self._decide("accepted")

    def action_refuse(self):
        return self._decide("refused")

    def _decide(self, decision):
        """:return: the action that shows what is another by now, if anything is"""
        self.ensure_one()
        tools = self.env[TOOL].browse(map(int, self.seen)).exists()
        outdated = tools.filtered(
            lambda tool: not tool._decide_definition(decision, self.seen[str(tool.id)])
        )
        return self._open(outdated, is_outdated=True)
