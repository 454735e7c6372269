"""Recorder of what a transaction does to records, as models tell it; the sandbox that keeps all of it inside; and what
has left a transaction without a sandbox.

Everything is the thread's own: what other threads do is neither recorded nor refused.
"""

import functools
import inspect
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from odoo import fields, sql_db
from odoo.exceptions import AccessError, MissingError
from odoo.tools import SQL
from psycopg2.sql import Composable

SKIPPED = frozenset({"write_uid", "write_date", "create_uid", "create_date", "parent_path"})
MAX_RECORDS = 2_000  # whose values are kept; who changes more is not rehearsed
# Audit events of what leaves the transaction: https://docs.python.org/3/library/audit_events.html
REFUSED = {
    "socket.connect": "the network",
    "socket.getaddrinfo": "the network",
    "socket.gethostbyname": "the network",
    "socket.sendto": "the network",
    "socket.sendmsg": "the network",
    "subprocess.Popen": "another program",
    "os.system": "another program",
    "os.posix_spawn": "another program",
    "os.fork": "another program",
    "_thread.start_new_thread": "another thread",
}

_KINDS = {"INSERT INTO": "created", "UPDATE": "changed", "DELETE FROM": "deleted"}
_WRITES = re.compile(
    r"\s*(?P<verb>INSERT INTO|UPDATE|DELETE FROM)\s+(ONLY\s+)?(\"?public\"?\.)?\"?(?P<table>\w+)\"?",
    re.IGNORECASE,
)
_READS = re.compile(
    r"\s*(SELECT|SAVEPOINT|RELEASE|ROLLBACK TO|SET|SHOW|VALUES|LOCK)\b|[\s(]*SELECT\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(WITH|EXPLAIN)\b", re.IGNORECASE)
_DOES = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)
_CALLS = re.compile(
    r"\b(nextval|setval|pg_notify|dblink\w*|lo_\w+|pg_(terminate|cancel)_backend|query_to_xml\w*)\s*\(",
    re.IGNORECASE,
)
# Functions of the ORM whose statements its hooks tell of.
_TOLD = {
    "created": {"_create", "write_real"},
    "changed": {"_write_multi", "_parent_store_create", "_parent_store_update"},
    "deleted": {"unlink", "write_real"},
}
_TELLING = frozenset({"odoo.addons.base.models.ir_sequence"})
_BETWEEN = frozenset(
    {"odoo.orm.environments", "odoo.sql_db", "odoo.tests.test_cursor", "psycopg2.extras"}
)
# What follows a commit: live updates of pages; Odoo's jobs; mails, which are told; how often one has bought.
_FOLLOWING = frozenset(
    {
        "odoo.addons.bus.models.bus",
        "odoo.addons.base.models.ir_cron",
        "odoo.addons.mail.models.mail_mail",
        "odoo.addons.account.models.partner",
        f"{__package__}.notify",
    }
)
_local = threading.local()
_lock = threading.Lock()


class Refused(Exception):
    """Code wanted to leave a transaction that is recorded.

    :ivar what: for people: the network, a commit …
    """

    def __init__(self, what: str):
        super().__init__(f"A recorded transaction refuses {what}.")
        self.what = what


class Recorder:
    """:ivar old: ``{(model, id): {column: what it held before}}``, of all columns of what is written
    :ivar links: ``{(model, id): {field of many to many: ids before}}``
    :ivar created: ``[(model, id)]`` in the order in which they were made
    :ivar deleted: ``{(model, id): name}``, also of what the database deletes by itself; None for what the
        person may not read
    :ivar person: the `RecordScope` of whom the call is made for
    :ivar numbers: what sequences have given
    :ivar outward: ``[(kind, what, more)]`` of what would follow the commit: a "request" to an address with
        what it says, or a "callback", of which only the name is known; and each "program" that would run
    :ivar refused: what was refused, also where the code that asked has passed over it
    """

    def __init__(
        self,
        *,
        is_kept: bool = False,
        is_shown: bool = False,
        prints: bool = False,
        after: "Recorder | None" = None,
    ):
        """
        :param is_kept: whether the transaction may be committed
        :param is_shown: whether a person has been told what it does, and which program runs for it
        :param prints: whether a PDF is what the call is for, so that the program that makes it is nothing unknown
        :param after: whose numbers of sequences are counted on
        """
        self.is_kept = is_kept
        self.is_shown = is_shown
        self.prints = prints
        self.old: dict[tuple[str, int], dict] = {}
        self.links: dict[tuple[str, int], dict] = {}
        self.created: list[tuple[str, int]] = []
        self.deleted: dict[tuple[str, int], str | None] = {}
        self.person: Any = None
        self.numbers: list[str] = []
        self.outward: list[tuple[str, str, str]] = []
        self.refused: list[str] = []
        self._drawn: dict[tuple[str, int], int] = after._drawn if after else {}
        self._known: set[tuple[str, int]] = set()
        self.statements = Statements(self)

    def refuse(self, what: str):
        """End the rehearsal because of `what` it cannot take back.

        :raises Refused: always
        """
        self.refused.append(what)
        raise Refused(what)

    def before_update(self, records) -> None:
        """Note the columns of these rows before they are written.

        :param records: a recordset
        """
        ids = [
            i
            for i in records._ids
            if (records._name, i) not in self._known and (records._name, i) not in self.old
        ]
        if not ids:
            return
        names = columns_of(records)
        records.env.cr.execute(
            SQL(
                "SELECT %s FROM %s WHERE id = ANY(%s)",
                SQL(", ").join(map(SQL.identifier, ["id", *names])),
                SQL.identifier(records._table),
                ids,
            )
        )
        for record_id, *row in records.env.cr.fetchall():
            self._make_room()
            self.old[records._name, record_id] = dict(zip(names, row, strict=True))

    def before_links(self, records, field) -> None:
        """Note this relation of many to many before it is written.

        :param records: a recordset
        :param field: of these records
        """
        for record in records.filtered("id"):
            row = self.links.setdefault((record._name, record.id), {})
            if field.name not in row:
                self._make_room()
                row[field.name] = linked(record, field)

    def _make_room(self):
        if len(self.old) + len(self.links) + len(self.created) > MAX_RECORDS:
            self.refuse(f"changes of more than {MAX_RECORDS} records")

    def after_create(self, records) -> None:
        """Note records that were made.

        :param records: a recordset
        """
        for record_id in records._ids:
            self._make_room()
            self.created.append((records._name, record_id))
            self._known.add((records._name, record_id))

    def before_delete(self, records) -> None:
        """Note records before they are deleted, and what refers to them with them, or without its reference.

        :param records: a recordset
        """
        new = records.filtered(lambda one: one.id and (one._name, one.id) not in self.deleted)
        if not new:
            return
        names = self._names(new)
        for record_id in new._ids:
            self._make_room()
            self.deleted[new._name, record_id] = names.get(record_id)
        self._follow(new)

    def _names(self, records):
        """``{id: name}`` of those that the person may read."""
        if self.person is None or records._transient:
            return {}
        try:
            own = self.person.env[records._name].browse(records._ids)
            return {i: name or "" for i, name in self.person.names_of(own).items()}
        except (AccessError, MissingError):  # a name may be made of what the person may not read
            return {}

    def _follow(self, records):
        """Tell what the database itself deletes, or empties, with these rows."""
        records.env.flush_all()
        for table, column, action in _references(records.env.cr, records._table):
            model = _models_of_tables(records.env).get(table)
            if model is None:
                continue  # links, which are counted
            records.env.cr.execute(
                SQL(
                    "SELECT id FROM %s WHERE %s = ANY(%s) LIMIT %s",
                    SQL.identifier(table),
                    SQL.identifier(column),
                    list(records._ids),
                    MAX_RECORDS,
                )
            )
            found = records.env[model].browse(row[0] for row in records.env.cr.fetchall())
            found = found.filtered(lambda one: (one._name, one.id) not in self.deleted)
            if action == "c":
                self.statements.told[table, "deleted"] += len(found)
                self.before_delete(found)
            else:
                self.statements.told[table, "changed"] += len(found)
                self.before_update(found)

    def next_number(self, sequence, following: int, step: int) -> int:
        """The number that a sequence would give next, without drawing it.

        :param sequence: record of ``ir.sequence`` or of one of its ranges
        :param following: the number that it holds
        :param step: from one number to the next
        """
        key = (sequence._name, sequence.id)
        given = self._drawn.get(key, 0)
        self._drawn[key] = given + 1
        return following + given * step

    def rows_of(self, table: str, env) -> list[int]:
        """Ids of the rows of a table of which all columns are compared."""
        model = _models_of_tables(env).get(table)
        return [i for name, i in (*self.old, *self.created) if name == model]


def columns_of(model) -> list[str]:
    """Columns of a model that are compared: not what Odoo keeps of each write, and no files.

    :param model: a recordset of it
    """
    return [
        name
        for name, field in model._fields.items()
        if field.store
        and field.column_type
        and field.column_type[0] != "bytea"
        and name not in SKIPPED | {"id"}
    ]


def linked(record, field) -> list[int]:
    """Rows of a relation in the database, archived records and those of others too.

    :param record: one record
    :param field: of many to many
    """
    record.env.cr.execute(
        SQL(
            "SELECT %s FROM %s WHERE %s = %s ORDER BY 1",
            SQL.identifier(field.column2),
            SQL.identifier(field.relation),
            SQL.identifier(field.column1),
            record.id,
        )
    )
    return [row[0] for row in record.env.cr.fetchall()]


def _models_of_tables(env):
    return {model._table: name for name, model in env.registry.items() if model._auto}


def _references(cr, table):
    """``(table, column, action)`` of foreign keys that delete (c) or empty (n, d) rows of others."""
    cr.execute(
        """
        SELECT child.relname, attribute.attname, key.confdeltype::text
          FROM pg_constraint key
          JOIN pg_class child ON child.oid = key.conrelid
          JOIN pg_attribute attribute
            ON attribute.attrelid = key.conrelid AND attribute.attnum = key.conkey[1]
         WHERE key.contype = 'f' AND key.confrelid = to_regclass(%s) AND key.confdeltype IN ('c', 'n', 'd')
         ORDER BY 1, 2
        """,
        [f'"{table}"'],
    )
    return cr.fetchall()


class Statements:
    """Writes of the transaction, as PostgreSQL counts them, beside those that the ORM has told of.

    :ivar told: ``{(table, "created" | "changed" | "deleted"): rows}`` of the ORM's own statements
    :ivar free: tables that other statements have written; None among them is one that cannot be told
    :ivar are_counted: whether PostgreSQL counts at all, see `counts`
    """

    def __init__(self, recorder):
        self.told: Counter[tuple[str, str]] = Counter()
        self.free: set[str | None] = set()
        self.are_counted = True
        self._recorder = recorder
        self._before: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def watched(self, env):
        """Look at each statement of this cursor, and at what is to follow its commit.

        What would follow its rollback is dropped: nothing has left the transaction, so there is nothing to take back.
        """
        cr = env.cr
        execute = cr.execute
        following, before = len(cr.postcommit), (len(cr.prerollback), len(cr.postrollback))
        self.are_counted = counts(cr)
        self._before = _counted(cr)

        def executes(query, params=None, log_exceptions=True):
            written = _text_of(query, cr)
            found = _WRITES.match(written)
            if found is None:
                if _is_effect(written) and not _is_told(sys._getframe(1)):
                    self.free.add(None)
                return execute(query, params, log_exceptions)
            table, kind = found["table"], _KINDS[found["verb"].upper()]
            is_told = _is_told(sys._getframe(1), kind)
            places = {} if is_told else self._places(execute, env, table)
            result = execute(query, params, log_exceptions)
            count = max(cr.rowcount, 0)
            if places and cr.description is None:
                is_told = kind == "changed" and self._moved(execute, env, table, places) == count
            if is_told:
                self.told[table, kind] += count
            else:
                self.free.add(table)
            return result

        cr.execute = executes
        try:
            yield
            self._recorder.outward += _outward(list(cr.postcommit._funcs)[following:])
        finally:
            del cr.execute
            _drop_later(cr.prerollback, before[0])
            _drop_later(cr.postrollback, before[1])

    def _places(self, execute, env, table):
        """Places of the rows that are compared as a whole, whoever writes them: an update moves a row."""
        ids = self._recorder.rows_of(table, env)
        if not ids:
            return {}
        execute(SQL("SELECT id, ctid::text FROM %s WHERE id = ANY(%s)", SQL.identifier(table), ids))
        return dict(env.cr.fetchall())

    def _moved(self, execute, env, table, places):
        now = self._places(execute, env, table)
        return sum(now.get(row) != place for row, place in places.items())

    def untold(self, cr):
        """``{(table, kind): rows}`` that nobody has told of."""
        return _counted(cr) - self._before - self.told

    def is_unknown(self, table):
        """True if a statement of unknown effect has written this table.

        :param table: name of a table
        """
        return table in self.free or None in self.free


def _text_of(query, cr):
    if isinstance(query, SQL):
        return query.code
    if isinstance(query, Composable):
        return query.as_string(cr._cnx if hasattr(cr, "_cnx") else cr.connection)
    return query.decode(errors="replace") if isinstance(query, bytes) else str(query)


def _is_effect(written):
    """True if a statement that writes no table by its first words may have an effect all the same."""
    if _READS.match(written):  # what stands behind it, too
        return bool(_CALLS.search(written) or (";" in written and _DOES.search(written)))
    return not (_JOINED.match(written) and not _DOES.search(written))


def _is_told(frame, kind: str = ""):
    """True if a statement comes from where the ORM tells of it, or from sequences, whose numbers are told."""
    while frame is not None and (name := frame.f_globals.get("__name__", "")) in _BETWEEN:
        frame = frame.f_back
    if frame is None:
        return False
    if name in _TELLING:
        return True
    return name.startswith("odoo.orm.") and frame.f_code.co_name in _TOLD.get(kind, ())


def _outward(callbacks):
    """Callbacks of a commit, without those that only concern this Odoo and are told elsewhere."""
    for one in callbacks:
        function = inspect.unwrap(getattr(one, "func", one))
        module = getattr(function, "__module__", None) or "?"
        if module in _FOLLOWING:
            continue
        cells = getattr(function, "__closure__", None) or ()
        names = function.__code__.co_freevars if cells else ()
        kept: dict[str, Any] = {
            name: cell.cell_contents for name, cell in zip(names, cells, strict=True)
        }
        if isinstance(kept.get("url"), str):
            yield "request", kept["url"], str(kept.get("json_values") or "")
        else:
            yield "callback", f"{module}.{getattr(function, '__qualname__', '?').split('.')[0]}", ""


def _counted(cr):
    """Rows that this transaction has written until now, of each table."""
    cr.execute(
        """
        SELECT relname, pg_stat_get_xact_tuples_inserted(oid), pg_stat_get_xact_tuples_updated(oid),
               pg_stat_get_xact_tuples_deleted(oid)
          FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        """
    )
    return Counter(
        {
            (table, kind): count
            for table, *counts in cr.fetchall()
            for kind, count in zip(("created", "changed", "deleted"), counts, strict=True)
            if count
        }
    )


def _drop_later(callbacks, first):
    while len(callbacks) > first:
        callbacks._funcs.pop()


def counts(cr) -> bool:
    """True if PostgreSQL counts what a transaction writes; else cascades, and statements of others, are unknown."""
    cr.execute("SELECT current_setting('track_counts')::boolean")
    return cr.fetchone()[0]


def current() -> Recorder | None:
    return getattr(_local, "recorder", None)


@contextmanager
def recording(recorder: Recorder):
    """Tell `recorder` what this thread does, and let nothing leave the transaction."""
    with _lock:
        _listen()
        _install_sandbox()
    _local.recorder = recorder
    try:
        yield recorder
    finally:
        _local.recorder = None


@contextmanager
def watching(left: list[str], is_over: Callable[[], bool]):
    """Add to `left` what leaves this thread's transaction meanwhile, in words as `REFUSED`'s.

    :param is_over: whether nothing may leave any more, since nobody waits for what becomes of it
    """
    with _lock:
        _install_sandbox()
    _local.watched = left, is_over
    try:
        yield
    finally:
        _local.watched = None


@contextmanager
def paused():
    """Neither record nor refuse what this thread does meanwhile."""
    before = current(), getattr(_local, "watched", None)
    _local.recorder = _local.watched = None
    try:
        yield
    finally:
        _local.recorder, _local.watched = before


def _leave(what: str) -> None:
    if recorder := current():
        recorder.refuse(what)
    if watched := getattr(_local, "watched", None):
        left, is_over = watched
        left.append(what)  # before the look: who gives the call up reads it after that
        if is_over():
            left.pop()
            raise Refused(what)


@contextmanager
def held_open(cr):
    """Let only the opener of this cursor end its transaction."""

    def refuse(*_args, **_kwargs):
        (current() or Recorder()).refuse("a commit of its own")

    cr.commit = cr.rollback = refuse
    try:
        yield
    finally:
        del cr.commit, cr.rollback


@functools.cache
def _listen():
    """Once for a process: links have no method of a model that each of their writes goes through."""
    writes = fields.Many2many.write_real

    def write_real(self, records_commands_list, create=False):
        if self.store and (recorder := current()):
            for records, _commands in records_commands_list:
                recorder.before_links(records, self)
        return writes(self, records_commands_list, create)

    fields.Many2many.write_real = write_real


@functools.cache
def _install_sandbox():
    """Once for a process that rehearses: a hook of Python's cannot be taken away again."""
    sys.addaudithook(_audit)
    opened = sql_db.Connection.cursor

    def cursor(self):
        _leave("a transaction of its own")
        return opened(self)

    # There is no other place that every new cursor of other code goes through.
    sql_db.Connection.cursor = cursor


def _audit(event, _args):
    if event in REFUSED:
        _leave(REFUSED[event])
