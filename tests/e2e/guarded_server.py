"""An MCP server that wants each caller to sign in (OAuth 2.1): ``guarded_server.py PORT FOLDER``.

Its authorization server agrees at once, whoever comes. Each token that is given back is counted as its kind.
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from services.testing.fake_mcp import FakeMcp
from services.testing.fake_oauth import FakeOAuth
from services.testing.fake_tools import text


async def main(port: int, folder: Path) -> None:
    async def note(call):
        (folder / "noted").open("ab").write(b".")
        return text("noted")

    fake = FakeMcp(tools={"note": (note, {"type": "object", "properties": {}})})
    fake.port = port
    async with fake, FakeOAuth(fake) as authority:
        authority.on_revoked = lambda form: (
            (folder / form["token_type_hint"]).open("ab").write(b".")
        )
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
