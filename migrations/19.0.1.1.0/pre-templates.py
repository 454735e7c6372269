def migrate(cr, version):
    """What is said of other people's servers gets old, so an update corrects it from now on."""
    cr.execute(
        "UPDATE ir_model_data SET noupdate = FALSE WHERE module = 'woow_paas_platform'"
        " AND model LIKE 'woow_paas_platform.mcp_template%'"
    )
