"""Events that one PostgreSQL takes from writers of many tenants, while processes notify each other.

The statements are those of a runner's writes (`runtime/turns/turn_log.py`); pgbench sends them, so that writers cost
little beside PostgreSQL.
"""

import contextlib
import re
import select
import statistics
import subprocess
import threading
import time

from tools import notify

from ..figures import row
from .bed import FOLDER

WRITERS = 24  # tenants, each with one connection that writes as fast as it can
PROCESSES = 4  # that would write and listen
BATCH = 8  # events of a transaction, of as many turns
SECONDS = 6
ROUNDS = 3
SEQS = 1_000_000  # numbers of events of one round
WRITE = """
\\set seq :seq + 1
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL lock_timeout = 5000\\; SET LOCAL statement_timeout = 5000;
SELECT id, lease_epoch FROM woow_paas_platform_ai_turn
 WHERE id BETWEEN :first AND :first + {last} AND state = 'waiting' ORDER BY id FOR SHARE SKIP LOCKED;
INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload)
SELECT :first + g, :seq, '{{"type": "text", "content": "word word word word "}}' FROM generate_series(0, {last}) g
    ON CONFLICT (turn_id, seq) DO NOTHING RETURNING turn_id, seq;
{secret};
COMMIT;
"""
FOUND = re.compile(r"actually processed: (\d+).*?latency average = ([\d.]+) ms", re.S)


def commits(fleet):
    tenants = fleet.tenants[:WRITERS]
    turns = {tenant: tenant.watched(BATCH) for tenant in tenants}
    firsts = {tenant: min(ids) for tenant, ids in turns.items()}
    found = []
    with _hears(fleet), _speaks(fleet, tenants):
        for number in range(ROUNDS):
            found.append(_written(fleet, firsts, number))
    for tenant, ids in turns.items():
        tenant.forget(ids)
    events, wait = (statistics.median(column) for column in zip(*found, strict=True))
    row(f"events a second, {len(tenants)} tenants write, {BATCH} a commit", f"{events:.0f}")
    row("  a transaction", f"{wait:.1f} ms")


def _written(fleet, firsts, number):
    """Events a second, and milliseconds of a transaction."""
    script = FOLDER / "write.sql"
    script.write_text(WRITE.format(last=BATCH - 1, secret=notify.SECRET))
    programs = [
        subprocess.Popen(
            [
                fleet.postgres.program("pgbench"),
                *("-n", "-c", "1", "-T", str(SECONDS), "-f", script),
                *("-D", f"first={first}", "-D", f"seq={number * SEQS}", tenant.db),
            ],
            env=fleet.postgres.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for tenant, first in firsts.items()
    ]
    told = [program.communicate()[0] for program in programs]
    # A writer that gave up has written less than it says it could.
    found = [
        (not program.returncode and FOUND.search(text)) or _failed(text)
        for program, text in zip(programs, told, strict=True)
    ]
    events = sum(int(match[1]) for match in found) * BATCH / SECONDS
    return events, statistics.mean(float(match[2]) for match in found)


def _failed(text):
    raise RuntimeError(f"pgbench failed:\n{text[-2000:]}")


@contextlib.contextmanager
def _speaks(fleet, tenants):
    """What the processes say meanwhile, 25 times a second each."""
    is_over = threading.Event()

    def speak():
        due = time.monotonic()
        while not is_over.wait(max(0, due - time.monotonic())):
            due += 0.04
            for _process in range(PROCESSES):
                fleet.publish(tenants, "events", [0])

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextlib.contextmanager
def _hears(fleet):
    """Connections that listen to the wake-up channel, one of each process."""
    with contextlib.ExitStack() as made:
        by_number = {}
        for _process in range(PROCESSES):
            line = made.enter_context(contextlib.closing(fleet.connect("postgres")))
            line.cursor().execute(f"LISTEN {notify.CHANNEL}")
            by_number[line.fileno()] = line
        poll, is_over = select.poll(), threading.Event()
        for number in by_number:
            poll.register(number, select.POLLIN)

        def hear():
            while not is_over.is_set():
                for number, _event in poll.poll(200):
                    by_number[number].poll()
                    by_number[number].notifies.clear()

        thread = threading.Thread(target=hear)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            time.sleep(0.2)
