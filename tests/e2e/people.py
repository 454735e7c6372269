"""People who ask one question after the other and read each answer to its end, whatever fails in between."""

import collections
import itertools
import json
import threading
import time
from dataclasses import dataclass, field

import httpx
from chat import calls, first, then
from counter import count
from waiting import PATIENCE

REQUEST = 30  # s until it is sent again
TEXT = "It was counted. " * 12


@dataclass
class Asked:
    """A question that was accepted, and what its person has seen of the answer."""

    name: str
    turn: int
    message: int
    seen: list[tuple[int, dict]] = field(default_factory=list)


class People:
    """:ivar refused: how often a request was not answered as wanted, by what came instead"""

    def __init__(self, odoo, llm, login="user"):
        self.odoo, self.llm = odoo, llm
        self.asked: dict[int, Asked] = {}
        self.texts: list[tuple[int, int, float]] = []  # turn, seq and when it was seen
        self.refused = collections.Counter()
        self.failures: list[BaseException] = []
        self._cookies = dict(odoo.session(login).cookies)
        self._assistant = odoo.session(login).get("/api/ai/assistants").json()["assistants"][0]
        self._numbers = itertools.count(1)
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, number):
        self._threads = [threading.Thread(target=self._live, daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def end(self):
        """Let each read its last answer to the end."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        self.check()
        assert not any(thread.is_alive() for thread in self._threads), "somebody still waits"

    def check(self):
        if self.failures:
            raise self.failures[0]

    def _live(self):
        try:
            with httpx.Client(
                base_url=self.odoo.url, cookies=self._cookies, timeout=REQUEST
            ) as http:
                while not self._is_over.is_set():
                    self._read(http, self._ask(http))
        except BaseException as error:
            self.failures.append(error)

    def _ask(self, http):
        name = f"p{next(self._numbers)}x"  # the counter is shared with `test_crash`, whose names begin with n
        self.llm.script(
            first(name, calls(count(f"{name}a", 0.2), count(f"{name}b", 0.8)), latency=20),
            then(name, {"content": TEXT}, latency=40, chunkSize=8),
        )
        about = {"assistant_id": self._assistant["id"]}
        chat = self._insist(http, "/api/ai/conversations", about)["id"]
        body = {"content": name, "client_token": name}
        told = self._insist(http, f"/api/ai/conversations/{chat}/messages", body)
        asked = Asked(name, told["turn_id"], told["message_id"])
        assert self.asked.setdefault(asked.turn, asked) is asked, "two questions are one turn"
        return asked

    def _insist(self, http, path, body):
        """Send it until somebody says that it is done."""
        until = time.monotonic() + PATIENCE
        while True:
            with self._forgiving(until, path):
                answer = http.post(path, json=body)
                if answer.is_success:
                    return answer.json()
                self._refuse(answer)

    def _read(self, http, asked):
        """Go on after the last event that came, as a browser does."""
        path, until = f"/api/ai/turns/{asked.turn}/stream", time.monotonic() + PATIENCE
        while not asked.seen or asked.seen[-1][1]["type"] not in ("done", "error"):
            after = asked.seen[-1][0] if asked.seen else 0
            headers = {"Last-Event-ID": str(after)}
            with (
                self._forgiving(until, path),
                http.stream("GET", path, headers=headers) as answer,
            ):
                if answer.status_code != 200:
                    answer.read()
                    self._refuse(answer)
                self._take(answer.iter_lines(), asked)
            time.sleep(0.1)

    def _take(self, lines, asked):
        seq = 0
        for line in lines:
            if line.startswith("id: "):
                seq = int(line[4:])
            elif line.startswith("data: "):
                payload = json.loads(line[6:])
                asked.seen.append((seq, payload))
                if payload["type"] == "text":
                    self.texts.append((asked.turn, seq, time.monotonic()))

    def _forgiving(self, until, path):
        return _Forgiving(self.refused, until, path)

    def _refuse(self, answer):
        """What passes by itself: Odoo says 404 as a page while it has no database."""
        is_page = "json" not in answer.headers.get("Content-Type", "")
        passes = answer.status_code >= 500 or (answer.status_code == 404 and is_page)
        assert passes, f"{answer.url}: {answer.status_code} {answer.text[:500]}"
        raise Refused(str(answer.status_code))


class Refused(Exception):
    pass


class _Forgiving:
    """Counts what went wrong, waits a moment, and goes on until it is too late."""

    def __init__(self, refused, until, path):
        self._refused, self._until, self._path = refused, until, path

    def __enter__(self):
        assert time.monotonic() < self._until, f"{self._path}: not within {PATIENCE} s"

    def __exit__(self, kind, error, _traceback):
        if not isinstance(error, Refused | httpx.TransportError):
            return False
        self._refused[str(error) if isinstance(error, Refused) else kind.__name__] += 1
        time.sleep(0.2)
        return True
