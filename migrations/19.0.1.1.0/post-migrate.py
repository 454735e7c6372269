from odoo import SUPERUSER_ID, api

UNFINISHED = ("queued", "running", "waiting")


def migrate(cr, version):
    """Calls are taken up by the ids of their tools: those that wait over the update find theirs, too."""
    env = api.Environment(cr, SUPERUSER_ID, {})
    for turn in env["woow_paas_platform.ai_turn"].search([("state", "in", UNFINISHED)]):
        transcript = turn.transcript or {}
        rows = {row.call_id: row for row in turn.call_ids if row.tool_id and not row.action_id}
        for message in transcript.get("messages", ()):
            for call in message.get("tool_calls") or ():
                if row := rows.get(call["id"]):
                    # As `ToolSpec.origin` has it.
                    origin = ["tool", row.tool_id.id, row.server_id.id, 0, row.definition or ""]
                    call.setdefault("origin", origin)
        turn.transcript = transcript
    # The next run of the cron takes them out of the transcripts, too.
    cr.execute("UPDATE woow_paas_platform_tool_call SET result_pruned = FALSE WHERE result_pruned")
    # Programs of owners go on where this host allows no sandbox, see `McpServer._sandbox_mode`.
    env["ir.config_parameter"].set_param("woow_paas_platform.sandbox", "preferred")
    # Results of before count towards the room of their person, too; what is not finished has none.
    cr.execute(
        """
        UPDATE woow_paas_platform_tool_call c SET kept_bytes = size.bytes
          FROM (SELECT id, COALESCE(length(result::text), 0) + COALESCE(length(llm_text), 0)
                       + COALESCE(length(whole_text), 0) AS bytes
                  FROM woow_paas_platform_tool_call) AS size
         WHERE size.id = c.id AND size.bytes > 4096 AND c.kept_bytes IS NULL
        """
    )
