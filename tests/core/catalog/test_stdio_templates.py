"""What becomes of the operator's release and the fields that an administrator fills in."""

import dataclasses
import hashlib
import json
import re
from pathlib import Path

import pytest
from releases import command, read, released

from services.catalog import environments
from services.catalog.server_file import LATER, FileServer
from services.catalog.server_file_reader import PINNED
from services.catalog.stdio_templates import TEMPLATES, filled, lines
from services.errors import ConfigError

DSN = "postgresql://reader:s3cret-w0rd@db.example.com:5432/shop"


# ------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("entry", "where"),
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
        ('name = "slack"\nowners = "yes"', "line 5: owners must be true or false"),
        ('name = "slack"\nowners = true\nhosts = ["a"]', "line 6: hosts cannot be used"),
        ('name = "postgresql"\nhosts = ["a"]', "line 5: hosts needs owners = true"),
        ('name = "postgresql"\nowners = true', "line 3: hosts is needed with owners"),
        ('name = "postgresql"\nowners = true\nhosts = ["a:b"]', "line 6: hosts must be a list"),
        (
            'name = "filesystem"\nroots = ["/srv/a"]\nowners = true',
            "line 3: workspace_root is needed with owners = true",
        ),
        (
            'name = "filesystem"\nroots = ["/srv/a"]\nworkspace_root = "/srv/b"',
            "line 6: workspace_root needs owners = true",
        ),
        (
            'name = "filesystem"\nroots = ["/srv/a"]\nowners = true\nworkspace_root = "b"',
            "line 7: workspace_root must be a folder",
        ),
        (
            'name = "filesystem"\nroots = ["/srv/a"]\nowners = true\nworkspace_root = "/srv/a/b"',
            "line 7: workspace_root must lie outside of the folders in roots",
        ),
        (
            'name = "filesystem"\nroots = ["/srv/a"]\nowners = true\nworkspace_root = "/srv"',
            "line 7: workspace_root must lie outside of the folders in roots",
        ),
    ],
)
def test_what_is_wrong_names_file_line_and_key(entry, where):
    [problem] = read(f"[mcp]\n\n[[mcp.templates]]\n{entry}\n").problems
    assert f"mcp_servers.toml, {where}" in problem


def test_a_template_is_released_once_and_the_whole_can_be_switched_off():
    one = '[[mcp.templates]]\nname = "slack"\n'
    assert "line 4: name “slack” is defined twice" in read(one * 2).problems[0]
    assert read(one).templates
    assert not read("[mcp]\nenabled = false\n" + one).enabled
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


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("owners", [False, True])
def test_the_lines_for_the_operator_release_the_template(name, owners):
    said = lines(name, None, owners=owners)
    release = read(said).templates[name]
    assert release.owners is owners
    assert lines(name, release, owners=owners) == ""
    assert lines(name, release, owners=False) == ""


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_lines_for_owners_go_into_the_entry_that_is_there(name):
    said = lines(name, None, owners=False)
    more = lines(name, read(said).templates[name], owners=True)
    assert read(f"{said}\n{more}").templates[name].owners
    assert f'name = "{name}"' in more


def test_an_update_does_not_take_old_entries_for_changed_ones():
    entry = FileServer(name="files", transport="stdio", command="cat")
    later = (*LATER, "form")  # which is compared by itself
    old = {k: v for k, v in dataclasses.asdict(entry).items() if k not in later}
    raw = json.dumps(old, sort_keys=True)
    assert entry.digest == hashlib.sha256(raw.encode()).hexdigest()
    assert dataclasses.replace(entry, owners=True).digest != entry.digest
    assert dataclasses.replace(entry, form="other").digest == entry.digest


def test_every_package_is_pinned():
    for template in TEMPLATES.values():
        assert re.fullmatch(PINNED["node"], template.package)
