"""Templates as a file: what is read, what is left out, and that neither a command nor a key is in it."""

import json

import pytest

from services.catalog import template_file
from services.errors import ConfigError

WEATHER = {
    "id": "weather",
    "name": "Weather",
    "category": "data",
    "url": "https://weather.example.com/{team}/mcp",
    "fields": [
        {"name": "team", "target": "path", "required": True},
        {"name": "token", "label": "Token", "target": "api_key", "secret": True},
        {"name": "region", "target": "header", "header": "X-Region"},
    ],
}
FILES = {
    "id": "filesystem",
    "name": "Files",
    "category": "data",
    "transport": "stdio",
    "fields": [{"name": "allowed_roots", "target": "command"}],
}


def read_one(**changes):
    found, skipped = template_file.read({"mcpTemplates": [{**WEATHER, **changes}]})
    return found[0] if found else skipped[0].message


def server(**facts):
    return {
        "id": "w",
        "name": "w",
        "title": "",
        "description": "",
        "category": "data",
        "url": "https://w.example.com/mcp",
        "transport": "auto",
        "authorization": "key",
        "has_api_key": False,
        "header_names": [],
        **facts,
    }


def test_what_is_written_is_read_again():
    found, skipped = template_file.read({"mcpTemplates": [WEATHER, FILES]})
    assert not skipped
    assert found[0]["fields"][0]["label"] == "team"
    document = json.loads(json.dumps(template_file.write(found)))
    assert template_file.read(document) == (found, [])
    assert "description" not in document["mcpTemplates"][0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "../x"}, "small letters"),
        ({"id": 7}, "small letters"),
        ({"name": " "}, "“name” is missing"),
        ({"name": "x" * 2001}, "at most 2000"),
        ({"category": "war"}, "“category” must be one of"),
        ({"category": ["data"]}, "“category” must be one of"),
        ({"transport": "carrier_pigeon"}, "“transport” must be one of"),
        ({"authorization": "oauth_client"}, "“authorization” must be one of"),
        ({"icon": 'fa-x" onload="'}, "Font Awesome"),
        ({"website": "javascript:alert(1)"}, "http"),
        ({"url": "file:///etc/passwd"}, "http"),
        ({"url": "https://user:s3cret@x.example.com/mcp"}, "user name or password"),
        ({"url": "https://x.example.com/mcp?apiKey=s3cret", "fields": []}, "contains a key"),
        ({"url": "https://{nobody}.example.com/mcp"}, "{nobody}"),
        ({"url": "", "fields": []}, "“url” is missing"),
        ({"fields": [{}]}, "of a field"),
        ({"fields": [{"name": "x"}]}, "“target” must be one of"),
        ({"fields": [{"name": "x", "target": "command"}]}, "Only a template with a command"),
        ({"fields": [{"name": "x", "target": "header"}]}, "eader"),
        ({"fields": [{"name": "x", "target": "header", "header": "a\nb"}]}, "eader"),
        ({"fields": [{"name": "x", "target": "api_key", "value": "s3cret"}]}, "no “value”"),
        ({"fields": [{"name": "x", "target": "api_key"}] * 31}, "at most 30"),
        ({"fields": [{"name": "x", "target": "api_key"}] * 2}, "same name"),
        ({"fields": [{"name": "x", "target": "api_key", "secret": "yes"}]}, "true or false"),
        ({"fields": "x"}, "must be a list"),
        ({"command": "sh"}, "operator's configuration file"),
        ({"args": ["-c", "id"]}, "operator's configuration file"),
        ({"env": {"A": "b"}}, "operator's configuration file"),
        ({"env_config": {"image": "x"}}, "operator's configuration file"),
        ({"transport": "stdio", "url": "", "fields": []}, "are started by a command"),
        ({"id": "slack", "transport": "stdio", "fields": []}, "has no address"),
        ({"api_key": "s3cret"}, "no “api_key”"),
    ],
)
def test_what_is_wrong_costs_only_itself(changes, said):
    message = read_one(**changes)
    assert said in message
    assert "s3cret" not in message
    found, _ = template_file.read({"mcpTemplates": [{**WEATHER, **changes}, FILES]})
    assert [one["id"] for one in found] == ["filesystem"]


@pytest.mark.parametrize("entry", [None, 7, "x", [], [WEATHER]])
def test_what_is_no_object_costs_only_itself(entry):
    found, skipped = template_file.read({"mcpTemplates": [entry, WEATHER]})
    assert (len(found), len(skipped)) == (1, 1)


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"mcpTemplates": []}, {"mcpTemplates": {}}, {"mcpTemplates": [WEATHER] * 201}],
)
def test_what_is_no_such_file_is_refused(document):
    with pytest.raises(ConfigError):
        template_file.read(document)


def test_a_template_that_comes_twice_is_taken_once():
    found, skipped = template_file.read({"mcpTemplates": [WEATHER, WEATHER]})
    assert (len(found), len(skipped)) == (1, 1)


def test_a_servers_secrets_become_questions():
    url = "https://w.example.com/s/Zk3v9QpLx72bT0aYw8Rr/mcp?page=2&apiKey=s3cret&sig=x"
    entry = template_file.of_server(
        server(url=url, has_api_key=True, header_names=["X-Team-Key"], title="Weather")
    )
    assert entry["url"] == "https://w.example.com/s/{path_1}/mcp?page=2&apiKey={apiKey}&sig={sig}"
    asked = {field["name"]: field["target"] for field in entry["fields"]}
    assert asked == {
        "apiKey": "path",
        "sig": "path",
        "path_1": "path",
        "api_key": "api_key",
        "x_team_key": "header",
    }
    assert all(field["secret"] and field["required"] for field in entry["fields"])
    assert entry["fields"][-1]["header"] == "X-Team-Key"
    assert "s3cret" not in json.dumps(template_file.write([entry]))
