"""Starts an MCP server that counts, makes it known to an Odoo and reads what it counted."""

import sys
from pathlib import Path

from dev import processes

HERE = Path(__file__).parent
SERVERS = "woow_paas_platform.mcp_server"


class Counter:
    """:param program: of this folder; it takes a port and the folder in which it counts"""

    def __init__(
        self,
        folder: Path,
        program: str = "counting_server.py",
        name: str = "counter",
        port: int | None = None,
    ):
        self.folder = folder
        self.name = name
        self.port = port or processes.free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._process = processes.start(
            f"MCP server {name}",
            [sys.executable, HERE / program, str(self.port), folder],
            log=folder.with_suffix(".log"),
            env=processes.bare_environment(),
        )

    def wait(self):
        self._process.wait_until(lambda: processes.listens(self.port), timeout=60)

    def stop(self):
        self._process.stop(5)

    def executions(self, name) -> int:
        """How often the tool ran with this id."""
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def traceparent(self, name) -> str:
        """What came with the last call with this id."""
        path = self.folder / f"{name}.traceparent"
        return path.read_text() if path.exists() else ""

    def release(self, name):
        """End what waits for this file."""
        (self.folder / name).touch()

    def add(self, odoo, **values) -> int:
        """Without reading its tools.

        :return: the record's id
        """
        return add(odoo, self.name, self.url, **values)

    def register(self, odoo, **values) -> int:
        """:return: the record's id"""
        return register(odoo, self.name, self.url, **values)


def add(odoo, name, url, **values) -> int:
    """Add an MCP server, fully trusted, to the demo's assistant.

    :return: the record's id
    """
    if left := odoo.rpc(SERVERS, "search", [["name", "=", name]]):  # of tests that were cut short
        odoo.rpc(SERVERS, "unlink", left)
    (server,) = odoo.rpc(
        SERVERS,
        "create",
        [{"name": name, "url": url, "trust_level": "full", **values}],
        context={"woow_no_sync": True},
    )
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, {"mcp_server_ids": [[4, server]]})
    return server


def register(odoo, name, url, **values) -> int:
    """As `add`, and read its tools."""
    server = add(odoo, name, url, **values)
    odoo.sync_tools(server)
    return server


def count(name, seconds=0.0):
    """A call of the tool, as `chat.calls` takes it."""
    return ("counter__count", {"id": name, "seconds": seconds})
