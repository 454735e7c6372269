"""Another endpoint answers where the first is down before its first token; whoever takes a turn up goes on there."""

import copy
from dataclasses import replace

import pytest
from turns import Turn, request_of

from services.errors import LeaseLost
from services.llm import client, reply
from services.llm.connections import Connections
from services.llm.failover import next_spec
from services.specs import Limits, LlmSpec
from services.testing.memory_journal import MemoryJournal
from services.testing.memory_ledger import MemoryLedger
from services.testing.scripted_llm import Reply, ScriptedLlm

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(client, "RETRY_DELAY", 0.01)


def with_fallback(first, second, fake=None, **options):
    """A request to the first endpoint, whose fallback is the second."""
    request = request_of(first, fake, **options)
    instead = LlmSpec(id=2, base_url=second.base_url, model="other", api_key="other-key")
    return replace(request, llm=replace(request.llm, fallback=instead))


@pytest.mark.parametrize(
    "first",
    [
        Reply(status=503),
        Reply(status=401),
        Reply(status=402),
        Reply(status=429, headers={"retry-after": "77"}),
        Reply(status=404, error="The model `x` does not exist"),
        Reply(cut=True),
    ],
)
async def test_the_other_one_answers_and_the_log_says_so(first):
    async with ScriptedLlm(first) as down, ScriptedLlm(Reply("Here.")) as up:
        turn = await Turn(with_fallback(down, up)).run()
    assert (turn.result.state, turn.result.text) == ("done", "Here.")
    (notice,) = turn.journal.of("notice")
    assert notice["code"] == "provider_fallback"
    assert [aside["event"] for aside in turn.progress.asides] == [notice]
    (fault,) = turn.progress.llm_faults
    assert fault["id"] == 1 and fault["code"].startswith("llm_") and fault["detail"]
    assert turn.progress.llm == 2 and turn.progress.found_protocol == ""
    assert up.headers[0]["authorization"] == "Bearer other-key"
    assert "secret-key" not in f"{turn.progress}{up.requests}"


@pytest.mark.parametrize(
    "first",
    [
        Reply("This is the beginn", cut=True),
        Reply("half", finish=None),
        Reply(status=400, error="temperature is wrong"),
        Reply(status=413),
        Reply("", finish="stop"),
    ],
)
async def test_what_has_begun_or_was_rejected_is_not_asked_elsewhere(first):
    async with ScriptedLlm(first) as down, ScriptedLlm(Reply("Here.")) as up:
        turn = await Turn(with_fallback(down, up)).run()
    assert turn.result.state == "failed"
    assert not up.requests and not turn.progress.llm_faults


async def test_both_are_down():
    async with ScriptedLlm(Reply(status=503)) as down, ScriptedLlm(Reply(status=401)) as bad:
        turn = await Turn(with_fallback(down, bad)).run()
    assert (turn.result.state, turn.result.error.code) == ("failed", "llm_auth_failed")
    assert len(bad.requests) == 1


async def test_a_turn_that_is_taken_up_goes_on_with_the_other_one(fake):
    """The runner dies behind the fallback and behind its calls: nothing is asked or told twice."""
    script = (Reply(calls=[("fake__count", {})]), Reply("One."))
    async with ScriptedLlm(Reply(status=503)) as down, ScriptedLlm(*script) as up:
        request = with_fallback(down, up, fake)
        whole = await Turn(request).run()
        assert (whole.result.text, len(fake.calls)) == ("One.", 1)
        asked = len(down.requests)
        for saved in whole.journal.saved:
            up.script[:] = [Reply("Two.")]
            resumed = await Turn(request, progress=copy.deepcopy(saved)).run()
            assert resumed.result.state == "done"
            assert not resumed.journal.of("notice"), "told twice"
            assert len(resumed.progress.llm_faults) == 1
        assert len(down.requests) == asked, "asked again although it is known to be down"


async def test_who_loses_the_turn_while_it_falls_back_asks_nobody_else():
    journal = MemoryJournal(lose_at="save_step", error=LeaseLost())
    async with ScriptedLlm(Reply(status=503)) as down, ScriptedLlm(Reply("Here.")) as up:
        with pytest.raises(LeaseLost):
            await Turn(with_fallback(down, up), journal=journal).run()
    assert not up.requests


async def test_a_fallback_that_is_no_longer_one_is_not_asked():
    async with ScriptedLlm(Reply("First.")) as first, ScriptedLlm(Reply("Second.")) as second:
        request = with_fallback(first, second)
        turn = Turn(request)
        turn.progress.llm = 7
        assert (await turn.run()).result.text == "First."
    assert not second.requests


async def test_pictures_go_only_to_who_sees_them():
    async with ScriptedLlm(Reply(status=503)) as down, ScriptedLlm(Reply("Blind.")) as up:
        request = with_fallback(down, up, supports_vision=True)
        shown = {"role": "user", "content": "What is it?", "pictures": [PICTURE]}
        turn = Turn(request)
        object.__setattr__(request, "history", (shown,))
        await turn.run()
    assert "image_url" in str(down.requests[0]) and "image_url" not in str(up.requests[0])
    assert "cannot see" in str(up.requests[0])


async def test_an_answer_without_a_turn_falls_back_too():
    async with ScriptedLlm(Reply(status=503)) as down, ScriptedLlm(Reply("Here.")) as up:
        connections = Connections()
        faults, ledger = [], MemoryLedger()
        account = ledger.account()
        answer = await reply.reply(with_fallback(down, up), [], 30.0, connections, faults, account)
        await connections.close()
    assert answer.text == "Here."
    assert [fault["code"] for fault in faults] == ["llm_unavailable"]
    sent = [row["request"] for row in ledger.rows]
    assert [(one.is_retry, one.is_fallback) for one in sent] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    spent = [row["spent"]["usage"] for row in ledger.rows]
    assert spent == [{}, {}, {"input_tokens": 10, "output_tokens": 5}]


async def test_the_fallback_begins_the_answer_anew():
    broken = Reply("<th", cut=True)
    async with ScriptedLlm(broken) as down, ScriptedLlm(Reply("<think>Hm.</think>Yes.")) as up:
        connections, request = Connections(), with_fallback(down, up)
        account = MemoryLedger().account()
        answer = await reply.reply(request, [], 30.0, connections, [], account)
        await connections.close()
    assert (answer.thinking, answer.text) == ("Hm.", "Yes.")


def test_without_another_one_there_is_none():
    spec = request_of(type("Llm", (), {"base_url": NOWHERE}), limits=Limits()).llm
    assert next_spec(spec, client.LlmUnavailable(), client.Answer()) is None


PICTURE = {"mimetype": "image/png", "data": "aGk="}
