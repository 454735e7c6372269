"""Calls that wait for a person, in real processes: nothing is held, and each call runs once."""

import itertools

from chat import Chat, at_last, calls, first, of, text_of, then
from counter import SERVERS, count

NUMBERS = itertools.count(1)


def new_id():
    return f"approval-{next(NUMBERS)}"


def decide(turn, question, decision, **values):
    body = {"id": question, "decision": decision, **values}
    return turn.chat.json("POST", f"/api/ai/turns/{turn.id}/decision", body)


def asked(turn, number=1):
    """The events that asked, when the turn waits."""
    found = []
    lines = turn.lines()
    for _seq, payload in lines:
        if payload["type"] in ("approval_required", "confirm_required"):
            found.append(payload)
        if payload["type"] == "state" and payload["state"] == "waiting":
            break
    lines.close()
    assert len(found) == number
    return found


def test_changed_arguments_run_once_and_the_model_knows(careful, scripted_llm, counter):
    wanted, changed = new_id(), new_id()
    scripted_llm.script(
        first("change it", calls(count(wanted))), then("change it", {"content": "Counted."})
    )
    chat = Chat(careful)
    turn = chat.ask("change it")
    (question,) = asked(turn)
    assert (question["tool"], question["server"]) == ("count", "counter")
    assert question["args"]["id"] == wanted
    assert question["schema"]["properties"]["id"]["type"] == "string"
    assert chat.page()["turn"]["waiting_for"][0]["id"] == question["id"]
    assert turn.state() == "waiting"
    assert counter.executions(wanted) == 0
    decide(turn, question["id"], "approve_once", arguments={"id": changed})
    events = turn.events()
    (result,) = of(events, "tool_result")
    assert (result["outcome"], result["args"]) == ("ok", {"id": changed})
    assert (counter.executions(wanted), counter.executions(changed)) == (0, 1)
    told = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert changed in told and "changed the arguments" in told
    (call,) = chat.page()["messages"][-1]["turn"]["tool_calls"]
    assert call["args"] == {"id": changed} and call["approval"]["decision"] == "approve_once"


def test_a_denial_and_its_reason_reach_the_model(careful, scripted_llm, counter):
    name = new_id()
    scripted_llm.script(
        first("deny it", calls(count(name))),
        {
            "match": {"userMessage": "deny it", "toolResultContains": "on a Sunday"},
            "response": {"content": "Another day then."},
        },
    )
    turn = Chat(careful).ask("deny it")
    (question,) = asked(turn)
    decide(turn, question["id"], "deny", reason="Not on a Sunday.")
    events = turn.events()
    assert of(events, "tool_result")[0]["outcome"] == "denied"
    assert text_of(events) == "Another day then."
    assert counter.executions(name) == 0


def test_parallel_calls_are_decided_one_by_one(careful, scripted_llm, counter):
    names = [new_id(), new_id()]
    free = ("time__get_current_time", {"timezone": "Asia/Taipei"})
    scripted_llm.script(
        first("side by side", calls(count(names[0]), free, count(names[1]))),
        then("side by side", {"content": "One of two."}),
    )
    turn = Chat(careful).ask("side by side")
    questions = asked(turn, 2)
    assert decide(turn, questions[0]["id"], "approve_once")["state"] == "waiting"
    again = turn.chat.http.post(
        f"/api/ai/turns/{turn.id}/decision",
        json={"id": questions[0]["id"], "decision": "deny"},
    )
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_decided")
    scripted_llm.script(first("meanwhile", calls(free)), then("meanwhile", {"content": "Late."}))
    Chat(careful).ask("meanwhile").events()  # the runner has had its time
    assert counter.executions(names[0]) == 0
    assert decide(turn, questions[1]["id"], "deny")["state"] == "queued"
    events = turn.events()
    outcomes = sorted(event["outcome"] for event in of(events, "tool_result"))
    assert outcomes == ["denied", "ok", "ok"]
    assert len(of(events, "approval_required")) == 2
    assert [counter.executions(name) for name in names] == [1, 0]


def test_what_was_allowed_in_a_conversation_is_not_asked_again(careful, scripted_llm, counter):
    names = [new_id(), new_id(), new_id()]
    scripted_llm.script(
        *(
            fixture
            for number, name in enumerate(names)
            for fixture in (
                first(f"again {number}", calls(count(name))),
                then(f"again {number}", {"content": "Done."}),
            )
        )
    )
    # What an untrusted server says would end the permission: others may have written it.
    (server,) = careful.rpc(SERVERS, "search", [("name", "=", "counter")])
    careful.rpc(SERVERS, "write", [server], {"trust_level": "annotations"})
    try:
        chat = Chat(careful)
        turn = chat.ask("again 0")
        decide(turn, asked(turn)[0]["id"], "approve_conversation")
        turn.events()
        assert not of(chat.ask("again 1").events(), "approval_required")
        other = Chat(careful).ask("again 2")
        asked(other)
        other.stop()
        assert of(other.events(), "tool_result")[0]["outcome"] == "cancelled"
    finally:
        careful.rpc(SERVERS, "write", [server], {"trust_level": "none"})
    assert [counter.executions(name) for name in names] == [1, 1, 0]


def test_a_round_waits_for_a_word(careful, scripted_llm):
    free = ("time__get_current_time", {"timezone": "Asia/Taipei"})
    scripted_llm.script(at_last({"content": "That is all I know."}), first("go on?", calls(free)))
    assistants = careful.rpc("ai.assistant", "search", [])
    careful.rpc("ai.assistant", "write", assistants, {"confirm_round": 2})
    try:
        turn = Chat(careful).ask("go on?")
        (question,) = asked(turn)
        assert (question["type"], question["round"]) == ("confirm_required", 2)
        decide(turn, question["id"], "stop")
        assert text_of(turn.events()) == "That is all I know."
        last = scripted_llm.requests()[-1]["body"]
        assert "tools" not in last and "Do not call tools any more" in str(last["messages"])
    finally:
        careful.rpc("ai.assistant", "write", assistants, {"confirm_round": 0})


def test_an_approval_waits_over_a_restart_and_is_given_elsewhere(new_odoo, scripted_llm, counter):
    name = new_id()
    scripted_llm.script(first("later", calls(count(name))), then("later", {"content": "At last."}))
    mortal = new_odoo("approval")
    counter.register(mortal, trust_level="none")
    turn = Chat(mortal, client=mortal.login("user")).ask("later")
    (question,) = asked(turn)
    mortal.kill9()
    mortal.restart()
    assert turn.state() == "waiting"
    turn.chat.http = mortal.login("user")  # another session
    assert decide(turn, question["id"], "approve_once")["state"] == "queued"
    events = turn.events()
    assert of(events, "tool_result")[0]["outcome"] == "ok"
    assert len(of(events, "approval_required")) == 1
    assert text_of(events) == "At last."
    assert counter.executions(name) == 1
