"""The server side of MCP, without HTTP: both eras on one endpoint."""

import json

import pytest

from services import const, jsonrpc
from services.errors import ElicitationRequired
from services.gateway import (
    features,
    finding,
    listing,
    messages,
    questions,
    results,
    server,
    sessions,
    stream,
    tasks,
)
from services.gateway.approval import Question
from services.gateway.host import Failure, Unknown, UnknownState, UnknownTool, Wanted
from services.gateway.tasks import Task
from services.mcp.session.elicitation import ElicitRequest, ElicitResult
from services.specs import ServerSpec, ToolSpec

META = const.META_PREFIX
DECLARED = {f"{META}protocolVersion": const.MODERN_VERSION, f"{META}clientCapabilities": {}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}


def spec(alias, **more):
    return ToolSpec(id=1, server_id=1, name=alias, alias=alias, input_schema=SCHEMA, **more)


class Tools:
    """A host whose tools answer with their arguments once they are called."""

    tells_changes = True
    session_key = b"of a test"
    listed_tokens = 0

    def __init__(self, *tools):
        self.known = {tool.alias: tool for tool in tools or (spec("a__b"), spec("a__ask"))}
        self.asked, self.answers, self.told, self.levels = [], [], [], {}
        self.state = {"status": "working"}

    def tools(self):
        return reversed(self.known.values())

    def servers(self):
        return {1: ServerSpec(id=1, name="a", title="Weather", description="Forecasts")}

    def call(self, name, arguments, answer, check):
        if name not in self.known:
            raise UnknownTool(name)
        check(self.known[name].input_schema)
        self.asked.append(name)
        if answer and answer.state not in ("", "call-1"):
            raise UnknownState
        if name == "a__ask":
            self.answers.append(answer and (answer.state, answer.action))
            if answer and answer.action == "accept":
                return name, arguments
            message = "" if arguments.get("is_long") else "Allow it?"
            return Question("call-1", message, "This call requires approval: see /page.")
        return name, arguments

    def answer(self, key, result):
        if key != "call-1.q1":
            raise Unknown
        self.told.append((key, result))

    def keep_log_level(self, session, level):
        self.levels[session] = level

    def log_level(self, session):
        return self.levels.get(session, "")

    def as_task(self, question):
        return self.task(question.state)

    def task(self, task_id):
        if task_id != "call-1":
            raise Unknown
        moments = {"created_at": "2026-07-28T00:00:00Z", "updated_at": "2026-07-28T00:00:01Z"}
        return Task(id=task_id, ttl=60_000, **moments, **self.state)

    def update_task(self, task_id, responses):
        self.told.append((self.task(task_id).id, responses))

    def cancel_task(self, task_id):
        self.told.append((self.task(task_id).id, "cancelled"))


def post(value, headers=(), host=None, **more):
    """:return: status and message, with all calls made"""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    exchange = server.exchange(body, dict(headers), host or Tools(), **more)
    made = [
        results.of_tool({"content": [{"type": "text", "text": json.dumps(call)}]})
        for call in exchange.calls
    ]
    reply = exchange.reply(made)
    return reply.status, reply.message


def request(method, params=None, request_id=7):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def modern(method, params=None, headers=(), host=None, meta=DECLARED):
    sent = request(method, {**(params or {}), "_meta": meta})
    needed = {"mcp-protocol-version": const.MODERN_VERSION, "mcp-method": method}
    for key in {"name", "taskId"} & (params or {}).keys():
        needed["mcp-name"] = params[key]
    given = {name: value for name, value in {**needed, **dict(headers)}.items() if value}
    return post(sent, given, host)


def code(answer):
    return answer[0], answer[1]["error"]["code"]


# ------------------------------------------------------------ legacy


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2031-01-01", "2025-11-25"),
        (["2025-11-25"], "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_a_handshake_ends_with_a_version_that_is_spoken_here(asked, answered):
    status, said = post(request("initialize", {"protocolVersion": asked}))
    assert (status, said["id"]) == (200, 7)
    result = said["result"]
    assert result["protocolVersion"] == answered
    assert result["capabilities"]["tools"] == {"listChanged": True} and result["serverInfo"]["name"]
    assert "resultType" not in result


def test_a_legacy_client_lists_and_calls():
    header = {"mcp-protocol-version": "2025-11-25"}
    assert post({"jsonrpc": "2.0", "method": "notifications/initialized"}, header) == (202, None)
    assert post(request("ping"), header)[1]["result"] == {}
    listed = post(request("tools/list"), header)[1]["result"]
    assert [tool["name"] for tool in listed["tools"]] == ["a__ask", "a__b"]
    assert listed.keys() == {"tools"}
    called = request("tools/call", {"name": "a__b", "arguments": {"city": "台北"}}, "x")
    status, said = post(called, header)
    assert (status, said["id"]) == (200, "x")
    assert "台北" in json.loads(said["result"]["content"][0]["text"])[1]["city"]
    assert said["result"]["isError"] is False


def test_what_a_legacy_client_may_not():
    assert code(post(request("tools/call", {"name": "nope"}))) == (200, jsonrpc.INVALID_PARAMS)
    for params in ({}, {"name": 1}, {"name": "a__b", "arguments": []}):
        assert code(post(request("tools/call", params))) == (200, jsonrpc.INVALID_PARAMS)
    for method in ("server/discover", "resources/subscribe", "tools/delete"):
        assert code(post(request(method))) == (200, jsonrpc.METHOD_NOT_FOUND)
    unknown = post(request("tools/list"), {"mcp-protocol-version": "1900-01-01"})
    assert code(unknown) == (400, jsonrpc.UNSUPPORTED_VERSION)
    assert unknown[1]["error"]["data"]["requested"] == "1900-01-01"


def test_a_refused_call_is_a_result_with_a_code():
    host = Tools()
    for said in (
        post(request("tools/call", {"name": "a__ask"}), host=host)[1],
        modern("tools/call", {"name": "a__ask"}, host=host)[1],
    ):
        result = said["result"]
        assert result["isError"] and result["_meta"]["code"] == "approval_required"
        assert result["content"][0]["text"] == "This call requires approval: see /page."
    assert host.asked == ["a__ask"] * 2


# ------------------------------------------------------------ sessions of legacy clients


def begin_session(elicitation, host=None):
    """:return: headers of a client that has shaken hands"""
    params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": elicitation}}
    body = json.dumps(request("initialize", params)).encode()
    reply = server.exchange(body, {}, host or Tools()).reply(())
    return {"mcp-session-id": reply.session, "mcp-protocol-version": "2025-11-25"}


@pytest.mark.parametrize("elicitation", [{}, {"url": {}}, {"form": {}, "url": {}}, None, "x"])
def test_a_session_knows_what_its_client_shows(elicitation):
    headers = begin_session(elicitation)
    assert headers["mcp-session-id"].isascii() and len(headers["mcp-session-id"]) < 100
    assert begin_session(elicitation) != headers
    taken = stream_of("t", **headers)
    assert taken.shows == questions.modes_of(elicitation)
    assert taken.resumes == (7, "2025-11-25")
    assert stream_of("t").shows == frozenset()


def test_no_client_makes_up_a_session():
    other = Tools()
    other.session_key = b"of another user"
    headers = begin_session({})
    known = headers["mcp-session-id"]
    assert post(request("ping"), headers)[0] == 200
    for made_up in ("", "x", known[:-1], known + "A", "Z" + known[1:], "ü", "A" * 1_000):
        answer = post(request("ping"), {**headers, "mcp-session-id": made_up})
        assert code(answer) == (404, jsonrpc.INVALID_REQUEST)
    assert post(request("ping"), headers, other)[0] == 404
    batch = [request("ping"), request("tools/list")]
    version = {"mcp-protocol-version": "2025-03-26", "mcp-session-id": "x"}
    assert all("error" in one for one in post(batch, version)[1])


def test_an_answer_reaches_who_waits_for_it():
    host, headers = Tools(), begin_session({})
    answer = {"jsonrpc": "2.0", "id": "call-1.q1", "result": {"action": "accept"}}
    assert post(answer, headers, host) == (202, None)
    assert host.told == [("call-1.q1", {"action": "accept"})]
    refusal = {"jsonrpc": "2.0", "id": "call-1.q1", "error": {"code": -1, "message": "No."}}
    assert post(refusal, headers, host) == (202, None)
    for wrong in ({"id": "call-2.q1"}, {"id": 1}, {"result": []}, {"id": None}):
        assert code(post({**answer, **wrong}, headers, host)) == (400, jsonrpc.INVALID_REQUEST)
    assert post(answer, headers, host, scopes=("tools:read",))[0] == 403


def test_events_have_ids_where_a_client_resumes():
    told = stream.Stream(7, is_cancelled_by_close=False, resumes=(7, "2025-11-25"), name="call-1")
    parts = [told.begun(), told.progress(1, None, ""), told.event({})]
    assert parts[0].startswith(b"id: call-1.1\nretry: ") and parts[0].endswith(b"data: \n\n")
    assert [b"id: call-1.%d\n" % number in part for number, part in enumerate(parts, 1)] == [
        True
    ] * 3
    assert stream.resumed("call-1.2") == "call-1"
    for event_id in ("", "2", "x" * 300 + ".1"):
        assert stream.resumed(event_id) == ""
    older = stream.Stream(7, is_cancelled_by_close=False, resumes=(7, "2025-06-18"), name="call-1")
    assert older.begun() == stream.KEEPALIVE
    (asked,) = events(told.question("call-1.q1", PAGE, "weather"))
    assert (asked["id"], asked["method"]) == ("call-1.q1", "elicitation/create")
    assert asked["params"]["elicitationId"] == "call-1.q1"


# ------------------------------------------------------------ modern


CAPABILITIES = f"{META}clientCapabilities"


def asking(capabilities, host=None, **params):
    params = {"name": "a__ask", "arguments": {}, **params}
    meta = {**DECLARED, CAPABILITIES: capabilities}
    return modern("tools/call", params, host=host, meta=meta)[1]["result"]


@pytest.mark.parametrize("elicitation", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_a_client_that_can_asks_its_user(elicitation):
    result = asking({"elicitation": elicitation})
    assert result["resultType"] == "input_required" and result["requestState"] == "call-1"
    (question,) = result["inputRequests"].values()
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Allow it?"
    assert question["params"]["requestedSchema"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": True}])
def test_others_are_told_where_the_user_decides(capabilities):
    assert asking(capabilities)["_meta"]["code"] == "approval_required"
    assert asking({"elicitation": {}}, arguments={"is_long": 1})["isError"]


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_answer_of_the_user_comes_back(action):
    host = Tools()
    answered = {"requestState": "call-1", "inputResponses": {"approval": {"action": action}}}
    result = asking({"elicitation": {}}, host, **answered)
    assert host.answers == [("call-1", action)]
    assert (result["resultType"] == "complete") == (action == "accept")


@pytest.mark.parametrize(
    "sent",
    [
        {"requestState": "call-1"},
        {"requestState": 1, "inputResponses": {"approval": {"action": "accept"}}},
        {"requestState": "x" * 200_000, "inputResponses": {"approval": {"action": "accept"}}},
        {"requestState": "call-1", "inputResponses": None},
        {"requestState": "call-1", "inputResponses": {"approval": "accept"}},
        {"requestState": "call-1", "inputResponses": {"approval": {"action": ["accept"]}}},
        {"requestState": "call-1", "inputResponses": {"other": {"action": "accept"}}},
        {"requestState": "call-1", "inputResponses": [{"action": "accept"}]},
    ],
)
def test_what_is_no_answer_allows_nothing(sent):
    host = Tools()
    assert asking({"elicitation": {}}, host, **sent)["resultType"] == "input_required"
    assert host.answers in ([None], [("call-1", None)])


def test_a_state_that_nobody_has_given_out_is_refused():
    answered = {"requestState": "call-2", "inputResponses": {"approval": {"action": "accept"}}}
    sent = {"name": "a__ask", "arguments": {}, **answered}
    meta = {**DECLARED, CAPABILITIES: {"elicitation": {}}}
    assert code(modern("tools/call", sent, meta=meta)) == (200, jsonrpc.INVALID_PARAMS)


# ------------------------------------------------------------ questions of servers

FORM = ElicitRequest(message="Which city?", schema={"properties": {"city": {"type": "string"}}})
PAGE = ElicitRequest(message="Pay first.", url="https://example.com/pay")


def test_a_question_of_a_server_is_passed_on_under_its_name():
    asked = questions.Asked("call-1.1", {"a": FORM, "b": PAGE}, "weather")
    exchange = server.exchange(*_sent("tools/call", {"name": "a__b"}), Tools())
    result = exchange.reply([asked]).message["result"]
    assert (result["resultType"], result["requestState"]) == ("input_required", "call-1.1")
    shown = {key: one["params"] for key, one in result["inputRequests"].items()}
    assert shown["a"]["message"] == "weather: Which city?" and shown["a"]["mode"] == "form"
    assert shown["b"] == {"mode": "url", "message": "weather: Pay first.", "url": PAGE.url}


def _sent(method, params):
    """:return: body and headers"""
    headers = {"mcp-protocol-version": const.MODERN_VERSION, "mcp-method": method}
    sent = request(method, {**params, "_meta": DECLARED})
    return json.dumps(sent).encode(), {**headers, "mcp-name": params["name"]}


@pytest.mark.parametrize(
    ("capability", "shown"),
    [
        ({}, {"form"}),
        ({"form": {}}, {"form"}),
        ({"url": {}}, {"url"}),
        ({"form": {}, "url": {}, "x": {}}, {"form", "url"}),
        (True, set()),
        (None, set()),
    ],
)
def test_only_what_a_client_shows_is_passed_on(capability, shown):
    meta = {"_meta": {CAPABILITIES: {"elicitation": capability}}}
    modes = questions.modes(messages.Message("tools/call", meta, 1))
    assert modes == shown
    assert questions.can_be_shown({"a": FORM}, modes) == ("form" in shown)
    assert questions.can_be_shown({"a": FORM, "b": PAGE}, modes) == (len(shown) == 2)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (
            {"action": "accept", "content": {"city": "Taipei", "more": 1}},
            ElicitResult(action="accept", content={"city": "Taipei"}),
        ),
        ({"action": "decline", "content": {"city": 5}}, ElicitResult(action="decline")),
        ({"action": "cancel"}, ElicitResult(action="cancel")),
        ({"action": "accept", "content": {"city": 5}}, None),
        ({"action": "accept", "content": []}, None),
        ({"action": "accept", "content": {"city": "x" * 100_000}}, None),
        ({"action": "yes"}, None),
        ({"action": ["accept"]}, None),
        (12345, None),
        (None, None),
    ],
)
def test_an_answer_fits_its_question(response, answer):
    found = questions.fitting({"a": FORM}, {"a": response, "b": {"action": "accept"}})
    assert found == ({"a": answer} if answer else {})
    assert questions.fitting({"a": FORM}, [response]) == {}


# ------------------------------------------------------------ tasks

TAKES = {**DECLARED, CAPABILITIES: {"extensions": {tasks.EXTENSION: {}}}}


def test_a_client_that_asks_nobody_gets_a_task_of_a_call_that_waits():
    params = {"name": "a__ask", "arguments": {}}
    result = modern("tools/call", params, meta=TAKES)[1]["result"]
    assert (result["resultType"], result["taskId"]) == ("task", "call-1")
    assert result["ttlMs"] == 60_000 and isinstance(result["pollIntervalMs"], int)
    assert not {"result", "error", "inputRequests", "requestState", "task"} & result.keys()
    both = {**TAKES[CAPABILITIES], "elicitation": {}}
    asked = modern("tools/call", params, meta={**TAKES, CAPABILITIES: both})[1]["result"]
    assert asked["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("state", "more"),
    [
        ({"status": "working", "message": "Soon."}, {"statusMessage": "Soon."}),
        ({"status": "input_required", "requests": {"a": {}}}, {"inputRequests": {"a": {}}}),
        (
            {"status": "completed", "result": {"content": []}},
            {"result": {"content": [], "resultType": "complete"}},
        ),
        ({"status": "failed", "error": {"code": 1}}, {"error": {"code": 1}}),
        ({"status": "cancelled"}, {}),
    ],
)
def test_a_task_shows_what_its_status_has(state, more):
    host = Tools()
    host.state = state
    result = modern("tasks/get", {"taskId": "call-1"}, host=host, meta=TAKES)[1]["result"]
    assert result["resultType"] == "complete" and result["status"] == state["status"]
    shown = {"statusMessage", "inputRequests", "result", "error"} & result.keys()
    assert {key: result[key] for key in shown} == more


def test_a_task_is_answered_and_cancelled():
    host, params = Tools(), {"taskId": "call-1"}
    for method, more in (("tasks/update", {"inputResponses": {"a": {}}}), ("tasks/cancel", {})):
        result = modern(method, {**params, **more}, host=host, meta=TAKES)[1]["result"]
        assert result.keys() == {"resultType", "_meta"} and result["resultType"] == "complete"
    assert host.told == [("call-1", {"a": {}}), ("call-1", "cancelled")]
    answer = modern("tasks/update", params, host=host, meta=TAKES)
    assert code(answer) == (200, jsonrpc.INVALID_PARAMS)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_who_may_not_ask_about_a_task(method):
    params = {"taskId": "call-1", "inputResponses": {}}
    answer = modern(method, params)
    assert code(answer) == (400, jsonrpc.MISSING_CAPABILITY)
    assert answer[1]["error"]["data"]["requiredCapabilities"]["extensions"] == {tasks.EXTENSION: {}}
    for task_id in ("call-2", "x" * 1_000, 5, ""):
        named = {"mcp-name": str(task_id)}
        answer = modern(method, {**params, "taskId": task_id}, named, meta=TAKES)
        assert code(answer)[1] in (jsonrpc.INVALID_PARAMS, jsonrpc.HEADER_MISMATCH)
    headers = {"mcp-name": "call-2"}
    answer = modern(method, params, headers, meta=TAKES)
    assert code(answer) == (400, jsonrpc.HEADER_MISMATCH)
    assert code(post(request(method, params))) == (200, jsonrpc.METHOD_NOT_FOUND)


def test_tasks_are_neither_listed_nor_waited_for():
    for method in ("tasks/list", "tasks/result"):
        answer = modern(method, {"taskId": "call-1"}, meta=TAKES)
        assert code(answer) == (404, jsonrpc.METHOD_NOT_FOUND)
    extensions = modern("server/discover")[1]["result"]["capabilities"]["extensions"]
    assert extensions == {tasks.EXTENSION: {}}


def test_a_legacy_client_brings_no_answer():
    host = Tools()
    answered = {"requestState": "call-1", "inputResponses": {"approval": {"action": "accept"}}}
    post(request("tools/call", {"name": "a__ask", **answered}), host=host)
    assert host.answers == [None]


def test_a_modern_client_needs_no_handshake():
    status, said = modern("server/discover")
    assert status == 200
    found = said["result"]
    assert found["supportedVersions"] == [const.MODERN_VERSION]
    assert found["resultType"] == "complete" and found["_meta"][f"{META}serverInfo"]["name"]
    assert found["ttlMs"] >= 0 and found["cacheScope"] == "private"
    listed = modern("tools/list")[1]["result"]
    assert listed["resultType"] == "complete" and listed["cacheScope"] == "private"
    called = modern("tools/call", {"name": "a__b", "arguments": {}})[1]["result"]
    assert called["resultType"] == "complete" and not called["isError"]
    for method in ("initialize", "ping", "logging/setLevel"):
        assert code(modern(method)) == (404, jsonrpc.METHOD_NOT_FOUND)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-protocol-version": None},
        {"mcp-protocol-version": "2025-11-25"},
        {"mcp-protocol-version": "2026-07-28, 2026-07-28"},
        {"mcp-method": None},
        {"mcp-method": "tools/list"},
        {"mcp-method": "Tools/call"},
        {"mcp-name": None},
        {"mcp-name": "a__ask"},
        {"mcp-name": "=?base64?!?="},
        {"mcp-name": "台北"},
    ],
)
def test_headers_say_what_the_body_says(headers):
    host = Tools()
    answer = modern("tools/call", {"name": "a__b"}, headers, host)
    assert code(answer) == (400, jsonrpc.HEADER_MISMATCH)
    assert answer[1]["id"] == 7 and host.asked == []


@pytest.mark.parametrize("written", ["=?base64?YV9fYg==?=", " a__b \t"])
def test_a_name_may_be_encoded_and_padded(written):
    assert "result" in modern("tools/call", {"name": "a__b"}, {"mcp-name": written})[1]


@pytest.mark.parametrize(
    ("header", "city"),
    [
        ("Taipei", "Taipei"),
        ("=?base64?5Y+w5YyX?=", "台北"),
        ("=?base64?VGFpcGVp?=", "Taipei"),
        ("=?base64?VGFpcGVp", "=?base64?VGFpcGVp"),
        (None, None),
        ("Rome", None),
    ],
)
def test_a_header_says_what_its_argument_says(header, city):
    arguments = {} if city is None else {"city": city}
    params = {"name": "a__b", "arguments": arguments}
    assert "result" in modern("tools/call", params, {"mcp-param-city": header})[1]


@pytest.mark.parametrize(
    "header", [None, "Rome", "=?base64?VGFpcGV?=", "=?base64?VGF!!!cGVp?=", ""]
)
def test_another_header_than_its_argument_is_refused(header):
    host, params = Tools(), {"name": "a__b", "arguments": {"city": "Taipei"}}
    answer = modern("tools/call", params, {"mcp-param-city": header}, host)
    assert code(answer) == (400, jsonrpc.HEADER_MISMATCH) and host.asked == []


@pytest.mark.parametrize("missing", DECLARED)
def test_a_modern_request_says_who_it_is(missing):
    meta = {name: value for name, value in DECLARED.items() if name != missing}
    assert code(modern("tools/list", meta=meta)) == (400, jsonrpc.INVALID_PARAMS)


def test_another_revision_is_told_the_one_that_is_spoken():
    later = "2027-01-01"
    meta = {**DECLARED, f"{META}protocolVersion": later}
    answer = modern("tools/list", headers={"mcp-protocol-version": later}, meta=meta)
    assert code(answer) == (400, jsonrpc.UNSUPPORTED_VERSION)
    assert answer[1]["error"]["data"] == {
        "supported": [const.MODERN_VERSION],
        "requested": later,
    }
    old = {**DECLARED, f"{META}protocolVersion": "2025-11-25"}
    answer = modern("tools/list", headers={"mcp-protocol-version": "2025-11-25"}, meta=old)
    assert code(answer) == (400, jsonrpc.UNSUPPORTED_VERSION)


# ------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"", 400, jsonrpc.PARSE_ERROR),
        (b"{", 400, jsonrpc.PARSE_ERROR),
        (b"\xff", 400, jsonrpc.PARSE_ERROR),
        (b"[" * 100_000, 400, jsonrpc.PARSE_ERROR),
        (b"7", 400, jsonrpc.INVALID_REQUEST),
        (b"{}", 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": ""}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', 400, -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 400, jsonrpc.INVALID_REQUEST),
        (b'{"a": ' + b"[" * 150 + b"]" * 150 + b"}", 400, jsonrpc.INVALID_REQUEST),
        (b'["' + b"x" * messages.MAX_BODY + b'"]', 413, jsonrpc.INVALID_REQUEST),
        (b"[" + b"0," * 200_000 + b"0]", 413, jsonrpc.INVALID_REQUEST),
    ],
)
def test_a_body_that_is_no_message(body, status, error):
    host = Tools()
    assert code(post(body, host=host)) == (status, error)
    assert not host.asked


def test_an_error_bears_the_id_where_there_is_one():
    assert post({"jsonrpc": "2.0", "id": "x", "method": 1})[1]["id"] == "x"
    assert "id" not in post({"jsonrpc": "2.0", "id": ["x"], "method": "ping"})[1]
    assert "id" not in post({"jsonrpc": "2.0", "id": "x" * 1_000, "method": "ping"})[1]


@pytest.mark.parametrize(
    ("scopes", "refused"),
    [
        (("tools:read",), "tools/call"),
        (("tools:call",), "tools/list"),
        ((), "tools/list"),
    ],
)
def test_a_method_needs_the_scope_of_its_token(scopes, refused):
    host = Tools()
    status, message = post(request(refused, {"name": "a__b"}), host=host, scopes=scopes)
    assert status == 403
    assert message["error"]["data"]["scope"] == server.SCOPES[refused]
    assert not host.asked
    for method in ("initialize", "ping", *{"tools/list", "tools/call"} - {refused}):
        if server.SCOPES.get(method) in (None, *scopes):
            assert post(request(method, {"name": "a__b"}), scopes=scopes)[0] == 200
    batch = [request("ping"), request(refused)]
    status, messages_of_batch = post(batch, {"mcp-protocol-version": "2025-03-26"}, scopes=scopes)
    assert status == 200
    assert ["error" in one for one in messages_of_batch] == [False, True]


def test_batches_are_of_one_revision():
    calls = [request("tools/call", {"name": name}, name) for name in ("a__b", "a__ask", "nope")]
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    status, said = post([calls[0], initialized, *calls[1:], 5])
    assert status == 200
    assert [one.get("id") for one in said] == ["a__b", "a__ask", "nope", None]
    assert ["result" in one for one in said] == [True, True, False, False]
    assert post([initialized, initialized]) == (202, None)
    for version in ("2025-06-18", "2025-11-25", const.MODERN_VERSION):
        refused = post(calls, {"mcp-protocol-version": version})
        assert code(refused) == (400, jsonrpc.INVALID_REQUEST)
    for batch in ([], calls * 7, [request("initialize")]):
        assert code(post(batch)) == (400, jsonrpc.INVALID_REQUEST)


# ------------------------------------------------------------ lists


def test_a_list_is_read_page_by_page_in_one_order(monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 3)
    host = Tools(*(spec(f"s__{number:02}") for number in range(8)))
    seen, cursor = [], None
    for _ in range(3):
        params = {"cursor": cursor} if cursor else {}
        found = modern("tools/list", params, host=host)[1]["result"]
        seen += [tool["name"] for tool in found["tools"]]
        cursor = found.get("nextCursor")
        host.known.pop("s__01", None)  # gone between two pages: none is left out
    assert seen == [f"s__{number:02}" for number in range(8)] and cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "invalid-cursor", "YWZ0ZXI6", 3, {}, "A" * 10_000])
def test_a_cursor_is_one_that_was_given_out(cursor):
    answer = code(post(request("tools/list", {"cursor": cursor})))
    assert answer == (200, jsonrpc.INVALID_PARAMS)


def test_a_page_has_a_size(monkeypatch):
    monkeypatch.setattr(listing, "PAGE_WEIGHT", 10)
    found = post(request("tools/list"))[1]["result"]
    assert len(found["tools"]) == 1 and found["nextCursor"]


def test_a_definition_holds_what_clients_can_read():
    tool = spec(
        "a__b",
        title="B",
        description="Does b",
        output_schema={"type": "array"},
        annotations={"readOnlyHint": True, "destructiveHint": "no", "x": 1},
    )
    without = {"type": "object", "properties": {"city": {"type": "string"}}}
    for era, more in (("legacy", {}), ("modern", {"outputSchema": {"type": "array"}})):
        assert listing.definition(tool, era) == {
            "name": "a__b",
            "title": "B",
            "description": "Does b",
            "inputSchema": SCHEMA if era == "modern" else without,
            "annotations": {"readOnlyHint": True},
            **more,
        }
    bare = ToolSpec(id=1, server_id=1, name="b", alias="a__b")
    assert listing.definition(bare, "legacy") == {
        "name": "a__b",
        "inputSchema": {"type": "object"},
    }


# ------------------------------------------------------------ results


def test_only_parts_that_mcp_names_pass():
    answer = {
        "content": [
            {"type": "text", "text": "a\u200b\U000e0041b", "_meta": {"x": 1}},
            {"type": "text", "text": 5},
            {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": "x"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "c", "more": 1}},
            {"type": "resource", "resource": 5},
            {"type": "video", "data": "AA=="},
            {"type": ["text"]},
            7,
        ],
        "structuredContent": [1],
        "_meta": {"secret": 1},
    }
    result = results.of_tool(answer)
    assert result["content"] == [
        {"type": "text", "text": "ab"},
        {"type": "text", "text": "[left out: text]"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "c"}},
        {"type": "text", "text": "[left out: resource]"},
        {"type": "text", "text": "[left out: video]"},
        {"type": "text", "text": "[left out: something]"},
        {"type": "text", "text": "[left out: something]"},
    ]
    assert result["structuredContent"] == [1] and "_meta" not in result
    assert results.of_tool({"content": None, "isError": True}) == {"content": [], "isError": True}
    many = results.of_tool({"content": [{"type": "text", "text": ""}] * 6_000})
    assert len(many["content"]) == results.MAX_BLOCKS + 1


def test_an_older_client_gets_no_newer_kind():
    link = {"type": "resource_link", "uri": "a://b", "name": "b"}
    audio = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
    result = results.of_tool({"content": [link, audio], "structuredContent": [1]})
    for version, kinds in (
        ("2025-11-25", ["resource_link", "audio"]),
        ("2025-03-26", ["text", "audio"]),
        ("2024-11-05", ["text", "text"]),
    ):
        shown = results.for_version(result, version)
        assert [block["type"] for block in shown["content"]] == kinds
        assert "structuredContent" not in shown
    kept = results.for_version({**result, "structuredContent": {"a": 1}}, "2025-06-18")
    assert kept["structuredContent"] == {"a": 1}


class Servers(Tools):
    """A host whose servers have prompts and resources; what is asked of it comes back as it is to be answered."""

    def __init__(self, answer=None):
        super().__init__()
        self.answer = answer

    def prompts(self):
        return self.answer

    resources = templates = prompts

    def prompt(self, name, arguments, more):
        self.told.append(more)
        if not name.startswith("notes__"):
            raise Unknown("There is no such prompt.")
        return self.answer or ("notes", {"messages": [message(f"{name} {arguments}")]})

    def resource(self, uri, more):
        self.told.append(more)
        return self.answer or ("notes", {"contents": [{"uri": uri, "text": "x"}]})

    def complete(self, ref, argument, given):
        said = f"{ref} {argument} {given}"
        return {"values": (said,), "total": None, "has_more": False}


def message(said, role="user"):
    return {"role": role, "content": {"type": "text", "text": said}}


def ask(method, params=None, answer=None, version=None, **more):
    """:return: the message of a server with prompts and resources"""
    headers = {"mcp-protocol-version": version} if version else {}
    body = json.dumps(request(method, params)).encode()
    exchange = server.exchange(body, headers, Servers(answer), **more)
    return exchange.reply(exchange.calls).message


def listed(*addresses, problems=()):
    return {"entries": [{"uri": one} for one in addresses], "problems": list(problems)}


def test_lists_are_paged_in_the_order_of_names(monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 2)
    long = "odoo://notes/" + "x" * 2_000
    answer, seen, params = listed("odoo://b/two", long, "odoo://b/一"), [], {}
    while True:
        found = ask("resources/list", params, answer)["result"]
        seen += [one["uri"] for one in found["resources"]]
        if "nextCursor" not in found:
            break
        params = {"cursor": found["nextCursor"]}
    assert seen == ["odoo://b/two", "odoo://b/一", long]


def test_a_server_that_fails_is_named_beside_the_others():
    problem = {"server": "flows", "code": "connect_failed", "message": "It does not answer."}
    found = ask("resources/list", answer=listed("odoo://a/b", problems=[problem]))["result"]
    assert found["_meta"] == {"problems": [problem]} and len(found["resources"]) == 1
    assert "_meta" not in ask("resources/list", answer=listed())["result"]


def test_a_prompt_has_only_what_has_its_form():
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "_meta": {"x": 1}}
    answer = {
        "description": "Two\u202e.",
        "secret": 1,
        "messages": [
            message("Hello\u200b", "assistant") | {"secret": 1},
            {"role": "user", "content": link},
            message("x", "system"),
            "nothing",
            {"role": "user", "content": [1]},
        ],
    }
    params, version = {"name": "notes__a"}, "2025-11-25"
    found = ask("prompts/get", params, ("notes", answer), version)["result"]
    assert found == {
        "description": "Two.",
        "messages": [
            message("Hello", "assistant"),
            {
                "role": "user",
                "content": {"type": "resource_link", "uri": "odoo://notes/file:///a", "name": "a"},
            },
            {"role": "user", "content": {"type": "text", "text": "[left out: something]"}},
        ],
    }


def test_large_content_is_left_out(monkeypatch):
    monkeypatch.setattr(features, "MAX_CONTENT", 200)
    parts = [{"uri": f"a:{number}", "text": "x" * 90} for number in range(3)]
    found = ask("resources/read", {"uri": "odoo://notes/a:"}, ("notes", {"contents": parts}))
    shown = [part["text"] for part in found["result"]["contents"]]
    assert shown == ["x" * 90, "[left out: content]", "[left out: content]"]


def test_an_older_client_gets_no_sound_in_a_prompt():
    sound = {"type": "audio", "data": "eA==", "mimeType": "audio/wav"}
    answer = ("notes", {"messages": [{"role": "user", "content": sound}]})
    for version, kind in (("2024-11-05", "text"), ("2025-06-18", "audio")):
        found = ask("prompts/get", {"name": "notes__a"}, answer, version)["result"]
        assert found["messages"][0]["content"]["type"] == kind


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {}),
        ("prompts/get", {"name": "notes__a", "arguments": {"a": 1}}),
        ("prompts/get", {"name": "notes__a", "arguments": []}),
        ("prompts/get", {"name": "other__a"}),
        ("resources/read", {"uri": None}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {}}),
        ("resources/list", {"cursor": "x"}),
    ],
)
def test_bad_params_are_refused(method, params):
    answer = listed() if method == "resources/list" else None
    assert ask(method, params, answer)["error"]["code"] == jsonrpc.INVALID_PARAMS


def test_a_failure_is_an_error_with_its_code():
    for failure, code in (
        (Failure("It does not answer.", "connect_failed"), jsonrpc.INTERNAL_ERROR),
        (Failure("Not found.", "server_refused", is_callers=True), server.RESOURCE_NOT_FOUND),
    ):
        error = ask("resources/read", {"uri": "odoo://a/b"}, failure)["error"]
        assert (error["code"], error["message"]) == (code, failure.sentence)
        assert error["data"] == {"code": failure.code, "uri": "odoo://a/b"}


def ask_with_questions(host, **params):
    """:return: status and message"""
    sent = {"name": "notes__a", "arguments": {"who": "Ada"}, **params}
    meta = {**DECLARED, CAPABILITIES: {"elicitation": {}}}
    body, headers = _sent("prompts/get", {**sent})
    body = json.dumps(request("prompts/get", {**sent, "_meta": meta})).encode()
    exchange = server.exchange(body, headers, host)
    reply = exchange.reply(exchange.calls)
    return reply.status, reply.message


def test_a_question_before_a_prompt_is_passed_on(monkeypatch):
    wanted = ElicitationRequired(questions={"a": FORM}, more={"requestState": "kept"})
    host = Servers(Wanted("notes", wanted))
    asked = ask_with_questions(host)[1]["result"]
    assert asked["inputRequests"]["a"]["params"]["message"] == "notes: Which city?"
    state = asked["requestState"]
    answers = {"a": {"action": "accept", "content": {"city": "Taipei"}}}
    given = {"requestState": state, "inputResponses": answers}
    ask_with_questions(host, **given)
    assert host.told == [{}, {"inputResponses": answers, "requestState": "kept"}]
    another = Servers()
    another.session_key = b"of another user"
    for refused in (
        ask_with_questions(another, **given),
        ask_with_questions(host, **given, arguments={"who": "Eve"}),
        ask_with_questions(host, **{**given, "requestState": state + "0"}),
        ask_with_questions(host, **{**given, "requestState": "A" + state}),
        ask_with_questions(host, **{**given, "inputResponses": {}}),
    ):
        assert code(refused) == (200, jsonrpc.INVALID_PARAMS)
    ask_with_questions(host, inputResponses=answers)
    assert host.told[2:] == [{"inputResponses": answers}]
    monkeypatch.setattr(questions, "SEALED", -1)
    late = ask_with_questions(host)[1]["result"]["requestState"]
    assert code(ask_with_questions(host, **{**given, "requestState": late}))[1] == -32602


def test_a_question_that_no_client_shows_is_a_failure():
    host = Servers(Wanted("notes", ElicitationRequired(questions={"a": PAGE}, more={})))
    assert ask_with_questions(host)[1]["error"]["data"]["code"] == "input_required"
    assert ask("prompts/get", {"name": "notes__a"}, host.answer)["error"]["data"]


def test_completions_are_asked_with_what_is_known():
    params = {
        "ref": {"type": "ref/resource", "uri": "odoo://notes/a:{b}"},
        "argument": {"name": "b", "value": "x"},
        "context": {"arguments": {"c": "y"}},
    }
    (said,) = ask("completion/complete", params)["result"]["completion"]["values"]
    assert said == f"{ {'uri': 'odoo://notes/a:{b}'} } {params['argument']} { {'c': 'y'} }"


def test_a_token_that_lists_reads_nothing():
    for method, params in (("prompts/get", {"name": "notes__a"}), ("resources/read", {"uri": "a"})):
        error = ask(method, params, scopes=("tools:read",))["error"]
        assert error["data"]["scope"] == "tools:call"
    assert "result" in ask(
        "prompts/list", answer={"entries": [], "problems": []}, scopes=("tools:read",)
    )


BOTH = "application/json, text/event-stream"


def stream_of(token=None, accept=BOTH, value=None, **headers):
    meta = {"_meta": {"progressToken": token}} if token is not None else {}
    sent = value or request("tools/call", {"name": "a__b", **meta})
    headers = {"accept": accept, **headers}
    return server.exchange(json.dumps(sent).encode(), headers, Tools()).stream


@pytest.mark.parametrize(
    ("token", "known"),
    [("t", "t"), (7, 7), (None, None), (True, None), ([], None), ("x" * 201, None)],
)
def test_a_call_may_be_answered_in_a_stream(token, known):
    assert stream_of(token).token == known


def test_only_who_takes_a_stream_gets_one():
    assert stream_of("t", accept="application/json") is None
    headers = {"mcp-protocol-version": const.MODERN_VERSION, "mcp-method": "tools/call"}
    sent = request("tools/call", {"name": "a__b", "_meta": TAKES})
    taken = stream_of(None, "application/json", sent, **headers, **{"mcp-name": "a__b"})
    assert (taken.is_taken, taken.takes_task, taken.shows) == (False, True, frozenset())
    assert stream_of(value=request("tools/list")) is None
    batch = [request("tools/call", {"name": "a__b"})]
    assert stream_of(value=batch) is None


def test_a_closed_line_is_a_cancel_in_the_newest_revision_only():
    assert not stream_of("t").is_cancelled_by_close
    headers = {
        "mcp-protocol-version": const.MODERN_VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "a__b",
    }
    sent = request("tools/call", {"name": "a__b", "_meta": {**DECLARED, "progressToken": 1}})
    assert stream_of(value=sent, **headers).is_cancelled_by_close


def test_progress_only_grows():
    told = stream.Stream(7, is_cancelled_by_close=False)
    assert told.progress(0, None, "") == (
        b'event: message\ndata: {"jsonrpc": "2.0", "method": "notifications/progress",'
        b' "params": {"progressToken": 7, "progress": 0}}\n\n'
    )
    assert told.progress(0, 3, "again") == told.progress(-1, 3, "back") == b""
    data = told.progress(2.5, 3, "ein\nZwei").decode().split("data: ")[1]
    assert json.loads(data)["params"] == {
        "progressToken": 7,
        "progress": 2.5,
        "total": 3,
        "message": "ein\nZwei",
    }
    assert stream.Stream(None, is_cancelled_by_close=False).progress(1, None, "") == b""


def test_a_legacy_client_sets_its_level_once():
    host, session = Tools(), sessions.seal(sessions.NONE, Tools.session_key)

    def sent(level, **more):
        headers = {"accept": BOTH, **more}
        body = json.dumps(request("logging/setLevel", {"level": level})).encode()
        return server.exchange(body, headers, host).reply(())

    def level_of(**headers):
        body = json.dumps(request("tools/call", {"name": "a__b"})).encode()
        return server.exchange(body, {"accept": BOTH, **headers}, host).stream.log_level

    known = {sessions.HEADER: session}
    assert level_of(**known) == "", "nobody has asked for log messages"
    assert sent("warning", **known).message["result"] == {}
    assert (level_of(**known), level_of()) == ("warning", "")
    assert sent("loud", **known).message["error"]["code"] == jsonrpc.INVALID_PARAMS
    assert sent("info").status == 400, "nothing keeps the level of a client without a session"


@pytest.mark.parametrize(
    ("level", "known"), [("error", "error"), ("loud", ""), ([], ""), (None, "")]
)
def test_a_request_names_the_level_of_its_messages(level, known):
    headers = {"mcp-protocol-version": const.MODERN_VERSION, "mcp-method": "tools/call"}
    meta = {**DECLARED, f"{META}logLevel": level} if level is not None else DECLARED
    sent = request("tools/call", {"name": "a__b", "_meta": meta})
    named = {**headers, "mcp-name": "a__b"}
    assert stream_of(value=sent, **named).log_level == known
    assert stream_of(None, "application/json", sent, **named).log_level == ""
    set_level = request("logging/setLevel", {"level": "info", "_meta": DECLARED})
    headers["mcp-method"] = "logging/setLevel"
    refused = server.exchange(json.dumps(set_level).encode(), headers, Tools()).reply(())
    assert refused.message["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


def test_a_log_message_names_its_server():
    told = stream.Stream(None, is_cancelled_by_close=False)
    (one,) = events(told.log({"level": "error", "data": [1], "logger": "store"}, "Weather"))
    assert one["method"] == "notifications/message"
    assert one["params"] == {"level": "error", "data": [1], "logger": "Weather/store"}
    (one,) = events(told.log({"level": "error", "data": None}, "Weather"))
    assert one["params"]["logger"] == "Weather"


def listening(host=None, meta=DECLARED, scopes=("tools:read", "tools:call"), **params):
    headers = {"mcp-protocol-version": const.MODERN_VERSION, "mcp-method": "subscriptions/listen"}
    sent = request("subscriptions/listen", {**params, "_meta": meta})
    return server.exchange(json.dumps(sent).encode(), headers, host or Tools(), scopes)


def events(*parts):
    return [json.loads(part.decode().split("data: ")[1]) for part in parts]


def test_a_client_listens_for_other_tools():
    told = listening(notifications={"toolsListChanged": True}).subscription
    first, other, last = events(told.begun(), told.changed(), told.ended())
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {"toolsListChanged": True}
    assert other["method"] == "notifications/tools/list_changed"
    ids = [one["params"]["_meta"][f"{META}subscriptionId"] for one in (first, other)]
    assert [*ids, last["id"], last["result"]["_meta"][f"{META}subscriptionId"]] == [7] * 4


def test_a_client_is_told_only_of_what_it_wants():
    wanted = {"promptsListChanged": True, "resourceSubscriptions": ["odoo://notes/file:///a.txt"]}
    told = listening(notifications=wanted).subscription
    (first,) = events(told.begun())
    assert first["params"]["notifications"] == {} and told.changed() == b""


def test_a_client_listens_for_its_tasks():
    ids = {"taskIds": ["a", "b", "a"]}
    told = listening(notifications=ids, meta=TAKES).subscription
    assert told.task_ids == ("a", "b") and not told.wants_tools
    task = Task(id="a", status="working", created_at="1", updated_at="2", ttl=3)
    first, other = events(told.begun(), told.task(task))
    assert first["params"]["notifications"] == {"taskIds": ["a", "b"]}
    assert other["method"] == "notifications/tasks"
    assert other["params"]["taskId"] == "a" and other["params"]["status"] == "working"
    assert other["params"]["_meta"][f"{META}subscriptionId"] == 7


def test_who_cannot_listen_for_tasks():
    def refused(notifications, **more):
        reply = listening(notifications=notifications, **more).reply(())
        return code((reply.status, reply.message))

    assert refused({"taskIds": ["a"]})[1] == jsonrpc.MISSING_CAPABILITY
    assert refused({"taskIds": "a"}, meta=TAKES) == (400, jsonrpc.INVALID_PARAMS)
    assert refused({"taskIds": ["a"]}, meta=TAKES, scopes=("tools:read",))[0] == 403


def test_a_stream_of_a_legacy_client_names_no_subscription():
    told = stream.Subscription(None)
    (other,) = events(told.changed())
    assert other == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert (told.begun(), told.ended()) == (stream.KEEPALIVE, b"")


def test_who_cannot_listen_is_told_why():
    refused = listening(notifications=[]).reply(())
    assert code((refused.status, refused.message)) == (400, jsonrpc.INVALID_PARAMS)
    host = Tools()
    host.tells_changes = False
    refused = listening(host, notifications={}).reply(())
    assert code((refused.status, refused.message)) == (404, jsonrpc.METHOD_NOT_FOUND)
    assert "gevent" in refused.message["error"]["message"]
    found = modern("server/discover", host=host)[1]["result"]
    assert found["capabilities"]["tools"] == {}


# ------------------------------------------------------------ many tools


def many():
    """A host with 300 tools of a server and one of its own, more than it lists."""
    tools = [spec(f"a__tool_{number}", description="Does a thing. " * 20) for number in range(299)]
    wanted = spec("a__forecast", title="Weather forecast", description="Weather of a city.")
    own = ToolSpec(id=0, server_id=0, name="own", alias="own", input_schema=SCHEMA)
    host = Tools(*tools, wanted, own)
    host.listed_tokens = 8000
    return host


def call(name, arguments, host, version="2025-11-25"):
    sent = request("tools/call", {"name": name, "arguments": arguments})
    return post(sent, {"mcp-protocol-version": version}, host)[1]


def test_many_tools_are_found_not_listed():
    host = many()
    for listed in (
        post(request("tools/list"), {"mcp-protocol-version": "2025-11-25"}, host)[1]["result"],
        modern("tools/list", host=host)[1]["result"],
    ):
        by_name = {tool["name"]: tool for tool in listed["tools"]}
        assert list(by_name) == ["call_tool", "describe_tools", "find_tools", "own"]
        assert "Weather (300)" in by_name["find_tools"]["description"]
    said = call("find_tools", {"queries": ["weather forecast of a city"]}, host)
    found = json.loads(said["result"]["content"][0]["text"])
    assert found["tools"][0]["name"] == "a__forecast"
    assert found["tools"][0]["inputSchema"]["properties"]["city"]
    arguments = {"name": "a__forecast", "arguments": {"city": "Taipei"}}
    called = call("call_tool", arguments, host)
    assert json.loads(called["result"]["content"][0]["text"]) == ["a__forecast", {"city": "Taipei"}]
    assert modern("tools/call", {"name": "call_tool", "arguments": arguments}, host=host)[0] == 200
    host.listed_tokens = 0
    listed = post(request("tools/list"), {"mcp-protocol-version": "2025-11-25"}, host)
    assert "find_tools" not in json.dumps(listed[1])


def test_definitions_are_shown_as_far_as_there_is_room():
    large = [spec(f"a__{number}", description="x" * 10_000) for number in range(8)]
    host = Tools(*large)
    said = call("describe_tools", {"names": [tool.alias for tool in large]}, host)
    told = json.loads(said["result"]["content"][0]["text"])
    assert (len(told["tools"]), len(told["more"])) == (2, 6)
    assert all(len(one["description"]) <= finding.ABOUT for one in told["more"])


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("find_tools", {}, "invalid_arguments"),
        ("find_tools", {"queries": []}, "invalid_arguments"),
        ("find_tools", {"queries": "weather"}, "invalid_arguments"),
        ("describe_tools", {"names": [1]}, "invalid_arguments"),
        ("describe_tools", {"names": ["a__nothing"]}, "not_found"),
        ("call_tool", {"name": "a__b"}, "invalid_arguments"),
        ("call_tool", {"name": 1, "arguments": {}}, "invalid_arguments"),
    ],
)
def test_a_wrong_search_is_told(name, arguments, code):
    result = call(name, arguments, Tools())["result"]
    assert (result["isError"], result["_meta"]["code"]) == (True, code)


def test_what_finds_calls_nothing_else():
    for name in ("nothing", "call_tool", "find_tools"):
        said = call("call_tool", {"name": name, "arguments": {}}, many())
        assert said["error"]["code"] == jsonrpc.INVALID_PARAMS
