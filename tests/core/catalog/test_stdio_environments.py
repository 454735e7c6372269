"""How the program of a released template is started, among what the operator says."""

import pytest
from releases import command, read, released

from services.catalog import stdio_templates
from services.catalog.stdio_templates import filled
from services.errors import ConfigError

DSN = "postgresql://reader:s3cret-w0rd@db.example.com:5432/shop"


def test_the_operator_may_say_how_a_server_is_started(root):
    own = {"command": '"node"', "args": '["/opt/files.js"]', "env": '{ NODE_ENV = "production" }'}
    server = filled(released("filesystem", roots=f'["{root}"]', **own), {})
    assert command(server) == ("node", "/opt/files.js", str(root))
    assert server.env == {"NODE_ENV": "production"}

    image = {"env_type": '"custom_image"', "env_config": '{ image = "dbhub:1", network = "db" }'}
    server = filled(released("postgresql", **image), {"connection_string": DSN})
    assert command(server)[-3:] == ("dbhub:1", "--transport", "stdio")
    assert "--env=DSN" in command(server)
    assert DSN not in " ".join(command(server))

    later = '{ runtime = "node", package = "@bytebase/dbhub@9.9.9" }'
    server = filled(
        released("postgresql", env_type='"dynamic_injected"', env_config=later),
        {"connection_string": DSN},
    )
    assert "@bytebase/dbhub@9.9.9" in command(server)


ENVIRONMENTS = (
    '[{ command = "/opt/slack", args = ["-v"] },'
    ' { env_type = "custom_image", env_config = { image = "slack:1" } }]'
)


def test_a_server_starts_in_one_of_the_environments_of_its_release():
    release = released("slack", environments=ENVIRONMENTS)
    kinds = [(one.env_type, one.env_config) for one in stdio_templates.environments(release)]
    package = {"runtime": "node", "package": "slack-mcp-server@1.3.0"}
    assert kinds == [
        ("dynamic_injected", package),
        ("preinstalled", {}),
        ("custom_image", {"image": "slack:1"}),
    ]

    def start(*chosen):
        return command(
            filled(stdio_templates.in_environment(release, *chosen), {"bot_token": "xoxb-1"})
        )

    assert start("", None)[:3] == ("npx", "--yes", "slack-mcp-server@1.3.0")
    assert start(*kinds[0])[:2] == ("npx", "--yes")
    assert start("preinstalled", {})[:2] == ("/opt/slack", "-v")
    assert "slack:1" in start("custom_image", {"image": "slack:1"})


@pytest.mark.parametrize(
    ("env_type", "env_config"),
    [
        ("custom_image", {"image": "evil:1"}),
        ("custom_image", {"image": "slack:1", "mounts": ["/:/host"]}),
        ("custom_image", {}),
        ("dynamic_injected", {"runtime": "node", "package": "evil@1.0.0"}),
        ("preinstalled", {"command": "sh"}),
        ("shell", {}),
    ],
)
def test_no_other_environment_is_started(env_type, env_config):
    release = released("slack", environments=ENVIRONMENTS)
    with pytest.raises(ConfigError, match="has not released this environment"):
        stdio_templates.in_environment(release, env_type, env_config)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ("[{}]", "command is missing"),
        ('["sh"]', "must be a table"),
        ('[{ env_type = "custom_image" }]', "env_config needs an image"),
        ('[{ command = "a", env = { A = "b" } }]', "env is unknown"),
        ('[{ command = "a" }, { command = "b" }]', "must differ"),
    ],
)
def test_environments_are_checked_as_the_entry_is(entries, problem):
    entry = f'[[mcp.templates]]\nname = "slack"\nenvironments = {entries}\n'
    assert problem in read(entry).problems[0]
