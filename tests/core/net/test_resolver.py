"""Hosts whose name servers say nothing cost nobody else a look-up."""

import asyncio
import socket
import threading

import httpcore
import pytest

from services.errors import HostUnreachable
from services.net import resolver, transport
from services.net.egress import EgressPolicy


@pytest.fixture
def tarpit(monkeypatch):
    """`getaddrinfo` in which names below .tarpit.example hang until the test ends; what was asked for."""
    let_go, asked = threading.Event(), []

    def getaddrinfo(host, port, *_, **__):
        asked.append(host)
        if host.endswith(".tarpit.example"):
            let_go.wait(20)
            raise socket.gaierror("timed out")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield asked
    let_go.set()


async def test_a_silent_name_server_keeps_up_its_own_server_only(tarpit):
    hostile = [
        asyncio.ensure_future(transport.resolve(f"n{n}.tarpit.example", 5, ("db", server)))
        for server in range(20)
        for n in range(10)
    ]
    async with asyncio.timeout(5):
        assert await transport.resolve("good.example", 5, ("db", 99)) == ("93.184.216.34",)
        # whatever else uses threads of the loop, the lookup of a model's address among them
        assert (await asyncio.get_running_loop().getaddrinfo("model.example", 443))[0]
    assert sum(host.endswith("tarpit.example") for host in tarpit) == 2 * 20
    for task in hostile:
        task.cancel()
    await asyncio.wait(hostile)


async def test_who_waits_long_enough_goes(tarpit):
    with pytest.raises(httpcore.ConnectTimeout):
        await transport.resolve("n.tarpit.example", 0.01, "one")


async def test_nobody_waits_behind_a_stranger_for_the_same_name(tarpit):
    stuck = [
        asyncio.ensure_future(transport.resolve(host, 5, "hostile"))
        for host in ("a.tarpit.example", "b.tarpit.example", "good.example")
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert await transport.resolve("good.example", 5, "honest")
    for task in stuck:
        task.cancel()
    await asyncio.wait(stuck)


async def test_an_answer_serves_for_a_moment(tarpit, monkeypatch):
    for _ in range(3):
        await transport.resolve("good.example", 5, "one")
    await asyncio.gather(*(transport.resolve("other.example", 5, "one") for _ in range(3)))
    assert tarpit == ["good.example", "other.example"]
    monkeypatch.setattr(resolver, "KEPT", 0.0)
    for _ in range(2):
        await transport.resolve("third.example", 5, "one")
    assert tarpit[2:] == ["third.example", "third.example"]


async def test_what_was_kept_is_checked_again(tarpit):
    backend = transport.PinnedBackend(EgressPolicy())
    resolver.of_loop()._known["kept.example"] = (1e18, ("127.0.0.1",))
    with pytest.raises(HostUnreachable):
        await backend.connect_tcp("kept.example", 443, 1)


async def test_an_address_needs_no_look_up(tarpit):
    assert await transport.resolve("127.0.0.1", 1) == ("127.0.0.1",)
    assert await transport.resolve("::1", 1) == ("::1",)
    assert not tarpit
