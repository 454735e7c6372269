"""Tools are found by what they mean where the provider says it, and by words alone wherever it does not."""

import asyncio
import json
from dataclasses import replace

import pytest
from conftest import spec_of
from turns import Turn, request_of

from services.embeddings import endpoint, index
from services.embeddings.index import EmbeddingIndex
from services.errors import EngineError, LlmError, LlmNoApi, LlmNoEmbeddings
from services.llm.connections import Connections
from services.specs import Limits, LlmSpec, Payer, ToolSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.memory_ledger import MemoryLedger
from services.testing.scripted_llm import Reply, ScriptedLlm

# Of a language that the words of the index know nothing of.
THINGS = {"invoice": "Rechnung", "weather": "Wetter", "parcel": "Paket"}


def meaning(text):
    """A direction for each thing, in whichever language it is named."""
    return [1.0 + 9 * (en in text or de in text) for en, de in THINGS.items()] + [1.0]


def request_for(llm, fake, **options):
    tools = tuple(
        ToolSpec(
            id=number,
            server_id=1,
            name=f"get_{thing}_{number}",
            alias=f"get_{thing}_{number}",
            description=f"Gets the {thing}.",
        )
        for number, thing in enumerate([*THINGS] * 40, 1)
    )
    limits = Limits(definition_tokens=400)
    request = request_of(llm, tools=tools, question="?", limits=limits, **options)
    request = replace(request, llm=replace(request.llm, embedding_model="embedder"))
    return replace(request, servers=(replace(spec_of(fake), id=1, name="all"),))


def found(turn):
    (result,) = turn.journal.results
    return json.loads(result.text)["tools"]


@pytest.fixture
async def fake():
    async with FakeMcp() as server:
        yield server


@pytest.fixture
async def connections():
    kept = Connections()
    yield kept
    await kept.close()


def script():
    return Reply(calls=[("find_tools", {"queries": ["Wie wird das Wetter?"]})]), Reply("Done.")


async def looked_up(llm, fake, kept, **options):
    llm.script = list(script())
    return await Turn(request_for(llm, fake, **options), vectors=kept).run()


async def test_a_tool_is_found_in_another_language(fake, connections):
    ledger = MemoryLedger()
    kept = EmbeddingIndex(connections, ledger)
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        await looked_up(llm, fake, kept)
        await kept.prepared()
        assert max(len(body["input"]) for body in llm.embedded) <= endpoint.MAX_TEXTS
        asked = len(llm.embedded)
        turn = await looked_up(llm, fake, kept)
        assert found(turn) and all("weather" in name for name in found(turn))
        assert len(llm.embedded) == asked + 1, "tools are embedded once"
        assert llm.embedded[-1]["input"][0] == "Wie wird das Wetter?"
    assert len(ledger.rows) == len(llm.embedded), "each is counted"
    assert {row["request"].kind for row in ledger.rows} == {"embedding"}
    assert {row["request"].model for row in ledger.rows} == {"embedder"}
    query = ledger.rows[-1]["spent"]["usage"]
    assert query == {"input_tokens": 6, "output_tokens": 0, "is_estimated": True}


async def test_who_cannot_be_counted_finds_by_words(fake, connections):
    ledger = MemoryLedger()
    kept = EmbeddingIndex(connections, ledger)
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        ledger.refusal = EngineError("The database is away.")
        turn = await looked_up(llm, fake, kept)
        await kept.prepared()
        assert turn.result.text == "Done." and not llm.embedded
        ledger.refusal = None
        await looked_up(llm, fake, kept)
        await kept.prepared()
        ledger.refusal = EngineError("The database is away.")
        turn = await looked_up(llm, fake, kept)
        assert turn.result.text == "Done." and not found(turn)


async def test_a_turn_waits_for_no_vectors_of_tools(fake, connections, monkeypatch):
    held = asyncio.Event()
    embed = endpoint.embed

    async def slowly(*args):
        await held.wait()
        return await embed(*args)

    monkeypatch.setattr(endpoint, "embed", slowly)
    kept = EmbeddingIndex(connections, MemoryLedger())
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        turn = await looked_up(llm, fake, kept)
        assert turn.result.text == "Done." and not found(turn)
        held.set()
        await kept.prepared()
        assert found(await looked_up(llm, fake, kept))


async def test_the_host_is_told_that_it_fails_and_that_it_answers_again(fake, connections):
    now, told = 0.0, []
    kept = EmbeddingIndex(
        connections,
        MemoryLedger(),
        clock=lambda: now,
        on_state=lambda spec, error: told.append((spec.embedding_model, error and error.code)),
    )

    async def again():
        await looked_up(llm, fake, kept)
        await kept.prepared()

    async with ScriptedLlm() as llm:
        llm.embed = None
        await again()
        assert told == [("embedder", LlmNoApi.code)]
        now, llm.embed = index.PAUSE + 1, meaning
        await again()
        assert told[1:] == [("embedder", None)], "once, of several requests"
        await again()
        assert len(told) == 2
        now += index.RETOLD
        await again()
        assert told[2:] == [("embedder", None)]


@pytest.mark.parametrize("vector", [None, [], [0.0, 0.0], ["x"], "1", [1e400], [1.0] * 5_000])
async def test_words_decide_where_the_endpoint_has_no_vectors(fake, connections, vector):
    now = 0.0
    kept = EmbeddingIndex(connections, MemoryLedger(), clock=lambda: now)
    async with ScriptedLlm() as llm:
        llm.embed = None if vector is None else lambda _text: vector
        for _ in range(3):
            turn = await looked_up(llm, fake, kept)
            await kept.prepared()
            assert turn.result.text == "Done." and not found(turn)
        assert len(llm.embedded) == 1, "not asked again at once"
        now, llm.embed = index.PAUSE + 1, meaning
        await looked_up(llm, fake, kept)
        await kept.prepared()
        assert found(await looked_up(llm, fake, kept))


async def test_queries_that_take_too_long_are_not_waited_for(fake, connections, monkeypatch):
    kept = EmbeddingIndex(connections, MemoryLedger())
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        await looked_up(llm, fake, kept)
        await kept.prepared()
        monkeypatch.setattr(index, "QUERY_TIMEOUT", 0.0)
        turn = await looked_up(llm, fake, kept)
        assert turn.result.text == "Done." and not found(turn)


async def test_who_shares_no_key_shares_no_vectors(connections):
    kept = EmbeddingIndex(connections, MemoryLedger())
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        ada = LlmSpec(
            id=1, base_url=llm.base_url, model="m", database="a", embedding_model="embedder"
        )
        kept.prepare(ada, ["invoice", "weather"], Payer())
        await kept.prepared()
        assert await kept.rank(ada, ["invoice", "weather"], ["Wetter"], Payer()) == [[1, 0]]
        for other in (replace(ada, database="b"), replace(ada, api_key="k")):
            assert await kept.rank(other, ["invoice", "weather"], ["Wetter"], Payer()) is None


async def test_memory_is_bounded(connections, monkeypatch):
    monkeypatch.setattr(index, "MAX_KEPT", 10 * 4 * 4)  # ten vectors of four numbers
    kept = EmbeddingIndex(connections, MemoryLedger())
    async with ScriptedLlm() as llm:
        llm.embed = meaning
        spec = LlmSpec(id=1, base_url=llm.base_url, model="m", embedding_model="embedder")
        texts = [f"invoice {number}" for number in range(30)]
        kept.prepare(spec, texts, Payer())
        await kept.prepared()
        assert await kept.rank(spec, texts, ["Rechnung"], Payer()) is None
        assert await kept.rank(spec, texts[-10:], ["Rechnung"], Payer()) == [[*range(10)]]


async def test_an_answer_of_another_length_is_refused(connections):
    def body(**more):
        return json.dumps({"data": [{"index": 0, "embedding": [1.0]}], **more}).encode()

    assert len(endpoint._vectors(body(), 1)[0]) == 1
    for wrong, count in ((body(), 2), (body(data=7), 1), (b"[]", 1), (b"<html>", 1)):
        with pytest.raises(LlmNoEmbeddings):
            endpoint._vectors(wrong, count)
    spec = LlmSpec(id=1, base_url="http://127.0.0.1:9/v1", model="m", api_key="sk-secret")
    with pytest.raises(LlmError) as error:
        await endpoint.embed(spec, ["a"], connections, 1.0, MemoryLedger().account())
    assert "sk-secret" not in f"{error.value}{error.value.detail}"
