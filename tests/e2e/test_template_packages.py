"""The packages that templates with a command start, each in its version: installed by a lock, asked for its tools.

Services outside are imitated on the loopback, or not asked at all. PostgreSQL's needs a database: it is asked in
test_stdio_templates.
"""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_slack import FakeSlack

from dev.servers import mcp_servers
from dev.setup import node
from services.catalog import environments
from services.catalog.server_file_reader import parse
from services.catalog.stdio_templates import TEMPLATES, filled
from services.mcp.discovery.discovery import discover
from services.net.egress import EgressPolicy
from services.specs import ServerSpec

TOKEN = "xoxb-1-2-s3cret"
SLACK = "slack-mcp-server-linux-amd64"  # the program that slack-mcp-server starts on this platform


def toml(name, program, *arguments, **keys):
    """The operator's entry that starts the package as the lock has installed it."""
    lines = {"name": name, "command": str(program), "args": list(map(str, arguments)), **keys}
    rows = (f"{key} = {value(one)}" for key, one in lines.items())
    return "[[mcp.templates]]\n" + "\n".join(rows)


def value(one):
    if isinstance(one, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(part)}" for key, part in one.items()) + " }"
    return json.dumps(one)


def script(package, program="dist/index.js"):
    return node.template_packages() / package / program


def spec_of(entry, values):
    (release,) = parse(entry, {}, "mcp_servers.toml").templates.values()
    server = filled(release, values)
    command = environments.command(server, container_runtime="podman")
    env = environments.variables(server, cache=Path("/nowhere"))
    return ServerSpec(
        id=1,
        name=server.name,
        transport="stdio",
        command=command,
        env=env,
        secrets=server.blotted,
        connect_timeout=120,
        sync_timeout=120,
    )


def tools_of(spec):
    async def ask():
        return {tool.name for tool in (await discover(spec, EgressPolicy.parse(""))).tools}

    with ThreadPoolExecutor(1) as threads:  # the browser tests leave a loop running in this thread
        return threads.submit(asyncio.run, ask()).result()


def version(folder):
    return json.loads((folder / "package.json").read_text())["version"]


def test_filesystem(tmp_path):
    entry = toml(
        "filesystem",
        node.node(),
        mcp_servers.script("server-filesystem"),
        roots=[str(tmp_path)],
    )
    assert {"read_text_file", "write_file", "list_directory"} <= tools_of(spec_of(entry, {}))


def test_slack(tmp_path):
    slack = FakeSlack(tmp_path, TOKEN)
    try:
        entry = toml(
            "slack",
            script(SLACK, f"bin/{SLACK}"),
            env={
                "SLACK_MCP_PROXY": slack.url,
                "SLACK_MCP_SERVER_CA": str(slack.authority),
                "SLACK_MCP_USERS_CACHE": str(tmp_path / "users.json"),
                "SLACK_MCP_CHANNELS_CACHE": str(tmp_path / "channels.json"),
            },
        )
        tools = tools_of(spec_of(entry, {"bot_token": TOKEN}))
    finally:
        slack.close()
    assert {"channels_list", "conversations_history"} <= tools
    assert "conversations_add_message" not in tools  # the operator alone lets it write
    assert "auth.test" in slack.asked


def test_brave_search():
    entry = toml(
        "brave_search",
        node.node(),
        script("@brave/brave-search-mcp-server"),
        env={"NODE_ENV": "test"},
    )
    assert "brave_web_search" in tools_of(spec_of(entry, {"api_key": "BSA-s3cret"}))


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_tried_here_is_what_is_fetched_there(name):
    package, _, wanted = TEMPLATES[name].package.rpartition("@")
    here = SLACK if package == "slack-mcp-server" else package
    folders = (node.node_modules() / here, node.template_packages() / here)
    assert {version(folder) for folder in folders if folder.exists()} == {wanted}
