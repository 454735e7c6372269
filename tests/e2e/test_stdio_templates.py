"""Templates with a command: an administrator makes servers of them, chats use them, and no process is left."""

import json

import psutil
import pytest
from chat import Chat, calls, first, then
from playwright.sync_api import expect
from waiting import eventually

from dev.servers import mcp_servers
from dev.setup import node

SERVER = "woow_paas_platform.mcp_server"
TOOL = "woow_paas_platform.mcp_tool"
SECRET = "s3cret-w0rd"
FILESYSTEM = """
[[mcp.templates]]
name = "filesystem"
roots = ["{root}"]
command = "{node}"
args = ["{program}"]
"""
POSTGRESQL = """
[[mcp.templates]]
name = "postgresql"
command = "{node}"
args = ["{program}"]
env = {{ {env} }}
"""


@pytest.fixture
def root(tmp_path):
    """A folder that is released; the team's is below it."""
    (tmp_path / "team").mkdir()
    (tmp_path / "team/page.txt").write_text("The harbour opens at six.")
    (tmp_path / "secrets.txt").write_text("Nothing for the team.")
    return tmp_path.resolve()


@pytest.fixture
def file(odoo, operator_file):
    """The operator's file; nothing of it is left afterwards, neither servers nor processes."""
    yield operator_file
    servers = odoo.rpc(
        SERVER, "search", [("template_code", "!=", False)], context={"active_test": 0}
    )
    odoo.rpc(SERVER, "unlink", servers)
    operator_file.write_text("")
    eventually(lambda: not processes())


def processes():
    """Command lines of what the templates have started."""
    marks = (str(mcp_servers.dbhub()[1]), str(mcp_servers.script("server-filesystem")))
    lines = (" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"]))
    return [line for line in lines if any(mark in line for mark in marks)]


def offer(odoo, name):
    """Let every assistant use the server, without asking."""
    (server,) = odoo.rpc(SERVER, "search", [("name", "=", name)])
    tools = odoo.rpc(TOOL, "search", [("server_id", "=", server)])
    odoo.rpc(TOOL, "write", tools, {"approval_policy": "auto"})
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, {"mcp_server_ids": [[4, server]]})
    return server


def state(odoo, server):
    (row,) = odoo.rpc(SERVER, "read", [server], ["state", "state_sentence"])
    return row["state"], row["state_sentence"] or ""


def results(scripted_llm):
    """What the model has read of the tools."""
    messages = scripted_llm.requests()[-1]["body"]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_files_by_the_dialog(odoo, file, root, page_of, scripted_llm):
    program = mcp_servers.script("server-filesystem")
    release = FILESYSTEM.format(root=root, node=node.node(), program=program)
    file.write_text(release)
    scripted_llm.script(
        first(
            "When does it open",
            calls(
                ("Filesystem__read_text_file", {"path": f"{root}/team/page.txt"}),
                ("Filesystem__read_text_file", {"path": f"{root}/secrets.txt"}),
            ),
        ),
        then("When does it open", {"content": "At six."}),
    )
    page = page_of(odoo, "admin")
    page.goto("/odoo/action-woow_paas_platform.mcp_server_action")
    page.get_by_role("button", name="New from Template").click()
    page.locator('[data-template="filesystem"]').click()
    page.get_by_label("Folders").fill("/etc")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("not inside a folder that the operator")
    page.get_by_label("Folders").fill(f"{root}/team")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    current = page.locator(".o_statusbar_status .o_arrow_button_current")
    expect(current).to_have_text("Connected")
    expect(page.locator("div[name=tool_ids]")).to_contain_text("read_text_file")

    server = offer(odoo, "Filesystem")
    Chat(odoo, "demo").ask("When does it open").wait_ended()
    inside, outside = results(scripted_llm)
    assert "The harbour opens at six." in inside
    assert "Nothing for the team." not in outside

    assert any(line.endswith(f"{root}/team") for line in processes())
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".ribbon")).to_contain_text("Off")
    eventually(lambda: not processes())
    page.get_by_role("button", name="Start", exact=True).click()
    expect(current).to_have_text("Connected")

    file.write_text("")
    eventually(lambda: "no longer enabled" in state(odoo, server)[1])
    eventually(lambda: not processes())
    file.write_text(release)
    eventually(lambda: state(odoo, server)[0] == "connected", lambda: state(odoo, server))


def test_rows_by_the_api(odoo, file, template, scripted_llm):
    where = template.postgres.environment  # the host is the operator's, and may be a socket
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in where.items())
    program, dbhub = mcp_servers.dbhub()
    file.write_text(POSTGRESQL.format(node=program, program=dbhub, env=env))
    read = "SELECT login FROM res_users WHERE id = 2"
    scripted_llm.script(
        first(
            "Who is the second",
            calls(
                ("shop__execute_sql", {"sql": read}),
                ("shop__execute_sql", {"sql": "UPDATE res_users SET login = 'x' WHERE id = 2"}),
            ),
        ),
        then("Who is the second", {"content": "The administrator."}),
    )
    user = template.postgres.user
    body = {
        "template": "postgresql",
        "name": "shop",
        "scope": "system",
        "values": {"connection_string": f"postgresql://{user}:{SECRET}@/{odoo.db}"},
    }
    refused = odoo.session("owner").post("/api/mcp/servers", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    made = odoo.session("admin").post("/api/mcp/servers", json=body)
    assert (made.status_code, made.json()["state"]) == (201, "draft"), made.text
    eventually(lambda: state(odoo, made.json()["id"])[0] == "connected")

    server = offer(odoo, "shop")
    Chat(odoo, "demo").ask("Who is the second").wait_ended()
    row, refusal = results(scripted_llm)
    assert '"admin"' in row
    assert "read-only" in refusal
    assert odoo.sql(read).strip() == "admin"

    told = odoo.session("admin").get(f"/api/mcp/servers/{server}").text
    stored = odoo.sql(
        f"SELECT row_to_json(s) FROM woow_paas_platform_mcp_server s WHERE id = {server}"
    )
    for place in (told, stored, odoo.log_text(), *processes()):
        assert SECRET not in place
    assert processes()


def test_an_owner_sends_the_lines_and_has_a_folder_of_the_workspace(odoo, file, root, page_of):
    page = page_of(odoo, "owner")
    page.goto("/my/services")
    page.get_by_role("link", name="n8n Automation").click()
    page.get_by_role("link", name="MCP", exact=True).click()
    page.get_by_role("button", name="From a template").click()
    filesystem = page.locator('[data-template="filesystem"]')
    expect(filesystem).to_contain_text("Not enabled by the operator")
    filesystem.click()
    expect(page.locator(".o_woow_operator_lines")).to_contain_text("owners = true")
    page.get_by_role("button", name="Cancel").click()

    (root / "workspaces").mkdir()
    released = FILESYSTEM.format(
        root=root / "team", node=node.node(), program=mcp_servers.script("server-filesystem")
    )
    file.write_text(f'{released}owners = true\nworkspace_root = "{root}/workspaces"\n')
    page.get_by_role("button", name="From a template").click()
    filesystem.click()
    page.get_by_label("Folders").fill("../team")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not inside a folder that the operator")
    page.get_by_label("Folders").fill("")
    page.keyboard.press("Enter")
    card = page.locator('.o_woow_server[data-server="Filesystem"]')
    expect(card).to_have_attribute("data-state", "connected")
    expect(card.locator('[data-tool="read_text_file"]')).to_be_visible()
    (folder,) = (root / "workspaces").iterdir()
    assert folder.is_dir(), "the workspace's own, which Odoo has made"
