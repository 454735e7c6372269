"""What a transaction does to records, as models tell it, and the fence around one that is only rehearsed.

Everything is the thread's own: what other threads do is neither recorded nor refused.
"""

import functools
import sys
import threading
from contextlib import contextmanager

from odoo import sql_db
from odoo.tools import SQL

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

_local = threading.local()
_lock = threading.Lock()


class Refused(Exception):
    """Code wanted to leave a transaction that is only rehearsed.

    :ivar what: for people: the network, a commit …
    """

    def __init__(self, what: str):
        super().__init__(f"A rehearsal refuses {what}.")
        self.what = what


class Recorder:
    """:ivar old: ``{(model, id): {field: what the column, or the ids of the relation, held before}}``
    :ivar created: ``[(model, id)]`` in the order in which they were made
    :ivar deleted: ``{(model, id): name}``
    :ivar numbers: what sequences have given
    :ivar refused: what was refused, also where the code that asked has passed over it
    """

    def __init__(self, *, is_fenced: bool):
        self.is_fenced = is_fenced
        self.old: dict[tuple[str, int], dict] = {}
        self.created: list[tuple[str, int]] = []
        self.deleted: dict[tuple[str, int], str] = {}
        self.numbers: list[str] = []
        self.refused: list[str] = []
        self._drawn: dict[tuple[str, int], int] = {}
        self._known: set[tuple[str, int]] = set()

    def refuse(self, what: str):
        self.refused.append(what)
        raise Refused(what)

    def before_update(self, records, names) -> None:
        """The columns of these fields are about to be written."""
        names = [n for n in sorted(names) if n not in SKIPPED and records._fields[n].column_type]
        ids = [i for i in records._ids if (records._name, i) not in self._known]
        if not names or not ids:
            return
        records.env.cr.execute(
            SQL(
                "SELECT id, %s FROM %s WHERE id = ANY(%s)",
                SQL(", ").join(map(SQL.identifier, names)),
                SQL.identifier(records._table),
                ids,
            )
        )
        for record_id, *row in records.env.cr.fetchall():
            before = self._of(records._name, record_id)
            for name, value in zip(names, row, strict=True):
                before.setdefault(name, value)

    def before_links(self, records, names) -> None:
        """These relations of many to many are about to be written."""
        for record in records:
            if record.id and (record._name, record.id) not in self._known:
                row = self._of(record._name, record.id)
                for name in names:
                    if name not in row:
                        # sudo: each model - all of it is compared; what is shown is asked for with rights
                        row[name] = sorted(record.sudo()[name].ids)

    def _of(self, model, record_id):
        if len(self.old) + len(self.created) > MAX_RECORDS:
            self.refuse(f"changes of more than {MAX_RECORDS} records")
        return self.old.setdefault((model, record_id), {})

    def after_create(self, records) -> None:
        for record_id in records._ids:
            self.created.append((records._name, record_id))
            self._known.add((records._name, record_id))

    def before_delete(self, records) -> None:
        # sudo: each model - names of what the person deletes, or Odoo's code for the person
        for record in records.sudo():
            self.deleted.setdefault((record._name, record.id), record.display_name or "")

    def number(self, sequence, following: int, step: int) -> int:
        """The number that a sequence would give next, without drawing it."""
        key = (sequence._name, sequence.id)
        given = self._drawn.get(key, 0)
        self._drawn[key] = given + 1
        return following + given * step


def current() -> Recorder | None:
    return getattr(_local, "recorder", None)


@contextmanager
def recording(recorder: Recorder):
    """Tell `recorder` what this thread does; with a fence, let nothing leave the transaction."""
    if recorder.is_fenced:
        with _lock:
            _fence_off()
    _local.recorder = recorder
    try:
        yield recorder
    finally:
        _local.recorder = None


@contextmanager
def watching():
    """A list of what leaves this thread's transaction meanwhile, in words as `REFUSED`'s."""
    with _lock:
        _fence_off()
    _local.left = left = []
    try:
        yield left
    finally:
        _local.left = None


def _leave(what: str) -> None:
    if (recorder := current()) and recorder.is_fenced:
        recorder.refuse(what)
    if (left := getattr(_local, "left", None)) is not None:
        left.append(what)


@contextmanager
def held_open(cr):
    """Nobody but who opened this cursor ends its transaction."""

    def refuse(*_args, **_kwargs):
        (current() or Recorder(is_fenced=True)).refuse("a commit of its own")

    cr.commit = cr.rollback = refuse
    try:
        yield
    finally:
        del cr.commit, cr.rollback


@functools.cache
def _fence_off():
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
