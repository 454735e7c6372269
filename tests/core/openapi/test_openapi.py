import json
import threading

import pytest
from conftest import POLICY
from fake_api import DOCUMENT, FakeApi

from services.errors import (
    AuthRequired,
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    ServerRefused,
    ServerTimeout,
)
from services.net.egress import EgressPolicy
from services.openapi import components, loader, operations, parser, request
from services.specs import OperationSpec

READ = parser.read(loader.load(json.dumps(DOCUMENT)), "https://orders.example.com/openapi.json")
BY_KEY = {operation.key: operation for operation in READ.operations}


def spec(api, key, **more):
    operation = BY_KEY[key]
    return OperationSpec(
        method=operation.method,
        path=operation.path,
        base_url=f"{api.url}/v1" if api else "http://127.0.0.1:9/v1",
        content_type=operation.content_type,
        joined=operation.joined,
        **more,
    )


def parts(arguments, **operation):
    known = {"method": "GET", "path": "/a/{id}", "base_url": "https://x.example.com/v1/"}
    return request.request_parts(OperationSpec(**(known | operation)), arguments)


def test_a_document_is_read():
    assert (READ.title, READ.version) == ("Orders", "1.2")
    assert READ.base_url == "https://orders.example.com/v1"
    assert READ.credential == ("header", "X-API-Key")
    assert list(BY_KEY) == ["listOrders", "addNote", "stock", "upload"]
    assert BY_KEY["upload"].problem and not BY_KEY["stock"].problem


def test_arguments_stand_in_layers_and_bring_their_components():
    schema = BY_KEY["addNote"].input_schema
    assert list(schema["properties"]) == ["path", "body"]
    assert schema["required"] == ["path", "body"]
    assert schema["properties"]["body"] == {"$ref": "#/components/schemas/Note"}
    assert list(schema["components"]["schemas"]) == ["Note"]
    described = BY_KEY["listOrders"].input_schema["properties"]["path"]["properties"]
    assert described["customer_id"]["description"] == "Number of the customer"


def test_the_dialect_of_3_0_becomes_todays():
    state = BY_KEY["listOrders"].input_schema["components"]["schemas"]["State"]
    assert state == {"type": ["string", "null"], "enum": ["open", "shipped", None]}
    old = {"type": "number", "minimum": 1, "exclusiveMinimum": True, "example": 3}
    assert components.translated(old, modern=False) == {"type": "number", "exclusiveMinimum": 1}


def test_yaml_says_the_same():
    source = """
openapi: 3.1.0
info: {title: Dates, version: 2020-01-01}
paths:
  /on:
    get:
      parameters:
        - {name: day, in: query, explode: false, schema: {type: array, items: {type: string}, default: [2020-01-01]}}
"""
    (operation,) = parser.read(loader.load(source)).operations
    assert (operation.key, operation.joined) == ("get /on", ("day",))
    assert json.dumps(operation.input_schema)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "[1",
        "{}",
        "- 1",
        '{"swagger": "2.0"}',
        "openapi: 3.0.0\na: &a [1]\nb: [*a, *a]\n",
        "openapi: 3.0.0\npaths: !!python/object/apply:os.system [ls]\n",
        '{"openapi": "3.0.0", "paths": {"/x": {"get": 5}}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_document_is_a_sentence(source):
    with pytest.raises(ConfigError):
        parser.read(loader.load(source))


def test_strange_parts_cost_only_themselves():
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/ok": {"get": {"parameters": [5, {"$ref": "http://x/y"}, {"name": 1, "in": "query"}]}},
            "/bad": "text",
            "no-slash": {"get": {}},
            "/loop": {"$ref": "#/paths/~1loop"},
        },
    }
    assert [operation.key for operation in parser.read(document).operations] == ["get /ok"]


def test_values_are_written_where_they_belong():
    found = parts(
        {
            "path": {"id": "a/b ?#%"},
            "query": {"q": ["x", "y"], "ids": [1, 2], "flag": True, "none": None},
            "header": {"X-One": 1},
        },
        joined=("ids",),
        query={"key": "k"},
    )
    assert found["url"] == "https://x.example.com/v1/a/a%2Fb%20%3F%23%25"
    assert found["params"] == [
        ("q", "x"),
        ("q", "y"),
        ("ids", "1,2"),
        ("flag", "true"),
        ("key", "k"),
    ]
    assert found["headers"] == {"X-One": "1"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": {"id": ".."}},
        {"path": {"id": ""}},
        {"path": {}},
        {},
        {"path": {"id": 1}, "header": {"Host": "evil"}},
        {"path": {"id": 1}, "header": {"X": "a\r\nb: c"}},
    ],
)
def test_values_cannot_leave_their_place(arguments):
    with pytest.raises(ConfigError):
        parts(arguments)


def test_the_credential_cannot_be_replaced():
    arguments = {"path": {"id": 1}, "header": {"authorization": "mine", "x-api-key": "mine"}}
    headers = parts(arguments, headers={"X-API-Key": "ours"})["headers"]
    assert headers == {"X-API-Key": "ours"}


async def test_an_operation_is_performed():
    with FakeApi(key="k") as api:
        operation = spec(api, "addNote", headers={"X-API-Key": "k"})
        result = await operations.perform(
            operation, {"path": {"customer_id": 7}, "body": {"text": "嗨"}}, POLICY, timeout=5
        )
        assert result["isError"] is False and result["_meta"] == {"status_code": 201}
        assert result["structuredContent"] == {"id": 1, "customer": "7", "text": "嗨"}
        assert json.loads(result["content"][0]["text"])["text"] == "嗨"


async def test_what_a_service_says_of_a_call_is_a_result():
    with FakeApi() as api:
        result = await operations.perform(
            spec(api, "listOrders"), {"path": {"customer_id": 404}}, POLICY, timeout=5
        )
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("HTTP 404")


async def test_a_service_that_fails_is_a_typed_error():
    with FakeApi() as api:
        with pytest.raises(ServerRefused, match=r"HTTP 503.*The warehouse is closed\."):
            await operations.perform(spec(api, "stock"), {}, POLICY, timeout=60)
        api.key = "k"
        with pytest.raises(AuthRequired, match="The service refused"):
            await operations.perform(spec(api, "stock"), {}, POLICY, timeout=60)
        with pytest.raises(BlockedAddress):
            await operations.perform(spec(api, "stock"), {}, EgressPolicy(), timeout=60)
    with pytest.raises(ConnectFailed, match="no service is listening"):
        await operations.perform(spec(None, "stock"), {}, POLICY, timeout=60)


async def test_a_document_is_fetched():
    with FakeApi() as api:
        source = await operations.fetch(api.document_url, POLICY, timeout=60)
        assert parser.read(loader.load(source), api.document_url).base_url == f"{api.url}/v1"
        with pytest.raises(ServerRefused, match="HTTP 404"):
            await operations.fetch(f"{api.url}/nothing", POLICY, timeout=60)


async def test_a_slow_service_is_left():
    with FakeApi() as api:
        given_up = threading.Event()
        api.answer = lambda *_: given_up.wait(60) and (200, {})
        with pytest.raises(ServerTimeout, match="The service did not answer"):
            await operations.perform(spec(api, "stock"), {}, POLICY, timeout=0.1)
        given_up.set()
