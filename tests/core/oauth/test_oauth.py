"""Signing in to MCP servers: what a person does, what is done without one, and who is not believed."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from conftest import POLICY, spec_of

from services.errors import (
    AuthRequired,
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    ServerTimeout,
    SignInRequired,
)
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.oauth import revocation
from services.oauth.flow import begin, callback_of
from services.oauth.metadata import challenge_of
from services.oauth.revocation import revoke
from services.specs import OAuthSpec, ToolCall, ToolSpec
from services.testing.fake_oauth import FakeOAuth
from services.testing.memory_tokens import MemoryTokens
from services.turn.tools import execute

OAUTH = OAuthSpec(key="one", redirect_uri="https://odoo.example/callback")


@pytest.fixture
async def authority(fake):
    async with FakeOAuth(fake) as server:
        yield server


@pytest.fixture
async def tokens():
    return MemoryTokens()


@pytest.fixture
async def pool(tokens):
    pool = Pool(POLICY, tokens=tokens)
    yield pool
    await pool.close()


def spec(fake, **more):
    return spec_of(
        fake, oauth=OAuthSpec(**{"key": "one", "redirect_uri": OAUTH.redirect_uri, **more})
    )


async def echo(pool, server, conversation=1):
    result = await pool.call(server, conversation, "echo", {"message": "hi"}, timeout=60)
    return result["content"][0]["text"]


async def wanted(pool, server):
    with pytest.raises(SignInRequired) as caught:
        await echo(pool, server)
    return caught.value


def query(url):
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


async def signed_in(pool, server, authority, **more):
    error = await wanted(pool, server)
    await pool.oauth(server).complete(authority.sign_in(error.url, **more))
    return query(error.url)


async def test_a_person_signs_in_and_the_call_goes_on(fake, authority, pool, tokens):
    server = spec(fake)
    asked = await signed_in(pool, server, authority)
    assert asked["code_challenge_method"] == "S256" and asked["resource"] == fake.url
    assert asked["redirect_uri"].startswith(OAUTH.redirect_uri) and "scope" not in asked
    assert await echo(pool, server) == "hi"
    assert authority.grants[0]["resource"] == fake.url and not tokens.pending
    assert await echo(pool, server, conversation=2) == "hi"
    assert len(authority.grants) == 1


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


@pytest.mark.parametrize(
    "answer",
    [
        {"state": "forged"},
        {"iss": "https://evil.example"},
        {"code": "", "error": "access_denied"},
    ],
)
async def test_answers_that_are_not_believed(fake, authority, pool, answer):
    server = spec(fake)
    error = await wanted(pool, server)
    back = authority.sign_in(error.url) | answer
    with pytest.raises(AuthRequired):
        await pool.oauth(server).complete(back)
    assert not authority.grants


async def test_a_sign_in_counts_once_and_not_for_ever(fake, authority, pool, tokens):
    server = spec(fake)
    error = await wanted(pool, server)
    await pool.oauth(server).complete(authority.sign_in(error.url))
    with pytest.raises(AuthRequired, match="unknown or has expired"):
        await pool.oauth(server).complete(authority.sign_in(error.url))
    authority.tokens.clear()
    tokens.grants.clear()
    error = await wanted(pool, server)
    tokens.pending["one", error.state]["begun"] -= 3600
    with pytest.raises(AuthRequired, match="unknown or has expired"):
        await pool.oauth(server).complete(authority.sign_in(error.url))


@pytest.mark.parametrize(
    ("where", "change", "error"),
    [
        ("metadata", {"issuer": "https://evil.example"}, AuthRequired),
        ("metadata", {"code_challenge_methods_supported": ["plain"]}, AuthRequired),
        ("metadata", {"token_endpoint": "http://10.0.0.1/token"}, BlockedAddress),
        ("metadata", {"token_endpoint": "http://odoo.example/token"}, ConfigError),
        ("metadata", {"authorization_endpoint": "javascript:alert(1)"}, ConfigError),
        ("metadata", {"iss": 1, "issuer": None}, AuthRequired),
        ("resource", {"resource": "https://evil.example/mcp"}, AuthRequired),
        ("resource", {"authorization_servers": ["http://169.254.169.254"]}, BlockedAddress),
        ("resource", {"authorization_servers": []}, AuthRequired),
    ],
)
async def test_metadata_that_is_not_believed(fake, authority, pool, where, change, error):
    setattr(authority, where, change)
    with pytest.raises(error) as caught:
        await echo(pool, spec(fake))
    assert not isinstance(caught.value, SignInRequired) and not authority.grants


async def test_a_client_of_another_issuer_is_not_used(fake, authority, pool):
    server = spec(fake, client_id="us", client_issuer="https://old.example")
    with pytest.raises(AuthRequired, match="moved"):
        await echo(pool, server)


async def test_missing_issuer_where_it_was_announced(fake, authority, pool):
    authority.metadata = {"authorization_response_iss_parameter_supported": True}
    server = spec(fake)
    error = await wanted(pool, server)
    with pytest.raises(AuthRequired, match="does not name its issuer"):
        await pool.oauth(server).complete(authority.sign_in(error.url))
    await signed_in(pool, server, authority, iss=authority.issuer)
    assert await echo(pool, server) == "hi"


async def test_signing_out_gives_the_tokens_back(fake, authority, pool, tokens):
    server = spec(fake)
    await signed_in(pool, server, authority)
    grant = tokens.grants.pop("one")
    await revoke(grant, POLICY)
    assert [(form["token_type_hint"], form["token"]) for form in authority.revoked] == [
        ("refresh_token", grant["refresh_token"]),
        ("access_token", grant["access_token"]),
    ]
    assert all(form["authorization"].startswith("Basic ") for form in authority.revoked)
    tokens.grants["one"] = {**grant, "refresh_token": ""}
    await wanted(pool, server)


async def test_only_tokens_are_given_back_and_only_where_it_is_offered(
    fake, authority, pool, tokens
):
    await wanted(pool, spec(fake))
    await revoke(tokens.grants["one"], POLICY)  # a client was registered, nobody signed in
    authority.metadata = {"revocation_endpoint": None}
    await signed_in(pool, spec(fake), authority)
    await revoke(tokens.grants["one"], POLICY)
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
        await revoke(tokens.grants["one"], POLICY)


async def test_each_token_is_given_back_even_if_the_other_was_refused(
    fake, authority, pool, tokens
):
    await signed_in(pool, spec(fake), authority)
    authority.metadata = {"revocation_endpoint": f"{authority.issuer}/nowhere"}
    with pytest.raises(AuthRequired) as caught:
        await revoke(tokens.grants["one"], POLICY)
    assert caught.value.detail == "refresh_token: HTTP 404; access_token: HTTP 404"
    await authority.__aexit__()
    with pytest.raises(ConnectFailed):
        await revoke(tokens.grants["one"], POLICY)


async def test_signing_out_does_not_wait_for_a_server_that_is_silent(
    fake, authority, pool, tokens, monkeypatch
):
    await signed_in(pool, spec(fake), authority)
    silent = await asyncio.start_server(lambda *_: asyncio.sleep(60), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    authority.metadata = {"revocation_endpoint": f"http://127.0.0.1:{port}/revoke"}
    monkeypatch.setattr(revocation, "DEADLINE", 0.1)
    with pytest.raises(ServerTimeout):
        await revoke(tokens.grants["one"], POLICY)
    silent.close()


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


# ------------------------------------------------------------ one server in front of another


HONEST_DOCUMENT = "https://odoo.example/oauth/client.json"


@pytest.fixture
async def honest(fake):
    """An authorization server that does not name itself in its answers."""
    guard = fake.guard
    async with FakeOAuth(fake) as server:
        fake.guard = guard
        yield server


async def test_a_server_cannot_send_people_to_another_ones_page(fake, honest, authority, pool):
    """The code of the honest server, and the verifier, would go to the token endpoint of the other one."""
    authority.metadata = {
        "authorization_endpoint": f"{honest.issuer}/authorize",
        "registration_endpoint": None,
        "client_id_metadata_document_supported": True,
    }
    with pytest.raises(AuthRequired, match="redirects to a different server") as caught:
        await echo(pool, spec(fake, client_metadata_url=HONEST_DOCUMENT))
    assert not isinstance(caught.value, SignInRequired) and not authority.grants


async def test_a_client_of_the_honest_server_is_not_led_back_for_another(
    fake, honest, authority, pool, tokens
):
    fake.guard, guard = honest._guard, fake.guard
    known = query((await wanted(pool, spec(fake))).url)["client_id"]
    fake.guard, authority.client = guard, {"client_id": known}
    authority.metadata = {"authorization_endpoint": f"{honest.issuer}/authorize"}
    error = await wanted(pool, spec(fake, key="two"))
    assert error.url.startswith(honest.issuer)
    with pytest.raises(PermissionError):
        honest.sign_in(error.url)


async def test_who_promises_a_name_has_to_give_it(fake, honest, authority, pool):
    authority.metadata = {
        "authorization_endpoint": f"{honest.issuer}/authorize",
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
    server = spec(fake, client_metadata_url=HONEST_DOCUMENT)
    for named in ({}, {"iss": honest.issuer}):
        error = await wanted(pool, server)
        with pytest.raises(AuthRequired):
            await pool.oauth(server).complete(honest.sign_in(error.url, **named))
    assert not authority.grants


async def test_each_server_has_an_address_of_its_own_to_lead_back_to(fake, authority, pool):
    server = spec(fake)
    asked = query((await wanted(pool, server)).url)
    own = f"{OAUTH.redirect_uri}/{callback_of(authority.issuer)}"
    assert asked["redirect_uri"] == own and authority.clients[asked["client_id"]] == [own]
    for elsewhere in ("", callback_of("https://evil.example")):
        back = authority.sign_in((await wanted(pool, server)).url, callback=elsewhere)
        with pytest.raises(AuthRequired, match="a different issuer"):
            await pool.oauth(server).complete(back)
    assert not authority.grants


async def test_who_registered_when_all_shared_one_address_stays_known(
    fake, authority, pool, tokens
):
    server = spec(fake)
    first = query((await wanted(pool, server)).url)["client_id"]
    del tokens.grants["one"]["client"]["callback"]
    authority.clients[first] = [OAUTH.redirect_uri]
    asked = await signed_in(pool, server, authority)
    assert (asked["client_id"], asked["redirect_uri"]) == (first, OAUTH.redirect_uri)
    assert await echo(pool, server) == "hi"


async def test_where_the_shared_address_is_not_safe_a_client_registers_anew(
    fake, honest, authority, pool, tokens
):
    server = spec(fake)
    first = query((await wanted(pool, server)).url)["client_id"]
    del tokens.grants["one"]["client"]["callback"]
    authority.metadata = {"authorization_endpoint": f"{honest.issuer}/authorize"}
    asked = query((await wanted(pool, server)).url)
    assert asked["client_id"] != first
    assert asked["redirect_uri"].endswith(callback_of(authority.issuer))


async def test_a_sign_in_that_was_begun_before_is_not_begun_again(fake, honest, authority, pool):
    wanted_ = {
        "issuer": authority.issuer,
        "sends_issuer": False,
        "authorization_endpoint": f"{honest.issuer}/authorize",
    }
    with pytest.raises(AuthRequired, match="redirects to a different server"):
        begin(wanted_)
