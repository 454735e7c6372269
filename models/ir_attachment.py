from odoo import models


class IrAttachment(models.Model):
    _inherit = "ir.attachment"

    def _ai_file_data(self):
        """What the chat's API says of files; the route at `url` checks the reader."""
        # sudo: ir.attachment - names and types only, portal users have no access to the model
        return [
            {
                "id": attachment.id,
                "name": attachment.name,
                "mimetype": attachment.mimetype,
                "url": f"/api/ai/attachments/{attachment.id}",
            }
            for attachment in self.sudo()
        ]

    def _ai_file(self):
        """The file as the engine takes it, see `services.files`; the caller may read it."""
        self.ensure_one()
        return {
            "name": self.name or "",
            "mimetype": self.mimetype or "application/octet-stream",
            "data": self.raw or b"",
        }
