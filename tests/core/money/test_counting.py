"""Every request to a provider is counted, wherever it is sent from."""

import ast
import asyncio
from pathlib import Path

import pytest

from services.errors import BudgetExhausted, LlmTimeout, LlmUnavailable
from services.llm.answer import Answer
from services.specs import LlmSpec
from services.testing.memory_ledger import MemoryLedger

ROOT = Path(__file__).parents[3]
SPEC = LlmSpec(id=7, base_url="http://127.0.0.1:9/v1", model="m", max_tokens=20)
# What sends to a provider, and which of its arguments counts that.
SENDERS = {"stream": "sending", "find": "sending", "embed": "account"}
MODULES = {"client": "stream", "tool_protocol": "find", "endpoint": "embed"}
# The only places that open a line to a provider: the chat model, embeddings, and the list of models, which is free.
LINES = {
    ("services/llm/client.py", "open_model"),
    ("services/embeddings/endpoint.py", "_embed"),
    ("services/llm/model_names.py", "read"),
}
# Where a chat model is asked.
ASKED = {("services/llm/client.py", "_once")}


def functions():
    """``(file, function)`` of everything that the addon runs."""
    for top in ("services", "runtime", "models", "controllers", "tools", "wizards", "cli"):
        for path in (ROOT / top).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name.startswith("services/testing"):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield name, node


def calls(node):
    return [one for one in ast.walk(node) if isinstance(one, ast.Call)]


def places(of):
    """Innermost functions with such a call."""
    found = {(name, node.name): node for name, node in functions() if any(map(of, calls(node)))}
    return {
        place
        for place, node in found.items()
        if not any(
            inner is not node and (place[0], getattr(inner, "name", "")) in found
            for inner in ast.walk(node)
        )
    }


def named(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def test_every_request_to_a_provider_has_a_sending_that_counts():
    def opens(call):
        return named(call) == "open_http"

    def asks(call):
        return named(call) in ("astream", "ainvoke", "invoke", "agenerate")

    assert places(opens) == LINES
    assert places(asks) == ASKED
    seen = set()
    for name, node in functions():
        for call in calls(node):
            owner = getattr(getattr(call.func, "value", None), "id", "")
            if MODULES.get(owner) != named(call):
                continue
            argument = SENDERS[named(call)]
            given = {word.arg: word.value for word in call.keywords}
            value = ast.unparse(given[argument] if argument in given else call.args[-1])
            assert any(one in value.lower() for one in ("sending", "account")), f"{name}: {value}"
            assert "null" not in value and "lambda" not in value, f"{name}: {value}"
            seen.add((name, named(call)))
    assert seen == {
        ("services/turn/steps/asking.py", "stream"),
        ("services/turn/steps/asking.py", "find"),
        ("services/context/summary.py", "stream"),
        ("services/llm/tool_protocol.py", "stream"),
        ("services/llm/diagnose.py", "stream"),
        ("services/llm/diagnose.py", "find"),
        ("services/llm/reply.py", "stream"),
        ("services/embeddings/index.py", "embed"),
    }, "a new sender: give it a `Sending` of `Step` or `Account`, and name it here"


async def spent(error=None, **answer):
    """What one request has taken."""
    ledger, received = MemoryLedger(), Answer()
    sending = ledger.account("test").sending(SPEC, 30, received)
    try:
        async with sending(True):
            (row,) = ledger.rows
            assert row["spent"] is None, "it is on disk before it is sent"
            for name, value in answer.items():
                setattr(received, name, value)
            if error:
                raise error
    except type(error or KeyError()):
        pass
    request = row["request"]
    assert (request.kind, request.llm_id, request.model) == ("test", 7, "m")
    assert (request.input_tokens, request.output_limit, request.is_retry) == (30, 20, True)
    return row["spent"]["usage"]


async def test_the_count_of_the_provider_is_taken_and_else_an_estimate():
    told = {"input_tokens": 3, "output_tokens": 1}
    assert await spent(usage=told) == told
    estimate = {"input_tokens": 30, "output_tokens": 2, "is_estimated": True}
    assert await spent(text="12345678") == estimate
    assert await spent(LlmUnavailable()) == {}, "it was refused"
    assert await spent(LlmUnavailable(), text="12345678", begun=True) == estimate
    assert (await spent(LlmTimeout()))["input_tokens"] == 30
    assert (await spent(asyncio.CancelledError()))["is_estimated"]


async def test_what_a_budget_refuses_is_not_sent():
    ledger = MemoryLedger()
    ledger.refusal = BudgetExhausted("Nothing is left.")
    with pytest.raises(BudgetExhausted):
        async with ledger.account().sending(SPEC, 30, Answer())(False):
            raise AssertionError("it was sent")
    assert not ledger.rows
