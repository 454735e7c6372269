"""The addon leaves a database in which people have chatted: what it kept in tables of other modules goes with it."""

import pytest

from tools.dev import testbed

LEFT = {
    "conversations": "SELECT COUNT(*) FROM discuss_channel WHERE channel_type = 'woow_ai_chat'",
    "contacts of assistants": "SELECT COUNT(*) FROM res_partner WHERE active AND name = 'Demo Assistant'",
    "chat actions": "SELECT COUNT(*) FROM ir_act_server WHERE code LIKE '%woow%'",
    "settings": "SELECT COUNT(*) FROM ir_config_parameter WHERE key LIKE 'woow_paas_platform.%'",
    "attachments": "SELECT COUNT(*) FROM ir_attachment WHERE res_model LIKE 'woow_paas_platform.%'",
    "crons": "SELECT COUNT(*) FROM ir_cron c JOIN ir_act_server s ON s.id = c.ir_actions_server_id"
    " WHERE s.code LIKE '%_cron_sweep%'",
    "tables": "SELECT COUNT(*) FROM pg_class"
    " WHERE relkind = 'r' AND relname ~ '^(woow_paas_platform_|ai_config|ai_assistant)'",
    "columns": "SELECT COUNT(*) FROM information_schema.columns WHERE column_name LIKE 'woow_%'",
    "external ids": "SELECT COUNT(*) FROM ir_model_data WHERE module = 'woow_paas_platform'",
}
USED = (
    "env['ir.config_parameter'].set_param('woow_paas_platform.approval_hours', '12')\n"
    "partner = env.ref('base.partner_admin')\n"
    "service = env.ref('woow_paas_platform.cloud_service_demo')\n"
    "env['woow_paas_platform.service_link'].create("
    "{'cloud_service_id': service.id, 'record': f'res.partner,{partner.id}'})\n"
    "user = env.ref('woow_paas_platform.user_user')\n"
    "assistant = env.ref('woow_paas_platform.ai_assistant_demo').with_user(user)\n"
    "channel = env['discuss.channel'].with_user(user)._create_ai_conversation(assistant)\n"
    "turn = channel._ask('Hello').sudo()\n"
    "env['woow_paas_platform.tool_call'].create({'turn_id': turn.id, 'user_id': user.id,"
    " 'call_id': 'one', 'tool_name': 'x', 'outcome': 'ok', 'duration_ms': 1})\n"
    "turn._request_stop()\n"
)
UNINSTALL = (
    "module = env['ir.module.module'].search([('name', '=', 'woow_paas_platform')])\n"
    "module.button_immediate_uninstall()\n"
)


@pytest.fixture
def left(template):
    """A database in which somebody has chatted, after the uninstall."""
    odoo = testbed.OdooServer(template, "uninstall", operator={"in_process_runner": False})
    odoo.shell(USED)
    assert odoo.sql(LEFT["conversations"]) == "1" and odoo.sql(LEFT["chat actions"]) != "0"
    odoo.shell(UNINSTALL)
    yield odoo
    odoo.instance.drop(odoo.db)


def test_nothing_is_left(left):
    assert {what: left.sql(query) for what, query in LEFT.items()} == dict.fromkeys(LEFT, "0")
