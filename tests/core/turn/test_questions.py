"""What servers ask in the middle of a turn: which calls end and go on later, and which wait."""

import asyncio
import json

import pytest
from elicitations import NAME, QUESTION, asks
from turns import Turn, request_of, turn

from services.errors import ElicitationRequired, ProtocolError
from services.mcp.session import elicitation
from services.mcp.session.elicitation import ElicitRequest, ElicitResult
from services.schemas import elicitation_form
from services.specs import Limits, Verdict
from services.testing.fake_mcp import respond
from services.testing.fake_tools import text
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm

OBJECT = {"type": "object"}
PAGE = {"mode": "url", "message": "Pay.", "url": "https://pay.example/1", "elicitationId": "e1"}
ASKED = {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": QUESTION}


@pytest.fixture
async def llm():
    """A model that calls the tool that asks, then says that it is done."""
    async with ScriptedLlm(Reply(calls=[("fake__ask", {})]), Reply("Done.")) as server:
        yield server


async def ask_and_tell(call):
    """A tool of a legacy server: asks during the call and says what it was told."""
    await call.send(ASKED)
    return text(json.dumps(await call.fake.answered("q1")))


async def test_a_modern_question_ends_the_call_and_the_answer_makes_it_go_on(modern_fake, llm):
    modern_fake.tools = {"ask": (asks(QUESTION, state="opaque"), OBJECT)}
    journal, request = MemoryJournal(), request_of(llm, modern_fake, server=modern_fake.spec)
    first = await Turn(request, journal=journal).run()
    assert first.result.state == "waiting" and not journal.ended
    [(call, wanted)] = journal.suspended
    assert wanted.questions == {"q": ElicitRequest(message="Who?", schema=NAME)}

    answers = {"q": ElicitResult(action="accept", content={"name": "Bob"})}
    journal.verdicts["ask"] = Verdict(kind="run", resume=elicitation.retry_params(wanted, answers))
    second = await Turn(request, journal=journal, progress=first.progress).run()
    assert second.result.state == "done" and call.id in journal.ended
    given, state = json.loads(journal.results[0].text)
    assert given == {"q": {"action": "accept", "content": {"name": "Bob"}}} and state == "opaque"
    assert len(modern_fake.calls) == 2


async def test_a_modern_question_where_nobody_can_be_asked(modern_fake, llm):
    modern_fake.tools = {"ask": (asks(QUESTION), OBJECT)}
    journal = MemoryJournal()
    journal.refuses_questions = "Nobody is here."
    done = await turn(llm, modern_fake, journal=journal, server=modern_fake.spec)
    assert done.result.state == "done"
    assert journal.results[0].outcome == "error" and journal.results[0].text == "Nobody is here."


async def test_other_calls_of_the_answer_end_while_one_asks(modern_fake, llm):
    modern_fake.tools["ask"] = (asks(QUESTION), OBJECT)
    llm.script[0].calls.append(("fake__count", {}))
    journal = MemoryJournal()
    done = await turn(llm, modern_fake, journal=journal, server=modern_fake.spec)
    assert done.result.state == "waiting" and len(journal.ended) == 1


async def test_a_legacy_server_waits_in_its_session(legacy_fake, llm, pass_time):
    legacy_fake.stream = True
    legacy_fake.tools = {"ask": (ask_and_tell, OBJECT)}
    journal = MemoryJournal()

    async def think(asked):
        await pass_time(60)
        return ElicitResult(action="accept", content={"name": "Bob"})

    journal.answers = think
    limits = Limits(turn_tools_timeout=30)  # less than the person takes
    request = request_of(llm, legacy_fake, server=legacy_fake.spec, limits=limits)
    done = await Turn(request, journal=journal).run()
    assert done.result.state == "done" and not journal.suspended
    assert journal.asked == [ElicitRequest(message="Who?", schema=NAME)]
    assert json.loads(journal.results[0].text)["content"] == {"name": "Bob"}
    assert done.progress.tools_seconds < 30
    assert journal.results[0].duration_ms < 30_000, "the tool has not taken as long as the person"


async def test_stop_while_a_legacy_server_waits(legacy_fake, llm):
    legacy_fake.stream = True
    legacy_fake.tools = {"ask": (ask_and_tell, OBJECT)}
    journal = MemoryJournal()
    running = Turn(request_of(llm, legacy_fake, server=legacy_fake.spec), journal=journal)

    async def stop(asked):
        running.stop.set()
        return await asyncio.Event().wait()

    journal.answers = stop
    async with asyncio.timeout(60):
        await running.run()
    assert running.result.state == "stopped"
    assert journal.results[0].outcome == "cancelled"


async def test_a_page_that_has_to_be_visited_first(fake, llm):
    async def refuse(call, writer):
        error = {"code": -32042, "message": "Pay first", "data": {"elicitations": [PAGE]}}
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "error": error})

    fake.tools = {"ask": (lambda call: _said("paid"), OBJECT)}
    fake.faults["ask"] = refuse
    journal, request = MemoryJournal(), request_of(llm, fake, server=fake.spec)
    first = await Turn(request, journal=journal).run()
    assert first.result.state == "waiting"
    [(_, wanted)] = journal.suspended
    assert wanted.questions["0"].url == PAGE["url"] and wanted.more is None
    fake.faults.clear()
    second = await Turn(request, journal=journal, progress=first.progress).run()
    assert second.result.state == "done" and journal.results[0].text == "paid"


async def _said(value):
    return text(value)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://good.example@evil.example/",
        "https://gооd.example/",
        "https://good.example\\@evil.example/",
        "file:///etc/passwd",
        "https://",
        7,
    ],
)
def test_links_that_nobody_is_shown(url):
    with pytest.raises(ProtocolError):
        elicitation.elicit_request(PAGE | {"url": url})


def test_an_answer_about_a_page_carries_nothing():
    asked = elicitation.elicit_request(PAGE)
    accepted = ElicitResult(action="accept", content={"x": 1})
    assert accepted.to_wire(asked) == {"action": "accept"}


FORM = {
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "when": {"type": "string", "format": "date-time"},
        "site": {"type": "string", "format": "uri"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "color": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}]},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["a", "b", "c"]}},
        "more": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"name": "Ann"}, {}),
        ({}, {"name": "required"}),
        ({"name": "Ann", "extra": 1}, {"extra": "unknown"}),
        ({"name": "A"}, {"name": "too_short"}),
        ({"name": "Annabel"}, {"name": "too_long"}),
        ({"name": 5}, {"name": "text"}),
        ({"name": "Ann", "mail": "a@b.c", "day": "2026-11-21", "when": "2026-11-21T08:00:00Z"}, {}),
        ({"name": "Ann", "mail": "a@b", "day": "21.11.26"}, {"mail": "email", "day": "date"}),
        ({"name": "Ann", "when": "2026-11-21", "site": "x"}, {"when": "date-time", "site": "uri"}),
        ({"name": "Ann", "site": "https://a.b/c", "age": 0, "share": 0.5, "sure": False}, {}),
        ({"name": "Ann", "age": True, "share": "1"}, {"age": "integer", "share": "number"}),
        ({"name": "Ann", "age": 1.5, "sure": "yes"}, {"age": "integer", "sure": "boolean"}),
        ({"name": "Ann", "age": -1}, {"age": "too_small"}),
        ({"name": "Ann", "age": 151}, {"age": "too_large"}),
        ({"name": "Ann", "size": "m", "color": "#f00", "tags": ["a", "b"], "more": ["x"]}, {}),
        ({"name": "Ann", "size": "l", "color": "Red"}, {"size": "choice", "color": "choice"}),
        ({"name": "Ann", "tags": ["z"], "more": "x"}, {"tags": "choice", "more": "choice"}),
        ({"name": "Ann", "tags": []}, {"tags": "too_few"}),
        ({"name": "Ann", "tags": ["a", "b", "c"]}, {"tags": "too_many"}),
    ],
)
def test_answers_that_fit_and_that_do_not(content, wrong):
    assert elicitation_form.problems(content, FORM) == wrong


def test_a_long_text_is_no_address_for_mail():
    assert elicitation_form.problems({"mail": "a@" + "." * 9_000 + " "}, FORM)["mail"] == "email"
    assert elicitation_form.problems({"mail": f"a@{'b' * 400}.org"}, FORM)["mail"] == "email"


def test_a_form_that_is_too_large():
    with pytest.raises(ProtocolError, match="form"):
        elicitation.elicit_request(
            {"requestedSchema": {"properties": {str(n): {} for n in range(51)}}}
        )


def test_too_many_questions_at_once():
    asked = {str(n): {"method": "elicitation/create", "params": QUESTION} for n in range(11)}
    with pytest.raises(ProtocolError, match="too many"):
        elicitation.required_by_result({"inputRequests": asked})
    assert isinstance(
        elicitation.required_by_result({"inputRequests": {"0": asked["0"]}}), ElicitationRequired
    )
