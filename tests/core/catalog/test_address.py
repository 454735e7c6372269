"""What in an address is a secret: one rule for exports, templates and versions."""

import json

import pytest
from test_template_file import server

from services.catalog import address, mcp_json, template_file

KEY = "Zk3v9QpLx72bT0aYw8Rr"
SECRETS = [
    f"https://w.example.com/s/{KEY}/mcp",
    f"https://w.example.com/{KEY}",
    f"https://w.example.com/api/mcp/s/{KEY}==/mcp",
    f"https://w.example.com/bot123456:{KEY}/mcp",
    f"https://w.example.com/mcp?{KEY}",
    f"https://w.example.com/mcp?page=2&config={KEY}",
    f"https://w.example.com?a=1?token={KEY}",
    "https://w.example.com/mcp/550e8400-e29b-41d4-a716-446655440000",
    "https://w.example.com/mcp/Zk3v9-QpLx72_bT0aYw8Rr",
    "https://w.example.com/mcp/abcdefghijklmnopqr1234",
    "https://w.example.com/mcp?apiKey=s3cret&page=2",
    "https://w.example.com/mcp?lang=en&sig=s3cret",
]
ORDINARY = [
    "https://w.example.com/mcp",
    "https://w.example.com",
    "https://a-very-long-name-of-a-host-2.example.com/mcp-server/http",
    "https://w.example.com/documentation-server/mcp?page=2",
    "https://w.example.com/model-context-protocol-v2/2025-06-18/streamable_http_server1?lang=zh_TW",
    "https://w.example.com/specification2-latest/3d-printing-for2you",
    "https://w.example.com/mcp?toolsets=repositories,pull_requests,issues2&page=",
    "https://w.example.com/s/{path_1}/mcp?apiKey={apiKey}",
]


def exported(url):
    (entry,) = mcp_json.write([{"name": "w", "url": url, "transport": "auto"}])[
        "mcpServers"
    ].values()
    return entry["url"]


def saved(url):
    return template_file.of_server(server(url=url))


@pytest.mark.parametrize("url", SECRETS)
def test_a_secret_stays_here_whatever_leaves(url):
    parts = {KEY, "s3cret", "446655440000", "bT0aYw8Rr", "abcdefghijklmnopqr1234"}
    for left in (exported(url), saved(url), address.without_secrets(url, lambda name: f"<{name}>")):
        assert not any(part in json.dumps(left) for part in parts)
    assert mcp_json.has_placeholder(exported(url))
    assert [field["secret"] for field in saved(url)["fields"]] == [True]
    assert address.secrets(saved(url)["url"]) == []


@pytest.mark.parametrize("url", ORDINARY)
def test_an_ordinary_address_stays_whole(url):
    assert exported(url) == url
    assert address.secrets(url) == []
    if "{" not in url:
        assert (saved(url)["url"], saved(url)["fields"]) == (url, [])


@pytest.mark.parametrize("url", SECRETS)
def test_no_template_comes_in_with_one(url):
    entry = {"id": "w", "name": "W", "category": "data", "url": url}
    found, (skipped,) = template_file.read({"mcpTemplates": [entry]})
    assert not found
    assert "contains a key" in skipped.message


def test_each_secret_is_asked_for_by_its_own_name():
    url = f"https://w.example.com/{KEY}/{KEY}?token=a&token=b"
    assert address.secrets(url) == ["path_1", "path_2", "token"]
    assert (
        saved(url)["url"] == "https://w.example.com/{path_1}/{path_2}?token={token}&token={token}"
    )
