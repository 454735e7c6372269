import logging
from urllib.parse import quote

from odoo import api, models

from ...services.errors import UnusableSchema
from ...services.openapi import recall
from ...services.turn import names
from ...tools import sentences
from ...tools.refusals import BadInput, Broken, NotThere

_logger = logging.getLogger(__name__)

PREFIX = "/api/agent-retrieval/in/v1"
STRATEGY = "kn_action_recall"
ACCOUNT_HEADERS = ("x-account-id", "x-account-type")

UNSUPPORTED = "ErrExtActionRecallUnsupportedType"
TOOL_NOT_FOUND = "ErrExtActionRecallToolNotFound"
MCP_CALL_FAILED = "ErrExtActionRecallMCPCallFailed"
TOOL_CALL_FAILED = "ErrExtActionRecallToolCallFailed"
SCHEMA_FAILED = "ErrExtActionRecallSchemaConvertFailed"


class ActionType(models.Model):
    """Action type as the action recall API answers (document 002): a function for a model, and where to call it."""

    _inherit = "woow_paas_platform.action_type"

    @api.model
    def _visible(self, kn_id, at_id):
        """The action type that these ids mean to the caller, or an empty set."""
        return self.search([("network_id.kn_id", "=", kn_id), ("at_id", "=", at_id)], limit=1)

    def _recall(self, record, account=None):
        """One entry of ``_dynamic_tools`` (document 002, 5.1).

        :raises Refusal: with the statuses and codes of 002, 7
        """
        self.ensure_one()
        if self.source not in ("mcp", "tool"):
            raise BadInput(
                self.env._("Actions of this source cannot be called through the API."),
                UNSUPPORTED,
                type=self.source,
            )
        # sudo: mcp_tool, toolbox_operation - what the action type offers to the caller
        source = self.sudo()
        tool_name = (source.operation_id if self._layered else source.tool_id).name
        if not self._is_usable():
            raise NotThere(
                self.env._("The tool “%(tool)s” does not exist.", tool=tool_name),
                TOOL_NOT_FOUND,
                tool_name=tool_name,
            )
        if not self._applies_to(record):
            raise NotThere(self.env._("The action does not apply to this object."))
        original = source._input_schema()
        try:
            cleaned = recall.parameters(original, layered=self._layered)
            fixed, empty = self._fixed(record, account)
        except UnusableSchema as error:
            _logger.error(
                "The schema of an action's tool cannot be converted: mcp_id=%s tool_name=%s: %s %s",
                source.tool_id.server_id.mcp_id or source.operation_id.toolbox_id.box_id,
                tool_name,
                error,
                error.detail,
            )
            sentence = sentences.translated(self.env, str(error))
            raise Broken(sentence, SCHEMA_FAILED, tool_name=tool_name) from error
        if empty:
            raise BadInput(
                self.env._(
                    "The object has no value for: %(names)s.", names=", ".join(sorted(empty))
                ),
                "missing_value",
                missing=sorted(empty),
            )
        return {
            "name": names.function_name(tool_name),
            "description": self._tool_description(),
            "parameters": recall.described(
                recall.optional(cleaned, fixed), source._own_descriptions()
            ),
            "api_url": self._base_url() + self._call_path(),
            "original_schema": original,
            "fixed_params": recall.arguments(fixed, layered=self._layered),
            "api_call_strategy": STRATEGY,
        }

    def _call_path(self):
        # sudo: mcp_tool, toolbox_operation - see `_recall`
        source = self.sudo()
        if self._layered:
            operation = source.operation_id
            box = quote(operation.toolbox_id.box_id, safe="")
            return f"{PREFIX}/tool/proxy/{box}/tools/{quote(operation.name, safe='')}/call"
        server = quote(source.tool_id.server_id.mcp_id, safe="")
        return f"{PREFIX}/mcp/proxy/{server}/tools/{quote(source.tool_id.name, safe='')}/call"

    @api.model
    def _base_url(self):
        """Address at which programs reach this Odoo; internal ones may need another name for it."""
        # sudo: ir.config_parameter - an address, no secret
        parameters = self.env["ir.config_parameter"].sudo()
        url = parameters.get_param("woow_paas_platform.recall_base_url")
        return (url or parameters.get_param("web.base.url") or "").rstrip("/")
