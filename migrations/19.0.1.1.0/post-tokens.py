import json
from types import SimpleNamespace

from odoo import SUPERUSER_ID, api


def migrate(cr, version):
    """What a tool's definition costs was estimated from what its server had sent, not from what a model is sent."""
    env = api.Environment(cr, SUPERUSER_ID, {"active_test": False})
    for tool in env["woow_paas_platform.mcp_tool"].search([]):
        found = SimpleNamespace(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=json.loads(tool.input_schema or "{}"),
        )
        tool.token_estimate = tool._estimate(found)
