"""What a turn leaves in PostgreSQL, by table, and how its row is written while it runs."""

import time

from services.testing.scripted_llm import Reply

from .bed import TIME, TURN_TABLE, Person, wait_for
from .figures import none_of, row

PEOPLE = 40  # one turn each at a time
TURNS = 3  # of each
ANSWER = "word " * 252  # 1 260 characters
GAP = 0.02  # s between two tokens, 50 a second
YEAR = 1_000 * 20 * 365  # turns of a thousand people who ask twenty questions a day
TABLES = {
    f"{TURN_TABLE}_event": "7 days",
    "bus_bus": "1 day",
    "mail_message": "for ever",
    TURN_TABLE: "for ever",
    "woow_paas_platform_tool_call": "for ever, results 180 days",
}
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"


def left(odoo, llm):
    llm.answer = lambda body: (
        Reply(ANSWER, gap=GAP)
        if sum(message["role"] == "tool" for message in _since_question(body)) >= 2
        else Reply(calls=[TIME])
    )
    people = [Person(odoo) for _person in range(PEOPLE)]
    _ask(odoo, people)  # what each conversation needs once
    before, wal = _sizes(odoo), int(odoo.sql(WAL))
    updates = _updates(odoo)
    for _turn in range(TURNS):
        _ask(odoo, people)
    turns = PEOPLE * TURNS
    wal = int(odoo.sql(WAL)) - wal
    _check(odoo, people)
    time.sleep(2)  # PostgreSQL's processes tell what they have counted
    written, hot = (after - was for after, was in zip(_updates(odoo), updates, strict=True))
    after = _sizes(odoo)
    for table, stays in TABLES.items():
        size = (after[table] - before[table]) / turns
        year = f"{size * YEAR / 1e9:.0f} GB a year" if stays.startswith("for ever") else ""
        row(table, f"{size:,.0f} bytes", year, stays)
    row("WAL", f"{wal / turns:,.0f} bytes")
    row("updates of the turn's row", f"{written / turns:.1f}", f"HOT {hot / turns:.1f}")


def _check(odoo, people):
    """:raises Missed: a turn of these people has not ended well with its two calls"""
    asked = f"FROM {TURN_TABLE} WHERE channel_id IN ({', '.join(str(one.id) for one in people)})"
    calls = f"FROM woow_paas_platform_tool_call WHERE turn_id IN (SELECT id {asked})"
    turns = len(people) * (TURNS + 1)
    done, ok = (
        int(odoo.sql(f"SELECT COUNT(*) {which}"))
        for which in (f"{asked} AND state = 'done'", f"{calls} AND outcome = 'ok'")
    )
    none_of(turns_not_done=turns - done, calls_not_ok=2 * turns - ok)


def _since_question(body):
    messages = body["messages"]
    last = max(n for n, message in enumerate(messages) if message["role"] == "user")
    return messages[last:]


def _ask(odoo, people):
    for person in people:
        person.ask()
    wait_for(odoo, "'queued', 'running'", lambda open_turns: not open_turns)


def _sizes(odoo):
    for table in TABLES:
        odoo.sql(f"VACUUM FULL {table}")
    return {table: int(odoo.sql(f"SELECT pg_total_relation_size('{table}')")) for table in TABLES}


def _updates(odoo):
    counted = odoo.sql(
        f"SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = '{TURN_TABLE}'"
    )
    return [int(number) for number in counted.split("|")]
