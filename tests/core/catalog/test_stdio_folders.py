"""Which folders and databases a released template reaches: the operator's, and those of one workspace alone."""

import pytest
from releases import command, released

from services.catalog.stdio_templates import filled
from services.errors import ConfigError


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
