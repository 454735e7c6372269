"""Resources of MCP servers that a person attaches to a question, as the files that they hold."""

import base64
from urllib.parse import unquote

from odoo import models

from ...services.llm import files
from ...tools.refusals import BadInput, NotThere, Refusal


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _attach_resource(self, source, name, contents):
        """Keep what a server sent for a resource, for a message that the caller is about to send.

        :param source: ``{"server", "uri"}`` as the person chose it
        :param name: what the server calls it
        :param contents: `services.mcp.features.prompts_resources.ResourceContent`
        :return: ``{"attachments", "left_out"}``: how many parts are neither picture nor text, or too many
        :raises Refusal: nothing of it can be attached; it says why
        """
        channel = self._own_conversation()
        if not channel:
            raise NotThere(self.env._("This conversation does not exist."))
        attached, refusal = self.env["ir.attachment"], None
        for content in contents[: files.MAX_FILES]:
            uri = content.uri or source["uri"]
            try:
                attached += channel._attach_content(
                    _file_name(uri, name), _data_of(content), {**source, "uri": uri}
                )
            except Refusal as error:
                refusal = error
        if not attached:
            raise refusal or BadInput(self.env._("The file is empty."), "empty_file")
        return {
            "attachments": attached._ai_file_data(),
            "left_out": len(contents) - len(attached),
        }


def _data_of(content):
    if content.files:
        return base64.b64decode(content.files[0]["data"])
    return content.text.encode()


def _file_name(uri, name):
    """The end of an address that looks like a file, else the resource's own name."""
    last = unquote(uri.rsplit("/", 1)[-1])
    return last if "." in last or not name else name
