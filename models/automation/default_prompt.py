from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ..turn.ai_turn import PROMPT_CHARS
from .ir_actions_server import check_placeholders, filled

MAX_BUTTONS = 12  # in one chat


class DefaultPrompt(models.Model):
    """Default prompt: a button of the empty chat about a record of its model, which fills the message input."""

    _name = "woow_paas_platform.default_prompt"
    _description = "Default Prompt"
    _order = "sequence, id"

    name = fields.Char("Button", required=True, translate=True)
    prompt_text = fields.Text(
        "Message",
        required=True,
        translate=True,
        help="Put into the message input, to be edited and sent. {{ object.field }} stands for a value of the record, "
        "for example {{ object.partner_id.name }}; values are quoted, as data.",
    )
    sequence = fields.Integer(default=10)
    active = fields.Boolean(default=True)
    model_id = fields.Many2one("ir.model", required=True, ondelete="cascade", index=True)
    model = fields.Char(related="model_id.model", store=True, index=True, string="Model Name")
    assistant_id = fields.Many2one(
        "ai.assistant",
        ondelete="cascade",
        index="btree_not_null",
        help="Leave empty to offer the prompt with every assistant.",
    )
    group_ids = fields.Many2many(
        "res.groups",
        "woow_paas_platform_default_prompt_group_rel",
        string="Available To",
        help="Leave empty to offer the prompt to all internal users.",
    )

    @api.constrains("prompt_text", "model_id")
    def _check_prompt_text(self):
        for prompt in self:
            if len(prompt.prompt_text) > PROMPT_CHARS // 2:
                raise ValidationError(
                    self.env._(
                        "The prompt can have at most %(limit)s characters.",
                        limit=PROMPT_CHARS // 2,
                    )
                )
            check_placeholders(self.env[prompt.model_id.model], prompt.prompt_text)

    @api.model
    def _offered(self, assistant, model):
        """Prompts that the caller is offered in a chat with an assistant about a record of a model."""
        if not self.has_access("read"):
            return self.browse()
        return self.search(
            [("model", "=", model), ("assistant_id", "in", (False, assistant.id))],
            limit=MAX_BUTTONS,
        )

    def _filled(self, record):
        """Text with the values of a record that the caller may read.

        :return: the text, and those of the values that other people may have written
        """
        self.ensure_one()
        content, foreign = filled(record, self.prompt_text, record)
        return content[:PROMPT_CHARS], foreign
