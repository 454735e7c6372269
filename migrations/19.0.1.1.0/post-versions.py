from odoo import SUPERUSER_ID, api


def migrate(cr, version):
    """Servers that are there already get the version that their next change is compared with."""
    env = api.Environment(cr, SUPERUSER_ID, {"active_test": False})
    env["woow_paas_platform.mcp_server"].search([("id", "!=", False)])._keep_version()
