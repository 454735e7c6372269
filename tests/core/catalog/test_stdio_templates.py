"""What becomes of the operator's release and the fields that an administrator fills in."""

import dataclasses
import hashlib
import json
import re
from pathlib import Path

import pytest

from services.catalog import environments, stdio_templates
from services.catalog.server_file import LATER, FileError, FileServer
from services.catalog.server_file_reader import PINNED, parse
from services.catalog.stdio_templates import TEMPLATES, filled, lines
from services.errors import ConfigError

DSN = "postgresql://reader:s3cret-w0rd@db.example.com:5432/shop"


def read(text):
    return parse(text, {}, "mcp_servers.toml")


def released(name, **keys):
    rows = "\n".join(f"{key} = {value}" for key, value in keys.items())
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
    with pytest.raises(FileError) as caught:
        read(f"[mcp]\n\n[[mcp.templates]]\n{entry}\n")
    assert f"mcp_servers.toml, {where}" in str(caught.value)


def test_a_template_is_released_once_and_the_whole_can_be_switched_off():
    one = '[[mcp.templates]]\nname = "slack"\n'
    with pytest.raises(FileError, match="line 4: name “slack” is defined twice"):
        read(one * 2)
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


# ------------------------------------------------------------ of a workspace


@pytest.fixture
def workspaces(root):
    (root.parent / "workspaces").mkdir()
    return root.parent / "workspaces"


def shared(root, workspaces, **keys):
    more = {"roots": f'["{root}"]', "owners": "true", "workspace_root": f'"{workspaces}"', **keys}
    return released("filesystem", **more)


def folders_of(release, text, workspace="a1"):
    return command(filled(release, {"allowed_roots": text}, workspace=workspace))[3:]


def test_each_workspace_has_a_folder_of_its_own(root, workspaces):
    release = shared(root, workspaces)
    assert folders_of(release, "") == (f"{workspaces}/a1",)
    assert folders_of(release, "", "b2") == (f"{workspaces}/b2",)
    (workspaces / "a1/reports").mkdir()
    assert folders_of(release, "reports") == (f"{workspaces}/a1/reports",)
    assert folders_of(release, f"{workspaces}/a1/reports") == (f"{workspaces}/a1/reports",)
    assert folders(root, "") == (str(root),)  # everybody's servers have the operator's, as before
    assert (workspaces / "a1").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "text", ["..", "../b2", "{workspaces}/b2", "{workspaces}", "{root}", "/etc", "way-out", "/"]
)
def test_no_workspace_gets_at_anothers_folder_or_the_operators(root, workspaces, text):
    release = shared(root, workspaces)
    folders_of(release, "", "b2")
    folders_of(release, "")
    (workspaces / "a1/way-out").symlink_to(workspaces / "b2")
    with pytest.raises(ConfigError, match="is not inside a folder"):
        folders_of(release, text.format(root=root, workspaces=workspaces))


def test_a_folder_that_somebody_has_made_a_link_is_not_used(root, workspaces):
    (workspaces / "a1").symlink_to(root)
    with pytest.raises(ConfigError, match="cannot be made on this host"):
        folders_of(shared(root, workspaces), "")


def test_workspaces_are_not_inside_of_what_everybodys_servers_see(root, workspaces):
    (root.parent / "same").symlink_to(root / "team")
    with pytest.raises(ConfigError, match="cannot be made on this host"):
        folders_of(shared(root, root.parent / "same"), "")
    assert not (root / "team/a1").exists()


def test_a_disk_that_is_away_is_not_replaced(root, workspaces):
    with pytest.raises(ConfigError, match="cannot be made on this host"):
        folders_of(shared(root, workspaces / "away"), "")
    assert not (workspaces / "away").exists()


def test_a_container_sees_the_workspaces_folder_only(root, workspaces):
    image = {"env_type": '"custom_image"', "env_config": '{ image = "files:1" }'}
    release = shared(root, workspaces, **image)
    line = command(filled(release, {}, workspace="a1"))
    mounts = [part for part in line if part.startswith("--volume=")]
    assert mounts == [f"--volume={workspaces}/a1:{workspaces}/a1"]


HOSTED = {"owners": "true", "hosts": '["db.example.com", "db.example.com:6432"]'}


@pytest.mark.parametrize("port", ["", ":5432", ":6432"])
def test_a_workspace_reaches_the_databases_that_the_operator_lists(port):
    dsn = f"postgresql://reader:s3cret-w0rd@DB.example.com{port}/shop?sslmode=require"
    server = filled(released("postgresql", **HOSTED), {"connection_string": dsn}, workspace="a1")
    assert server.env["DSN"] == dsn
    assert "s3cret-w0rd" in server.secrets


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql:///odoo",
        "postgresql://odoo@/odoo",
        "postgresql://x:y@localhost/odoo",
        "postgresql://x:y@10.0.0.1/odoo",
        "postgresql://x:y@db.example.com:5433/odoo",
        "postgresql://x:y@db.example.com,localhost/odoo",
        "postgresql://x:y@db.example.com.evil.org/odoo",
        "postgresql://x:y@db.example.com@localhost/odoo",
        "postgresql://x:y@%2Fvar%2Frun%2Fpostgresql/odoo",
        "postgresql://x:y@db.example.com/odoo?host=/var/run/postgresql",
        "postgresql://x:y@db.example.com/odoo?sslmode=require&host=localhost",
        "postgresql://x:y@db.example.com/odoo?options=-cdefault_transaction_read_only%3Doff",
        "postgresql://x:y@db.example.com/odoo?sslcert=/etc/passwd",
        "postgresql://x:y@db.example.com/odoo#@localhost",
        "postgresql://x/y@db.example.com/odoo",
    ],
)
def test_a_workspace_reaches_no_other_database(dsn):
    release = released("postgresql", **HOSTED)
    with pytest.raises(ConfigError):
        filled(release, {"connection_string": dsn}, workspace="a1")


def test_what_is_not_released_to_owners_is_not_theirs(root):
    for release in (released("slack"), released("filesystem", roots=f'["{root}"]')):
        with pytest.raises(ConfigError, match="not enabled this template for cloud services"):
            filled(release, {"bot_token": "xoxb-1"}, workspace="a1")


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
    old = {k: v for k, v in dataclasses.asdict(entry).items() if k not in LATER}
    raw = json.dumps(old, sort_keys=True)
    assert entry.digest == hashlib.sha256(raw.encode()).hexdigest()
    assert dataclasses.replace(entry, owners=True).digest != entry.digest


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
    with pytest.raises(FileError, match=problem):
        released("slack", environments=entries)


def test_every_package_is_pinned():
    for template in TEMPLATES.values():
        assert re.fullmatch(PINNED["node"], template.package)
