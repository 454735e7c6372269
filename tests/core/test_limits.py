"""The numbers that the documents name, as a server and an assistant have them when nobody says otherwise."""

from services import const
from services.specs import Limits, ServerSpec


def test_defaults_are_those_of_document_000():
    server = ServerSpec(id=1, name="clock", url="https://clock.example.com/mcp")
    assert (server.sync_timeout, server.call_timeout) == (10, 30)
    limits = Limits()
    assert (limits.turn_tools_timeout, limits.max_rounds) == (120, 5)
    assert (const.MAX_SERVERS_PER_ASSISTANT, const.MAX_TOOLS_PER_SERVER) == (10, 50)
