from odoo import models
from odoo.exceptions import UserError

from ...services.catalog import template_file
from ...services.errors import ConfigError
from ...tools import sentences

TEMPLATE = "woow_paas_platform.mcp_template"


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    def action_save_as_template(self):
        """Make a template of a server that works, and show it. Of its secrets it only asks.

        :raises UserError: no template can say what this server is
        """
        self.ensure_one()
        self.check_access("write")
        Template = self.env[TEMPLATE]
        Template.check_access("create")
        if self.state != "connected" or not self.url:
            raise UserError(
                self.env._("Only a connected server with an address can be saved as a template.")
            )
        facts = {
            "id": Template._free_code(template_file.code_of(self.name)),
            "name": self.name,
            "title": self.title or "",
            "description": self.description or "",
            "category": "data",
            "url": self.url,
            "transport": self.transport,
            "authorization": self.authorization,
            "has_api_key": self.has_api_key or bool(self.api_key_env),
            "header_names": self._header_names(),
        }
        try:
            entry = template_file.of_server(facts)
        except ConfigError as error:
            raise UserError(sentences.translated(self.env, str(error))) from error
        # Its address may tell of the inside of a network: whoever offers it to owners has looked at it.
        template = Template._create_of_entry(entry, for_owners=False)
        return {
            "type": "ir.actions.act_window",
            "res_model": TEMPLATE,
            "res_id": template.id,
            "views": [(False, "form")],
        }
