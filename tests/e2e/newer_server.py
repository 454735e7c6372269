"""A server of the SDK that speaks every revision: ``newer_server.py stdio | sse PORT | streamable-http PORT``."""

import sys

from mcp.server import MCPServer

server = MCPServer("newer")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.prompt()
def greet(who: str) -> str:
    """Greet somebody."""
    return f"Greet {who}."


@server.resource("note://{name}")
def note(name: str) -> str:
    return f"note {name}"


if __name__ == "__main__":
    transport, *port = sys.argv[1:]
    server.run(transport, **({"host": "127.0.0.1", "port": int(port[0])} if port else {}))
