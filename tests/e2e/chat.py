"""A client of the HTTP contract: what a program that talks to assistants would write."""

import itertools
import json
import time
from collections.abc import Iterator

from waiting import PATIENCE

TOKENS = itertools.count(1)


def calls(*names_and_arguments, **fixture):
    """A response of the scripted model that asks for tools: ``calls(("time__…", {…}), …)``."""
    wanted = [
        {"name": name, "arguments": json.dumps(arguments)}
        for name, arguments in names_and_arguments
    ]
    return {"toolCalls": wanted, **fixture}


def first(text, response, **pace):
    """The model's answer to `text` before any tool was called."""
    return {"match": {"userMessage": text, "hasToolResult": False}, "response": response, **pace}


def then(text, response, **pace):
    """The model's answer when the results are in."""
    return {"match": {"userMessage": text, "hasToolResult": True}, "response": response, **pace}


def at_last(response, **pace):
    """The model's answer where it is told the results as data and may call nothing; stands before what else matches."""
    told = {"userMessage": "These are the results of the tools", "hasToolResult": False}
    return {"match": told, "response": response, **pace}


class Chat:
    """One conversation of one user."""

    def __init__(self, odoo, login="user", cloud_service_id=None, client=None, **about):
        self.odoo = odoo
        self.http = client or odoo.session(login)
        assistant = self.json("GET", "/api/ai/assistants")["assistants"][0]["id"]
        body = {"assistant_id": assistant, **about}
        if cloud_service_id:
            body["cloud_service_id"] = cloud_service_id
        self.id = self.json("POST", "/api/ai/conversations", body)["id"]

    def json(self, method, path, body=None):
        answer = self.http.request(method, path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def page(self):
        return self.json("GET", f"/api/ai/conversations/{self.id}")

    def ask(self, content):
        body = {"content": content, "client_token": f"e2e-{next(TOKENS)}"}
        turn = self.json("POST", f"/api/ai/conversations/{self.id}/messages", body)
        return Turn(self, turn["turn_id"], turn["stream_url"])


class Turn:
    def __init__(self, chat, turn_id, stream_url):
        self.chat = chat
        self.id = turn_id
        self.url = stream_url

    def lines(
        self, after=0, http=None, timeout=PATIENCE, is_patient=False
    ) -> Iterator[tuple[int, dict]]:
        """(seq, payload) as they arrive, over as many requests as it takes, up to the final event.

        :param is_patient: try again, as browsers do, where the answer is `busy`
        """
        http = http or self.chat.http
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            with http.stream("GET", self.url, headers={"Last-Event-ID": str(after)}) as answer:
                if answer.status_code == 204:
                    return
                if is_patient and answer.status_code == 503:
                    busy = json.loads(answer.read())["error"]
                    assert (busy["code"], busy["details"]) == ("busy", {"retry_after": 2})
                    time.sleep(0.1)
                    continue
                assert answer.status_code == 200, answer.read()
                seq = 0
                for line in answer.iter_lines():
                    if line.startswith("id: "):
                        seq = int(line[4:])
                    elif line.startswith("data: "):
                        payload = json.loads(line[6:])
                        after = seq
                        yield seq, payload
                        if payload["type"] in ("done", "error"):
                            return
                    assert time.monotonic() < until, f"no final event after {timeout} s"
            time.sleep(0.1)  # what the server's `retry:` asks of a browser, shortened
        raise AssertionError(f"no final event after {timeout} s")

    def events(self, after=0, **options) -> list[dict]:
        """All events to the end."""
        return [payload for _seq, payload in self.lines(after, **options)]

    def numbered(self, after=0, **options) -> list[tuple[int, dict]]:
        return list(self.lines(after, **options))

    def until(self, kind, **options) -> dict:
        """The first event of this type; the stream is left then."""
        lines = self.lines(**options)
        try:
            return next(payload for _seq, payload in lines if payload["type"] == kind)
        finally:
            lines.close()

    def stop(self):
        return self.chat.json("POST", f"/api/ai/turns/{self.id}/stop")

    def state(self):
        return self.value("state")

    def value(self, column):
        table = "woow_paas_platform_ai_turn"
        return self.chat.odoo.sql(f"SELECT {column} FROM {table} WHERE id = {self.id}").strip()

    def give_back(self):
        """What a server that is stopped in good order does with a turn."""
        self.chat.odoo.sql(
            "UPDATE woow_paas_platform_ai_turn"
            f" SET state = 'queued', lease_owner = NULL, lease_until = NULL WHERE id = {self.id}"
        )

    def wait_ended(self, timeout=PATIENCE):
        """Wait without opening the stream."""
        until = time.monotonic() + timeout
        while self.state() not in ("done", "failed", "stopped"):
            assert time.monotonic() < until, f"turn {self.id} is still {self.state()}"
            time.sleep(0.05)
        return self.state()


def of(events, kind):
    return [event for event in events if event["type"] == kind]


def text_of(events):
    return "".join(event["content"] for event in of(events, "text"))
