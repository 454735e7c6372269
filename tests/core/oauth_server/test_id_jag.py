"""Assertions of an identity provider (ID-JAG), read as nobody has checked them."""

import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from services.oauth_server import const, exchange, id_jag
from services.oauth_server.errors import OAuthError
from services.oauth_server.metadata import Addresses

ISSUER, IDP = "https://odoo.example.com/woow/oauth", "https://idp.example.com"
RESOURCE = "https://odoo.example.com/mcp"
KEY, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


def jwk(key, kid):
    return {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": kid}


PROVIDER = id_jag.Provider(IDP, {"keys": [jwk(KEY, "one"), jwk(OTHER, "two")]}, "email")


def assertion(key=KEY, kid="one", typ=id_jag.TYPE, without=(), **claims):
    now = int(time.time())
    told = {
        "iss": IDP,
        "sub": "u1",
        "email": "ann@example.com",
        "aud": ISSUER,
        "client_id": "editor",
        "jti": "j1",
        "iat": now,
        "exp": now + 300,
        "scope": "tools:read tools:call",
        **claims,
    }
    told = {name: value for name, value in told.items() if name not in without}
    header = {"typ": typ, "kid": kid} if kid else {"typ": typ}
    return jwt.encode(told, key, "ES256", headers=header)


def read(token, scope="", provider=PROVIDER):
    return id_jag.read(token, provider, ISSUER, "editor", scope)


def test_an_assertion_counts_for_its_client_here():
    told = read(assertion(resource=[RESOURCE]))
    assert (told.user, told.id, told.resource) == ("ann@example.com", "j1", RESOURCE)
    assert told.scope == "tools:read tools:call" and told.expires_at > time.time()
    by_sub = id_jag.Provider(IDP, PROVIDER.keys, "sub")
    assert read(assertion(without=["email"]), provider=by_sub).user == "u1"


def test_scopes_are_only_narrowed():
    assert read(assertion(), "tools:read").scope == "tools:read"
    assert read(assertion(scope="tools:call offline_access")).scope == "tools:call"
    for allowed, asked in (
        ("tools:read", "tools:read tools:call"),
        ("", "tools:read"),
        ("", ""),
        (None, ""),
        (["tools:read"], "tools:read"),
        ("other", ""),
    ):
        with pytest.raises(OAuthError) as refused:
            read(assertion(scope=allowed), asked)
        assert refused.value.code == "invalid_scope"


NOW = int(time.time())


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        assertion(typ="JWT"),
        assertion(key=OTHER),
        assertion(kid="three"),
        assertion(kid=None),
        assertion(iss="https://idp.example.com/other"),
        assertion(aud="https://other.example.com"),
        assertion(aud=[ISSUER, "https://other.example.com"]),
        assertion(client_id="other"),
        assertion(email="ann\0@example.com"),
        assertion(jti="j\ud8001"),
        assertion(client_id=["editor"]),
        assertion(exp=NOW - 300),
        assertion(iat=NOW + 86_400, exp=NOW + 86_700),  # also where the tests take long
        assertion(exp=NOW + 2 * id_jag.LIFE),
        assertion(iat=NOW - 3 * id_jag.LIFE),
        assertion(email=""),
        assertion(email=7),
        assertion(email_verified=False),
        assertion(jti=""),
        assertion(jti="j" * 201),
        *(assertion(without=[name]) for name in ("iss", "sub", "aud", "client_id", "jti", "exp")),
        assertion(without=["iat"]),
        assertion(without=["email"]),
        jwt.encode({"iss": IDP}, "x" * 32, "HS256", headers={"typ": id_jag.TYPE, "kid": "one"}),
        jwt.encode({"iss": IDP}, None, "none", headers={"typ": id_jag.TYPE, "kid": "one"}),
    ],
)
def test_an_assertion_that_does_not_count(token):
    with pytest.raises(OAuthError) as refused:
        read(token)
    assert refused.value.code == "invalid_grant" and len(str(refused.value)) <= 300


def test_keys_that_cannot_be_used():
    for keys in ({"keys": []}, {"keys": [{"kid": "one"}]}, {"keys": ["one"]}, {"keys": None}, {}):
        with pytest.raises(OAuthError):
            read(assertion(), provider=id_jag.Provider(IDP, keys, "email"))


def test_the_grant_is_offered_only_where_it_is_set_up():
    given = {"grant_type": [id_jag.GRANT_TYPE], "client_id": ["editor"], "assertion": ["x"]}
    with pytest.raises(OAuthError) as refused:
        exchange.read(given, RESOURCE)
    assert refused.value.code == "unsupported_grant_type"
    assert exchange.read(given, RESOURCE, takes_assertions=True).token == "x"
    addresses = Addresses("https://odoo.example.com")
    assert id_jag.GRANT_TYPE not in addresses.of_server()["grant_types_supported"]
    described = addresses.of_server(takes_assertions=True)
    assert id_jag.GRANT_TYPE in described["grant_types_supported"]
    assert described["authorization_grant_profiles_supported"] == [id_jag.PROFILE]
    assert "refresh_token" not in exchange.answer("a", "", const.READ)
