"""MCP servers that a conversation may use, and the files that they send into it."""

from odoo import api, models


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _mcp_servers(self):
        """The servers that the conversation uses now: what it is offered, without what its person switched off."""
        return self._narrowed(self._offered_mcp_servers(), self.sudo().woow_user_id)

    def _offered_mcp_servers(self):
        """The servers that the conversation's person may use in it now; none if the chat itself is closed to them."""
        self.ensure_one()
        # sudo: discuss.channel - the caller has found their own conversation; what its person may use now
        # is checked with that person's rights
        channel = self.sudo()
        return channel.woow_assistant_id._offered_mcp_servers(
            channel.woow_user_id, channel.woow_cloud_service_id
        )

    def _keep_files(self, files):
        """Store what a server sent beside text; who may read the conversation may read it.

        :param files: ``{"name", "mimetype", "data", "source"?}`` with base64 data; ``"values"`` are more columns
        :return: `ir.attachment` records
        """
        self.ensure_one()
        return self._create_files(files, res_model=self._name, res_id=self.id)

    @api.model
    def _create_files(self, files, **values):
        # An untrusted picture is not decoded: a few kB of PNG can stand for gigabytes. HTML and SVG are text.
        Attachment = self.env["ir.attachment"].with_context(
            image_no_postprocess=True, attachments_mime_plainxml=True
        )
        return Attachment.create(
            [
                {
                    "name": file["name"],
                    "mimetype": file["mimetype"],
                    "datas": file["data"],
                    "woow_source_server": (file.get("source") or {}).get("server"),
                    "woow_source_uri": (file.get("source") or {}).get("uri"),
                    **file.get("values", {}),
                    **values,
                }
                for file in files
            ]
        )
