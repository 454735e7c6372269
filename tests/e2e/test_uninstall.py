"""The addon leaves a database in which people have chatted, while a server runs: nothing of it is left, nobody
complains, the server's other databases notice nothing, and it can come back as if it had never been there."""

from types import SimpleNamespace

import pytest
from chat import Chat, first
from waiting import eventually

from dev.checks import testbed
from dev.servers import odoo_log

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
KEPT = {  # rows that Odoo itself keeps or writes meanwhile, by table
    "auth_totp_rate_limit_log": "Odoo's own, of sign-ins",
    "bus_bus": "notifications of the last day, removed by Odoo's vacuum",
    "ir_cron_trigger": "Odoo's vacuum removes files and triggers",
    "ir_cron_progress": "Odoo's own, of crons that ran",
    "orm_signaling_assets": "counts changes",
    "orm_signaling_default": "counts changes",
    "orm_signaling_groups": "counts changes",
    "orm_signaling_registry": "counts changes",
    "orm_signaling_stable": "counts changes",
    "orm_signaling_templates": "counts changes",
    "res_device_log": "Odoo's own, of sign-ins",
    "res_users_log": "Odoo's own, of sign-ins",
}
CONTACTS = "SELECT COUNT(*) FROM res_partner WHERE name = 'Demo Assistant'"
USED = """
env['ir.config_parameter'].set_param('woow_paas_platform.approval_hours', '12')
partner = env.ref('base.partner_admin')
service = env.ref('woow_paas_platform.cloud_service_demo')
Link = env['woow_paas_platform.service_link']
Link.create({'cloud_service_id': service.id, 'record': f'res.partner,{partner.id}'})
user = env.ref('woow_paas_platform.user_user')
user.with_context(mail_notify_force_send=False)._woow_ai_mail('Budget', 'Look.', '/my/ai/1')
turn = env['woow_paas_platform.ai_turn'].search([], limit=1)
env['woow_paas_platform.tool_call'].create({'turn_id': turn.id, 'user_id': user.id,
    'call_id': 'one', 'tool_name': 'x', 'outcome': 'ok', 'duration_ms': 1})
turn.channel_id._keep_files([{'name': 'a.txt', 'mimetype': 'text/plain', 'data': 'YQ=='}])
server = env.ref('woow_paas_platform.mcp_server_demo_time')
server.message_post(body='Why?', attachments=[('b.txt', b'b')])
server.message_subscribe(partner.ids)
server._tell_owners()
env['ir.filters'].create({'name': 'Mine', 'model_id': server._name})
env['ir.default'].set(server._name, 'trust_level', 'full')
asks = {'name': 'Ask', 'state': 'woow_ask_assistant', 'model_id': env.ref('base.model_res_partner').id,
    'woow_assistant_id': turn.assistant_id.id, 'woow_instruction': 'Look.', 'woow_answer_to': 'none',
    'woow_run_as_id': env.ref('base.user_admin').id}
action = env['ir.actions.server'].create(asks)
action.create_action()
action.with_context(active_model='res.partner', active_ids=partner.ids).run()
action._switch_off('Too often.')
env['ir.cron'].create({**asks, 'active': False})
address = {'assistant_id': turn.assistant_id.id, 'alias_name': 'ask.me'}
env['woow_paas_platform.mail_address'].create(address)
run = env['woow_paas_platform.ai_run'].create({'name': 'Ask', 'event': 'one', 'state': 'started',
    'user_id': user.id, 'turn_id': turn.id, 'channel_id': turn.channel_id.id,
    'res_model': 'res.partner', 'res_id': partner.id})
run._plan_activities(env.ref('base.user_admin'))
hook = env['woow_paas_platform.webhook'].create({'name': 'Told', 'url': 'https://example.com/hook'})
hook.action_test()
hook._switch_off('Gone.')
result = turn.id
"""
# A key of another module's column whose name looks like one of ours.
THEIRS = "res_partner_woow_other_id_fkey"
KEY_OF_OTHERS = (
    "INSERT INTO ir_model_constraint (name, module, model, type)"
    f" SELECT '{THEIRS}', module, model, 'f' FROM ir_model_constraint"
    " WHERE name = 'res_partner_parent_id_fkey'"
)
BUNDLES = "SELECT COUNT(*) FROM ir_attachment WHERE url LIKE '/web/assets/%/woow_paas_platform%'"
# What Odoo does with the next pages and its next vacuum: its own bundles are made anew.
LATER = """
env['ir.attachment'].regenerate_assets_bundles()
env['ir.attachment']._gc_file_store()
"""
ANSWER = {"content": "Here."}
# Between the commit of another process that installs a module and its word to this one, crons of that module may run.
TOO_EARLY = r"ir_cron: Job ['\"]AI: (?s:.*)KeyError: 'woow_paas_platform\."


def _rows(odoo, database):
    sql = odoo.instance.postgres.sql
    counted = " UNION ALL ".join(
        f"SELECT '{table}', COUNT(*) FROM \"{table}\"" for table in sql(database, TABLES).split()
    )
    rows = dict(line.split("|") for line in sql(database, counted).splitlines())
    return {table: count for table, count in rows.items() if table not in KEPT}


def _files(odoo, database):
    folder = odoo.instance.filestore(database)
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in files if path.parts[0] != "checklist"}


@pytest.fixture(scope="module")
def odoo(template):
    """A server of two databases; `beside` is the other one."""
    with_both = {"dbfilter": "^woow_(uninstall|beside)$"}
    odoo = testbed.OdooServer(template, "uninstall", options=with_both)
    odoo.beside = testbed.OdooServer(template, "beside")
    odoo.beside.url = odoo.url
    odoo.instance.database = f"{odoo.db},{odoo.beside.db}"
    odoo.process.start()
    odoo.process.wait("/web/health")
    yield odoo
    odoo.stop()
    odoo.beside.stop()


@pytest.fixture(scope="module")
def uninstalled(odoo, template, _scripted_llm):
    """What was there before the addon came, and what is there when it has gone."""
    _scripted_llm.reset()
    asked = ("Hello", "And you?", "Again", "Look.")
    _scripted_llm.script(*(first(text, ANSWER) for text in asked))
    bare = testbed.without_addon(template).database
    for one in (odoo, odoo.beside):
        one.use_llm(_scripted_llm)
    chat = Chat(odoo)
    assert chat.ask("Hello").wait_ended() == "done"
    odoo.shell(USED)
    odoo.sql(KEY_OF_OTHERS)
    assert odoo.sql(CONTACTS) != "0"
    assert odoo.sql(BUNDLES) != "0"
    assert odoo.sql("SELECT COUNT(*) FROM mail_activity WHERE summary LIKE 'Decide%'") == "1"
    odoo.uninstall()
    bundles = odoo.sql(BUNDLES)
    odoo.shell(LATER)
    known = "FROM ir_model_constraint WHERE name"
    theirs = odoo.sql(f"SELECT name {known} = '{THEIRS}'")
    odoo.sql(f"DELETE {known} = '{THEIRS}'")
    return SimpleNamespace(
        conversation=chat.id,
        schema=[odoo.instance.postgres.schema(name) for name in (bare, odoo.db)],
        rows=[_rows(odoo, name) for name in (bare, odoo.db)],
        files=[_files(odoo, name) for name in (bare, odoo.db)],
        keys={
            line
            for line in odoo.sql("SELECT name FROM ir_model_constraint").splitlines()
            if "woow" in line
        },
        theirs=theirs,
        bundles=bundles,
        contacts=odoo.sql(CONTACTS),
        names=odoo.sql(
            "SELECT COUNT(*) FROM ir_model_data"
            " WHERE name LIKE '%woow_paas_platform%' AND model <> 'ir.module.module'"
        ),
    )


def test_the_schema_is_that_of_before(uninstalled):
    before, after = uninstalled.schema
    assert sorted(after) == sorted(before)


def test_the_rows_are_those_of_before(uninstalled):
    before, after = uninstalled.rows
    assert after == before
    assert (uninstalled.keys, uninstalled.theirs) == (set(), THEIRS)
    assert (uninstalled.contacts, uninstalled.names) == ("0", "0")


def test_the_files_are_those_of_before(uninstalled):
    before, after = uninstalled.files
    assert after <= before
    assert uninstalled.bundles == "0"


def test_the_server_falls_silent_and_serves_the_others(odoo, uninstalled):
    eventually(lambda: f"{odoo.db} no longer has AI turns" in odoo.log_text(), odoo.log_text)
    assert odoo.session("admin").get("/odoo").status_code == 200
    assert odoo.session("admin").get("/api/ai/conversations").status_code == 404
    assert Chat(odoo.beside).ask("And you?").wait_ended() == "done"


def test_it_comes_back_without_ghosts(odoo, uninstalled, _scripted_llm):
    odoo.expect_log(TOO_EARLY)
    odoo.install()
    odoo.use_llm(_scripted_llm)
    api = odoo.session("user")
    assert api.get("/api/ai/conversations").json()["conversations"] == []
    assert api.get(f"/api/ai/conversations/{uninstalled.conversation}").status_code == 404
    assert (
        odoo.sql("SELECT COUNT(*) FROM discuss_channel WHERE channel_type = 'woow_ai_chat'") == "0"
    )
    assert Chat(odoo).ask("Again").wait_ended() == "done"
    # The server ran through all of it.
    assert odoo_log.complaints(odoo.log, (TOO_EARLY,)) == []
