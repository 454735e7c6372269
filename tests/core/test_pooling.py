"""A pooler may stand between us and PostgreSQL: nothing may be kept in a session, which is another one each time."""

import ast
import re

import pytest
from test_rooms import modules

# What a session would keep, or what another would not see.
KEPT = {
    "lock": re.compile(r"\bpg_(try_)?advisory_(?!xact_)(lock|unlock)"),
    "setting": re.compile(r"(\A|;)\s*(SET (?!LOCAL |TRANSACTION |CONSTRAINTS )|RESET |DISCARD )"),
    "setting by a function": re.compile(r"set_config\([^)]*\b(false|FALSE)\s*\)"),
    "channel": re.compile(r"(\A|;)\s*(UN)?LISTEN\b"),
    "statement": re.compile(r"(\A|;)\s*(PREPARE|EXECUTE|DEALLOCATE) "),
    "table": re.compile(r"CREATE (LOCAL |GLOBAL )?TEMP", re.I),
    "cursor": re.compile(r"\bWITH HOLD\b"),
}
CALLS = {"set_session", "set_isolation_level", "setseed", "lo_open"}
CONTROL = {("runtime.wakeup.postgres", "channel")}  # the control database, whose sessions are kept


def kept(source):
    """What of a module's texts and calls a session would keep."""
    tree = ast.parse(source)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts.discard(ast.get_docstring(node, clean=False))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in CALLS:
                yield node.func.attr
            if node.func.attr == "cursor" and (node.args or node.keywords):
                yield "cursor on the server"
        elif isinstance(node, ast.Attribute) and node.attr == "autocommit":
            yield node.attr
    for text in texts:
        if isinstance(text, str):
            yield from (what for what, pattern in KEPT.items() if pattern.search(text))


def test_no_statement_of_ours_needs_a_session():
    found = {(name, what) for name, path in modules().items() for what in kept(path.read_text())}
    assert found == CONTROL


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_lock(1)",
        "SELECT 1 WHERE pg_try_advisory_lock(1)",
        "SET lock_timeout = 3",
        "SELECT 1; SET SESSION work_mem = 1",
        "SELECT set_config('lock_timeout', '3', false)",
        "LISTEN woow",
        "PREPARE p AS SELECT 1",
        "CREATE TEMPORARY TABLE t (id int)",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    ],
)
def test_what_needs_one_is_noticed(statement):
    assert set(kept(f"cr.execute({statement!r})"))
    assert set(kept("cr.cursor(name='x')")) == {"cursor on the server"}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_xact_lock(1)",
        "SET LOCAL lock_timeout = 3; SET LOCAL statement_timeout = 3",
        "SET TRANSACTION READ ONLY",
        "UPDATE t\n   SET a = 1",
        "SELECT set_config('lock_timeout', '3', true)",
    ],
)
def test_what_a_transaction_keeps_is_none(statement):
    assert not set(kept(f"cr.execute({statement!r})"))
