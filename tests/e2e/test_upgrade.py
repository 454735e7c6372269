"""Databases of each former version are updated with what `make package` delivers: nothing is lost, and they go on."""

import lzma
import zipfile
from pathlib import Path

import pytest
from waiting import eventually

from dev.checks import package, testbed
from dev.setup import odoo_tree

DUMPS = Path(__file__).parents[1] / "upgrade"
FIRST, SECOND = "19.0.1.0.0", "19.0.1.1.0"
SECRET_KEY = "dmVyc2lvbi0xOS4wLjEuMC4wLW9mLXRoZS1kdW1wLi4="  # of the dumps
COUNTED = (
    "ai_assistant",
    "ai_config",
    "woow_paas_platform_action_type",
    "woow_paas_platform_ai_turn",
    "woow_paas_platform_ai_turn_event",
    "woow_paas_platform_approval_rule",
    "woow_paas_platform_mcp_server",
    "woow_paas_platform_mcp_sign_in",
    "woow_paas_platform_mcp_tool",
    "woow_paas_platform_service_link",
    "woow_paas_platform_tool_call",
    "woow_paas_platform_tool_grant",
    "woow_paas_platform_toolbox_operation",
    "woow_paas_platform_workspace_access",
)
pytestmark = pytest.mark.every_variant

NOT_ODOOS = {"test_store_model"}  # needs Hypothesis, which an Odoo does not have
# What an update has to bring along.
RULES = (
    "SELECT d.name, d.noupdate, r.domain_force, r.perm_read, r.perm_write, r.perm_create, r.perm_unlink,"
    " (SELECT STRING_AGG(DISTINCT i.name, ',') FROM rule_group_rel g"
    "    JOIN ir_model_data i ON i.res_id = g.group_id AND i.model = 'res.groups'"
    "   WHERE g.rule_group_id = r.id)"
    " FROM ir_model_data d JOIN ir_rule r ON r.id = d.res_id"
    " WHERE d.module = 'woow_paas_platform' AND d.model = 'ir.rule' ORDER BY 1"
)
TEMPLATES = (
    "SELECT d.name, d.noupdate, t.code, t.url, t.website, t.transport"
    " FROM ir_model_data d JOIN woow_paas_platform_mcp_template t ON t.id = d.res_id"
    " WHERE d.module = 'woow_paas_platform' AND d.model = 'woow_paas_platform.mcp_template'"
    " ORDER BY 1"
)
CRONS = (
    "SELECT d.name, s.name->>'en_US', c.cron_name FROM ir_model_data d"
    " JOIN ir_cron c ON c.id = d.res_id JOIN ir_act_server s ON s.id = c.ir_actions_server_id"
    " WHERE d.module = 'woow_paas_platform' AND d.model = 'ir.cron'"
    " AND d.name {} 'ir_cron_retention' ORDER BY 1"
)
# Its makers were asked long ago: what waits must not be denied before anybody decides.
STILL_IN_TIME = (
    "UPDATE woow_paas_platform_ai_turn SET waiting_until = now() AT TIME ZONE 'UTC' + interval '1 day'"
    " WHERE state = 'waiting'"
)
# Tools of a server that is not trusted, by name: definition, state, policy; and what somebody has decided about them.
REVIEWED = {
    "kept": (("2", "approved", "auto"), ["1 accepted", "2 accepted"]),
    "undone": (("2", "refused", "auto"), ["2 accepted", "2 refused"]),
    "moved_on": (("2", "approved", "default"), ["1 accepted"]),
    "waits": (("1", "changed", "ask"), ["1 accepted"]),
    "first_seen": (("1", "approved", "never"), ["1 first_seen"]),
    "unseen": (("1", "new", "default"), []),
}
ADD_REVIEWED = [
    "INSERT INTO woow_paas_platform_mcp_tool"
    " (server_id, name, definition_hash, review_state, approval_policy, input_schema, active, available)"
    f" SELECT id, '{name}', '{hash_}', '{state}', '{policy}', '{{}}', TRUE, TRUE"
    "   FROM woow_paas_platform_mcp_server WHERE url = 'https://flows.example.com/mcp'"
    for name, ((hash_, state, policy), _decisions) in REVIEWED.items()
] + [
    "INSERT INTO woow_paas_platform_mcp_tool_review (tool_id, tool_name, definition_hash, decision, definition)"
    f" SELECT id, name, '{hash_}', '{decision}', '{{}}' FROM woow_paas_platform_mcp_tool WHERE name = '{name}'"
    for name, (_tool, decisions) in REVIEWED.items()
    for hash_, decision in map(str.split, decisions)
]
BEFORE = {
    FIRST: (
        "UPDATE woow_paas_platform_mcp_template SET url = 'https://moved.example.com/mcp'"
        " WHERE code = 'github'",
        "UPDATE ir_rule SET domain_force = '[(0, ''='', 1)]' WHERE id = (SELECT res_id"
        " FROM ir_model_data WHERE module = 'woow_paas_platform' AND name = 'ai_turn_rule_own')",
        # Somebody has renamed one cron, and translated the name of another.
        "WITH renamed AS (UPDATE ir_cron SET cron_name = 'Our own cleaning' WHERE id = (SELECT res_id"
        " FROM ir_model_data WHERE module = 'woow_paas_platform' AND name = 'ir_cron_retention')"
        " RETURNING ir_actions_server_id)"
        ' UPDATE ir_act_server SET name = \'{"en_US": "Our own cleaning"}\''
        " WHERE id = (SELECT ir_actions_server_id FROM renamed)",
        'UPDATE ir_act_server SET name = name || \'{"fr_FR": "Balayer"}\''
        " WHERE name->>'en_US' = 'AI: requeue the turns of runners that died'",
        "UPDATE woow_paas_platform_tool_call SET whole_text = repeat('x', 5000)"
        " WHERE call_id = 'call_1_1'",
    ),
    SECOND: (
        # As that version would have had it in this PostgreSQL.
        "UPDATE ir_config_parameter SET value = (SELECT oid || '/' || datname FROM pg_database"
        " WHERE datname = current_database()) WHERE key = 'woow_paas_platform.database'",
    ),
}


INSTALLED = "SELECT latest_version FROM ir_module_module WHERE name = 'woow_paas_platform'"


def _counts(odoo):
    rows = " UNION ALL ".join(f"SELECT '{t}', COUNT(*) FROM {t}" for t in COUNTED)
    return dict(line.split("|") for line in odoo.sql(rows).splitlines())


@pytest.fixture(scope="module")
def delivered(tmp_path_factory):
    """A folder of addons with the archive in it, and nothing else of this checkout."""
    folder = tmp_path_factory.mktemp("delivered")
    with zipfile.ZipFile(package.build(folder / "dist")) as archive:
        archive.extractall(folder / "addons")
    return folder / "addons"


@pytest.fixture(scope="module", params=[FIRST, SECOND])
def updated(request, template, delivered):
    """An Odoo on the restored dump of this version, updated; with the counts of before and after."""
    version = request.param
    folders = [*odoo_tree.addons_paths(odoo_tree.odoo_path()), delivered]
    odoo = testbed.OdooServer(
        template,
        f"upgrade_{version[-3]}",
        operator={"secret_key": SECRET_KEY},
        options={"addons_path": ",".join(map(str, folders))},
    )
    dump = DUMPS / f"{version}.sql.xz"
    template.postgres.restore(odoo.db, lzma.decompress(dump.read_bytes()))
    before = _counts(odoo)
    assert odoo.sql(INSTALLED) == version
    for statement in (STILL_IN_TIME, *ADD_REVIEWED, *BEFORE[version]):
        odoo.sql(statement)
    said = odoo.update()
    assert not [line for line in said.splitlines() if " WARNING " in line or " ERROR " in line]
    # Before it starts: what the dump holds is old enough to be removed by the daily cleaning.
    after = _counts(odoo)
    # The turn that was queued in the dump runs before there is a model.
    odoo.expect_log(r"A turn failed: llm_(unavailable|no_api)")
    odoo.start()
    yield odoo, (before, after)
    odoo.stop()


UNDER_WAY = (
    "SELECT (SELECT COUNT(*) FROM woow_paas_platform_ai_turn"
    "         WHERE state IN ('queued', 'running', 'waiting')),"
    " (SELECT COUNT(*) FROM woow_paas_platform_tool_call WHERE outcome IS NULL)"
)


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_a_backup_that_is_restored_stops_what_was_under_way(template, delivered, version):
    folders = [*odoo_tree.addons_paths(odoo_tree.odoo_path()), delivered]
    options = {"addons_path": ",".join(map(str, folders))}
    odoo = testbed.OdooServer(template, f"back_{version[-3]}", options=options)
    try:
        dump = DUMPS / f"{version}.sql.xz"
        template.postgres.restore(odoo.db, lzma.decompress(dump.read_bytes()))
        assert "0" not in odoo.sql(UNDER_WAY).split("|")
        said = odoo.command("ai_moved", "--restored", f"--database={odoo.db}")
        assert "has been stopped" in said
        assert odoo.sql(UNDER_WAY) == "0|0"
        assert odoo.sql(INSTALLED) == version
    finally:
        odoo.stop()


def test_it_runs_from_the_archive_and_the_archive_has_its_tests(updated, delivered):
    odoo, _counted = updated
    found = odoo.shell(
        "import inspect\n"
        "from odoo.addons.woow_paas_platform import tests\n"
        "modules = [name for name, m in vars(tests).items() if inspect.ismodule(m)]\n"
        "result = [tests.__file__, modules]"
    )
    assert found[0].startswith(str(delivered))
    written = {path.stem for path in (delivered / "woow_paas_platform/tests").glob("test_*.py")}
    assert written - set(found[1]) == NOT_ODOOS


def test_nothing_is_lost(updated):
    odoo, (before, after) = updated
    assert odoo.sql(INSTALLED) not in (FIRST, SECOND)
    assert {name: int(after[name]) >= int(count) for name, count in before.items()} == (
        dict.fromkeys(before, True)
    )


@pytest.mark.parametrize(
    "rows", [RULES, TEMPLATES, CRONS.format("!=")], ids=["rules", "templates", "crons"]
)
def test_what_the_new_version_says_is_there(updated, template, rows):
    odoo, _counted = updated
    assert odoo.sql(rows) == template.postgres.sql(template.database, rows)


def test_each_server_has_a_version_to_compare_with(updated):
    odoo, _counted = updated
    assert (
        odoo.sql(
            "SELECT count(*) FROM woow_paas_platform_mcp_server s WHERE NOT EXISTS"
            " (SELECT FROM woow_paas_platform_mcp_server_version v WHERE v.server_id = s.id)"
        )
        == "0"
    )


def test_each_assistant_has_its_first_version(updated):
    odoo, _counted = updated
    numbers = (
        "SELECT DISTINCT v.number FROM ai_assistant a LEFT JOIN"
        " woow_paas_platform_assistant_version v ON v.id = a.version_id AND v.assistant_id = a.id"
    )
    assert odoo.sql(numbers) == "1"


def test_large_results_of_before_are_counted(updated):
    odoo, _counted = updated
    counted = "SELECT turn_id FROM woow_paas_platform_tool_call WHERE kept_bytes > 5000"
    assert odoo.sql(counted) == "1"


def test_results_of_before_count_as_foreign_words(updated):
    odoo, _counted = updated
    read = "SELECT COUNT(*) FROM woow_paas_platform_tool_call WHERE started_at IS NOT NULL AND outcome = 'ok'"
    assert int(odoo.sql(f"{read} AND taint IS NOT NULL")) > 0
    assert odoo.sql(f"{read} AND taint IS NULL AND server_name <> ''") == "0"


def test_decisions_about_tools_of_before_stay(updated):
    """What somebody has accepted is accepted, what nobody has waits for a review, and nothing runs that did not."""
    odoo, _counted = updated
    tools = odoo.shell(
        "tools = env['woow_paas_platform.mcp_tool'].search([])\n"
        "result = {tool.name: [tool.review_state, tool.approval_policy, tool.is_accepted,"
        " tool.is_unreviewed, tool.is_exempt] for tool in tools}"
    )
    assert {name: tools[name] for name in REVIEWED} == {
        "kept": ["approved", "auto", True, False, False],
        "undone": ["refused", "auto", False, False, False],
        "moved_on": ["approved", "default", False, True, False],
        "waits": ["changed", "ask", True, False, False],
        "first_seen": ["approved", "never", False, True, False],
        "unseen": ["new", "default", False, False, False],
    }
    assert tools["alerts"][:2] == ["approved", "ask"]
    assert not any(is_exempt for *_rest, is_exempt in tools.values())
    modes = "SELECT DISTINCT approval_mode FROM ai_assistant"
    assert odoo.sql(modes) == "policy"


@pytest.mark.parametrize("updated", [SECOND], indirect=True)
def test_results_that_were_removed_before_leave_the_transcripts_too(updated):
    odoo, _counted = updated
    assert odoo.shell(
        "env['woow_paas_platform.ai_turn']._cron_retention()\n"
        "turns = env['woow_paas_platform.ai_turn'].search([])\n"
        "result = ['Removed of old.' in str(turn.transcript) for turn in turns]"
    ) == [False] * int(odoo.sql("SELECT COUNT(*) FROM woow_paas_platform_ai_turn"))


@pytest.mark.parametrize("updated", [SECOND], indirect=True)
def test_no_index_is_left_that_heartbeats_write(updated):
    odoo, _counted = updated
    assert not odoo.sql(
        "SELECT indexname FROM pg_indexes WHERE tablename = 'woow_paas_platform_ai_turn'"
        " AND indexdef LIKE '%(lease_until)%'"
    )


def test_programs_of_owners_go_on_where_the_host_allows_no_sandbox(updated):
    odoo, _counted = updated
    parameter = "SELECT value FROM ir_config_parameter WHERE key = 'woow_paas_platform.sandbox'"
    assert odoo.sql(parameter) == "preferred"


@pytest.mark.parametrize("updated", [FIRST], indirect=True)
def test_the_names_that_somebody_has_given_to_crons_stay(updated):
    odoo, _counted = updated
    assert odoo.sql(CRONS.format("=")) == "ir_cron_retention|Our own cleaning|Our own cleaning"
    french = "SELECT name->>'en_US' FROM ir_act_server WHERE name->>'fr_FR' = 'Balayer'"
    assert odoo.sql(french) == "AI: requeue the turns of runners that stopped"


def test_secrets_are_still_read(updated):
    odoo, (before, _after) = updated
    kept = odoo.shell(
        "weather = [('name', '=', 'weather'), ('scope', '=', 'system')]\n"
        "servers = env['woow_paas_platform.mcp_server'].search(weather)\n"
        "sign_ins = env['woow_paas_platform.mcp_sign_in'].search([])\n"
        "result = [servers._server_spec().api_key,"
        " env.ref('woow_paas_platform.ai_config_demo')._llm_spec().api_key,"
        " *(one._token_set()['access_token'] for one in sign_ins)]"
    )
    tokens = ["token-of-the-dump"] * int(before["woow_paas_platform_mcp_sign_in"])
    assert kept == ["key-of-weather", "sk-provider-of-the-dump", *tokens]


def test_conversations_are_read(updated):
    odoo, _counted = updated
    api = odoo.session("user")
    conversations = api.get("/api/ai/conversations").json()["conversations"]
    pages = [api.get(f"/api/ai/conversations/{c['id']}").json() for c in conversations]
    assert "Taipei" in str(pages) and "台北" in str(pages)


def test_what_waited_for_a_decision_still_does_and_goes_on(updated, scripted_llm):
    odoo, _counted = updated
    odoo.use_llm(scripted_llm)
    turn, call = odoo.sql(
        "SELECT turn_id, call_id FROM woow_paas_platform_tool_call"
        " JOIN woow_paas_platform_ai_turn t ON t.id = turn_id JOIN res_users u ON u.id = t.user_id"
        " WHERE approval = 'pending' AND u.login = 'user'"
    ).split("|")
    answer = odoo.session("user").post(
        f"/api/ai/turns/{turn}/decision", json={"id": call, "decision": "approve_once"}
    )
    assert answer.status_code < 300, answer.text

    def outcome():
        return odoo.sql(
            f"SELECT outcome FROM woow_paas_platform_tool_call WHERE call_id = '{call}'"
        )

    # The server of the dump does not exist: that the call was tried is what counts.
    assert eventually(outcome) == "error"
