from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...tools import limits, server_files


def _limit(name, string, help_):
    return fields.Integer(
        string,
        default=limits.DEFAULTS[name],
        config_parameter=limits.PREFIX + name,
        help=help_,
    )


class ResConfigSettings(models.TransientModel):
    _inherit = "res.config.settings"

    woow_file_problem = fields.Char(
        "Problem of the Servers' File",
        compute="_compute_woow_file_problem",
        help="What is wrong with mcp_servers.toml, with its line and key.",
    )
    woow_max_servers_per_assistant = _limit(
        "max_servers_per_assistant",
        "MCP Servers per Assistant",
        "How many MCP servers one assistant can use at most.",
    )
    woow_max_tools_per_server = _limit(
        "max_tools_per_server",
        "Tools per MCP Server",
        "How many tools of one server are switched on when they are found; the rest comes switched off.",
    )
    woow_max_rounds = _limit(
        "max_rounds",
        "Rounds of a New Assistant",
        "How often a new assistant may go from the model to the tools and back in one turn.",
    )
    woow_max_conversations_per_person = _limit(
        "max_conversations_per_person",
        "Conversations per Person",
        "How many conversations with assistants one person can keep.",
    )
    woow_max_files_per_person = _limit(
        "max_files_per_person",
        "Files per Person",
        "How many files the conversations of one person can hold, those that tools send among them.",
    )
    woow_max_file_megabytes_per_person = _limit(
        "max_file_megabytes_per_person",
        "Megabytes of Files per Person",
        "How many megabytes of files the conversations of one person can hold.",
    )
    woow_event_retention_days = _limit(
        "event_retention_days",
        "Days of Replay",
        "How many days after its end a turn can be watched again, event by event.",
    )
    woow_result_retention_days = _limit(
        "result_retention_days",
        "Days of Results",
        "How many days the results of tool calls are kept. The line of the audit stays for ever.",
    )
    woow_call_retention_days = _limit(
        "call_retention_days",
        "Days of Calls",
        "After how many days tool calls are summed up for the statistics. Calls of programs are removed then,"
        " those of conversations stay with them. 0 means never.",
    )
    woow_approval_hours = _limit(
        "approval_hours",
        "Hours to Decide",
        "How many hours a tool call waits for a person's decision before it counts as denied.",
    )
    woow_health_interval_minutes = _limit(
        "health_interval_minutes",
        "Minutes between Checks",
        "After how many minutes it is checked again whether a server is well.",
    )
    woow_sync_interval_hours = _limit(
        "sync_interval_hours",
        "Hours between Syncs",
        "After how many hours the tools of a server are read again.",
    )

    woow_review_new_tools = fields.Boolean(
        "Review New Tools",
        config_parameter=f"{limits.PREFIX}review_new_tools",
        help="Tools of all servers are offered only after somebody has looked at them.",
    )

    @api.depends_context("uid")
    def _compute_woow_file_problem(self):
        self.woow_file_problem = server_files.error()

    @api.constrains(*(f"woow_{name}" for name in limits.DEFAULTS))
    def _check_woow_limits(self):
        for settings in self:
            if any(settings[f"woow_{name}"] < limits.least(name) for name in limits.DEFAULTS):
                raise ValidationError(
                    self.env._("Each limit must be at least 1, the days of calls at least 0.")
                )
            if settings.woow_max_rounds > 50:
                raise ValidationError(self.env._("The number of rounds must lie between 1 and 50."))

    def set_values(self):
        """Odoo removes a parameter that is 0, and so would bring back its default."""
        result = super().set_values()
        for name in limits.MAY_BE_ZERO:
            if not self[f"woow_{name}"]:
                # sudo: ir.config_parameter - `execute` lets only administrators of Odoo come here
                self.env["ir.config_parameter"].sudo().set_param(limits.PREFIX + name, "0")
        return result
