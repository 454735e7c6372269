def migrate(cr, version):
    """An address may hold a key, and the chatter kept each one for whoever reads it later; versions keep them now."""
    cr.execute(
        """
        DELETE FROM mail_tracking_value v USING ir_model_fields f
         WHERE f.id = v.field_id AND f.name = 'url' AND f.model = 'woow_paas_platform.mcp_server'
        """
    )
