"""Sentences of the engine: each is marked with its source, and each source has its translations."""

import ast
import copy
import json
import pickle
import re
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import polib
import pytest
from sim import run

from services import errors
from services.sentence import Sentence, _lt, dump, joined, load
from services.testing.model_store.store import ModelStore

ROOT = Path(__file__).parents[2]
SERVICES = ROOT / "services"
SHIPPED = ("services", "models", "runtime", "controllers", "tools", "wizards")
LANGUAGES = ("zh_TW", "zh_CN")

# Whatever is said here, only models read, or the operator who writes the file.
FOR_MODELS = {
    SERVICES / "turn/advice.py",
    SERVICES / "turn/read_result.py",
    SERVICES / "turn/remember.py",
    *(SERVICES / "records").iterdir(),
}
TO_THE_OPERATOR = "ServerFileError"
SAYING = {"failure": 1, "_notice": 1, "joined": 0}  # functions and which argument is the sentence


def calls(tree, *names):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in names:
                yield name, node


def trees(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "testing" not in path.parts:
                yield path, ast.parse(path.read_text())


SOURCES = sorted(
    {
        ast.literal_eval(node.args[0])
        for path, tree in trees(*SHIPPED)
        if path != SERVICES / "sentence.py"
        for _name, node in calls(tree, "_lt")
    }
    | {joined("", "").source}
)


def catalogue(lang):
    return {
        entry.msgid: entry.msgstr
        for entry in polib.pofile(str(ROOT / f"i18n/{lang}.po"))
        if "odoo-python" in entry.comment
    }


CATALOGUES = {lang: catalogue(lang) for lang in LANGUAGES}


def translated(sentence, known):
    return sentence.translated(
        lambda source, values: known.get(source, source) % values if values else known[source]
    )


# ------------------------------------------------------------ the type


def test_a_sentence_is_text_that_keeps_its_source():
    reason = _lt("Its server is not available.")
    sentence = _lt("The tool “%(name)s” was left out. %(reason)s", name="add", reason=reason)
    assert sentence == "The tool “add” was left out. Its server is not available."
    assert json.loads(json.dumps({"message": sentence})) == {"message": sentence}
    for kept in (
        str(sentence),
        str(errors.EngineError(sentence)),
        copy.deepcopy([sentence])[0],
        pickle.loads(pickle.dumps(sentence)),
        load(dump(sentence)),
    ):
        assert kept == sentence
        assert kept.source == sentence.source
        assert kept.values["reason"].source == reason


def test_only_sentences_inside_a_sentence_are_translated():
    inside = joined(Sentence("Save"), "Save")
    known = {"Save": "儲存", inside.source: "%(first)s%(second)s"}
    assert translated(inside, known) == "儲存Save"


def test_text_without_values_is_stored_as_it_is():
    assert dump(_lt("Its server is not available.")) == "Its server is not available."
    assert load("Calls were paused after 5 failures.") == "Calls were paused after 5 failures."


@pytest.mark.parametrize(
    "stored",
    [
        '{"source": "%(a)999999999s", "values": {"a": 1}}',
        '{"source": "%(a)s%(a)s", "values": {"a": "long"}}',
        '{"source": "%(b)s", "values": {"a": 1}}',
        '{"source": "%s", "values": {"a": 1}}',
        '{"source": 1}',
        '{"source": "a", "values": [1]}',
        '{"source": ' * 100_000,
    ],
)
def test_text_that_only_looks_like_a_stored_sentence_is_text(stored):
    assert load(stored) == stored
    assert not load(stored).values


# ------------------------------------------------------------ every sentence is marked


def classes(tree, bases):
    """Names of the errors among the classes that are defined here."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and {getattr(b, "id", "") for b in node.bases} & (
            bases | found
        ):
            found.add(node.name)
    return found


ERRORS = classes(ast.parse((SERVICES / "errors.py").read_text()), {"Exception", "EngineError"})
for _path, _tree in trees("services"):
    ERRORS |= classes(_tree, ERRORS)


def unmarked(node, constants):
    """The parts of an expression that are text without a source."""
    match node:
        case ast.Constant(value=str(said)) if said:
            return [said]
        case ast.JoinedStr() | ast.BinOp():
            return [ast.unparse(node)]
        case ast.Call(func=ast.Attribute(value=ast.Constant() | ast.Name(), attr="format")):
            return [ast.unparse(node)]
        case ast.IfExp(body=one, orelse=other):
            return unmarked(one, constants) + unmarked(other, constants)
        case ast.BoolOp(values=parts):
            return [said for part in parts for said in unmarked(part, constants)]
        case ast.Name(id=name) if name in constants:
            return unmarked(constants[name], constants)
    return []


def unmarked_in(path, tree):
    constants = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.Assign) and part.targets[0].id == "default_message":
                    yield from unmarked(part.value, constants)
    raised = (ERRORS | classes(tree, ERRORS)) - {TO_THE_OPERATOR}
    for name, node in calls(tree, *raised, "ConditionError", *SAYING):
        place = SAYING.get(name, 0)
        if len(node.args) > place:
            yield from unmarked(node.args[place], constants)


def test_whatever_the_engine_says_is_marked():
    found = {
        f"{path.relative_to(ROOT)}: {said}"
        for path, tree in trees(*SHIPPED)
        for said in unmarked_in(path, tree)
    }
    assert found == set()


LOOKS_LIKE_ONE = re.compile(r"[A-Z“][^\n]{6,} [^\n]*[.!?]")
# Texts for models, the log, the operator or developers of clients.
NOT_FOR_PEOPLE = {
    SERVICES / path
    for path in (
        "catalog/server_file.py",
        "context/summary.py",
        "documents/child.py",
        "audit/check.py",
        "gateway/asking.py",
        "gateway/envelope.py",
        "gateway/finding.py",
        "gateway/listing.py",
        "gateway/messages.py",
        "gateway/server.py",
        "gateway/sessions.py",
        "gateway/tasks.py",
        "llm/diagnose.py",
        "llm/tool_protocol.py",
        "llm/transcript.py",
        "oauth_server/client_document.py",
        "oauth_server/client_secret.py",
        "oauth_server/exchange.py",
        "oauth_server/id_jag.py",
        "openai_api/question.py",
        "openai_api/response_question.py",
        "oauth_server/parameters.py",
        "oauth_server/registration.py",
        "replay/replay.py",
        "sandbox/bubblewrap.py",
        "sentence.py",
        "toolset/lookup.py",
        "approval/approval.py",
        "turn/steps/asking.py",
    )
}


def plain_texts(tree):
    """Literals outside of `_lt`, docstrings and the log; a value is a hole."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "_lt" or called.startswith("_logger."):
                skipped.update(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values)


def test_nothing_else_looks_like_a_sentence_for_people():
    found = {
        f"{path.relative_to(ROOT)}: {said}"
        for path, tree in trees("services")
        if path not in FOR_MODELS | NOT_FOR_PEOPLE
        for said in plain_texts(tree)
        if LOOKS_LIKE_ONE.fullmatch(said.strip())
    }
    assert found == set()


def test_an_unmarked_sentence_is_found():
    said = """
NO = "No."
class Mine(ServerError):
    default_message = "Mine."
def work(name):
    raise Mine(f"{name} is bad.")
    raise ConfigError(NO if name else "")
    self._notice("code", "Hm." + name)
    return failure("error", "It is {}.".format(name))
"""
    assert len([*unmarked_in(Path("x.py"), ast.parse(said))]) == 5


# ------------------------------------------------------------ every source has its translations

ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")


def names_in(source):
    return re.findall(r"%\((\w+)\)s", source)


def is_translated(source, shown, names):
    """Whether it holds each value once, and nothing of the English sentence."""
    has_words = bool(re.sub(r"%\(\w+\)s|\W", "", source))
    return (
        all(shown.count(f"⟨{name}⟩") == 1 for name in names)
        and not ENGLISH.search(shown)
        and bool(re.search("[\u4e00-\u9fff]", shown)) == has_words
    )


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_english_is_left_of_a_sentence(lang):
    untranslated = []
    for source in SOURCES:
        names = names_in(source)
        sentence = _lt(source, **{name: f"⟨{name}⟩" for name in names})
        shown = translated(sentence, CATALOGUES[lang])
        if not is_translated(source, shown, names):
            untranslated.append(source)
    assert untranslated == []


@pytest.mark.parametrize("source", [source for source in SOURCES if "%" in source])
def test_a_sentence_with_values_is_read_back(source):
    names = names_in(source)
    assert len(names) == len(set(names))
    sentence = _lt(source, **{name: f"⟨{name}⟩" for name in names})
    assert load(dump(sentence)).values == sentence.values


def test_the_search_finds_them():
    assert len(SOURCES) > 280


# ------------------------------------------------------------ what people are told in worlds where everything fails

DOUBLES = ("This call is denied: ", "Not done: ", "Not wanted.")  # of Odoo and of a server


def told_in(seeds):
    """How often each text reached a person: notices, results that are no answer of a tool, and errors."""
    told = Counter()

    def note(said):
        if said and not said.startswith(DOUBLES):
            told[said] += 1

    def spied(name, texts):
        method = getattr(ModelStore, name)

        def call(store, *args):
            for said in texts(*args):
                note(said)
            return method(store, *args)

        return patch.object(ModelStore, name, call)

    def of_events(batch):
        return [e["message"] for events in batch.values() for _, e in events if "message" in e]

    def of_result(_claim, _call_id, result, _events):
        return [] if result.outcome == "ok" else [result.display]

    with (
        spied("append", of_events),
        spied("end_call", of_result),
        spied("finish", lambda _claim, ending, _events: [ending.error_message]),
    ):
        run.simulate(seeds)
    return told


def test_no_english_is_left_in_simulated_worlds():
    told = told_in(range(60))
    assert len({said.source for said in told}) > 8
    for said in told:
        for lang in LANGUAGES:
            assert not ENGLISH.search(translated(said, CATALOGUES[lang])), said


# ------------------------------------------------------------ routes

ROUTES = [
    file for folder in ("controllers", "runtime/web") for file in (ROOT / folder).glob("*.py")
]
CLIENT = ROOT / "static/src/core/api_error.js"
TYPED = {"name", "url", "uri", "api_key", "content", "reason"}  # fields that people fill in


def spoken_in_english(path):
    """``(code, field)`` of each error of the API whose sentence cannot be translated."""
    for name, node in calls(ast.parse(path.read_text()), "ApiError", "cls", "invalid"):
        if name == "invalid":
            field, sentence = (*node.args, None)[:2]
            code = "invalid_field"
        else:
            code, sentence = (*node.args, None, None, None)[1:3]
            field = None
            code = code.value if isinstance(code, ast.Constant) else ""
        if isinstance(sentence, ast.Constant | ast.JoinedStr):
            yield code, field.value if isinstance(field, ast.Constant) else None


def test_what_a_route_says_to_people_can_be_translated():
    """The client has its own words for the rest, which only programmers understand."""
    [shown] = re.findall(r"FOR_PROGRAMS = \[(.*?)\]", CLIENT.read_text(), re.DOTALL)
    for_programs = set(re.findall(r'"(\w+)"', shown))
    found = {one for path in ROUTES for one in spoken_in_english(path)}
    assert {code for code, _field in found} <= for_programs | {"invalid_field"}
    assert len(found) > 8
    assert not {field for _code, field in found} & TYPED
