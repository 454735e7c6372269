"""The whole turn in real processes: a scripted model over HTTP, real MCP servers, a real Odoo."""

import re

import pytest
from chat import Chat, calls, first, of, text_of, then
from waiting import eventually

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})
SLOW = ("everything__trigger-long-running-operation", {"duration": 20, "steps": 20})


def test_a_tool_answers_what_only_it_can_know(each_odoo, scripted_llm):
    scripted_llm.script(
        first("What time is it in Taipei?", calls(TAIPEI)),
        then("What time is it in Taipei?", {"content": "It is **late** in Taipei."}),
    )
    chat = Chat(each_odoo)
    events = chat.ask("What time is it in Taipei?").events()
    kinds = [event["type"] for event in events]
    for earlier, later in zip(
        ["turn_started", "tool_call", "tool_result", "text", "text_block", "usage", "done"],
        ["tool_call", "tool_result", "text", "text_block", "usage", "done", None],
        strict=True,
    ):
        assert earlier in kinds
        if later:
            assert kinds.index(earlier) < kinds.index(later), kinds
    (call,), (result,) = of(events, "tool_call"), of(events, "tool_result")
    assert call["tool"] == "get_current_time", "the server's own name, not the alias"
    assert call["args"] == {"timezone": "Asia/Taipei"}
    assert (call["server"], call["round"], call["max_rounds"]) == ("time", 1, 5)
    assert (result["id"], result["outcome"], result["is_error"]) == (call["id"], "ok", False)
    assert re.search(r"T\d\d:\d\d:\d\d\+08:00", str(result["result"]))
    assert "<strong>late</strong>" in of(events, "text_block")[-1]["html"]
    # The model was given the real result.
    last = scripted_llm.requests()[-1]["body"]["messages"]
    assert re.search(r"\+08:00", str([m for m in last if m["role"] == "tool"]))
    # The history shows the same.
    answer = chat.page()["messages"][-1]
    assert "<strong>late</strong>" in answer["html"]
    assert answer["turn"]["tool_calls"][0]["id"] == call["id"]


def test_calls_of_one_answer_run_side_by_side(odoo, scripted_llm):
    slow = ("everything__trigger-long-running-operation", {"duration": 1, "steps": 2})
    scripted_llm.script(
        first("parallel", calls(slow, slow, TAIPEI)), then("parallel", {"content": "All done."})
    )
    events = Chat(odoo).ask("parallel").events()
    ids = [event["id"] for event in of(events, "tool_call")]
    assert len(set(ids)) == 3
    assert sorted(event["id"] for event in of(events, "tool_result")) == sorted(ids)
    assert {event["outcome"] for event in of(events, "tool_result")} == {"ok"}
    slow_ids = {event["id"] for event in of(events, "tool_call") if "long" in event["tool"]}
    ended = next(
        n for n, e in enumerate(events) if e["type"] == "tool_result" and e["id"] in slow_ids
    )
    under_way = {event["id"] for event in of(events[:ended], "tool_progress")}
    assert under_way == slow_ids, "both had told of progress before one of them ended"


def test_what_the_model_gets_wrong_is_told_to_it(odoo, scripted_llm):
    wrong = [("time__no_such_tool", {}), ("time__get_current_time", {"timezone": 5}), TAIPEI]
    scripted_llm.script(first("wrong", calls(*wrong)), then("wrong", {"content": "I see."}))
    events = Chat(odoo).ask("wrong").events()
    outcomes = sorted(event["outcome"] for event in of(events, "tool_result"))
    assert outcomes == ["invalid_args", "ok", "unknown_tool"]
    assert of(events, "done")[0]["state"] == "done"


def test_rounds_are_limited_and_end_with_an_answer(odoo, scripted_llm):
    scripted_llm.script({"match": {"userMessage": "endless"}, "response": calls(TAIPEI)})
    turn = Chat(odoo).ask("endless")
    events = turn.events()
    assert len(of(events, "tool_call")) == 5
    assert [event["round"] for event in of(events, "tool_call")] == [1, 2, 3, 4, 5]
    requests = [request["body"] for request in scripted_llm.requests()]
    assert len(requests) == 6
    assert requests[4].get("tools") and not requests[5].get("tools")


def test_a_tool_switched_off_meanwhile_is_denied(odoo, scripted_llm):
    echo = ("everything__echo", {"message": "hi"})
    slow = ("everything__trigger-long-running-operation", {"duration": 2, "steps": 2})
    scripted_llm.script(
        {
            "match": {"userMessage": "switch", "hasToolResult": False},
            "response": calls(slow),
        },
        {
            "match": {"userMessage": "switch", "toolResultContains": "switched off"},
            "response": {"content": "It is off."},
        },
        {
            "match": {"userMessage": "switch", "toolResultContains": "ong running"},
            "response": calls(echo),
        },
    )
    turn = Chat(odoo).ask("switch")
    turn.until("tool_call")
    of_demo = [("name", "=", "echo"), ("server_id.name", "=", "everything")]
    (tool,) = odoo.rpc("woow_paas_platform.mcp_tool", "search", of_demo)
    odoo.rpc("woow_paas_platform.mcp_tool", "write", [tool], {"active": False})
    try:
        (denied,) = [e for e in of(turn.events(), "tool_result") if e["tool"] == "echo"]
        assert denied["outcome"] == "denied"
    finally:
        odoo.rpc("woow_paas_platform.mcp_tool", "write", [tool], {"active": True})


def test_stop_while_the_model_speaks_keeps_what_was_said(each_odoo, scripted_llm):
    scripted_llm.script(
        first("story", {"content": "once upon a time " * 200}, latency=30, chunkSize=10)
    )
    chat = Chat(each_odoo)
    turn = chat.ask("story")
    turn.until("text")
    turn.stop()
    final = turn.events()[-1]
    assert (final["type"], final["state"]) == ("done", "stopped")
    answer = chat.page()["messages"][-1]
    assert "once upon" in answer["text"] and answer["text"].count("once") < 150
    assert answer["turn"]["state"] == "stopped"


def test_stop_during_a_call_cancels_it(each_odoo, scripted_llm):
    scripted_llm.script(first("long", calls(SLOW)))
    chat = Chat(each_odoo)
    turn = chat.ask("long")
    call = turn.until("tool_call")
    turn.stop()
    events = turn.events()
    (result,) = of(events, "tool_result")
    assert (result["id"], result["outcome"]) == (call["id"], "cancelled")
    assert chat.page()["messages"][-1]["turn"]["tool_calls"][0]["outcome"] == "cancelled"


def test_a_message_is_answered_at_once_while_the_turn_goes_on(each_odoo, scripted_llm):
    scripted_llm.script(first("slow", {"content": "word " * 100}, latency=50, chunkSize=5))
    chat = Chat(each_odoo)
    turn = chat.ask("slow")
    assert turn.state() in ("queued", "running")
    refused = chat.http.post(
        f"/api/ai/conversations/{chat.id}/messages", json={"content": "Hello?"}
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_running")
    assert turn.wait_ended() == "done"


def test_the_next_question_knows_the_last_answer(odoo, scripted_llm):
    scripted_llm.script(
        first("alpha", calls(TAIPEI)),
        then("alpha", {"content": "First answer."}),
        {"match": {"userMessage": "beta"}, "response": {"content": "Second answer."}},
    )
    chat = Chat(odoo)
    chat.ask("alpha").events()
    assert text_of(chat.ask("beta").events()) == "Second answer."
    roles = [m["role"] for m in scripted_llm.requests()[-1]["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_one_dead_server_leaves_the_others(odoo, scripted_llm):
    scripted_llm.script(
        first("dead", calls(("broken__anything", {}), TAIPEI)),
        then("dead", {"content": "One of two worked."}),
    )
    result = odoo.shell(
        """
server = env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True).create(
    {"name": "broken", "url": "http://127.0.0.1:9/mcp", "trust_level": "full"})
hints = '{"destructiveHint": false, "openWorldHint": false}'
env["woow_paas_platform.mcp_tool"].create({"name": "anything", "server_id": server.id, "annotations": hints})
env.ref("woow_paas_platform.ai_assistant_demo").mcp_server_ids += server
result = server.id
"""
    )
    try:
        events = Chat(odoo).ask("dead").events()
        outcomes = {event["tool"]: event["outcome"] for event in of(events, "tool_result")}
        assert outcomes == {"anything": "error", "get_current_time": "ok"}
        assert text_of(events) == "One of two worked."
    finally:
        odoo.rpc("woow_paas_platform.mcp_server", "unlink", [result])


@pytest.mark.parametrize(
    ("behavior", "code"),
    [
        ({"type": "fail", "status": 401}, "llm_auth_failed"),
        ({"type": "fail", "status": 404}, "llm_no_api"),
    ],
)
def test_the_models_refusal_is_a_sentence(odoo, fault_llm, scripted_llm, behavior, code):
    odoo.use_llm(fault_llm)
    odoo.expect_log(f"A turn failed: {code}")
    try:
        fault_llm.behave(behavior, behavior, behavior)
        chat = Chat(odoo)
        final = chat.ask("Hi").events()[-1]
        assert (final["type"], final["code"]) == ("error", code)
        assert "administrator" in final["message"]
        assert chat.page()["messages"][-1]["turn"]["error"]["code"] == code
    finally:
        odoo.use_llm(scripted_llm)


def test_an_answer_in_chinese_arrives_whole(odoo, scripted_llm):
    answer = "台北現在是晚上十點。" * 20
    scripted_llm.script(first("中文", {"content": answer}, chunkSize=7))
    assert text_of(Chat(odoo).ask("中文").events()) == answer


class TestCrash:
    """An Odoo of its own, because it dies."""

    @pytest.fixture(scope="class")
    def mortal(self, new_odoo):
        server = new_odoo("mortal", operator={"lease_seconds": 3})
        # Nobody is asked, and nobody believes that a call may run twice.
        server.shell(
            """
server = env.ref("woow_paas_platform.mcp_server_demo_everything")
server.trust_level = "none"
server.tool_ids.approval_policy = "auto"
"""
        )
        return server

    def test_a_call_in_flight_is_unknown_and_not_repeated(self, mortal, scripted_llm):
        scripted_llm.script(
            first("crash", calls(SLOW, TAIPEI)), then("crash", {"content": "Went on."})
        )
        chat = Chat(mortal)
        turn = chat.ask("crash")
        lines = turn.lines()
        for _seq, payload in lines:
            if payload["type"] == "tool_result":
                break
        lines.close()
        mortal.kill9()
        mortal.restart()
        chat.http = mortal.login("user")
        events = turn.events()
        outcomes = {event["tool"]: event["outcome"] for event in of(events, "tool_result")}
        assert outcomes == {
            "trigger-long-running-operation": "unknown",
            "get_current_time": "ok",
        }
        assert len(of(events, "tool_call")) == len(of(events, "tool_result")) == 2
        assert text_of(events) == "Went on."

    def test_an_answer_that_was_cut_starts_again_and_says_so(self, mortal, scripted_llm):
        answer = "one two three four five six seven eight nine ten " * 8
        scripted_llm.script(first("again", {"content": answer}, latency=40, chunkSize=12))
        chat = Chat(mortal, client=mortal.login("user"))
        turn = chat.ask("again")
        turn.until("text")
        mortal.kill9()
        mortal.restart()
        chat.http = mortal.login("user")
        shown = {}
        for event in turn.events():
            if event["type"] == "state" and "step" in event:
                shown = {step: text for step, text in shown.items() if step < event["step"]}
            elif event["type"] == "text":
                shown[event["step"]] = shown.get(event["step"], "") + event["content"]
        assert "".join(shown.values()).strip() == answer.strip()
        assert turn.state() == "done"

    def test_what_was_queued_before_a_start_needs_no_request(self, mortal, scripted_llm):
        scripted_llm.script(first("asleep", {"content": "word " * 600}, latency=100, chunkSize=10))
        turn = Chat(mortal, client=mortal.login("user")).ask("asleep")
        turn.until("text")
        mortal.kill9()
        turn.give_back()
        mortal.process.stop()
        mortal.process.start()
        eventually(lambda: turn.value("lease_epoch") == "2")
        mortal.process.wait()
        turn.chat.http = mortal.login("user")
        turn.stop()
