"""The rooms of the house: which package may import which, and no circle anywhere.

A new arrow is a decision: it goes into `ARROWS` and into docs/architecture.md, or the import is in the wrong package.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from dev.checks import rooms

ROOT = Path(__file__).parents[2]
PRODUCT = ("services", "tools", "models", "runtime", "wizards", "controllers", "cli")
# ``services`` itself is the vocabulary, which everything below may use: const, errors, specs, text, …
ARROWS = {
    "services": "",
    "services.net": "services",
    "services.schemas": "services",
    "services.render": "services",
    "services.records": "services",
    "services.grounding": "",
    "services.mail": "services",
    "services.versions": "services",
    "services.audit": "",
    "services.money": "services",
    "services.personal_data": "services",
    "services.approval": "services",
    "services.oauth": "services services.net",
    "services.catalog": "services services.net",
    "services.mcp.transport": "services services.net services.sandbox",
    "services.mcp.session": "services services.net services.schemas services.oauth services.mcp.transport",
    "services.mcp.discovery": (
        "services services.net services.oauth services.documents services.mcp.transport services.mcp.session"
    ),
    "services.mcp.pool": (
        "services services.net services.oauth services.mcp.transport services.mcp.session services.mcp.discovery"
    ),
    "services.oauth_server": "services",
    "services.gateway": (
        "services services.mcp.session services.mcp.transport services.oauth_server services.toolset"
    ),
    "services.openai_api": "",
    "services.mcp.features": "services services.mcp.session services.mcp.discovery services.mcp.pool",
    "services.openapi": "services services.net services.schemas services.mcp.discovery",
    "services.documents": "services services.sandbox",
    "services.sandbox": "services",
    "services.telemetry": "services",
    "services.llm": "services services.money services.net services.documents",
    "services.embeddings": "services services.money services.net services.llm",
    "services.toolset": "services services.schemas services.openapi",
    "services.context": "services services.llm services.toolset",
    "services.turn.steps": (
        "services services.money services.render services.openapi services.llm services.context services.records"
        " services.grounding"
    ),
    "services.turn": (
        "services services.approval services.schemas services.render services.mcp.session services.mcp.discovery"
        " services.mcp.pool services.openapi services.llm services.records services.toolset services.embeddings"
        " services.turn.steps"
    ),
    "services.turn.queue": "services services.render services.turn",
    "services.replay": "services services.grounding services.money services.mcp.session services.turn",
}
# Between the features of models: whom they import, extend, relate to or look up by name.
FEATURES = {
    "mixins": "",
    "base": "mixins",
    "tenancy": "mixins",
    "mcp": "mixins tenancy",
    "assistant": "mixins base tenancy mcp",
    "recall": "mixins tenancy mcp",
    "turn": "mixins base tenancy mcp assistant recall",
    "conversation": "mixins base tenancy mcp assistant turn",
    "automation": "mixins base assistant turn",
    "governance": "mixins base tenancy mcp assistant turn conversation",
}
# Features that one before them relates to or looks up, because a model has one file; never an import or `_inherit`.
LATER = {
    "mixins": "governance",
    "base": "tenancy assistant",
    "tenancy": "mcp assistant recall",
    "mcp": "assistant recall turn governance",
    "assistant": "turn automation governance",
}
# models ask the process through the port in tools/host.py
FLOORS = ("services", "tools", "models", "runtime", "wizards", "controllers")


def modules() -> dict[str, Path]:
    """``{"services.net.egress": path}`` of everything that the addon runs, but for doubles of tests."""
    found = {}
    for top in PRODUCT:
        for path in (ROOT / top).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if path.stem != "__init__" and not name.startswith("services.testing"):
                found[name] = path
    return found


def imports(name: str, path: Path, known: set[str]) -> set[str]:
    """The addon's own modules that ``name`` imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = name.split(".")[: -node.level] + (node.module or "").split(".")
        base = [part for part in base if part]
        for alias in node.names:
            longest = ".".join([*base, alias.name])
            found.add(longest if longest in known else ".".join(base))
    return found & known


def package(name: str) -> str:
    return name.rpartition(".")[0]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(name, path, set(known)) for name, path in known.items()}


def test_no_module_imports_itself_by_a_detour(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_engine_has_the_arrows_that_the_table_allows(graph):
    seen = {name: set() for name in ARROWS}
    for name, others in graph.items():
        if name.startswith("services"):
            seen.setdefault(package(name), set())
            seen[package(name)] |= {package(other) for other in others} - {package(name)}
    assert seen == {name: set(allowed.split()) for name, allowed in ARROWS.items()}


def test_no_package_needs_itself_by_a_detour():
    TopologicalSorter({name: allowed.split() for name, allowed in ARROWS.items()}).prepare()


def test_nothing_imports_from_a_higher_floor(graph):
    upward = [
        f"{name} -> {other}"
        for name, others in graph.items()
        for other in others
        if (below := name.partition(".")[0]) in FLOORS
        and (above := other.partition(".")[0]) in FLOORS
        and FLOORS.index(above) > FLOORS.index(below)
    ]
    assert not upward


def test_a_folder_can_be_looked_over():
    crowded = {}
    for top in (*PRODUCT, "dev", "benchmarks", "static/src"):
        for folder in (ROOT / top, *(ROOT / top).rglob("*/")):
            if folder.name == "__pycache__":
                continue
            files = [path for path in folder.glob("*.*") if path.stem != "__init__"]
            if len(files) > (20 if top == "controllers" else 15):
                crowded[str(folder.relative_to(ROOT))] = len(files)
    assert not crowded


def test_the_tests_of_the_engine_stand_in_its_folders():
    """What is tested of one package stands in its folder, which is one of `services`."""
    tests = ROOT / "tests/core"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert [str(path) for path in folders if not (ROOT / "services" / path).is_dir()] == []
    for path in tests.glob("test_*.py"):
        rooms = set(re.findall(r"^from services\.(\w+)", path.read_text(), re.M)) - {"testing"}
        assert len({room for room in rooms if (ROOT / "services" / room).is_dir()}) != 1, path.name


def new_model(node: ast.ClassDef) -> str:
    """Name of the model that a class makes, empty if it extends one."""
    values = {
        part.targets[0].id: ast.literal_eval(part.value)
        for part in node.body
        if isinstance(part, ast.Assign) and part.targets[0].id in ("_name", "_inherit")
    }
    name = values.get("_name", "")
    return "" if name in values.get("_inherit", ()) else name


def test_a_feature_names_the_models_that_the_table_allows():
    """By import, by `_inherit`, as a relation, or out of the environment."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "models").glob("*/*.py"))}
    owner = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and (name := new_model(node)):
                owner[name] = path.parent.name
    seen = {path.parent.name: set() for path in trees}
    loaded = {path.parent.name: set() for path in trees}
    for path, tree in trees.items():
        feature = path.parent.name
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                seen[feature].add(owner.get(node.value, feature))
            elif isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
                loaded[feature].add(node.module.partition(".")[0])
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_inherit":
                names = ast.literal_eval(node.value)
                names = [names] if isinstance(names, str) else names
                loaded[feature] |= {owner.get(name, feature) for name in names}
        seen[feature] = (seen[feature] | loaded[feature]) - {feature}
    below = {name: set(allowed.split()) for name, allowed in FEATURES.items()}
    assert seen == {name: needs | set(LATER.get(name, "").split()) for name, needs in below.items()}
    upward = {name: needs - below[name] - {name} for name, needs in loaded.items()}
    assert not any(upward.values()), upward


def test_no_feature_needs_itself_by_a_detour():
    TopologicalSorter({name: allowed.split() for name, allowed in FEATURES.items()}).prepare()


def test_models_do_not_reach_the_runtime_by_name():
    named = [
        f"{path}:{node.lineno}"
        for path in (ROOT / "models").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\bruntime\.[a-z]", node.value)
    ]
    assert not named


def test_no_folder_of_the_client_needs_itself_by_a_detour():
    folders = {}
    for path in (ROOT / "static/src").rglob("*.js"):
        needs = folders.setdefault(path.parent.name, set())
        for name in re.findall(r'(?:from|import) "(\.[^"]+)"', path.read_text()):
            needs.add((path.parent / name).resolve().parent.name)
        needs.discard(path.parent.name)
    TopologicalSorter(folders).prepare()


@pytest.mark.parametrize("figure", rooms.FIGURES, ids=lambda figure: figure.name)
def test_no_figure_of_the_shape_grows(figure):
    """A step towards the goal lowers the limit in dev/checks/rooms.py with it."""
    places = figure.places()
    assert figure.measure(places) <= figure.limit, "\n".join(places)


# path: text; what the figures must find of it stands in the order of FIGURES
SPRAWL = {
    "models/lower/turn.py": """
class AiTurn(models.Model):
    _name = "x.turn"

    def _start(self):
        return self._late_name() or self.late_ids
""",
    "models/upper/turn.py": """
class AiTurn(models.Model):
    _inherit = ["x.turn"]
    late_ids = fields.One2many("x")

    def _late_name(self):
        return self.with_context(woow_one=1).env.context.get("woow_two", "woow_no_key") or {"woow_column": 1}
""",
    "models/lower/row.py": 'class Row(models.Model):\n    _name = "x.row"\n',
    "services/ports.py": 'class Port(Protocol):\n    """A port."""\n',
    "services/const.py": '"""Limits."""\n',
    "services/small.py": '"""What it is."""\n\ndef f():\n    """Whether it is."""\n'
    '\ndef g(text: str):\n    """Show `text`."""\n\ndef h(seconds: float):\n    """Wait so long."""\n',
    "controllers/a.py": "from ..runtime import b"
    + "\n" * 30
    + 'x = {"code": 1, "message": say()}\n',
    "runtime/b.py": "def f():\n    from .c import x\n" + "\n" * 30 + 'x = {"error": {"code": 1}}\n',
    "runtime/c.py": "from .b import f\n" + "\n" * 30,
    "tests/core/test_rooms.py": 'FEATURES = {"lower": "", "upper": "lower"}\n',
    "tests/test_turn.py": "def test_it(self, turn):\n    self._start()\n    turn._start()\n",
    "docs/page.md": "# Two | words →\n\n```sh\nmake it\n```\n",
}
FOUND = (2, 1, 3, 2, 2, 2, 2, 2, 2, 50, 1, 1, 1, 2)


def test_the_figures_find_what_they_count(tmp_path, monkeypatch):
    for name, text in SPRAWL.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rooms.files.cache_clear()
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    try:
        assert tuple(figure.now for figure in rooms.FIGURES) == FOUND
    finally:
        rooms.files.cache_clear()
