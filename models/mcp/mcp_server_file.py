import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from odoo import api, fields, models
from odoo.exceptions import AccessError
from odoo.tools import config

from ...services import const
from ...services.catalog import environments
from ...services.catalog.server_file import FAULTY
from ...services.errors import ConfigError
from ...services.sandbox import bubblewrap
from ...services.specs import ServerSpec
from ...tools import limits, mcp_switch, notify, server_files, settings

_logger = logging.getLogger(__name__)

# What stays an administrator's for a server of the file: switches, trust, order and whose it is.
STILL_OURS = {"active", "company_id", "trust_level", "review_new_tools", "sequence"}
GONE = "This MCP server is no longer in the operator's file."
# What the update of a database that is older than sandboxes writes: it goes on without one where there can be none.
SANDBOX_PARAMETER = f"{limits.PREFIX}sandbox"
JUST_NOW = timedelta(minutes=1)  # another process has started it already


class McpServer(models.Model):
    """Servers of the operator's ``mcp_servers.toml``. The row is what people see of such a server; its command,
    environment and headers are in the file only, so nothing in the database ever becomes a process."""

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

    _stdio_by_file = models.Constraint(
        "CHECK (transport <> 'stdio' OR managed_by_file IS TRUE"
        " OR (template_code IS NOT NULL AND (scope = 'system' OR cloud_service_id IS NOT NULL)))",
        "Servers started by a command must be defined in the operator's file or use a template that it enables.",
    )

    def _environment(self):
        """(kind, what belongs to it) of how it starts; both empty for a server with an address."""
        return self.env_type or "", self.env_config or {}

    def _managed_data(self):
        env_type, env_config = self._environment()
        # Folders and images of the host are told to administrators only.
        is_admin = self.env.user.has_group("woow_paas_platform.group_admin")
        return super()._managed_data() | {
            "env_type": env_type or None,
            "env_config": env_config if is_admin else {},
        }

    # ------------------------------------------------------------ what people may do

    def _check_write(self, vals):
        if not self.env.su and vals.keys() - STILL_OURS and any(self.mapped("managed_by_file")):
            raise AccessError(self._sentence_read_only())
        return super()._check_write(vals)

    def _after_write(self, vals):
        if vals.get("active") is False:
            self._end_sessions()
        return super()._after_write(vals)

    @api.ondelete(at_uninstall=False)
    def _unlink_except_managed(self):
        if not self.env.su and any(self.mapped("managed_by_file")):
            raise AccessError(self._sentence_read_only())

    def _before_unlink(self):
        self._end_sessions()
        return super()._before_unlink()

    def _end_sessions(self):
        """With the commit, every process closes what is open to these servers."""
        for server in self:
            notify.server_off(self.env.cr, server.id)

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

    # ------------------------------------------------------------ the file

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
        """How the operator says that this server is asked.

        :raises ConfigError: the file has no such server any more
        """
        file = server_files.current()
        entry = file.servers.get(self.name)
        if entry is None:
            raise ConfigError(FAULTY if file.is_faulty(self.name) else GONE)
        return entry

    def _server_spec(self, person=None):
        """:param person: matters to servers outside the file only
        :raises ConfigError: the file does not say any more how it is asked"""
        self.ensure_one()
        if not self.managed_by_file and self.transport != "stdio":
            return super()._server_spec(person)
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

    # ------------------------------------------------------------ sandboxes

    @api.model
    def _sandbox_mode(self):
        """``required``, ``preferred`` or ``off``: what the operator says, else what an update has written."""
        # sudo: ir.config_parameter - what the update has written, no secret
        made = self.env["ir.config_parameter"].sudo().get_param(SANDBOX_PARAMETER)
        return settings.get().sandbox or ("preferred" if made == "preferred" else "required")

    @api.model
    def _sandbox_state(self):
        """For monitors: the mode; where owners have programs, whether this host allows sandboxes and how many run
        without. None is what is not known, or not yet: whoever asks waits for nothing."""
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
    """What of a `ServerSpec` says how the process is started."""
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
