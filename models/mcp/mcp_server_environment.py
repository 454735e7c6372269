from odoo import models
from odoo.exceptions import AccessError, UserError

from ...services.catalog import stdio_templates
from ...services.errors import ConfigError
from ...tools import sentences


class McpServer(models.Model):
    """The environment, of those that the operator releases, in which a server of a template starts.

    The row only says which one was chosen, nothing if nobody has: what is started stands in the operator's file.
    """

    _inherit = "woow_paas_platform.mcp_server"

    def _choose_environment(self, env_type, env_config):
        """:raises UserError: the operator has not released it for this template
        :raises AccessError: the caller is no administrator
        """
        self.ensure_one()
        self.check_access("write")
        if not self.template_code:
            raise UserError(
                self.env._("Only servers of a template with a command have an environment.")
            )
        if not self.env.user.has_group("woow_paas_platform.group_admin"):
            raise AccessError(self.env._("Only administrators can choose an environment."))
        try:
            release = self._release(self.template_code)
            stdio_templates.in_environment(release, env_type or "", env_config)
        except ConfigError as error:
            raise UserError(sentences.translated(self.env, str(error))) from error
        # sudo: mcp_server - readonly for people; it is one of those that the operator has released
        self.sudo().write({"env_type": env_type or False, "env_config": env_config or False})
        self._restart_processes()

    def _release_of_server(self):
        """:raises ConfigError: the operator's file releases no such template, or not in this environment"""
        release = self._release(self.template_code)
        return stdio_templates.in_environment(release, self.env_type or "", self.env_config)

    def _environment(self):
        if not self.template_code:
            return super()._environment()
        try:
            release = self._release_of_server()
        except ConfigError:
            return super()._environment()
        return release.env_type, dict(release.env_config)
