import asyncio
import socket

import httpx
import pytest

from services.errors import BlockedAddress, ConfigError, HostUnreachable
from services.net import transport
from services.net.egress import EgressPolicy, check_headers, check_url, is_public

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "0.0.0.0",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "168.63.129.16",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:1::1",
    "2001:db8::1",
    "3fff::1",
    "2600::5efe:7f00:1",
    "2600::200:5efe:7f00:1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "5f00::1",
    "not an address",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses(address):
    assert is_public(address)


def test_a_name_that_means_public_and_private_is_refused():
    with pytest.raises(HostUnreachable):
        EgressPolicy().check_addresses("trick.example", 443, ["93.184.216.34", "127.0.0.1"])


def test_allow_list():
    policy = EgressPolicy.parse("LocalHost.:3801, 10.0.0.5:*,[::1]:80")
    assert policy.allows("localhost", 3801) and not policy.allows("localhost", 3802)
    assert policy.allows("10.0.0.5", 1)
    assert policy.allows("::1", 80) and policy.allows("[0:0::1]", 80)
    assert policy.check_addresses("nas.example", 9, ["10.0.0.5"]) == ["10.0.0.5"]
    with pytest.raises(ConfigError):
        EgressPolicy.parse("localhost")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "http://",
        "http://user:secret@example.com/",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://exa mple.com/",
        "http://example.com/\nx",
        "http://example.com\\@evil.example/",
        "http://[::1/",
        "http://example.com/#x",
        "http://" + "a" * 3000,
    ],
)
def test_bad_urls(url):
    with pytest.raises(ConfigError) as caught:
        check_url(url)
    assert str(caught.value).endswith(".") and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:10.0.0.1]"],
)
def test_literal_private_hosts_are_refused_on_save(host):
    with pytest.raises(BlockedAddress):
        check_url(f"http://{host}:3801/mcp", EgressPolicy())
    assert check_url(f"http://{host}:3801/mcp")


def test_good_urls():
    assert (
        check_url(" https://mcp.example.com/mcp?x=1 ", EgressPolicy())
        == "https://mcp.example.com/mcp?x=1"
    )
    check_url("http://localhost:3801/mcp", EgressPolicy.parse("localhost:3801"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "x"},
        {"content-length": "1"},
        {"Mcp-Session-Id": "x"},
        {"MCP-Protocol-Version": "x"},
        {"Mcp-Param-X": "x"},
        {"Proxy-Authorization": "x"},
        {"Transfer-Encoding": "chunked"},
        {"Bad Name": "x"},
        {"": "x"},
        {"X": "secret\r\nHost: evil"},
        {"X": "secrét"},
        {"X": " secret"},
        {"X": "secret\x00"},
        {"X": 1},
        {"X-A": "1", "x-a": "2"},
        [],
    ],
)
def test_bad_headers_are_refused_without_telling_the_value(headers):
    with pytest.raises(ConfigError) as caught:
        check_headers(headers)
    assert "secr" not in str(caught.value)


def test_good_headers():
    headers = {"Authorization": "Bearer a b", "X-API-Key": "x", "X-Empty": ""}
    assert check_headers(headers) == headers


@pytest.fixture
async def hello():
    """A server on loopback that answers with the Host header it saw."""
    seen = []

    async def serve(reader, writer):
        while line := await reader.readline():
            if line.lower().startswith(b"host:"):
                seen.append(line.split(b":", 1)[1].strip().decode())
            if line == b"\r\n":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], seen
    server.close()


def resolver(monkeypatch, table):
    def getaddrinfo(host, port, **_):
        if host not in table:
            raise socket.gaierror("unknown")
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in table[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


async def get(url, policy):
    async with httpx.AsyncClient(
        transport=transport.EgressTransport(policy), trust_env=False, timeout=1
    ) as client:
        return await client.get(url)


async def test_rebinding_name_is_refused_at_connect(hello, monkeypatch):
    port, seen = hello
    resolver(monkeypatch, {"public.example": ["127.0.0.1"]})
    with pytest.raises(HostUnreachable):
        await get(f"http://public.example:{port}/", EgressPolicy())
    assert seen == []


async def test_the_connection_is_pinned_and_the_name_stays(hello, monkeypatch):
    port, seen = hello
    resolver(monkeypatch, {"tools.internal": ["127.0.0.1"]})
    policy = EgressPolicy(frozenset({("tools.internal", port)}))
    assert (await get(f"http://tools.internal:{port}/", policy)).text == "hi"
    assert seen == [f"tools.internal:{port}"]


async def test_the_next_address_is_tried(hello, monkeypatch):
    port, _ = hello
    resolver(monkeypatch, {"two.internal": ["127.0.0.77", "127.0.0.1"]})
    assert (
        await get(f"http://two.internal:{port}/", EgressPolicy(frozenset({("two.internal", None)})))
    ).text == "hi"


async def test_environment_proxies_are_ignored(hello, monkeypatch):
    port, _ = hello
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert (await get(f"http://127.0.0.1:{port}/", EgressPolicy.parse("127.0.0.1:*"))).text == "hi"


def test_one_ssl_context():
    assert transport.ssl_context() is transport.ssl_context()
