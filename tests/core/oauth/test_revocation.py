"""Signing out: which tokens are given back, and to whom."""

import asyncio

import pytest
from conftest import POLICY
from sign_ins import signed_in, spec, wanted

from services.errors import (
    AuthRequired,
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    ServerTimeout,
)
from services.oauth import revocation
from services.oauth.revocation import revoke


async def test_signing_out_gives_the_tokens_back(fake, authority, pool, tokens):
    server = spec(fake)
    await signed_in(pool, server, authority)
    token_set = tokens.token_sets.pop("one")
    await revoke(token_set, POLICY)
    assert [(form["token_type_hint"], form["token"]) for form in authority.revoked] == [
        ("refresh_token", token_set["refresh_token"]),
        ("access_token", token_set["access_token"]),
    ]
    assert all(form["authorization"].startswith("Basic ") for form in authority.revoked)
    tokens.token_sets["one"] = {**token_set, "refresh_token": ""}
    await wanted(pool, server)


async def test_only_tokens_are_given_back_and_only_where_it_is_offered(
    fake, authority, pool, tokens
):
    await wanted(pool, spec(fake))
    await revoke(tokens.token_sets["one"], POLICY)  # a client was registered, nobody signed in
    authority.metadata = {"revocation_endpoint": None}
    await signed_in(pool, spec(fake), authority)
    await revoke(tokens.token_sets["one"], POLICY)
    assert not authority.revoked


@pytest.mark.parametrize(
    ("endpoint", "error"),
    [
        ("http://169.254.169.254/revoke", BlockedAddress),
        ("http://odoo.example/revoke", ConfigError),
        ("javascript:alert(1)", ConfigError),
        (["x"], ConfigError),
    ],
)
async def test_tokens_are_not_given_to_any_address(fake, authority, pool, tokens, endpoint, error):
    authority.metadata = {"revocation_endpoint": endpoint}
    await signed_in(pool, spec(fake), authority)
    with pytest.raises(error):
        await revoke(tokens.token_sets["one"], POLICY)


async def test_each_token_is_given_back_even_if_the_other_was_refused(
    fake, authority, pool, tokens
):
    await signed_in(pool, spec(fake), authority)
    authority.metadata = {"revocation_endpoint": f"{authority.issuer}/nowhere"}
    with pytest.raises(AuthRequired) as caught:
        await revoke(tokens.token_sets["one"], POLICY)
    assert caught.value.detail == "refresh_token: HTTP 404; access_token: HTTP 404"
    await authority.__aexit__()
    with pytest.raises(ConnectFailed):
        await revoke(tokens.token_sets["one"], POLICY)


async def test_signing_out_does_not_wait_for_a_server_that_is_silent(
    fake, authority, pool, tokens, monkeypatch
):
    await signed_in(pool, spec(fake), authority)
    silent = await asyncio.start_server(lambda *_: asyncio.sleep(60), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    authority.metadata = {"revocation_endpoint": f"http://127.0.0.1:{port}/revoke"}
    monkeypatch.setattr(revocation, "DEADLINE", 0.1)
    with pytest.raises(ServerTimeout):
        await revoke(tokens.token_sets["one"], POLICY)
    silent.close()
