"""What the engine says to people can be said in their language: `tools/sentences.py` knows each sentence."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = ROOT / "services"
# Whatever is said here, only models read: tools on records, and reading on in a result.
FOR_MODELS = {SERVICES / "turn/read_result.py", *(SERVICES / "records").iterdir()}
SAYING = {"failure": 1, "_notice": 1}  # functions and which argument is the sentence
# Said by its code (`AiTurn._error_sentence`), or to nobody but the log and the operator at the start.
BY_CODE = re.compile(r"Llm\w+|LeaseLost|TurnGone")
TO_THE_OPERATOR = {
    "“…” does not have the form host:port.",
    "The answer took too long and was stopped.",
}
HOLE = "…"


def calls(tree, *names):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in names:
                yield name, node


def known():
    tree = ast.parse((ROOT / "tools/sentences.py").read_text())
    return [ast.literal_eval(node.args[0]) for _name, node in calls(tree, "_lt")]


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


def texts(node, constants):
    """What this expression may say; a value that is only known at run time is a hole."""
    match node:
        case ast.Constant(value=str(said)):
            return [said]
        case ast.JoinedStr(values=parts):
            said = [""]
            for part in parts:
                ends = [HOLE]
                if isinstance(part, ast.Constant):
                    ends = [part.value]
                elif isinstance(part.value, ast.Name) and part.value.id in constants:
                    ends = texts(constants[part.value.id], constants)
                said = [begin + end for begin in said for end in ends]
            return said
        case ast.IfExp(body=one, orelse=other):
            return texts(one, constants) + texts(other, constants)
        case ast.BoolOp(values=parts):
            return [said for part in parts for said in texts(part, constants)]
        case ast.Name(id=name) if name in constants:
            return texts(constants[name], constants)
    return []


def said_by(path):
    tree = ast.parse(path.read_text())
    constants = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.IfExp)
    }
    errors = {name for name in ERRORS | classes(tree, ERRORS) if not BY_CODE.fullmatch(name)}
    for name, node in calls(tree, *errors, "ConditionError", *SAYING):
        place = SAYING.get(name, 0)
        if len(node.args) > place:
            yield from texts(node.args[place], constants)


SAID = {
    path: said
    for path in sorted(SERVICES.rglob("*.py"))
    if path not in FOR_MODELS
    and "testing" not in path.parts
    and (said := {one for one in said_by(path) if one.strip(f" .:{HOLE}")} - TO_THE_OPERATOR)
}


def pattern(sentence):
    return re.compile(re.sub(r"%\\\(\w+\\\)s", ".+", re.escape(sentence)), re.DOTALL)


PATTERNS = [pattern(sentence) for sentence in known()]


def is_known(said):
    """Where another sentence stands in front, it may be any of them."""
    rest = said.removeprefix(HOLE)
    said = [said] if rest == said else [f"{sentence}{rest}" for sentence in known()]
    return any(p.fullmatch(one) for one in said for p in PATTERNS)


@pytest.mark.parametrize("path", SAID, ids=lambda path: str(path.relative_to(SERVICES)))
def test_each_sentence_can_be_translated(path):
    assert {one for one in SAID[path] if not is_known(one)} == set()


def test_what_is_inside_a_sentence_has_one_name_each():
    for sentence in known():
        names = re.findall(r"%\((\w+)\)s", sentence)
        assert len(names) == len(set(names)), sentence


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
