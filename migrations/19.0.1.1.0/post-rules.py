from odoo import SUPERUSER_ID, api
from odoo.tools.convert import convert_file

MODULE = "woow_paas_platform"
FILES = ("workspace_rules", "mcp_rules", "ai_rules", "approval_rules", "recall_rules")


def migrate(cr, version):
    """Record rules may be adapted from now on and no update touches them: this one does, for the last time."""
    env = api.Environment(cr, SUPERUSER_ID, {})
    ids = {}
    for name in FILES:
        convert_file(env, MODULE, f"security/{name}.xml", ids, mode="init")
    known = [("module", "=", MODULE), ("model", "=", "ir.rule"), ("res_id", "in", [*ids.values()])]
    env["ir.model.data"].search(known).noupdate = True
