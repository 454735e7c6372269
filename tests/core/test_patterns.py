"""Every pattern that may meet untrusted text is tried on its worst text, and takes no longer than its length.

A pattern that is not in `PATTERNS` fails here: find the text on which it would have to try again and again, and the
most characters that it is ever given. `OURS` holds those that only the operator's or our own text meets.
"""

import ast
from pathlib import Path

import pytest
from processor_time import seconds, slowness
from worst_texts import PATTERNS

ROOT = Path(__file__).parents[2]
FOLDERS = ("services", "tools", "models", "controllers", "runtime")
MOST = 0.1  # s of a quiet machine's processor for one text: twice what a loop may stand still, as `slowness` is rough
GROWTH = 3.0  # times as long for twice the text: a quadratic pattern takes four times
RUNS = 3
TRIES = 10  # others use this machine, too
MEASURABLE = 0.02  # s; who is done that soon at the most that may come needs no measure of growth


IN_PIECES = (
    "services.text",
    "services.llm.lenient_json",
    "services.llm.prompt_reader",
    "services.render.markdown.",
)
"""What is read piece by piece, so that all together may take longer."""

OURS = {
    "services.net.egress.EgressPolicy.parse": "the operator's configuration",
    "services.catalog.server_file_reader": "the operator's file",
    "services.catalog.stdio_templates._of_form": "forms are of our templates; a value has at most 4 kB",
    "models.base.ir_http.IrHttp._woow_bearer": "one header of a request, which the HTTP server caps; linear",
    "controllers.stream.StreamController._last_event_id": "fixed length",
    "controllers.portal": "fixed length",
    "runtime.fleet.fleet.is_wanted": "the operator's filter over names of databases, as Odoo uses it",
    "services.records.importance": "names of fields",
    "tools.copies": "the database's own name of itself",
    "tools.settings": "the operator's configuration",
    "tools.rehearsal": "statements of Odoo's modules and of actions that an administrator released; linear",
    "runtime.metrics.exporter.OF_PROCESS": "names of files that processes of ours write",
    "runtime.records.vals._DEFAULT": "contexts of Odoo's window actions",
    "services.records.deny_list": "names of Odoo's models and fields",
    "models.conversation.saved_prompt": "fixed length",
    "models.assistant.record_access": "code and domains of installed modules; linear",
    "services.sentence": "sentences of ours, and what is stored like one; linear",
}


def discovered():
    """(name, source) of each use of `re`: the variable that it is given to, else the function that it is in."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "testing" in path.parts:
                continue
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            tree = ast.parse(path.read_text())
            yield from _uses(module, module, tree.body)


def _uses(module, where, body):
    for node in body:
        name = where
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _uses(module, f"{where}.{node.name}", node.body)
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and where == module:
                name = f"{where}.{target.id}"
        for inner in ast.walk(node):
            called = ast.unparse(inner.func) if isinstance(inner, ast.Call) else ""
            if called.startswith("re.") and called != "re.escape":
                yield name, ast.unparse(inner)


def test_every_pattern_is_in_the_table():
    unknown = {
        name: source
        for name, source in discovered()
        if name not in PATTERNS
        and not any(name == known or name.startswith(f"{known}.") for known in OURS)
    }
    assert unknown == {}, "add them to PATTERNS with their worst texts"


def test_the_table_names_what_is_there():
    found = {name for name, _source in discovered()} | {
        "services.mail.headers",
        "services.mail.letter.divided",
        "services.mcp.discovery.definition_diff.rows",
    }
    assert set(PATTERNS) <= found
    assert all(
        any(name == known or name.startswith(f"{known}.") for name in found) for known in OURS
    )


def is_linear(work, texts, name):
    took = seconds(lambda: work(texts[0]), RUNS)
    if not name.startswith(IN_PIECES) and took > MOST and took > MOST * slowness():
        return False
    return took < MEASURABLE or took < GROWTH**2 * seconds(lambda: work(texts[1]), RUNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_time_grows_as_the_text_does(name):
    most, work, repeated = PATTERNS[name]
    for part in repeated:
        whole = (part * (most // len(part) + 1))[:most]
        for head, tail in (("", "!"), ("{ ", "\n")):
            texts = [f"{head}{whole[:length]}{tail}" for length in (most, most // 4)]
            assert any(is_linear(work, texts, name) for _ in range(TRIES)), (part[:20], head)
