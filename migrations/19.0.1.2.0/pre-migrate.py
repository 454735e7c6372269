from odoo.tools.sql import column_exists


def migrate(cr, version):
    """A database that is older than sandboxes: programs of owners go on where this host allows none, see
    `McpServer._sandbox_mode`."""
    if not column_exists(cr, "woow_paas_platform_tool_call", "kept_bytes"):
        cr.execute(
            "INSERT INTO ir_config_parameter (key, value)"
            " VALUES ('woow_paas_platform.sandbox', 'preferred') ON CONFLICT DO NOTHING"
        )
