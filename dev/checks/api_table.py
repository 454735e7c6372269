"""The API's table of schemas as JavaScript, for the fake server of the client's tests."""

import importlib
import json
import sys
import types

from dev.paths import ROOT

FILE = ROOT / "static/tests/api_table.js"
HEAD = """\
// Made from controllers/schemas.py and controllers/openapi_document.py by `make format`.

"""


def text() -> str:
    """The file's content: each operation's body and answers by their names, and each schema, one a line."""
    document = _openapi_document()
    operations = {
        f"{method.upper()} {path}": {"body": body, "answers": {status: answer}}
        for (method, path), (_summary, body, status, answer, _query) in document.OPERATIONS.items()
    }
    return (
        HEAD + _constant("OPERATIONS", operations) + "\n" + _constant("SCHEMAS", document.SCHEMAS)
    )


def write() -> None:
    FILE.write_text(text())


def _constant(name: str, rows: dict[str, object]) -> str:
    lines = "".join(f"    {json.dumps(key)}: {json.dumps(row)},\n" for key, row in rows.items())
    return f"// prettier-ignore\nexport const {name} = {{\n{lines}}};\n"


def _openapi_document() -> types.ModuleType:
    """The module alone: its package imports Odoo."""
    package = types.ModuleType("_controllers")
    package.__path__ = [str(ROOT / "controllers")]
    sys.modules[package.__name__] = package
    return importlib.import_module("_controllers.openapi_document")
