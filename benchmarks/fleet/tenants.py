"""A tenant of the fleet: a database with one conversation of one person; and what is said of it to all processes."""

import contextlib
import functools
import json
import select
import threading
import time

from tools import notify

from ..bed import TURN_TABLE

ASK = f"""
    INSERT INTO {TURN_TABLE} (channel_id, user_id, assistant_id, prompt, state, lease_epoch, create_date, write_date)
    SELECT id, woow_user_id, woow_assistant_id, 'Hi', 'queued', 0,
           now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC'
      FROM discuss_channel, generate_series(1, %s) WHERE id = %s RETURNING id
    """
WATCHED = f"""
    INSERT INTO {TURN_TABLE} (channel_id, user_id, assistant_id, prompt, state, lease_epoch, create_date)
    SELECT id, woow_user_id, woow_assistant_id, 'bench', 'waiting', 1, now() AT TIME ZONE 'UTC'
      FROM discuss_channel, generate_series(1, %s) WHERE id = %s RETURNING id
    """
UNANSWERED = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE id = ANY(%s) AND state <> 'done'"
OPEN = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE state IN ('queued', 'running')"


class Tenant:
    def __init__(self, fleet, db):
        self.fleet = fleet
        self.db = db
        self._connection = None
        self._queued = []

    @functools.cached_property
    def token(self):
        """What the wake-up channel calls it."""
        return notify.token(self.db, self.fleet.secret)

    def session(self, login):
        """A client of a person who has signed in."""
        return self.fleet.sign_in(self.db, login)

    def sql(self, statement, values=None):
        if self._connection is None:
            self._connection = self.fleet.connect(self.db)
        with self._connection.cursor() as cr:
            cr.execute(statement, values)
            return cr.fetchall() if cr.description else []

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def queue(self, turns=1, tells=True):
        """Ids of new turns, as a request leaves them.

        :param tells: all processes of them, as a request does
        """
        ids = [number for (number,) in self.sql(ASK, [turns, self.fleet.channel])]
        self._queued += ids
        if tells:
            self.fleet.publish([self], "queued", ids)
        return ids

    def watched(self, turns):
        """Ids of new turns that streams may watch and nobody runs."""
        return [number for (number,) in self.sql(WATCHED, [turns, self.fleet.channel])]

    def forget(self, turns):
        """Turns that wait keep the conversation's next ones waiting."""
        self.sql(f"DELETE FROM {TURN_TABLE} WHERE id = ANY(%s)", [turns])

    def wait_ended(self, seconds=300):
        """Until no turn is open.

        :raises RuntimeError: one that was queued has not been answered, and figures of it would say nothing
        """
        until = time.monotonic() + seconds
        while self.sql(OPEN) != [(0,)]:
            if time.monotonic() > until:
                raise TimeoutError(f"{self.db} has open turns after {seconds} s")
            time.sleep(0.1)
        queued, self._queued = self._queued, []
        if self.sql(UNANSWERED, [queued]) != [(0,)]:
            raise RuntimeError(f"Turns of {self.db} have failed")


@contextlib.contextmanager
def ear(fleet):
    """What is said on the wake-up channel meanwhile: a list of (when, message) that grows."""
    heard, is_over, listens = [], threading.Event(), threading.Event()

    def listen():
        with contextlib.closing(fleet.connect("postgres")) as line:
            line.cursor().execute(f"LISTEN {notify.CHANNEL}")
            listens.set()
            while not is_over.is_set():
                select.select([line], [], [], 0.2)
                line.poll()
                while line.notifies:
                    heard.append((time.monotonic(), json.loads(line.notifies.pop(0).payload)))

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    if not listens.wait(30):
        raise TimeoutError("nothing listens to the wake-up channel")
    try:
        yield heard
    finally:
        is_over.set()
        listening.join()
