"""Each step of a provider's test fails in its own way, with its own sentence, and the test stops there."""

import base64
import socket
import zlib

import langchain_openai  # noqa: F401  takes seconds that no test should measure
import pytest

from services.embeddings import endpoint
from services.llm import client, diagnose, model_names
from services.llm.connections import Connections
from services.specs import LlmSpec
from services.testing.memory_ledger import MemoryLedger
from services.testing.scripted_llm import Reply, ScriptedLlm


def replies(body):
    """A model that calls functions and sees red."""
    if "tools" in body:
        return Reply(calls=[("report_ready", {})])
    content = body["messages"][-1]["content"]
    return Reply("ready" if isinstance(content, str) else "Red.")


def spec_of(llm, **options):
    return LlmSpec(
        **{
            "id": 1,
            "base_url": llm if isinstance(llm, str) else llm.base_url,
            "model": "scripted",
            "api_key": "sk-secret",
            "tool_protocol": "auto",
            **options,
        }
    )


async def asked(spec, timeout, ledger=None):
    connections = Connections()
    try:
        return await diagnose.diagnose(
            spec,
            timeout,
            connections,
            (ledger or MemoryLedger()).account("connection"),
            endpoint.size,
        )
    finally:
        await connections.close()


async def outcome(script=replies, *, models=("scripted",), key="", timeout=60.0, **options):
    async with ScriptedLlm(script) as llm:
        llm.models, llm.key = list(models) if models is not None else None, key
        found = await asked(spec_of(llm, **options), timeout)
        return found, llm


def failed(diagnosis):
    states = [step.state for step in diagnosis.steps]
    at = states.index("failed")
    assert set(states[:at]) <= {"ok", "skipped"} and set(states[at + 1 :]) <= {"skipped"}
    step = diagnosis.steps[at]
    assert step.message.endswith(".") and step.advice.endswith(".")
    assert [one.name for one in diagnosis.steps] == list(diagnose.STEPS)
    assert "sk-secret" not in f"{diagnosis}{diagnosis.error.detail}"
    return step.name, step.message


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(client, "RETRY_DELAY", 0.01)


async def test_every_step_of_a_good_provider():
    diagnosis, _ = await outcome(supports_vision=True)
    assert {step.name: step.state for step in diagnosis.steps} == {
        "name": "ok",
        "connection": "ok",
        "tls": "skipped",
        "http": "ok",
        "key": "ok",
        "model": "ok",
        "tools": "ok",
        "pictures": "ok",
        "embeddings": "skipped",
    }
    assert diagnosis.ok and diagnosis.found.models == ["scripted"]
    assert diagnosis.found.protocol == "native"


async def test_an_embedding_model_is_asked_for_a_vector():
    async with ScriptedLlm(replies) as llm:
        llm.models, llm.embed = ["scripted", "embedder"], lambda _text: [3.0, 4.0]
        good = await asked(spec_of(llm, embedding_model="embedder"), 60.0)
        assert good.ok and good.steps[-1].state == "ok"
        assert llm.embedded[0]["model"] == "embedder"
        llm.embed = lambda _text: []
        none = await asked(spec_of(llm, embedding_model="embedder"), 60.0)
        assert failed(none) == ("embeddings", "The provider offers no embeddings with this model.")
        llm.embed = None
        assert (
            failed(await asked(spec_of(llm, embedding_model="embedder"), 60.0))[0] == "embeddings"
        )


async def test_a_model_without_functions_passes_unless_functions_are_wanted():
    def says(body):
        if "tools" in body:
            return Reply(status=400, error="this model does not support tools")
        return Reply("ready")

    diagnosis, _ = await outcome(says)
    assert diagnosis.ok and diagnosis.found.protocol == "prompt"
    diagnosis, _ = await outcome(says, tool_protocol="native")
    assert failed(diagnosis)[0] == "tools"


async def test_wrong_host_port_path_key_and_name_have_sentences_of_their_own():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    unknown = await asked(spec_of("http://no-such-host.invalid/v1"), 60.0)
    silent = await asked(spec_of(f"http://127.0.0.1:{port}/v1"), 60.0)

    def nowhere(_body):
        return Reply(status=404, error="Not Found")

    path, _ = await outcome(nowhere, models=None)
    key, _ = await outcome(key="another")
    name, _ = await outcome(
        lambda _: Reply(status=404, error="The model `scripte` does not exist"),
        models=("scripted", "other"),
        model="scripte",
    )
    async with ScriptedLlm(replies) as llm:
        tls = await asked(spec_of(llm.base_url.replace("http:", "https:")), 60.0)
    told = [failed(one) for one in (unknown, silent, tls, path, key, name)]
    assert [step for step, _ in told] == ["name", "connection", "tls", "model", "key", "model"]
    assert len({sentence for _, sentence in told}) == 6
    assert "scripted" in told[-1][1]


async def test_a_list_of_models_that_is_open_to_all_proves_no_key():
    def refuses(_body):
        return Reply(status=401, error="No auth credentials found")

    assert failed((await outcome(refuses))[0])[0] == "key"


async def test_a_model_that_is_not_listed_may_be_known_all_the_same():
    assert (await outcome(models=("others",)))[0].ok


async def test_a_page_is_no_api():
    async def page(_path, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>")

    async with ScriptedLlm(replies) as llm:
        llm._list = page
        diagnosis = await asked(spec_of(llm), 60.0)
    assert failed(diagnosis)[0] == "http" and diagnosis.error.code == "llm_no_api"


async def test_a_model_that_does_not_see_what_it_is_shown():
    async def one(script):
        return failed((await outcome(script, supports_vision=True))[0])[0]

    def blind(body):
        return replies(body) if "tools" in body else Reply("I see a dog.")

    def refuses(body):
        return replies(body) if "tools" in body else Reply(status=500, error="no image input")

    assert [await one(blind), await one(refuses)] == ["pictures", "pictures"]


async def test_a_list_larger_than_anybody_needs_is_left():
    diagnosis, _ = await outcome(models=["x" * 3_000] * 2_000)
    assert diagnosis.ok and not diagnosis.found.models
    diagnosis, _ = await outcome(models=[f"m{number}" for number in range(3_000)])
    assert len(diagnosis.found.models) == model_names.MAX_NAMES


async def test_it_ends_whatever_the_model_does():
    assert failed((await outcome(lambda _: Reply(wait=30), timeout=0.3))[0])[0] == "model"


def test_the_picture_is_one():
    png = diagnose._png()
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    assert len(zlib.decompress(data)) == diagnose.SIDE * (3 * diagnose.SIDE + 1)
    assert base64.b64encode(png).startswith(b"iVBOR")


async def test_each_request_of_a_test_is_counted():
    ledger = MemoryLedger()
    async with ScriptedLlm(replies) as llm:
        llm.embed = lambda _text: [1.0]
        await asked(spec_of(llm, supports_vision=True, embedding_model="embedder"), 60.0, ledger)
    rows = [(row["request"].kind, row["request"].model) for row in ledger.rows]
    assert rows == [("connection", "scripted")] * 2 + [("connection", "embedder")]
    assert all(row["spent"]["usage"]["input_tokens"] for row in ledger.rows)
    assert ledger.rows[-1]["request"].output_limit == 0
