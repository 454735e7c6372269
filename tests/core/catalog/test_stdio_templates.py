"""What becomes of the operator's release and the fields that an administrator fills in."""

import re
from pathlib import Path

import pytest

from services.catalog import environments
from services.catalog.server_file import FileError
from services.catalog.server_file_reader import PINNED, parse
from services.catalog.stdio_templates import TEMPLATES, filled
from services.errors import ConfigError

DSN = "postgresql://reader:s3cret-w0rd@db.example.com:5432/shop"


def read(text):
    return parse(text, {}, "mcp_servers.toml")


def released(name, **lines):
    rows = "\n".join(f"{key} = {value}" for key, value in lines.items())
    return read(f'[mcp]\n\n[[mcp.templates]]\nname = "{name}"\n{rows}\n').templates[name]


def command(server):
    return environments.command(server, container_runtime="podman")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "files/team").mkdir(parents=True)
    (tmp_path / "files-of-others").mkdir()
    (tmp_path / "files/way-out").symlink_to("/etc")
    (tmp_path / "files/shortcut").symlink_to(tmp_path / "files/team")
    return tmp_path / "files"


# ------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ('name = "filesystem"', "line 3: roots are needed"),
        ('name = "filesystem"\nroots = ["files"]', "line 5: roots must be folders"),
        ('name = "filesystem"\nroots = "/srv"', "line 5: roots must be a list"),
        ('name = "filesystem"\nroots = [1]', "line 5: roots must only contain strings"),
        ('name = "slack"\nroots = ["/srv"]', "line 5: roots cannot be used with this template"),
        ('name = "shell"', "line 4: name must be one of filesystem, postgresql"),
        ("", "line 3: name must be one of"),
        ('name = "slack"\nurl = "https://x.example.com"', "line 5: url is unknown"),
        ('name = "slack"\nargs = ["-x"]', "line 3: command is missing"),
        ('name = "slack"\nenv_type = "custom_image"', "line 3: env_config needs an image"),
        (
            'name = "slack"\nenv_type = "dynamic_injected"\n'
            'env_config = { runtime = "node", package = "x@latest" }',
            "line 6: env_config requires a package with its version",
        ),
        ('name = "slack"\ntimeout = "11m"', "line 5: timeout must be positive"),
    ],
)
def test_what_is_wrong_names_file_line_and_key(lines, where):
    with pytest.raises(FileError) as caught:
        read(f"[mcp]\n\n[[mcp.templates]]\n{lines}\n")
    assert f"mcp_servers.toml, {where}" in str(caught.value)


def test_a_template_is_released_once_and_the_whole_can_be_switched_off():
    one = '[[mcp.templates]]\nname = "slack"\n'
    with pytest.raises(FileError, match="line 4: name “slack” is defined twice"):
        read(one * 2)
    assert read(one).templates
    assert not read("[mcp]\nenabled = false\n" + one).templates
    assert read(one).digest != read("").digest


# ------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("name", "values", "package", "env"),
    [
        ("postgresql", {"connection_string": DSN}, "@bytebase/dbhub", {"DSN": DSN}),
        (
            "slack",
            {"bot_token": "xoxb-1-2-abc"},
            "slack-mcp-server",
            {"SLACK_MCP_XOXB_TOKEN": "xoxb-1-2-abc"},
        ),
        (
            "brave_search",
            {"api_key": "BSA-abc"},
            "@brave/brave-search-mcp-server",
            {"BRAVE_API_KEY": "BSA-abc"},
        ),
    ],
)
def test_a_secret_is_in_the_environment_and_in_no_list_of_processes(name, values, package, env):
    server = filled(released(name), values)
    assert command(server)[:2] == ("npx", "--yes")
    assert command(server)[2].startswith(f"{package}@")
    assert command(server)[3:] == ("--transport", "stdio")
    assert env.items() <= environments.variables(server, cache=Path("/c")).items()
    (secret,) = values.values()
    assert secret in server.secrets
    assert secret not in repr(server) + " ".join(command(server))


def test_a_password_is_a_secret_of_its_own():
    assert filled(released("postgresql"), {"connection_string": DSN}).secrets == (
        DSN,
        "s3cret-w0rd",
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("postgresql", {"connection_string": "sqlite:///etc/shadow"}),
        ("postgresql", {"connection_string": "--dsn=postgres://x"}),
        ("postgresql", {"connection_string": "postgres://x\nSSH_HOST=y"}),
        ("postgresql", {"connection_string": "postgres://x -c y"}),
        ("slack", {"bot_token": "--help"}),
        ("brave_search", {"api_key": "a b"}),
        ("brave_search", {"api_key": "a" * 2001}),
    ],
)
def test_what_is_no_such_value_is_refused_and_not_repeated(name, values):
    with pytest.raises(ConfigError) as caught:
        filled(released(name), values)
    assert next(iter(values.values())) not in str(caught.value)


def test_what_the_template_does_not_know_goes_nowhere():
    server = filled(released("slack"), {"bot_token": "xoxb-1", "NODE_OPTIONS": "--require=/tmp/x"})
    assert set(server.env) == {"SLACK_MCP_XOXB_TOKEN"}
    assert "/tmp/x" not in " ".join(command(server))


# ------------------------------------------------------------ folders


def folders(root, text):
    server = filled(released("filesystem", roots=f'["{root}"]'), {"allowed_roots": text})
    return command(server)[3:]


def test_folders_are_below_the_released_ones_and_meant_as_they_really_are(root):
    assert folders(root, "") == (str(root),)
    assert folders(root, str(root)) == (str(root),)
    assert folders(root, f"{root}/team, {root}/shortcut") == (f"{root}/team",) * 2
    assert folders(root, f"{root}/team/../team") == (f"{root}/team",)


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/etc",
        "{root}/..",
        "{root}/team/../../files-of-others",
        "{root}-of-others",
        "{root}/way-out",
        "{root}/way-out/ssh",
        "team",
        "--allow-everything",
        "{root}/team,/etc",
    ],
)
def test_other_folders_are_refused(root, text):
    with pytest.raises(ConfigError, match="is not inside a folder that the operator has released"):
        folders(root, text.format(root=root))


def test_a_folder_has_to_be_there(root):
    with pytest.raises(ConfigError, match="does not exist on this host"):
        folders(root, f"{root}/nowhere")


# ------------------------------------------------------------ how it is started


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


def test_every_package_is_pinned():
    for template in TEMPLATES.values():
        assert re.fullmatch(PINNED["node"], template.package)
