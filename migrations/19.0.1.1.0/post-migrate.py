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
