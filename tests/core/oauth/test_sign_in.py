"""Signing in to MCP servers: what a person does, and what is done without one."""

import asyncio
import time
from dataclasses import replace

import httpx
import pytest
from conftest import spec_of
from sign_ins import OAUTH, echo, query, signed_in, spec, wanted

from services.errors import (
    AuthRequired,
    ConnectFailed,
    RateLimited,
    ServerTimeout,
    SignInRequired,
)
from services.mcp.pool.pool import Pool
from services.mcp.session.call_options import CallOptions
from services.mcp.session.logs import BLOT
from services.net.egress import EgressPolicy
from services.oauth import flow
from services.oauth.metadata import Challenge, challenge_of
from services.specs import OAuthSpec, ToolCall, ToolSpec
from services.testing.fake_tools import OBJECT, text
from services.turn.execution import execute


async def test_a_person_signs_in_and_the_call_goes_on(fake, authority, pool, tokens):
    server = spec(fake)
    asked = await signed_in(pool, server, authority)
    assert asked["code_challenge_method"] == "S256" and asked["resource"] == fake.url
    assert asked["redirect_uri"].startswith(OAUTH.redirect_uri) and "scope" not in asked
    assert await echo(pool, server) == "hi"
    assert authority.grants[0]["resource"] == fake.url and not tokens.pending
    assert await echo(pool, server, conversation=2) == "hi"
    assert len(authority.grants) == 1


async def test_no_log_message_repeats_a_token(fake, authority, pool):
    async def leaks(call):
        params = {"level": "debug", "data": dict(call.headers)}
        await call.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        return text("done")

    fake.stream = True
    fake.tools["leaks"] = (leaks, OBJECT)
    server, seen = spec(fake), []
    server = replace(server, url=f"{server.url}?key=k3y-of-all")
    await signed_in(pool, server, authority)
    options = CallOptions(on_log=seen.append, log_level="debug")
    await pool.call(server, 1, "leaks", {}, timeout=60, options=options)
    (said,) = seen
    assert said["data"]["authorization"] == f"Bearer {BLOT}"
    assert "k3y-of-all" in server.blotted


async def test_a_call_says_that_it_needs_a_sign_in(fake, authority, pool):
    server = spec(fake)
    tool = ToolSpec(id=1, server_id=1, name="echo", alias="fake__echo")
    call = ToolCall(id="1", alias="fake__echo", round=1, tool=tool, server=server, arguments={})
    from services.specs import Limits

    done = await execute(call, pool, 1, timeout=60, limits=Limits())
    assert isinstance(done.error, SignInRequired) and done.error.url.startswith(authority.issuer)
    assert done.error.url not in done.result.text


async def test_the_scope_that_the_server_asks_for(fake, authority, pool):
    authority.resource = {"scopes_supported": ["a", "b"]}
    authority.metadata = {"scopes_supported": ["a", "offline_access"]}
    asked = query((await wanted(pool, spec(fake))).url)
    assert asked["scope"] == "a b offline_access" and asked["prompt"] == "consent"
    authority.scope = "only"
    asked = query((await wanted(pool, spec(fake))).url)
    assert asked["scope"].split()[0] == "only" and "a" not in asked["scope"].split()


async def test_an_old_token_is_renewed_once_by_all_calls(fake, authority, pool):
    server = spec(fake)
    authority.life = 1  # s, so every use comes shortly before its end
    await signed_in(pool, server, authority)
    authority.life = 3600
    await asyncio.gather(*(echo(pool, server, n) for n in range(8)))
    assert [grant["grant_type"] for grant in authority.grants] == [
        "authorization_code",
        "refresh_token",
    ]


@pytest.mark.parametrize("is_early", [True, False])
async def test_what_a_cancelled_call_has_renewed_is_kept(fake, authority, pool, tokens, is_early):
    server = spec(fake)
    await signed_in(pool, server, authority)
    oauth, old = pool.oauth(server), tokens.token_sets["one"]["access_token"]
    if is_early:
        tokens.token_sets["one"]["expires_at"] = 1
    authority.tokens.clear()
    authority.held = asyncio.Event()
    challenge = Challenge(
        resource_metadata=f"{authority.issuer}/.well-known/oauth-protected-resource/mcp"
    )
    renewing = asyncio.create_task(oauth.token() if is_early else oauth.renew(old, challenge))
    await begun(authority, 2)
    renewing.cancel()
    await asyncio.wait([renewing])
    authority.held.set()
    assert await echo(pool, server) == "hi"
    assert renewing.cancelled() and len(authority.grants) == 2


async def test_what_a_cancelled_sign_in_has_brought_is_kept(fake, authority, pool):
    server = spec(fake)
    error = await wanted(pool, server)
    authority.held = asyncio.Event()
    back = authority.sign_in(error.url)
    completing = asyncio.create_task(pool.oauth(server).complete(back))
    await begun(authority, 1)
    completing.cancel()
    await asyncio.wait([completing])
    authority.held.set()
    assert await echo(pool, server) == "hi"


async def test_who_holds_the_lock_for_too_long_gives_up(fake, authority, pool, monkeypatch):
    monkeypatch.setattr(flow, "RENEWAL", 0.2)
    server = spec(fake)
    error = await wanted(pool, server)
    authority.held = asyncio.Event()
    with pytest.raises(ServerTimeout):
        await pool.oauth(server).complete(authority.sign_in(error.url))
    authority.held.set()


async def begun(authority, number):
    """Wait until so many token requests have come."""
    async with asyncio.timeout(20):
        while len(authority.grants) < number:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "life",
    [2**63 - 1, 10**400, float("inf"), float("nan"), True, -1],
    ids=["long", "400 digits", "infinite", "nan", "true", "negative"],
)
async def test_a_life_that_is_no_time_ends_no_sign_in(fake, authority, pool, tokens, life):
    server = spec(fake)
    authority.life = life
    await signed_in(pool, server, authority)
    assert await echo(pool, server) == "hi"
    assert (tokens.token_sets["one"]["expires_at"] or 0) < time.time() + 11 * 366 * 86_400
    assert len(authority.grants) == 1


async def test_a_token_that_was_taken_back_is_renewed_during_the_call(fake, authority, pool):
    server = spec(fake)
    await signed_in(pool, server, authority)
    assert await echo(pool, server) == "hi"
    authority.tokens.clear()
    assert await echo(pool, server) == "hi"
    assert authority.grants[-1]["grant_type"] == "refresh_token"


async def test_a_refused_refresh_leads_to_a_new_sign_in(fake, authority, pool):
    server = spec(fake)
    await signed_in(pool, server, authority)
    authority.tokens.clear()
    authority.answer = {"error": "invalid_grant"}
    await wanted(pool, server)
    assert len(authority.grants) == 2
    await wanted(pool, server)
    assert len(authority.grants) == 2  # a refresh token that was refused is not tried again


@pytest.mark.parametrize("status", [503, 502, 429, 403, 400, 200])
async def test_a_fault_of_the_sign_in_service_signs_nobody_out(fake, authority, pool, status):
    server = spec(fake)
    await signed_in(pool, server, authority)
    authority.tokens.clear()
    authority.faults = [status] * 9
    with pytest.raises((ConnectFailed, RateLimited), match="cannot be used right now"):
        await pool.request(server, 1, "tools/list", timeout=60)
    authority.faults.clear()
    assert await echo(pool, server) == "hi"
    assert authority.grants[-1]["grant_type"] == "refresh_token"


async def test_a_token_serves_to_its_end_if_its_early_renewal_fails(fake, authority, pool, tokens):
    server = spec(fake)
    await signed_in(pool, server, authority)
    tokens.token_sets["one"]["expires_at"] = time.time() + 20
    authority.faults = [503] * 9
    assert await echo(pool, server) == "hi"
    assert len(authority.faults) < 9 and tokens.token_sets["one"]["refresh_token"]


async def test_a_token_endpoint_that_has_moved_is_learnt_by_a_sign_in(
    fake, authority, pool, tokens
):
    server = spec(fake)
    await signed_in(pool, server, authority)
    kept, moved = dict(tokens.token_sets["one"]), f"{authority.issuer}/nowhere"
    tokens.token_sets["one"] = {**kept, "token_endpoint": moved, "expires_at": 1}
    authority.tokens.clear()
    await signed_in(pool, server, authority)
    assert tokens.token_sets["one"]["token_endpoint"] == kept["token_endpoint"]
    assert await echo(pool, server) == "hi"


async def test_a_client_that_the_server_has_forgotten_is_registered_anew(fake, authority, pool):
    server = spec(fake)
    first = (await signed_in(pool, server, authority))["client_id"]
    authority.tokens.clear()
    authority.answer = {"error": "invalid_client"}
    second = query((await wanted(pool, server)).url)["client_id"]
    error = await wanted(pool, server)
    assert query(error.url)["client_id"] == second != first
    with pytest.raises(AuthRequired):  # now the server forgets it before it has had a token
        await pool.oauth(server).complete(authority.sign_in(error.url))
    authority.answer = {}
    third = (await signed_in(pool, server, authority))["client_id"]
    assert third not in (first, second) and await echo(pool, server) == "hi"


async def test_only_a_client_that_has_had_a_token_is_kept_for_long(
    fake, authority, pool, monkeypatch
):
    server, now = spec(fake), time.time()
    first = query((await wanted(pool, server)).url)["client_id"]
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    second = (await signed_in(pool, server, authority))["client_id"]
    authority.tokens.clear()
    monkeypatch.setattr(time, "time", lambda: now + 90 * 86_400)
    authority.answer = {"error": "invalid_grant"}
    assert query((await wanted(pool, server)).url)["client_id"] == second != first


async def test_a_client_is_kept_to_the_end_of_its_secret(fake, authority, pool, monkeypatch):
    server, now = spec(fake), time.time()
    authority.client = {"client_secret_expires_at": int(now) + 3_600}
    first = (await signed_in(pool, server, authority))["client_id"]
    authority.tokens.clear()
    authority.answer = {"error": "invalid_grant"}
    assert query((await wanted(pool, server)).url)["client_id"] == first
    monkeypatch.setattr(time, "time", lambda: now + 3_700)
    assert query((await wanted(pool, server)).url)["client_id"] != first


async def test_more_rights_are_asked_for_beside_the_old_ones(fake, authority, pool):
    server = spec(fake)
    authority.scope = "read"
    await signed_in(pool, server, authority)
    guard = fake.guard
    needed = {"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'}
    fake.guard = lambda headers: guard(headers) or (403, needed)
    authority.resource = {}
    fake.paths["/.well-known/oauth-protected-resource/mcp"] = lambda: None
    needed["www-authenticate"] += (
        f', resource_metadata="{authority.issuer}/.well-known/oauth-protected-resource"'
    )
    asked = await signed_in(pool, server, authority)
    assert asked["scope"] == "read write"
    with pytest.raises(AuthRequired, match="more permissions"):  # it still says no
        await echo(pool, server)


async def test_without_a_person(fake, authority, pool):
    server = spec(fake, grant="client_credentials", client_id="us", client_secret="s:1")
    assert await echo(pool, server) == "hi"
    assert authority.grants[0]["grant_type"] == "client_credentials"
    assert authority.grants[0]["authorization"] == "Basic dXM6cyUzQTE="


async def test_our_own_document_is_the_client_where_it_is_taken(fake, authority, pool):
    authority.metadata = {"client_id_metadata_document_supported": True}
    url = "https://odoo.example/oauth/client.json"
    error = await wanted(pool, spec(fake, client_metadata_url=url))
    assert query(error.url)["client_id"] == url


async def test_without_oauth_a_refusal_stays_one(fake, authority):
    pool = Pool(EgressPolicy.parse("127.0.0.1:*"))
    with pytest.raises(AuthRequired) as caught:
        await echo(pool, spec_of(fake))
    assert not isinstance(caught.value, SignInRequired)
    await pool.close()


def test_secrets_do_not_show():
    oauth = OAuthSpec(key="k", client_secret="hidden", private_key="hidden")
    assert "hidden" not in repr(oauth)


def test_challenges():
    headers = httpx.Headers(
        [("www-authenticate", "Basic x"), ("www-authenticate", r'Bearer a=b, scope="x \"y\""')]
    )
    assert challenge_of(headers).scope == 'x "y"'
    assert challenge_of(httpx.Headers()).scope == ""
