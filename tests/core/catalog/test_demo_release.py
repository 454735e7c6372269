"""What ``make demo`` releases can be tried: the file is read, and servers can be made of it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from dev.demo import demo, templates
from dev.servers import mcp_servers
from dev.setup import node
from services.catalog import environments
from services.catalog.server_file_reader import parse
from services.catalog.stdio_templates import filled


@pytest.fixture
def released(tmp_path, monkeypatch):
    monkeypatch.setattr(mcp_servers, "dbhub", lambda: (Path("/node24"), Path("/dbhub.js")))
    monkeypatch.setattr(mcp_servers, "script", lambda package: Path(f"/{package}.js"))
    monkeypatch.setattr(node, "node", lambda: Path("/node"))
    postgres = SimpleNamespace(environment={"PGHOST": str(tmp_path), "PGUSER": "odoo"})
    instance = SimpleNamespace(folder=tmp_path, postgres=postgres)
    file = templates.release(instance)
    return parse(file.read_text(), {}, file.name).templates


def command(server):
    return environments.command(server, container_runtime="podman")


def test_the_files_of_the_demo(released, tmp_path):
    everybody = filled(released["filesystem"], {})
    assert command(everybody) == ("/node", "/server-filesystem.js", f"{tmp_path}/files")
    assert os.listdir(tmp_path / "files") == ["opening-hours.md"]
    ours = filled(released["filesystem"], {}, workspace="a1")
    assert command(ours)[-1] == f"{tmp_path}/workspaces/a1"


def test_the_shop_of_the_demo(released, tmp_path):
    server = filled(
        released["postgresql"],
        {"connection_string": f"postgresql://{templates.READER}:x@/{templates.SHOP}"},
    )
    assert command(server) == ("/node24", "/dbhub.js", "--transport", "stdio")
    assert server.env["PGHOST"] == str(tmp_path)
    assert "PGUSER" not in server.env
    assert not released["postgresql"].owners


def test_the_demo_speaks_each_language_of_the_addon():
    catalogues = Path(__file__).parents[3] / "i18n"
    assert {path.stem for path in catalogues.glob("*.po")} == set(demo.LANGUAGES)
