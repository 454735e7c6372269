"""Templates that the demo's operator releases: files in a folder of the demo, and a small shop's database to ask."""

import json
from pathlib import Path

from dev.servers import mcp_servers
from dev.servers.instance import Instance
from dev.setup import node

SHOP = "woow_demo_shop"
READER = "shop_reader"  # may read the shop and nothing else
TABLES = """
CREATE TABLE product (id serial PRIMARY KEY, name text NOT NULL, price numeric(8, 2) NOT NULL, stock int NOT NULL);
CREATE TABLE sale (id serial PRIMARY KEY, product_id int REFERENCES product, day date NOT NULL, quantity int NOT NULL);
INSERT INTO product (name, price, stock) VALUES
    ('Lamp', 39.00, 12), ('Desk', 249.00, 3), ('Chair', 119.00, 0), ('Shelf', 89.50, 7);
INSERT INTO sale (product_id, day, quantity)
    SELECT 1 + n % 4, DATE '2026-01-01' + n, 1 + n % 3 FROM generate_series(0, 89) AS n;
"""
PAGE = """# Opening hours

The harbour office opens at six in the morning, on Sundays at eight.
"""


def release(instance: Instance) -> Path:
    """Write the operator's file and what it releases; a folder of its own for each workspace is Odoo's to make.

    :return: the file
    """
    files, workspaces = instance.folder / "files", instance.folder / "workspaces"
    for folder in (files, workspaces):
        folder.mkdir(parents=True, exist_ok=True)
    page = files / "opening-hours.md"
    if not page.exists():
        page.write_text(PAGE)
    program, dbhub = mcp_servers.dbhub()
    entries: list[dict[str, object]] = [
        {
            "name": "filesystem",
            "roots": [str(files.resolve())],
            "owners": True,
            "workspace_root": str(workspaces.resolve()),
            "command": str(node.node()),
            "args": [str(mcp_servers.script("server-filesystem"))],
        },
        {
            "name": "postgresql",
            "command": str(program),
            "args": [str(dbhub)],
            "env": _where(instance),
        },
    ]
    target = instance.folder / "mcp_servers.toml"
    target.write_text("\n".join(_toml(entry) for entry in entries))
    return target


def make_shop(instance: Instance) -> str:
    """:return: the connection string of its reader, ``""`` on a server of the person's own, where nothing is added"""
    postgres = instance.postgres
    if postgres.external:
        return ""
    if not postgres.exists(SHOP):
        postgres.copy("template0", SHOP)
        postgres.sql(SHOP, TABLES)
    if not postgres.sql("postgres", f"SELECT 1 FROM pg_roles WHERE rolname = '{READER}'"):
        postgres.sql("postgres", f"CREATE ROLE {READER} LOGIN PASSWORD '{READER}'")
    postgres.sql(SHOP, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}")
    return f"postgresql://{READER}:{READER}@/{SHOP}"


def _where(instance: Instance) -> dict[str, str]:
    """The server, without who connects: that is in the connection string."""
    known = instance.postgres.environment
    return {name: known[name] for name in ("PGHOST", "PGPORT") if name in known}


def _toml(entry: dict[str, object]) -> str:
    def value(one: object) -> str:
        if isinstance(one, dict):
            return "{ " + ", ".join(f"{k} = {value(v)}" for k, v in one.items()) + " }"
        return json.dumps(one)  # of texts, lists of them and booleans TOML's own form

    lines = [f"{key} = {value(one)}" for key, one in entry.items() if one not in ({}, [])]
    return "[[mcp.templates]]\n" + "\n".join(lines) + "\n"
