import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "services").rglob("*.py")
    if path.stem != "__init__" and "testing" not in path.parts
)

NEW_IN_3_11 = {
    "BaseExceptionGroup",
    "ExceptionGroup",
    "LiteralString",
    "Never",
    "NotRequired",
    "ReprEnum",
    "Required",
    "Self",
    "StrEnum",
    "TaskGroup",
    "UTC",
    "Unpack",
    "assert_never",
    "timeout",
    "tomllib",
}


def test_importing_the_engine_loads_no_heavy_library():
    code = (
        f"import importlib, sys; [importlib.import_module(m) for m in {MODULES!r}];"
        "heavy = ('langchain', 'langchain_core', 'langchain_openai', 'langchain_mcp_adapters', 'mcp', 'openai',"
        " 'pydantic', 'jsonschema', 'markdown_it', 'odoo');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_engine_knows_nothing_of_its_host():
    for path in (ROOT / "services").rglob("*.py"):
        source = path.read_text()
        assert "import odoo" not in source and "from odoo" not in source, path
        assert "from services" not in source, f"{path}: only relative imports"


def test_what_refuses_an_older_python_can_be_read_by_it():
    """Odoo 19 also runs on Python 3.10, which loads the addon as far as the hook that refuses it."""
    seen, left = set(), [ROOT / "hooks.py"]
    while left:
        path = left.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        tree = ast.parse(path.read_text(), path.name, feature_version=(3, 10))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in (n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            names |= {module, *(alias.name for alias in node.names)}
            if getattr(node, "level", 0):
                folder = path.parents[node.level - 1].joinpath(*filter(None, module.split(".")))
                left += [folder.with_suffix(".py"), folder / "__init__.py"]
                left += [folder / f"{alias.name}.py" for alias in node.names]
        assert not names & NEW_IN_3_11, path
    assert len(seen) > 3
