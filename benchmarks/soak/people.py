"""The people of the soak: each does one thing after the other, all that the HTTP contract knows, and never gives up.

A message carries its own script (see `reply_to`), so the model needs no memory of who asked what.
"""

import contextlib
import itertools
import json
import random
import re
import threading
import time
from collections import Counter

import httpx

from services.testing.scripted_llm import Reply

HANG = 120.0  # s, a turn whose person waits longer hangs
TRIES = 12  # of a request that a restart or a dead worker broke
KEPT = 6  # conversations of one person
SCRIPT = re.compile(r"<<(.*?)>>", re.DOTALL)
NUMBERS = itertools.count(1)
FINAL = ("done", "error")


def reply_to(body):
    """What the model says: the script stands in the last message of the person.

    ``calls``: rounds of (name, arguments); ``words`` and ``gap`` of the answer; ``fault`` of every other request.
    """
    messages = body["messages"]
    last = max(n for n, message in enumerate(messages) if message["role"] == "user")
    content = messages[last]["content"]
    if not isinstance(content, str):
        content = " ".join(part.get("text", "") for part in content)
    found = SCRIPT.search(content)
    script = json.loads(found[1]) if found else {}
    said = sum(message["role"] == "assistant" for message in messages[last:])
    fault = script.get("fault")
    if fault and random.random() < 0.5:
        return Reply("word " * 10, cut=True) if fault == "cut" else Reply(status=fault)
    rounds = script.get("calls", [])
    if said < len(rounds) and body.get("tools"):
        return Reply("One moment. ", calls=[tuple(call) for call in rounds[said]])
    return Reply("word " * script.get("words", 20), piece=20, gap=script.get("gap", 0.01))


class Refused(Exception):
    """An answer of 4xx, which another try would not change."""


class Person:
    """:param urls: where Odoo answers: of these each thing is done at one
    :param tally: what all of them did
    """

    def __init__(self, odoo, login, urls, tally, number):
        self.name = f"{login}-{number}"
        self.tally = tally
        self.random = random.Random(number)
        self.leave = threading.Event()
        self.rest = threading.Event()
        self.resting = threading.Event()
        self.conversations = []
        cookies = {"session_id": odoo.login(login).cookies["session_id"]}
        self._clients = [httpx.Client(base_url=url, cookies=cookies, timeout=60) for url in urls]
        self._http = self._clients[0]
        self._assistant = self.json("GET", "/api/ai/assistants")["assistants"][0]["id"]

    def start(self):
        threading.Thread(target=self._live, name=self.name, daemon=True).start()

    def _live(self):
        while not self.leave.is_set():
            if self.rest.is_set():
                self.resting.set()
                self.leave.wait(0.1)
                continue
            self.resting.clear()
            act, where = self.tally.next_act(self.random, len(self._clients))
            self._http = self._clients[where]
            try:
                getattr(self, f"do_{act}")()
                self.tally.acts[act] += 1
            except Refused as refused:
                self.tally.refusals[f"{act}: {refused}"] += 1
            except Exception as error:
                self.tally.surprises.append(f"{act}: {error!r}")
            self.leave.wait(self.random.uniform(0.2, 1.4))
        for client in self._clients:
            client.close()

    # ------------------------------------------------------------ what a person does

    def do_ask(self):
        self._turn(words=60)

    def do_read_with_a_bad_line(self):
        self._turn(words=150, gap=0.03, cuts=4)

    def do_call_side_by_side(self):
        tools = [
            self._note(),
            self._note("modern"),
            ["time__get_current_time", {"timezone": "UTC"}],
        ]
        self._turn(calls=[tools, [self._note()]])

    def do_call_a_command(self):
        self._turn(calls=[[["clock__get_current_time", {"timezone": "UTC"}]]])

    def do_call_what_breaks(self):
        self._turn(calls=[[["legacy__fail", {}], ["legacy__big", {"characters": 60_000}]]])

    def do_call_slowly(self):
        self._turn(calls=[[self._note(seconds=3)]])

    def do_ask_a_broken_model(self):
        turn, final = self._turn(words=30, fault=self.random.choice([500, 429, "cut"]))
        if final["type"] == "error":
            again = self.json("POST", f"/api/ai/turns/{turn['turn_id']}/retry", {})
            self._follow(again)

    def do_stop_an_answer(self):
        self._turn(words=400, gap=0.05, when={"text": self._stop})

    def do_stop_a_call(self):
        self._turn(calls=[[self._note(seconds=20)]], when={"tool_call": self._stop})

    def do_approve(self):
        self._turn(calls=[[self._note("careful"), self._note("careful")]])

    def do_answer_a_server(self):
        self._turn(calls=[[["modern__book", {}]]])

    def do_answer_in_a_session(self):
        self._turn(calls=[[["legacy__ask", {}]]])

    def do_leave_a_question(self):
        self._turn(calls=[[self._note("careful")]], when={"approval_required": self._stop})

    def do_ask_in_other_words(self):
        conversation = self._conversation()
        self._turn(conversation, words=10)
        page = self.json("GET", f"/api/ai/conversations/{conversation}")
        questions = [row["id"] for row in page["messages"] if row["role"] == "user"]
        if questions:
            self._turn(conversation, words=10, edit_of=questions[-1], calls=[[self._note()]])

    def do_delete_while_it_runs(self):
        conversation = self._conversation(fresh=True)
        self._turn(
            conversation,
            words=300,
            gap=0.05,
            calls=[[self._note()]],
            when={self.random.choice(["text", "tool_call", "state"]): self._delete},
        )

    def do_call_without_a_turn(self):
        body = {"toolName": "time__get_current_time", "arguments": {"timezone": "UTC"}}
        with contextlib.suppress(Refused):  # a server that restarts now is refused for a moment
            self.json("POST", "/api/mcp/execute-tool", body)

    def do_look_around(self):
        self.json("GET", "/api/ai/conversations?q=word")
        self.json("GET", f"/api/ai/conversations/{self._conversation()}")
        self.json("GET", "/api/mcp/servers")
        self.json("GET", "/api/ai/health")

    # ------------------------------------------------------------ how

    def _note(self, server="legacy", seconds=0.0):
        name = f"{self.name}-{next(NUMBERS)}"
        return [f"{server}__note", {"id": name, "seconds": seconds}]

    def _stop(self, turn, _event):
        self.json("POST", f"/api/ai/turns/{turn['turn_id']}/stop", {})

    def _delete(self, turn, event):
        """A turn is stopped first, and the conversation deleted as soon as that is allowed."""
        path = f"/api/ai/conversations/{turn['conversation']}"
        self._stop(turn, event)
        until = time.monotonic() + HANG
        while time.monotonic() < until:
            with contextlib.suppress(Refused):
                self._request("DELETE", path)
                self.conversations.remove(turn["conversation"])
                return
            self.leave.wait(0.1)
        raise TimeoutError(f"{path} cannot be deleted")

    def _conversation(self, fresh=False):
        if fresh or len(self.conversations) < KEPT:
            body = {"assistant_id": self._assistant}
            self.conversations.append(self.json("POST", "/api/ai/conversations", body)["id"])
            return self.conversations[-1]
        if self.random.random() < 0.1:
            gone = self.conversations.pop(0)
            self._request("DELETE", f"/api/ai/conversations/{gone}")
        return self.random.choice(self.conversations)

    def _turn(self, conversation=None, *, when=None, cuts=0, edit_of=None, **script):
        """Ask, read to the end, answer what is asked.

        :param when: ``{type of event: what to do when the first one comes}``
        :return: the turn and its final event
        """
        conversation = conversation or self._conversation()
        body = {
            "content": f"Please <<{json.dumps(script)}>>",
            "client_token": f"soak-{self.name}-{next(NUMBERS)}",
            **({"edit_of": edit_of} if edit_of else {}),
        }
        turn = self.json("POST", f"/api/ai/conversations/{conversation}/messages", body)
        turn["conversation"] = conversation
        return turn, self._follow(turn, dict(when or {}), cuts)

    def _follow(self, turn, when=None, cuts=0):
        """The final event, over as many streams as it takes."""
        self.tally.turns += 1
        when, after, until = when or {}, 0, time.monotonic() + HANG
        while time.monotonic() < until:
            room = self.random.randint(2, 30) if cuts > 0 else 10**9
            cuts -= 1
            with contextlib.suppress(httpx.TransportError):
                for seq, event in self._read(turn, after, room):
                    if seq != after + 1:
                        self.tally.wrong += 1
                    after = seq
                    if act := when.pop(event["type"], None):
                        act(turn, event)
                    self._answer(turn, event)
                    if event["type"] in FINAL:
                        self.tally.ends[event.get("state") or event["code"]] += 1
                        return event
            if turn.get("conversation") not in self.conversations and "conversation" in turn:
                self.tally.ends["deleted"] += 1
                return {"type": "deleted"}
            self.leave.wait(0.1)
        self.tally.hung.append(turn["turn_id"])
        raise TimeoutError(f"turn {turn['turn_id']} has no end")

    def _read(self, turn, after, room):
        """At most `room` events, then the line is cut."""
        headers = {"Last-Event-ID": str(after)}
        with self._http.stream("GET", turn["stream_url"], headers=headers) as answer:
            if answer.status_code != 200:
                return
            self.tally.streams += 1
            seq = 0
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    seq = int(line[4:])
                elif line.startswith("data: "):
                    yield seq, json.loads(line[6:])
                    room -= 1
                if not room:
                    return

    def _answer(self, turn, event):
        if event["type"] == "approval_required":
            decision = self.random.choice(["approve_once", "approve_once", "deny"])
            body = {"id": event["id"], "decision": decision}
        elif event["type"] == "input_required":
            decision = self.random.choice(["accept", "decline", "cancel"])
            body = {"id": event["id"], "decision": decision}
            if decision == "accept":
                body["content"] = {"seats": 2}
        else:
            return
        with contextlib.suppress(Refused):  # stopped, or its server is gone by now
            self.json("POST", f"/api/ai/turns/{turn['turn_id']}/decision", body)

    def json(self, method, path, body=None):
        return self._request(method, path, body).json()

    def _request(self, method, path, body=None):
        """Again and again, as a browser whose person presses the button once more."""
        for attempt in range(TRIES):
            try:
                answer = self._http.request(method, path, json=body)
            except httpx.TransportError:
                self.tally.broken += 1
            else:
                if answer.is_success or (method == "DELETE" and answer.status_code == 404):
                    return answer
                # Without its database Odoo answers 404 with a page.
                is_ours = answer.headers.get("content-type", "").startswith("application/json")
                if is_ours and answer.status_code < 500 and answer.status_code != 429:
                    raise Refused(f"{answer.status_code} {answer.text[:160]}")
                self.tally.broken += 1
            self.leave.wait(min(0.1 * 2**attempt, 3.0))
        raise TimeoutError(f"{method} {path} was not answered")


ACTS = [name[3:] for name in dir(Person) if name.startswith("do_")]


class Tally:
    """What all people did together. At first they share out all there is to do, so that each process has done it.

    :param places: at how many addresses
    """

    def __init__(self, places):
        self.at_first = [(act, where) for where in range(places) for act in ACTS]
        self.acts, self.ends, self.refusals = Counter(), Counter(), Counter()
        self.surprises, self.hung = [], []
        self.turns = self.streams = self.wrong = self.broken = 0

    def next_act(self, chance, places):
        with contextlib.suppress(IndexError):
            return self.at_first.pop()
        return chance.choice(ACTS), chance.randrange(places)
