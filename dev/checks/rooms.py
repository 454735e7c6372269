"""The shape of the source in figures, which `test_rooms` bounds: ``python3 -m dev.checks.rooms [--places]``."""

import ast
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dev.paths import ROOT
from dev.progress import say

SHIPPED = ("services", "tools", "models", "runtime", "wizards", "controllers", "cli")
BESIDE = ("dev", "benchmarks")  # searched for circles, too
SMALL = 25  # lines of a file that is worth opening
RELATIVE = re.compile(
    r"(?:who|whom|whose|whoever|what|whatever|which|whichever|whether|where|wherever|when|whenever|how|why|that"
    r"|nobody|somebody|anybody|as|for|of|these|they|those|with|without)\b",
    re.IGNORECASE,
)
OWN_KEY = re.compile(r"woow_\w+")
FIELD_IN_TEXT = re.compile(r"[a-z_]+(?:_ids?|hidden|steers|mentions)")
# Fields that models of several packages have: a use by itself does not say whose it is.
SHARED_FIELDS = """
name active state user_id server_id tool_id scope message_id channel_id sequence policy description title url kind
schema model model_id usage error definition records key host path method category website icon label required
secret value code role owner_id date partner_id group_ids company_id action annotations lang uid message arguments
reason tokens companies authorization is_paused assistant_id channel_type definition_diff approval
domain action_id cloud_service_id res_id res_model event depth answer questions
"""
CONTRACTS = ("services", "tools")  # whose public functions document their arguments
# A field of a docstring, or an example that runs, which shows the shape of what is given and returned.
FIELD_LIST = re.compile(r"^\s*(?::(?:param [\w, ]+|returns?|raises? [\w., ]+):|>>> )", re.MULTILINE)
SENTENCE = re.compile(r"\w+ [^.]+[.:]")
PLAIN_TYPES = frozenset({"bool", "date", "datetime", "str", "None", "Path"})
TABLE = "tests/core/test_rooms.py"  # holds FEATURES, the packages of models/ in their order
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Figure:
    """A count of the source.

    :ivar places: what is counted, each named by its place
    :ivar limit: the most that the test allows; lowered with each step towards the goal
    :ivar goal: the count to reach
    :ivar measure: the count of the places, where it is not their number
    """

    name: str
    places: Callable[[], list[str]]
    limit: int
    goal: int
    measure: Callable[[list[str]], int] = len

    @property
    def now(self) -> int:
        return self.measure(self.places())


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """Python files of these top folders, without package files."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path for path in found if path.stem != "__init__"))


def place(path: Path, node: ast.AST | None = None) -> str:
    name = path.relative_to(ROOT).as_posix()
    return f"{name}:{node.lineno}" if node else name


# Models


def model_classes() -> Iterator[tuple[str, str, Path, ast.ClassDef]]:
    """``(model, _name, path, class)`` of each class of a model; ``_name`` is empty for a mere extension."""
    for path in files("models", "wizards"):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                name, inherited = _attribute(node, "_name"), _attribute(node, "_inherit")
                first = inherited[0] if isinstance(inherited, list) and inherited else inherited
                if model := name or first:
                    yield model, name or "", path, node


def classes_of_models() -> list[str]:
    """``["10 ai.assistant: models/…"]``, the model with the most classes first."""
    rooms = defaultdict(list)
    for model, _name, path, _node in model_classes():
        rooms[model].append(place(path))
    several = sorted(((len(paths), model) for model, paths in rooms.items()), reverse=True)
    return [f"{count} {model}: {' '.join(rooms[model])}" for count, model in several if count > 1]


def _most(lines: list[str]) -> int:
    return max((int(line.partition(" ")[0]) for line in lines), default=1)


def _beyond_first(lines: list[str]) -> int:
    return sum(int(line.partition(" ")[0]) - 1 for line in lines)


def model_files() -> list[str]:
    return [place(path) for path in files("models")]


def model_packages() -> list[str]:
    return sorted({place(path.parent) for path in files("models")})


def features() -> list[str]:
    """Packages of models/ in their order, by the table of the test: each may use all before it."""
    for node in tree(ROOT / TABLE).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FEATURES":
            return list(ast.literal_eval(node.value))
    raise LookupError(f"{TABLE} has no table FEATURES.")


def references_upward() -> list[str]:
    """Uses of a private method or a field that only packages after the user's package define."""
    order = features()
    below = {name: set(order[:place]) for place, name in enumerate(order)}
    definers, shared = defaultdict(set), set(SHARED_FIELDS.split())
    for path in files("models"):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                for name in _members(node):
                    definers[name].add(path.parent.name)
    found = set()
    for path in files("models"):
        package = path.parent.name
        for name, node in _names_used(path):
            owners = definers.get(name, set())
            if owners and name not in shared and not owners & {package, *below[package]}:
                found.add(f"{place(path, node)} {name}: {package} -> {'/'.join(sorted(owners))}")
    return sorted(found)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            if part.name.startswith("_") and not part.name.startswith("__"):
                yield part.name
        elif (
            isinstance(part, ast.Assign)
            and isinstance(part.value, ast.Call)
            and ast.unparse(part.value.func).startswith("fields.")
            and isinstance(part.targets[0], ast.Name)
        ):
            yield part.targets[0].id


def _names_used(path: Path) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            yield node.attr, node
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and FIELD_IN_TEXT.fullmatch(node.value)
        ):
            yield node.value, node


def _attribute(node: ast.ClassDef, name: str):
    for part in node.body:
        if isinstance(part, ast.Assign) and getattr(part.targets[0], "id", "") == name:
            return ast.literal_eval(part.value)
    return None


# Files and names


def small_files() -> list[str]:
    """Files below 25 lines, but for a model of its own (a table, a mixin), ports and constants."""
    found = []
    for path in files("models", "services", "runtime"):
        if path.stem == "const" or len(path.read_text().splitlines()) >= SMALL:
            continue
        classes = [node for node in tree(path).body if isinstance(node, ast.ClassDef)]
        if not any(_is_table(node) or _is_port(node) for node in classes):
            found.append(place(path))
    return found


def _is_table(node: ast.ClassDef) -> bool:
    name, inherited = _attribute(node, "_name"), _attribute(node, "_inherit") or []
    return bool(name) and name not in inherited


def _is_port(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("Protocol") for base in node.bases)


def context_keys() -> list[str]:
    """Keys of the environment's context that are this addon's own."""
    found = defaultdict(set)
    for path in files(*SHIPPED):
        for name, node in _keys(path):
            if OWN_KEY.fullmatch(name):
                found[name].add(place(path, node))
    return [f"{name}: {' '.join(sorted(places))}" for name, places in sorted(found.items())]


def _keys(path: Path) -> Iterator[tuple[str, ast.AST]]:
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            yield from _strings(node.value.keys)
    for node in nodes(path):
        match node:
            case ast.Call(func=ast.Attribute(attr="with_context")):
                yield from ((word.arg, node) for word in node.keywords if word.arg)
                for argument in [*node.args, *(word.value for word in node.keywords)]:
                    if isinstance(argument, ast.Dict):
                        yield from _strings(argument.keys)
            case ast.Call(func=ast.Attribute(attr="get" | "pop", value=context), args=[key, *_]):
                if _is_context(context):
                    yield from _strings([key])
            case ast.Subscript(value=context, slice=key) if _is_context(context):
                yield from _strings([key])
            case ast.Compare(left=key, comparators=[context]) if _is_context(context):
                yield from _strings([key])


def _is_context(node: ast.AST) -> bool:
    return ast.unparse(node).endswith("context")


def _strings(nodes) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node


def error_bodies() -> list[str]:
    """Files between the models and the wire that make the body of an error, or an item of one."""
    return [
        place(path)
        for path in files("controllers", "runtime")
        if any(map(_is_error_body, nodes(path)))
    ]


def _is_error_body(node: ast.AST) -> bool:
    if not isinstance(node, ast.Dict):
        return False
    made = {
        key.value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
        and not isinstance(value, ast.Name)  # a name: a schema's kind
    }
    is_body = made == {"error"} and isinstance(node.values[0], ast.Dict | ast.BinOp)
    return is_body or {"code", "message"} <= made


def relative_docstrings() -> list[str]:
    """Docstrings that begin with a relative word in place of a noun or an imperative."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        f"{place(path, node.body[0])} {text.splitlines()[0]}"
        for path in files(*SHIPPED, "dev")
        for node in nodes(path)
        if isinstance(node, documented)
        and (text := ast.get_docstring(node))
        and RELATIVE.match(text)
    ]


def undocumented_arguments() -> list[str]:
    """Public functions of services and tools whose arguments nothing explains.

    Public: no name on its way begins with an underscore, and there is an argument beside ``self``. An argument is
    explained where the docstring has a ``:param``, ``:return`` or ``:raise``, or an example; or where it is a sentence
    and each argument either is named in it, in backquotes, or says all by itself: an ``env`` or ``cr`` of Odoo, an id,
    a text, a switch, a moment, or an object of a class of ours that has a docstring. Numbers, which have a unit,
    and collections, which have a shape, do not. A method that implements an explained one of a port is explained.
    """
    explained, ports, left = _documented_classes() | PLAIN_TYPES, set(), []
    for path, owner, node in _public_functions():
        if not _is_explained(node, explained):
            left.append((path, owner, node))
        elif isinstance(owner, ast.ClassDef) and _is_port(owner):
            ports.add(_signature(node))
    return [
        f"{place(path, node)} {node.name}"
        for path, owner, node in left
        if not isinstance(owner, ast.ClassDef) or _signature(node) not in ports
    ]


def _percent(undocumented: list[str]) -> int:
    return math.ceil(100 * len(undocumented) / max(1, len(list(_public_functions()))))


def _public_functions() -> Iterator[tuple[Path, ast.AST, Function]]:
    """``(path, class or module, function)`` of each that has arguments."""
    for path in files(*CONTRACTS):
        if not path.stem.startswith("_"):
            yield from ((path, *found) for found in _public_inside(tree(path)))


def _public_inside(owner: ast.Module | ast.ClassDef) -> Iterator[tuple[ast.AST, Function]]:
    for node in owner.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_inside(node)
        elif isinstance(node, Function) and not node.name.startswith("_") and _arguments(node):
            yield owner, node


def _documented_classes() -> set[str]:
    return {
        node.name
        for path in files(*CONTRACTS)
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and ast.get_docstring(node)
    }


def _arguments(node: Function) -> list[ast.arg]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [one for one in every if one and one.arg not in ("self", "cls")]


def _signature(node: Function) -> tuple[str, ...]:
    return node.name, *(one.arg for one in _arguments(node))


def _is_explained(node: Function, types: Collection[str]) -> bool:
    text = ast.get_docstring(node) or ""
    return bool(FIELD_LIST.search(text)) or (
        bool(SENTENCE.search(text))
        and all(
            _says_all(one, types) or re.search(rf"`{one.arg}\b", text) for one in _arguments(node)
        )
    )


def _says_all(argument: ast.arg, types: Collection[str]) -> bool:
    if argument.arg in ("cr", "env") or argument.arg.endswith("id"):
        return True
    parts = list(ast.walk(argument.annotation)) if argument.annotation else []
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    is_collection = any(isinstance(part, ast.Subscript) for part in parts)
    return bool(parts) and names <= {*types} and not is_collection


# Imports


def _closure(name: str, needs: dict[str, set[str]]) -> set[str]:
    found, queue = set(), [name]
    while queue:
        new = needs[queue.pop()] - found
        found |= new
        queue += new
    return found


def circles() -> list[str]:
    """Modules that import each other by some way, wherever in the file they do."""
    modules = {_module(path): path for path in files(*SHIPPED, *BESIDE)}
    needs = {name: set(_imports(name, nodes(path), modules)) for name, path in modules.items()}
    reached = {name: _closure(name, needs) for name in needs}
    found = {
        frozenset(other for other in around if name in reached[other])
        for name, around in reached.items()
        if name in around
    }
    return sorted(" ".join(sorted(circle)) for circle in found)


def late_imports() -> list[str]:
    """Imports of runtime's own modules inside a function of runtime, where a circle is hidden."""
    modules = {_module(path): path for path in files(*SHIPPED)}
    found = set()
    for path in files("runtime"):
        for function in nodes(path):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for name in _imports(_module(path), ast.walk(function), modules):
                    if name.startswith("runtime."):
                        found.add(f"{place(path, function)} {name}")
    return sorted(found)


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _imports(name: str, inside: Iterable[ast.AST], modules: dict[str, Path]) -> Iterator[str]:
    for node in inside:
        if isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level] if node.level else []
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                yield from {whole, ".".join(base)} & modules.keys() - {name}


def private_calls() -> list[str]:
    """Calls of the product's private methods in tests, which a change of the product breaks without a change of
    behaviour."""
    private = {
        node.name
        for path in files(*SHIPPED)
        for node in nodes(path)
        if isinstance(node, Function) and re.match(r"_[a-z]", node.name)
    }
    return [
        f"{place(path, node)} {node.func.attr}"
        for path in files("tests")
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in private
        and not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("self", "cls"))
    ]


def pages_of_docs() -> list[str]:
    """README and the pages of `docs/`, each with its number of words, without code examples and bars of tables."""
    found = []
    for page in (*ROOT.glob("README.md"), *sorted((ROOT / "docs").glob("*.md"))):
        prose = "".join(page.read_text().split("```")[::2])
        count = sum(bool(re.search(r"\w", word)) for word in prose.split())
        found.append(f"{place(page)}: {count}")
    return found


def _words(pages: list[str]) -> int:
    return sum(int(page.rpartition(" ")[2]) for page in pages)


FIGURES = (
    Figure("classes of one model, at most", classes_of_models, 4, 4, _most),
    Figure("classes beyond a model's first", classes_of_models, 12, 10, _beyond_first),
    Figure("files of models", model_files, 64, 64),
    Figure("packages of models", model_packages, 10, 10),
    Figure("references upward between packages of models", references_upward, 0, 0),
    Figure("files below 25 lines", small_files, 0, 0),
    Figure("own context keys", context_keys, 3, 3),
    Figure("files that build an error's body", error_bodies, 1, 1),
    Figure("docstrings with a relative first word", relative_docstrings, 0, 60),
    Figure("public functions, % that explain no argument", undocumented_arguments, 7, 40, _percent),
    Figure("circles of modules", circles, 0, 0),
    Figure("late imports inside runtime", late_imports, 0, 0),
    Figure("private methods that tests call", private_calls, 980, 1_500),
    Figure("words of the documentation", pages_of_docs, 30_000, 30_000, _words),
)


def main(arguments: list[str]) -> None:
    say(f"{'':46}{'now':>5}{'limit':>7}{'goal':>6}")
    for each in FIGURES:
        say(f"{each.name:46}{each.now:5}{each.limit:7}{each.goal:6}")
        if "--places" in arguments:
            for line in each.places():
                say(f"    {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
