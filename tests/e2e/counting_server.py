"""An MCP server whose tool counts its own executions on disk: ``counting_server.py PORT FOLDER``."""

import asyncio
import sys
from pathlib import Path

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations


def main(port: int, folder: Path) -> None:
    server = FastMCP("counter", host="127.0.0.1", port=port, log_level="WARNING")

    @server.tool(annotations=ToolAnnotations(destructiveHint=False, openWorldHint=False))
    async def count(
        context: Context, id: str, seconds: float = 0.0, until: str = "", length: int = 0
    ) -> str:
        """Count one execution of `id`, then take some seconds, and wait for the file `until`; answer at this length."""
        if traceparent := getattr(context.request_context.meta, "traceparent", ""):
            (folder / f"{id}.traceparent").write_text(traceparent)
        with (folder / id).open("ab", buffering=0) as file:
            file.write(b".")
        await asyncio.sleep(seconds)
        while until and not (folder / until).exists():
            await asyncio.sleep(0.05)
        return f"counted {id}" + "🐢" * length

    server.run(transport="streamable-http")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
