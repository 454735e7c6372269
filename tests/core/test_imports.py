import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "services").rglob("*.py")
    if path.stem != "__init__" and "testing" not in path.parts
)


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
