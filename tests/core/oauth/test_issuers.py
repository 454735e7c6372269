"""Which answers and authorization servers are not believed, and one server in front of another."""

import pytest
from sign_ins import OAUTH, echo, query, signed_in, spec, wanted

from services.errors import (
    AuthRequired,
    BlockedAddress,
    ConfigError,
    SignInRequired,
)
from services.oauth.flow import begin, callback_of
from services.testing.fake_oauth import FakeOAuth


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
    tokens.token_sets.clear()
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
    del tokens.token_sets["one"]["client"]["callback"]
    authority.clients[first] = [OAUTH.redirect_uri]
    asked = await signed_in(pool, server, authority)
    assert (asked["client_id"], asked["redirect_uri"]) == (first, OAUTH.redirect_uri)
    assert await echo(pool, server) == "hi"


async def test_where_the_shared_address_is_not_safe_a_client_registers_anew(
    fake, honest, authority, pool, tokens
):
    server = spec(fake)
    first = query((await wanted(pool, server)).url)["client_id"]
    del tokens.token_sets["one"]["client"]["callback"]
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
