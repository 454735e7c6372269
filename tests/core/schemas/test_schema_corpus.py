"""Every operation of five large public OpenAPI documents, as the chat and as recall would offer it."""

import json

import pytest
from jsonschema import Draft202012Validator

from dev.checks.corpus import documents, keywords
from services.openapi import loader, parser, recall
from services.schemas import schema

DOCUMENTS = documents()


def test_the_corpus_is_what_it_should_be():
    assert len(DOCUMENTS) == 5
    assert sum(path.stat().st_size for path in DOCUMENTS.values()) > 6_000_000


@pytest.fixture(scope="module", params=DOCUMENTS)
def operations(request):
    return parser.read(loader.load(DOCUMENTS[request.param].read_bytes())).operations


def test_every_operation_is_offered_without_references(operations):
    from langchain_openai import ChatOpenAI

    functions = []
    for operation in operations:
        for make in (
            lambda found: recall.parameters(found, layered=True),
            schema.clean,
        ):
            cleaned = make(operation.input_schema)
            said = {key for _, key, _ in keywords(cleaned)}
            assert not said & {"$ref", "$defs", "definitions", "components", "allOf", "nullable"}
        Draft202012Validator.check_schema(cleaned)
        json.dumps(cleaned, allow_nan=False)
        function = {"name": f"f{len(functions)}", "parameters": cleaned, "description": ""}
        functions.append({"type": "function", "function": function})
    model = ChatOpenAI(model="x", api_key="x", base_url="http://127.0.0.1:9/v1")
    bound = model.bind_tools(functions[:128])
    assert len(bound.kwargs["tools"]) == min(len(functions), 128)


def test_recall_keeps_three_levels_and_names_every_argument(operations):
    for operation in operations:
        cleaned = recall.parameters(operation.input_schema, layered=True)
        slots = recall.slots(cleaned, layered=True)
        fixed = {(slot.location, slot.name): 1 for slot in slots}
        hidden = recall.hidden(cleaned, fixed)
        left = {slot.name for slot in recall.slots(hidden, layered=True)}
        assert not left
        assert max(level for level, _, _ in keywords(cleaned)) <= recall.DEPTH + 2
