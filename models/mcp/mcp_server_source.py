import json
import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError
from odoo.tools import config
from odoo.tools.misc import clean_context

from ...services import const
from ...services.catalog import environments, stdio_templates, template_file
from ...services.catalog.server_file import FAULTY
from ...services.errors import ConfigError
from ...services.sandbox import bubblewrap
from ...services.sentence import _lt
from ...services.specs import ServerSpec
from ...tools import limits, mcp_switch, notify, sentences, server_files, settings

_logger = logging.getLogger(__name__)

TEMPLATE = "woow_paas_platform.mcp_template"
# What stays an administrator's for a server of the file: switches, trust, order and whose it is.
STILL_OURS = {
    "active",
    "company_id",
    "is_for_owners",
    "review_new_tools",
    "sequence",
    "trust_level",
}
# What makes a server of a template the one that it is; everything else is an administrator's.
FIXED = {"transport", "scope", "cloud_service_id", "owner_user_id", "url"}
GONE = _lt("This MCP server is no longer in the operator's file.")
NO_VALUES = _lt("Values that this MCP server requires are missing. Enter them again.")
NOT_RELEASED = _lt("This template is no longer enabled in the operator's file.")
# What the update of a database that is older than sandboxes writes: it goes on without one where there can be none.
SANDBOX_PARAMETER = f"{limits.PREFIX}sandbox"
JUST_NOW = timedelta(minutes=1)  # another process has started it already


class McpServer(models.Model):
    """The source of a server that the operator's ``mcp_servers.toml`` defines, or releases a template of.

    The row is what people see of such a server; its command, environment and headers are in the file only, so nothing
    in the database ever becomes a process.
    """

    _inherit = "woow_paas_platform.mcp_server"

    managed_by_file = fields.Boolean(readonly=True, copy=False)
    file_digest = fields.Char(readonly=True, copy=False)
    file_form = fields.Char(
        readonly=True, copy=False, help="Digest of the entry without the values of its variables."
    )
    env_type = fields.Selection(
        [
            ("preinstalled", "Installed on the host"),
            ("dynamic_injected", "Package fetched at startup"),
            ("custom_image", "Container image"),
        ],
        "Environment",
        readonly=True,
        copy=False,
    )
    env_config = fields.Json("Environment Configuration", readonly=True, copy=False)
    template_code = fields.Char("Template", readonly=True, copy=False)
    template_values_encrypted = fields.Text(groups=fields.NO_ACCESS, copy=False)

    _stdio_by_file = models.Constraint(
        "CHECK (transport <> 'stdio' OR managed_by_file IS TRUE"
        " OR (template_code IS NOT NULL AND (scope = 'system' OR cloud_service_id IS NOT NULL)))",
        "Servers started by a command must be defined in the operator's file or use a template that it enables.",
    )

    # ------------------------------------------------------------ what people may do

    def _check_write_of_source(self, vals):
        """:raises UserError: it would be another server than its template makes
        :raises AccessError: only the operator's file says so
        """
        if self.env.su:
            return
        if vals.keys() & FIXED and any(self.mapped("template_code")):
            raise UserError(
                self.env._(
                    "A server created from this template cannot be changed this way. Delete it and add a new one."
                )
            )
        if vals.keys() - STILL_OURS and any(self.mapped("managed_by_file")):
            raise AccessError(self._sentence_read_only())

    @api.ondelete(at_uninstall=False)
    def _unlink_except_managed(self):
        if not self.env.su and any(self.mapped("managed_by_file")):
            raise AccessError(self._sentence_read_only())

    def _sentence_read_only(self):
        return self.env._(
            "This server is managed by the operator's file and can only be changed there."
        )

    def action_start(self):
        """Switch a server of the file on and start it, to see whether it can be."""
        self.ensure_one()
        self.with_context(woow_no_sync=True).active = True  # it is read right now
        return self.action_sync_tools()

    def action_stop(self):
        """Switch it off; its processes end at once."""
        self.action_disable()
        return True

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

    # ------------------------------------------------------------ the operator's file

    @api.model
    def _apply_file(self, is_first=False):
        """Bring the rows up to date; entries that did not change are left alone, and so are the switches of those in
        which only the values of variables did.

        In a neutralised copy of a database nothing is switched on. Of two processes that find a new file one comes
        after the other, see `ServerStore.apply_file`.
        """
        is_copy = self._is_neutralized()
        file = server_files.current()
        wanted = file.servers
        rows = self.with_context(active_test=False).search([("scope", "=", "system")])
        taken = {row.name: row for row in rows}
        for name, entry in wanted.items():
            row = taken.get(name)
            if row and not row.managed_by_file:
                _logger.error(
                    "A system server named %r already exists: the one in the file is skipped.", name
                )
                continue
            if row and row.file_digest == entry.digest:
                if row.file_form != entry.form:
                    row.file_form = entry.form
                row._come_back()
                continue
            vals = self._vals_of_entry(entry)
            is_ours = row and (is_copy or row.file_form == entry.form)
            is_on = entry.enabled and (row.active if is_ours else not is_copy)
            if row:
                row.write({**vals, "active": is_on and not row.is_locked})
                notify.server_off(
                    self.env.cr, row.id
                )  # sessions with the old command or address end
            else:
                self.create({**vals, "active": is_on})
        for row in rows.filtered(lambda row: row.managed_by_file and row.name not in wanted):
            row._leave_file(is_faulty=file.is_faulty(row.name))
        self._apply_releases()
        if not mcp_switch.is_on_by_operator():
            self.search([("active", "=", True)])._end_sessions()
        if is_first:
            self._start_with_odoo()

    @api.model
    def _vals_of_entry(self, entry):
        return {
            "name": entry.name,
            "title": entry.display_name or False,
            "description": entry.description or False,
            "scope": "system",
            "transport": entry.transport,
            "url": entry.url or False,
            "call_timeout": entry.timeout,
            "auto_start": entry.auto_start,
            "header_names": ", ".join(entry.headers) or False,
            "managed_by_file": True,
            "env_type": entry.env_type if entry.transport == "stdio" else False,
            "env_config": dict(entry.env_config) or False,
            "file_digest": entry.digest,
            "file_form": entry.form,
        }

    def _leave_file(self, *, is_faulty):
        """Off until the file has it again; what a person has switched off stays off then, too.

        :param is_faulty: the file has it, but nobody knows how it is asked
        """
        state, sentence = ("error", FAULTY) if is_faulty else ("disabled", GONE)
        is_off = not self.active
        if not (is_off or is_faulty):
            self.write({"active": False, "file_digest": False, "file_form": False})
        if self.state_message != sentence and not (is_off and is_faulty):
            self._set_state(state, sentence)

    def _come_back(self):
        """Its entry is there as it was, whatever was wrong with the file meanwhile."""
        if self.state_message in (GONE, FAULTY):
            self._reset_state()
            self.filtered("active")._sync_after_commit()

    @api.model
    def _start_with_odoo(self):
        before = fields.Datetime.now() - JUST_NOW
        self.search(
            [
                ("auto_start", "=", True),
                "|",
                ("last_attempt", "=", False),
                ("last_attempt", "<", before),
            ]
        )._sync_after_commit()

    def _file_entry(self):
        """The operator's entry of this server.

        :raises ConfigError: the file has no such server any more, or releases its template no longer or not for these
            values
        """
        if self.template_code:
            return self._filled(
                self._release_of_server(), self._template_values(), self.cloud_service_id
            )
        file = server_files.current()
        entry = file.servers.get(self.name)
        if entry is None:
            raise ConfigError(FAULTY if file.is_faulty(self.name) else GONE)
        return entry

    def _spec_of_entry(self, person):
        """Specification as `_server_spec`, of a server whose command, or address and headers, are in the file."""
        entry = self._file_entry()
        spec = ServerSpec(
            **self._spec_of_row(person),
            url=entry.url,
            transport=entry.transport,
            headers=entry.headers,
            call_timeout=self.call_timeout,
        )
        if entry.transport != "stdio":
            return spec
        return replace(spec, **_process_of(entry, self._sandbox_mode()))

    # ------------------------------------------------------------ servers of a template with a command

    # The row holds what was filled in, encrypted; what is started stands in the file and in the engine, see
    # `services.catalog.stdio_templates`. `file_digest` is that of the release, empty while it cannot be started.

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
        server._record_act("secret_entered", secret="template_values")  # noqa: S106 the name of the field
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
        self._record_act("secret_entered", secret="template_values")  # noqa: S106 the name of the field
        self._restart_processes()

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

    def _stop_without_values(self):
        """End what runs without its values: it is nobody's, and stays off until it is filled in again."""
        server = self.sudo()  # sudo: mcp_server - readonly; it is switched off only
        server.write({"active": False, "file_digest": False})
        server._set_state("disabled", NO_VALUES)

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

    # ------------------------------------------------------------ environment of a server of a template

    # It is one of those that the operator releases. The row only says which one was chosen, nothing if nobody has: what
    # is started stands in the operator's file.

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
        """(kind, what belongs to it) of how it starts; both empty for a server with an address."""
        if self.template_code:
            try:
                release = self._release_of_server()
            except ConfigError:
                pass
            else:
                return release.env_type, dict(release.env_config)
        return self.env_type or "", self.env_config or {}

    def _environment_data(self):
        """The environment that it starts in, as JSON for its managers."""
        env_type, env_config = self._environment()
        # Folders and images of the host are told to administrators only.
        is_admin = self.env.user.has_group("woow_paas_platform.group_admin")
        return {"env_type": env_type or None, "env_config": env_config if is_admin else {}}

    # ------------------------------------------------------------ sandboxes

    @api.model
    def _sandbox_mode(self):
        """``required``, ``preferred`` or ``off``: what the operator says, else what an update has written."""
        # sudo: ir.config_parameter - what the update has written, no secret
        made = self.env["ir.config_parameter"].sudo().get_param(SANDBOX_PARAMETER)
        return settings.get().sandbox or ("preferred" if made == "preferred" else "required")

    @api.model
    def _sandbox_state(self):
        """State for monitors: the mode; where owners have programs, if this host allows sandboxes and how many run
        without. None is what is not known, or not yet: whoever asks waits for nothing.
        """
        mode = self._sandbox_mode()
        own = [("transport", "=", "stdio"), ("cloud_service_id", "!=", False)]
        # sudo: mcp_server - a number
        programs = self.sudo().search(own)
        count = len([one for one in programs if one._environment()[0] != "custom_image"])
        problem = bubblewrap.known_problem() if count else None
        reason = {"required": "", "off": "off"}.get(mode, problem)  # why they run without one
        return {
            "sandbox": mode,
            "sandbox_possible": None if problem is None else not problem,
            "programs_without_sandbox": None if count and reason is None else count * bool(reason),
        }


def _own_files():
    """Paths that no program has to read, wherever they lie; of the workspaces it has its own folder all the same."""
    paths = [config["config"], config["data_dir"], settings.get().mcp_servers_file]
    paths += [release.workspace_root for release in server_files.current().templates.values()]
    return tuple(path for path in paths if path)


def _process_of(entry, sandbox_mode):
    """The part of a `ServerSpec` that says how the process is started."""
    options = settings.get()
    cache = Path(options.tool_cache)
    return {
        "command": environments.command(entry, container_runtime=options.container_runtime),
        "env": environments.variables(entry, cache=cache),
        "sandbox": environments.sandbox(entry, mode=sandbox_mode, cache=cache, hidden=_own_files()),
        "secrets": entry.blotted,
        "connect_timeout": entry.time_to_start,
        "sync_timeout": entry.time_to_start + const.SYNC_TIMEOUT,
    }
