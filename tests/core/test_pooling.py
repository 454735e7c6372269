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
    "parameter of the connection": re.compile(r"\A-c ?[a-z_]+="),
    "channel": re.compile(r"(\A|;)\s*(UN)?LISTEN\b"),
    "statement": re.compile(r"(\A|;)\s*(PREPARE|EXECUTE|DEALLOCATE) "),
    "table": re.compile(r"CREATE (LOCAL |GLOBAL )?TEMP", re.I),
    "cursor": re.compile(r"\bWITH HOLD\b"),
}
CALLS = {"set_session", "set_isolation_level", "setseed", "lo_open"}
ALLOWED = {
    ("runtime.wakeup.postgres", "channel"): "the control database, whose sessions are kept",
    ("services.catalog.stdio_templates", "parameter of the connection"): "an MCP server's own",
}
NOTIFIES = re.compile(r"\bpg_notify\b|(\A|;)\s*NOTIFY\b")
TELLING = [
    "tools.rehearsal",  # only looks for it in what others say
    "runtime.wakeup.postgres",  # at most 25 times a second
]


def texts_of(tree):
    """What a module may say to PostgreSQL."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts.discard(ast.get_docstring(node, clean=False))
    return [text for text in texts if isinstance(text, str)]


def tells(source):
    """Whether a module has PostgreSQL tell other sessions something."""
    tree = ast.parse(source)
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
    return "ODOO_NOTIFY_FUNCTION" in names or any(map(NOTIFIES.search, texts_of(tree)))


def kept(source):
    """What of a module's texts and calls a session would keep."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in CALLS:
                yield node.func.attr
            if node.func.attr == "cursor" and (node.args or node.keywords):
                yield "cursor on the server"
        elif isinstance(node, ast.Attribute) and node.attr == "autocommit":
            yield node.attr
    for text in texts_of(tree):
        yield from (what for what, pattern in KEPT.items() if pattern.search(text))


def test_no_statement_of_ours_needs_a_session():
    found = {(name, what) for name, path in modules().items() for what in kept(path.read_text())}
    assert found == ALLOWED.keys()


def test_no_transaction_of_ours_tells_others():
    """Its commit would take a lock that all databases of a PostgreSQL share."""
    assert [name for name, path in modules().items() if tells(path.read_text())] == TELLING
    assert tells('cr.execute("SELECT pg_notify(%s, %s)")') and tells("cr.execute('NOTIFY woow')")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_lock(1)",
        "SELECT 1 WHERE pg_try_advisory_lock(1)",
        "SET lock_timeout = 3",
        "SELECT 1; SET SESSION work_mem = 1",
        "SELECT set_config('lock_timeout', '3', false)",
        "-c lock_timeout=3000",
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
