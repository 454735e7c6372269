from odoo import fields, models


class IrAttachment(models.Model):
    _inherit = "ir.attachment"

    woow_source_server = fields.Char("Source MCP Server", readonly=True)
    woow_source_uri = fields.Char("Source URI", readonly=True)

    def _ai_file_data(self):
        """What the chat's API says of files; the route at `url` checks the reader."""
        # sudo: ir.attachment - names and types only, portal users have no access to the model
        return [
            {
                "id": attachment.id,
                "name": attachment.name,
                "mimetype": attachment.mimetype,
                "url": f"/api/ai/attachments/{attachment.id}",
                **attachment._ai_source(),
            }
            for attachment in self.sudo()
        ]

    def _ai_source(self):
        """Where a resource of a server came from; nothing for all other files."""
        if not self.woow_source_uri:
            return {}
        return {"source": {"server": self.woow_source_server, "uri": self.woow_source_uri}}

    def _ai_file(self):
        """The file as the engine takes it, see `services.llm.files`; the caller may read it."""
        self.ensure_one()
        return {
            "name": self.name or "",
            "mimetype": self.mimetype or "application/octet-stream",
            "data": self.raw or b"",
            **self._ai_source(),
        }
