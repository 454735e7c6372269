"""An MCP server whose only tool is described as told: ``described_server.py PORT DESCRIPTION``."""

import sys

from mcp.server.fastmcp import FastMCP


def main(port: int, description: str) -> None:
    server = FastMCP("described", host="127.0.0.1", port=port, log_level="WARNING")

    @server.tool(description=description)
    def convert(amount: float) -> str:
        return f"{amount:.2f}"

    server.run(transport="streamable-http")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
