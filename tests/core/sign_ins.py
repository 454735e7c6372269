"""What tests of signing in to MCP servers share: a server with OAuth, and a person who signs in."""

from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import spec_of

from services.errors import SignInRequired
from services.specs import OAuthSpec

OAUTH = OAuthSpec(key="one", redirect_uri="https://odoo.example/callback")


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
