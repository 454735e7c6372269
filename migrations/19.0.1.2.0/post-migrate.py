def migrate(cr, version):
    """Results of before count, and leave the transcripts where they are removed."""
    # The next run of the cron takes those that were removed out of the transcripts, too.
    cr.execute("UPDATE woow_paas_platform_tool_call SET result_pruned = FALSE WHERE result_pruned")
    # The others count towards the room of their person; what is not finished has none.
    cr.execute(
        """
        UPDATE woow_paas_platform_tool_call c SET kept_bytes = size.bytes
          FROM (SELECT id, COALESCE(length(result::text), 0) + COALESCE(length(llm_text), 0)
                       + COALESCE(length(whole_text), 0) AS bytes
                  FROM woow_paas_platform_tool_call) AS size
         WHERE size.id = c.id AND size.bytes > 4096 AND c.kept_bytes IS NULL
        """
    )
