import asyncio

import pytest

from services.errors import ConnectFailed, ServerRefused
from services.mcp.discovery import health
from services.net.egress import EgressPolicy
from services.specs import ServerSpec

POLICY = EgressPolicy.parse("127.0.0.1:*")


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch):
    monkeypatch.setattr(health, "CONNECT_PAUSE", 0.01)


def spec(number, url, **values):
    return ServerSpec(id=number, name=f"s{number}", url=url, **values)


async def test_a_connection_is_tried_three_times():
    tries = []

    async def fail():
        tries.append(1)
        raise ConnectFailed

    with pytest.raises(ConnectFailed):
        await health.patiently(fail)
    assert len(tries) == 3


async def test_what_arrived_is_not_tried_again():
    tries = []

    async def refuse():
        tries.append(1)
        raise ServerRefused

    with pytest.raises(ServerRefused):
        await health.patiently(refuse)
    assert len(tries) == 1


async def test_many_are_asked_at_once_and_a_silent_one_holds_up_nobody(fake):
    silent = await asyncio.start_server(lambda *_: asyncio.sleep(30), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    hung = f"http://127.0.0.1:{port}/mcp"
    specs = [
        spec(1, fake.url),
        spec(2, "http://127.0.0.1:9/mcp"),
        *(spec(n, hung, connect_timeout=0.3, sync_timeout=1.0) for n in range(3, 23)),
    ]
    outcomes = {}

    async def keep(number, problem):
        outcomes[number] = problem

    async with asyncio.timeout(15):  # one after the other takes 20 s
        await health.check_all(specs, POLICY, keep)
    assert outcomes[1] is None
    assert "no service is listening" in str(outcomes[2])
    assert all(outcomes[n].code == "timeout" for n in range(3, 23))
    silent.close()
