import json

from odoo import api, fields, models
from odoo.exceptions import UserError
from odoo.tools.misc import clean_context

from ...services.catalog import stdio_templates
from ...services.catalog.server_file import FAULTY
from ...services.errors import ConfigError
from ...tools import notify, sentences, server_files

TEMPLATE = "woow_paas_platform.mcp_template"
NO_VALUES = "Values that this MCP server requires are missing. Enter them again."
NOT_RELEASED = "This template is no longer enabled in the operator's file."
# What makes it the server that it is; everything else is an administrator's.
FIXED = {"transport", "scope", "cloud_service_id", "owner_user_id", "url"}


class McpServer(models.Model):
    """Servers of a template with a command that the operator's file releases, for everybody or for a cloud service.

    The row holds what was filled in, encrypted; what is started stands in the file and in the engine, see
    `services.catalog.stdio_templates`. `file_digest` is that of the release, empty while it cannot be started.
    """

    _inherit = "woow_paas_platform.mcp_server"

    template_code = fields.Char("Template", readonly=True, copy=False)
    template_values_encrypted = fields.Text(groups=fields.NO_ACCESS, copy=False)

    @api.model
    def _create_of_template(self, template, values, vals):
        """
        :param template: one with a command
        :param values: ``{name of a field: text}``
        :param vals: further columns, its owner's among them
        :raises UserError: a value does not fit, or there are no such servers for this owner
        """
        self._check_owner(vals)
        service = self.env["woow_paas_platform.cloud_service"].browse(
            vals.get("cloud_service_id") or []
        )
        if vals["scope"] != "system" and not service:
            raise UserError(
                self.env._(
                    "Servers from this template belong to a cloud service or are shared by all users."
                )
            )
        if template._operator_lines(vals["scope"]):
            raise UserError(
                self.env._(
                    "The operator has not enabled the template “%(template)s” here.",
                    template=template.name,
                )
            )
        given = template._given(values)
        release = self._release(template.code)
        self._check_fits(release, given, service)
        # sudo: mcp_server - these columns are Odoo's own; the rules decide below, before anything is committed
        plain = self.env(su=True, context=clean_context(self.env.context))
        server = self.with_env(plain).create(
            {
                "description": template.description,
                "call_timeout": release.timeout,
                **vals,
                "transport": "stdio",
                "template_code": template.code,
                "file_digest": release.digest,
                **self._stored(given),
            }
        )
        server = server.with_env(self.env)
        server.check_access("write")
        return server

    def _change_template_values(self, values):
        """Values that are not among these stay; an empty one is removed.

        :raises UserError: it is of no template, or a value does not fit
        """
        self.ensure_one()
        self.check_access("write")
        template = self.env[TEMPLATE].search([("code", "=", self.template_code)])
        if not template:
            raise UserError(self.env._("This server was not created from a template."))
        try:
            known = self._template_values()
        except ConfigError:
            known = {}  # all is needed again
        given = template._given({**known, **values})
        release = self._release(self.template_code)
        self._check_fits(release, given, self.cloud_service_id)
        # sudo: mcp_server - readable by nobody; who may write the server may fill it in again
        self.sudo().write({"file_digest": release.digest, **self._stored(given)})
        self._restart_processes()

    def action_change_template_values(self):
        """Show the form of the template again, empty."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_mcp_server_template",
            "params": {
                "server_id": self.id,
                "template": self.template_code,
                "scope": self.scope,
            },
        }

    def _check_write(self, vals):
        if not self.env.su and vals.keys() & FIXED and any(self.mapped("template_code")):
            raise UserError(
                self.env._(
                    "A server created from this template cannot be changed this way. Delete it and add a new one."
                )
            )
        return super()._check_write(vals)

    @api.model
    def _stored(self, given):
        return {"template_values_encrypted": self._encrypted(json.dumps(given))}

    def _template_values(self):
        """:raises ConfigError: there are none, as in a copy of the database, or no key opens them"""
        stored = self._read_secret("template_values")
        if not stored:
            raise ConfigError(NO_VALUES)
        return json.loads(stored)

    @api.model
    def _release(self, code):
        """:raises ConfigError: the operator's file releases no such template, or nobody knows how"""
        file = server_files.current()
        release = file.templates.get(code)
        if release is None:
            raise ConfigError(FAULTY if file.is_faulty_template(code) else NOT_RELEASED)
        return release

    @staticmethod
    def _filled(release, given, service):
        """:param service: whose the server is, empty for everybody's"""
        # sudo: workspace - the name of its folder, for the engine
        return stdio_templates.filled(
            release, given, workspace=service.sudo().workspace_id.folder or ""
        )

    @api.model
    def _check_fits(self, release, given, service):
        try:
            self._filled(release, given, service)
        except ConfigError as error:
            raise UserError(sentences.translated(self.env, str(error))) from error

    def _secret_facts(self):
        facts = super()._secret_facts()
        return facts | ({"template_values": self._owner_key()} if self.template_code else {})

    def _forget_secrets(self, names):
        """Without its values it is nobody's: what runs ends, and it stays off until it is filled in again."""
        result = super()._forget_secrets(names)
        if "template_values" in names:
            server = self.sudo()  # sudo: mcp_server - readonly; it is switched off only
            server.write({"active": False, "file_digest": False})
            server._set_state("disabled", NO_VALUES)
        return result

    # ------------------------------------------------------------ the file

    def _file_entry(self):
        if not self.template_code:
            return super()._file_entry()
        release = self._release_of_server()
        return self._filled(release, self._template_values(), self.cloud_service_id)

    @api.model
    def _apply_releases(self):
        """Bring the servers of templates up to date; those whose release did not change are left alone."""
        released = server_files.current().templates
        of_templates = [("template_code", "!=", False)]
        for server in self.with_context(active_test=False).search(of_templates):
            release = released.get(server.template_code)
            if server.file_digest == (release.digest if release else False):
                server._come_back()
            else:
                server._apply_release(release)

    def _apply_release(self, release):
        """Switch off what is not released (any more, or not for these values), until it is. What may be released, but
        nobody knows how, keeps its switch."""
        self.ensure_one()
        try:
            self._file_entry()
        except ConfigError as error:
            if self.active:
                is_faulty = str(error) == FAULTY
                if not is_faulty:
                    self.write({"active": False, "file_digest": False})
                self._set_state("error" if is_faulty else "disabled", str(error))
            return
        was_off = not self.file_digest
        self.file_digest = release.digest
        if was_off:
            self.active = not (self.is_locked or self._is_neutralized())
        else:
            self._restart_processes()

    def _restart_processes(self):
        """End the processes that run with the former values, and read the tools again."""
        notify.server_off(self.env.cr, self.id)
        self._reset_state()
        self.filtered("active")._sync_after_commit()
