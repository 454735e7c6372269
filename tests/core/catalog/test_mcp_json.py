"""`mcpServers` JSON in and out: what other clients write is read, no secret is written."""

import json

import pytest

from services.catalog import mcp_json
from services.errors import ConfigError


def test_what_clients_write():
    found, skipped = mcp_json.read(
        {
            "mcpServers": {
                "github": {
                    "type": "http",
                    "url": "https://api.example.com/mcp",
                    "headers": {"Authorization": "Bearer gh-secret", "X-Toolsets": "repos"},
                },
                "old": {"transport": "sse", "url": " https://example.com/sse "},
                "any": {"url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}},
            }
        }
    )
    assert not skipped
    github, old, some = found
    assert (github.transport, github.api_key, github.headers) == (
        "streamable_http",
        "gh-secret",
        {"X-Toolsets": "repos"},
    )
    assert "gh-secret" not in repr(github)
    assert (old.transport, old.url) == ("sse", "https://example.com/sse")
    assert (some.headers, some.missing) == ({}, ("X-Key",))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, "configuration file"),
        ({}, "“url” is missing"),
        ({"url": "file:///etc/passwd"}, "http://"),
        ({"url": "https://example.com/?key=${KEY}"}, "placeholder"),
        ({"url": "https://example.com", "type": "carrier pigeon"}, "“type”"),
        ({"url": "https://example.com", "type": ["http"]}, "“type”"),
        ({"url": "https://example.com", "headers": {"Host": "x"}}, "Host"),
        ({"url": "https://example.com", "headers": ["x"]}, "headers"),
        ("https://example.com", "JSON object"),
    ],
)
def test_what_cannot_be_a_server_is_told_and_costs_only_itself(entry, said):
    found, skipped = mcp_json.read({"mcpServers": {"bad": entry, "good": {"url": "https://e.org"}}})
    assert [server.name for server in found] == ["good"]
    assert [entry.name for entry in skipped] == ["bad"]
    assert said in skipped[0].message


@pytest.mark.parametrize("document", [None, [], {}, "x", {"mcpServers": []}, 3])
def test_no_document(document):
    with pytest.raises(ConfigError):
        mcp_json.read(document)


def test_out_and_in_again():
    servers = [
        {
            "name": "my server",
            "url": "https://example.com/mcp",
            "transport": "sse",
            "description": "Flows",
            "has_api_key": True,
            "header_names": ["X-Team"],
        },
        {"name": "my server", "url": "https://example.com/other", "transport": "auto"},
    ]
    document = mcp_json.write(servers)
    assert list(document["mcpServers"]) == ["my server", "my server 2"]
    assert document["mcpServers"]["my server"]["headers"] == {
        "X-Team": "${MY_SERVER_X_TEAM}",
        "Authorization": "Bearer ${MY_SERVER_API_KEY}",
    }
    found, skipped = mcp_json.read(json.loads(json.dumps(document)))
    assert not skipped
    assert [(s.name, s.url, s.transport) for s in found] == [
        ("my server", "https://example.com/mcp", "sse"),
        ("my server 2", "https://example.com/other", "auto"),
    ]
    assert (found[0].api_key, found[0].headers) == ("", {})
    assert found[0].missing == ("X-Team", "Authorization")


def test_a_key_in_the_address_stays_here():
    url = "https://example.com/s/Zk3v9QpLx72bT0aYw8Rr/mcp?tavilyApiKey=s3cret&lang=en"
    document = mcp_json.write([{"name": "web", "url": url, "transport": "auto"}])
    written = document["mcpServers"]["web"]["url"]
    assert (
        written
        == "https://example.com/s/${WEB_PATH_1}/mcp?tavilyApiKey=${WEB_TAVILYAPIKEY}&lang=en"
    )
    found, skipped = mcp_json.read(document)
    assert not found
    assert "placeholder" in skipped[0].message


def test_a_setting_that_does_not_fit_costs_its_server():
    for own, is_usable in (
        ({"tools_policy": {"a": "ask", "b": "auto"}}, True),
        ({"tools_policy": {"a": "default"}}, False),
        ({"tools_policy": ["a"]}, False),
        ({"review_new_tools": 1}, False),
        ({"wants_own_keys": True, "authorization": "oauth_user"}, False),
        ({"wants_own_keys": True, "authorization": "key"}, True),
        ({"unknown": object}, True),
    ):
        found, skipped = mcp_json.read({"a": {"url": "https://a.org", mcp_json.OWN: own}})
        assert (bool(found), bool(skipped)) == (is_usable, not is_usable), own
