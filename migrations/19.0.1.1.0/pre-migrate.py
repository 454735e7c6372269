from odoo.tools.sql import column_exists, rename_column

CALLS = "woow_paas_platform_tool_call"


def migrate(cr, version):
    """What a person was asked about is what every call is bound to now, so the column has a wider name."""
    if column_exists(cr, CALLS, "approval_definition"):
        rename_column(cr, CALLS, "approval_definition", "definition")
    # An index allows one running turn of a conversation from now on; whoever still ran them has lost the lease.
    cr.execute(
        "UPDATE woow_paas_platform_ai_turn SET state = 'queued', lease_owner = NULL, lease_until = NULL"
        " WHERE state = 'running'"
    )
