"""Webhooks: the signature by the specification's own formula, and what an address can do to a delivery."""

import asyncio
import base64
import contextlib
import hashlib
import hmac

import pytest

from services.errors import (
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    SecretUnreadable,
    ServerTimeout,
)
from services.net import webhooks
from services.net.egress import EgressPolicy
from services.net.webhooks import Delivery
from services.testing import fake_http

HERE = EgressPolicy.parse("127.0.0.1:*")
BODY = '{"type":"turn.ended","data":{"state":"done"}}'


def delivery(url="http://127.0.0.1:9/hook", secret=""):
    return Delivery(url, secret or webhooks.new_secret(), "msg_1", BODY)


@contextlib.asynccontextmanager
async def receiver(answer):
    """A server that calls ``answer(writer)``; gives its address and the requests that it has read."""
    requests = []

    async def serve(reader, writer):
        requests.append(await fake_http.read_request(reader))
        with contextlib.suppress(ConnectionError):
            await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/hook", requests
    server.close()


async def test_a_message_is_signed_as_the_specification_says():
    async with receiver(lambda writer: fake_http.respond(writer, 204)) as (url, requests):
        sent = delivery(url)
        assert (await webhooks.post(sent, HERE)).status == 204
    ((method, path, headers, body),) = requests
    assert (method, path, body.decode()) == ("POST", "/hook", BODY)
    assert headers["webhook-id"] == "msg_1"
    signed = f"msg_1.{headers['webhook-timestamp']}.{BODY}".encode()
    key = base64.b64decode(sent.secret.removeprefix("whsec_"))
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


async def test_the_old_secret_signs_too():
    old = webhooks.new_secret()
    sent = Delivery("http://127.0.0.1:9/", webhooks.new_secret(), "msg_1", BODY, old)
    both = webhooks.headers(sent, 1)["webhook-signature"].split(" ")
    alone = [delivery(secret=secret) for secret in (sent.secret, old)]
    assert both == [webhooks.headers(one, 1)["webhook-signature"] for one in alone]
    assert old not in repr(sent)


@pytest.mark.parametrize(
    ("said", "wait"), [("120", 120), ("999999", 3_600), ("-1", None), ("soon", None), (None, None)]
)
async def test_an_address_may_ask_to_be_left_alone(said, wait):
    async def refuse(writer):
        await fake_http.respond(writer, 429, headers={"retry-after": said} if said else {})

    async with receiver(refuse) as (url, _requests):
        assert await webhooks.post(delivery(url), HERE) == (429, wait)


async def test_a_redirect_is_an_answer():
    async def redirect(writer):
        await fake_http.respond(writer, 307, headers={"location": "/elsewhere"})

    async with receiver(redirect) as (url, requests):
        assert (await webhooks.post(delivery(url), HERE)).status == 307
    assert len(requests) == 1


async def test_an_endless_answer_is_not_read_to_its_end():
    async def flood(writer):
        await fake_http.start_stream(writer)
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with receiver(flood) as (url, _requests), asyncio.timeout(5):
        assert (await webhooks.post(delivery(url), HERE)).status == 200


async def test_an_address_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.2)

    async with receiver(lambda _writer: asyncio.sleep(2)) as (url, _requests):
        with pytest.raises(ServerTimeout, match="did not answer within"):
            await webhooks.post(delivery(url), HERE)


async def test_nobody_listens():
    with pytest.raises(ConnectFailed, match="no service is listening"):
        await webhooks.post(delivery(), HERE)


async def test_a_certificate_is_told_of_without_the_details_of_the_library():
    async def serve(_reader, writer):
        writer.write(b"no TLS\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ConnectFailed) as caught:
        await webhooks.post(delivery(f"https://127.0.0.1:{port}/hook"), HERE)
    assert str(caught.value) == "The certificate of the server is not valid."
    server.close()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/"]
)
async def test_an_internal_address_is_refused(url):
    with pytest.raises(BlockedAddress, match="only public addresses"):
        await webhooks.post(delivery(url), EgressPolicy())


async def test_without_a_secret_nothing_is_sent():
    with pytest.raises(SecretUnreadable):
        await webhooks.post(Delivery("http://127.0.0.1:9/", "", "msg_1", BODY), HERE)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_YQ==", "whsec_é", "YWFh" * 8, "whsec_YWFh" + "YWFh" * 30]
)
def test_a_secret_has_a_form(secret):
    with pytest.raises(ConfigError, match="whsec_"):
        webhooks.key_of(secret)


def test_a_secret_is_shown_nowhere():
    sent = delivery()
    assert len(webhooks.key_of(sent.secret)) == 32
    assert sent.secret not in repr(sent)
