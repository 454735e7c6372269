"""Real MCP servers on the loopback, with an environment that holds nothing of the person's.

Nobody here wrote these two:

* *everything* is the reference server of the protocol's authors; streamable HTTP at ``/mcp`` or HTTP+SSE at ``/sse``.
* *time* is their stdio server for times and zones; mcp-proxy serves it at ``/mcp`` and ``/sse``.

The demo has *everything* and, in place of *time*, its own *clock*, which takes places as people say them.
"""

from pathlib import Path
from typing import Literal

from dev import processes
from dev.paths import LOGS, ROOT
from dev.setup import node, venvs

LOOPBACK = Path(__file__).with_name("loopback.cjs")


class McpServer(processes.Service):
    """One running server; ``url`` is where it answers."""

    def __init__(
        self, name: str, port: int, process: processes.Process, path: str = "/mcp"
    ) -> None:
        super().__init__(name, port, process)
        self.url = f"http://{self.address}{path}"

    def kill(self) -> None:
        self.process.kill()


def script(package: str) -> Path:
    """The program of one of the ``@modelcontextprotocol`` packages, for ``node``."""
    return node.node_modules() / "@modelcontextprotocol" / package / "dist/index.js"


def dbhub() -> tuple[Path, Path]:
    """Bytebase's server for databases: a Node.js that has SQLite built in, and the program."""
    return node.node(oldest=24), node.node_modules() / "@bytebase/dbhub/dist/index.js"


def start_everything(
    port: int,
    *,
    transport: Literal["streamableHttp", "sse"] = "streamableHttp",
    folder: Path = LOGS,
) -> McpServer:
    """Start server-everything; call :meth:`McpServer.wait` before the first use."""
    process = processes.start(
        "MCP server everything",
        [node.node(), "--require", LOOPBACK, script("server-everything"), transport],
        log=folder / f"mcp-everything-{port}.log",
        env=processes.bare_environment(PORT=str(port)),
    )
    return McpServer(
        "everything", port, process, "/mcp" if transport == "streamableHttp" else "/sse"
    )


def start_time(port: int, *, folder: Path = LOGS) -> McpServer:
    """Start mcp-server-time behind mcp-proxy; call :meth:`McpServer.wait` before the first use."""
    programs = venvs.extra("mcp") / "bin"
    process = processes.start(
        "MCP server time",
        [
            programs / "mcp-proxy",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            programs / "mcp-server-time",
            "--",
            "--local-timezone",
            "UTC",
        ],
        log=folder / f"mcp-time-{port}.log",
        env=processes.bare_environment(),
    )
    return McpServer("time", port, process)


def start_clock(port: int, *, folder: Path = LOGS) -> McpServer:
    """Start the demo's own `dev.servers.clock`; call :meth:`McpServer.wait` before the first use."""
    process = processes.start(
        "MCP server clock",
        [venvs.extra("mcp") / "bin/python", "-m", "dev.servers.clock", str(port)],
        log=folder / f"mcp-clock-{port}.log",
        env=processes.bare_environment(),
        cwd=ROOT,
    )
    return McpServer("time", port, process)
