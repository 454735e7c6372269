from odoo import api, fields, models

from ...services import text
from ...services.const import STARTERS


class AiAssistant(models.Model):
    """Image, greeting and suggested questions of an assistant, shown where a chat begins."""

    _inherit = "ai.assistant"

    image = fields.Image(max_width=256, max_height=256)
    greeting = fields.Char(
        translate=True, help="Heading of a new chat. Without one it is “How can I help you?”."
    )
    starters = fields.Text(
        "Suggested Questions",
        translate=True,
        help="One per line, shown in a new chat. Without any, some are made from the tools.",
    )

    @api.model_create_multi
    def create(self, vals_list):
        assistants = super().create(vals_list)
        assistants.filtered("image")._show_face()
        return assistants

    def write(self, vals):
        result = super().write(vals)
        if "image" in vals:
            self._show_face()
        return result

    def _show_face(self):
        """Discuss shows the same one."""
        # sudo: res.partner - the assistant's own contact
        for assistant in self.sudo():
            assistant.partner_id.image_1920 = assistant.image

    def action_suggest_starters(self):
        """Write questions made from the tools into the form, to be changed there."""
        for assistant in self:
            assistant.starters = "\n".join(assistant._proposed_starters())

    def _proposed_starters(self):
        """Questions that a person may begin with, made from what the assistant can do."""
        self.ensure_one()
        return [self.env._("What can you help me with?"), *self._proposed_uses()][:STARTERS]

    def _proposed_uses(self):
        """Of what the assistant works with; one click sends each of them."""
        # sudo: ai.assistant - names of tools that the person may have called anyway
        tools = self.sudo()._system_tools()._harmless()
        nth = {  # each server has its say before one has it twice
            tool: number
            for _server, of_server in tools.grouped("server_id").items()
            for number, tool in enumerate(of_server.sorted("name"))
        }
        tools = tools.sorted(lambda tool: (nth[tool], tool.server_id.name))
        names = [tool.title or tool.name.replace("_", " ") for tool in tools]
        return [self.env._("Show me an example of “%(tool)s”.", tool=name[:100]) for name in names]

    def _image_url(self):
        self.ensure_one()
        # sudo: ai.assistant - whether there is one
        assistant = self.sudo().with_context(bin_size=True)
        if not assistant.image:
            return None
        version = int(assistant.write_date.timestamp())
        return f"/web/image/ai.assistant/{self.id}/image?unique={version}"

    def _api_face(self):
        return {
            "image_url": self._image_url(),
            "greeting": self.greeting or "",
            "starters": text.starters(self.starters) or self._proposed_starters(),
        }
