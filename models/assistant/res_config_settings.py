from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...tools import copies, limits, mcp_switch, server_files
from ...tools import settings as operator_settings


def _limit(name, string, help_):
    return fields.Integer(
        string,
        default=limits.DEFAULTS[name],
        config_parameter=limits.PREFIX + name,
        help=help_,
    )


class ResConfigSettings(models.TransientModel):
    _inherit = "res.config.settings"

    woow_file_problem = fields.Text(
        "Server File Errors",
        compute="_compute_woow_file_problem",
        help="Errors in mcp_servers.toml, each with its line and key.",
    )
    woow_operator_problem = fields.Text(
        "Errors of the Operator's Settings",
        compute="_compute_woow_operator_problem",
        help="Errors in [woow_ai] of odoo.conf and its environment variables.",
    )
    woow_mcp_enabled = fields.Boolean(
        "MCP Servers",
        help="When this is off, no MCP server is contacted: assistants answer without their tools, and calls "
        "that wait are denied. Operations of toolboxes stay.",
    )
    woow_mcp_off_by_operator = fields.Boolean(
        "Switched Off by the Operator", compute="_compute_woow_mcp_off_by_operator"
    )
    woow_max_servers_per_assistant = _limit(
        "max_servers_per_assistant",
        "MCP Servers per Assistant",
        "Maximum number of MCP servers per assistant.",
    )
    woow_max_tools_per_server = _limit(
        "max_tools_per_server",
        "Tools per MCP Server",
        "Maximum number of tools enabled when a server's tools are loaded. Further tools are added disabled.",
    )
    woow_owner_assistants = fields.Boolean(
        "Assistants of Service Owners",
        config_parameter=f"{limits.PREFIX}owner_assistants",
        help="Owners and admins of a workspace may add assistants to its cloud services in the portal. Switched off, "
        "these assistants answer nobody.",
    )
    woow_max_assistants_per_service = _limit(
        "max_assistants_per_service",
        "Assistants per Cloud Service",
        "Maximum number of assistants that owners may add to a cloud service.",
    )
    woow_max_rounds = _limit(
        "max_rounds",
        "Rounds of Tool Calls of New Assistants",
        "How many times new assistants may call tools for one answer.",
    )
    woow_confirm_round = _limit(
        "confirm_round",
        "Ask before Round of New Assistants",
        "Round before which new assistants ask the user whether to go on. 0 means never. Existing assistants "
        "keep their own number.",
    )
    woow_max_conversations_per_person = _limit(
        "max_conversations_per_person",
        "Conversations per Person",
        "Maximum number of conversations with assistants per person.",
    )
    woow_max_program_conversations_per_person = _limit(
        "max_program_conversations_per_person",
        "Conversations of Programs per Person",
        "Maximum number of conversations that one person's programs have through the OpenAI-compatible API. "
        "Beyond it, the least recently used ones are deleted.",
    )
    woow_listed_tokens = _limit(
        "listed_tokens",
        "Tools Listed to MCP Clients (tokens)",
        "Definitions of tools up to this size are listed to MCP clients. Beyond it they find tools by a search. "
        "0 lists any number.",
    )
    woow_max_files_per_person = _limit(
        "max_files_per_person",
        "Files per Person",
        "Maximum number of files in one person's conversations, including files sent by tools.",
    )
    woow_file_characters_per_message = _limit(
        "file_characters_per_message",
        "Text of Files per Message",
        "Maximum number of characters that a model reads of the files of one message.",
    )
    woow_max_file_megabytes_per_person = _limit(
        "max_file_megabytes_per_person",
        "File Storage per Person (MB)",
        "Maximum size of the files in one person's conversations, in megabytes.",
    )
    woow_event_retention_days = _limit(
        "event_retention_days",
        "Event Retention (days)",
        "Days for which a finished turn can be replayed event by event.",
    )
    woow_result_retention_days = _limit(
        "result_retention_days",
        "Result Retention (days)",
        "Days for which results of tool calls are kept. Who called what, and with what outcome, is kept longer.",
    )
    woow_conversation_retention_days = _limit(
        "conversation_retention_days",
        "Conversation Retention (days)",
        "Days after which unused conversations are deleted with their files, calls and ratings. 0 means never.",
    )
    woow_call_retention_days = _limit(
        "call_retention_days",
        "Tool Call Retention (days)",
        "Days after which tool calls are summed up for the statistics. Calls made by programs are "
        "then deleted; calls in conversations are kept with them. 0 means never.",
    )
    woow_cost_retention_days = _limit(
        "cost_retention_days",
        "Cost Retention (days)",
        "Days after which costs are added up by day. Totals stay; turns and tools are no longer shown. 0 means never.",
    )
    woow_audit_retention_days = _limit(
        "audit_retention_days",
        "Audit Retention (days)",
        "Days for which the audit log is kept. 0 means forever.",
    )
    woow_approval_hours = _limit(
        "approval_hours",
        "Decision Timeout (hours)",
        "Hours a tool call waits for a decision before it is denied.",
    )
    woow_run_approval_hours = _limit(
        "run_approval_hours",
        "Decision Timeout of Runs (hours)",
        "Hours a tool call of a run waits for a decision before it is denied.",
    )
    woow_runs_at_once = _limit(
        "runs_at_once",
        "Runs at a Time",
        "Runs of server actions that are in progress at a time. Others wait, so that people's questions go first.",
    )
    woow_runs_per_hour = _limit(
        "runs_per_hour",
        "Runs per Hour",
        "Runs of one server action within an hour, after which it switches itself off.",
    )
    woow_mail_after_minutes = _limit(
        "mail_after_minutes",
        "Mail about Decisions (minutes)",
        "Minutes a tool call waits for a decision before its user gets a mail. 0 means never.",
    )
    woow_answer_mail_after_minutes = _limit(
        "answer_mail_after_minutes",
        "Mail about Answers (minutes)",
        "Minutes nobody looks at an answer before its user gets a mail. 0 means never.",
    )
    woow_health_interval_minutes = _limit(
        "health_interval_minutes",
        "Health Check Interval (minutes)",
        "Minutes between health checks of a server.",
    )
    woow_sync_interval_hours = _limit(
        "sync_interval_hours",
        "Tool Reload Interval (hours)",
        "Hours between automatic reloads of a server's tools.",
    )

    woow_review_new_tools = fields.Boolean(
        "Review New Tools",
        config_parameter=f"{limits.PREFIX}review_new_tools",
        help="Tools of all servers are offered only after a review.",
    )

    woow_drafts = fields.Boolean(
        "Drafts",
        config_parameter=f"{limits.PREFIX}drafts",
        help="Changes of assistants go into a draft until it is published.",
    )
    woow_publish_tested = fields.Boolean(
        "Publish Only When Tests Pass",
        config_parameter=f"{limits.PREFIX}publish_tested",
        help="A draft is published after it has passed all tests of its assistant.",
    )

    @api.depends_context("uid")
    def _compute_woow_file_problem(self):
        self.woow_file_problem = server_files.error()

    @api.depends_context("uid")
    def _compute_woow_operator_problem(self):
        known = operator_settings.get()
        self.woow_operator_problem = "\n".join([*known.faults.values(), *known.unknown])

    @api.depends_context("uid")
    def _compute_woow_mcp_off_by_operator(self):
        self.woow_mcp_off_by_operator = not mcp_switch.is_on_by_operator()

    @api.model
    def get_values(self):
        return super().get_values() | {"woow_mcp_enabled": mcp_switch.is_on_in_settings(self.env)}

    @api.constrains(*(f"woow_{name}" for name in limits.DEFAULTS))
    def _check_woow_limits(self):
        for settings in self:
            if any(settings[f"woow_{name}"] < limits.least(name) for name in limits.DEFAULTS):
                raise ValidationError(
                    self.env._(
                        "Limits must be at least 1. Only “Ask before Round of New Assistants”, “Tools Listed to MCP "
                        "Clients (tokens)”, mail and the retention of conversations, calls, costs and the audit log "
                        "can be 0."
                    )
                )
            if any(settings[f"woow_{name}"] > limits.most(name) for name in limits.DEFAULTS):
                raise ValidationError(self.env._("Times can be at most a hundred years."))
            if settings.woow_max_rounds > 50:
                raise ValidationError(self.env._("The number of rounds must be between 1 and 50."))

    def set_values(self):
        result = super().set_values()
        for name in limits.MAY_BE_ZERO:  # Odoo keeps no 0 where there is no parameter yet
            if not self[f"woow_{name}"] and limits.get(self.env, name):
                # sudo: ir.config_parameter - `execute` lets only administrators of Odoo come here
                self.env["ir.config_parameter"].sudo().set_param(limits.PREFIX + name, "0")
        self.env["woow_paas_platform.mcp_server"]._switch_mcp(self.woow_mcp_enabled)
        return result


SWITCHES = ("True", "False", mcp_switch.OFF)
ZEROS = {limits.PREFIX + name for name in limits.MAY_BE_ZERO}


class IrConfigParameter(models.Model):
    _inherit = "ir.config_parameter"

    @api.private
    def init(self, force=False):
        """Odoo gives a copy of a database an identity of its own."""
        result = super().init(force)
        if force:
            copies.end_what_is_under_way(self.env.cr)
            self.env.invalidate_all()
        return result

    @api.model
    def set_param(self, key, value):
        """The settings remove a parameter that is 0, which would bring back its default."""
        if value is False and key in ZEROS:
            value = "0"
        return super().set_param(key, value)

    @api.model_create_multi
    def create(self, vals_list):
        parameters = super().create(vals_list)
        parameters._record_changes({})
        return parameters

    def write(self, vals):
        before = self._own_values()
        result = super().write(vals)
        self._record_changes(before)
        return result

    def unlink(self):
        before = self._own_values()
        result = super().unlink()
        self.browse()._record_changes(before)
        return result

    def _own_values(self):
        """``{key: value}`` of those that are settings of the addon."""
        return {one.key: one.value for one in self if (one.key or "").startswith(limits.PREFIX)}

    def _record_changes(self, before):
        """Tell the audit log of settings that are others now; numbers and switches by value, words by digest."""
        now = self._own_values()
        for key in sorted(before.keys() | now.keys()):
            values = [before.get(key), now.get(key)]
            if values[0] != values[1]:
                Audit = self.env["woow_paas_platform.audit.mixin"]
                told = [
                    value
                    if not value or value in SWITCHES or value.isdecimal()
                    else Audit._audit_digest(value)
                    for value in values
                ]
                Audit._record_act("setting_changed", key=key, value=told)
