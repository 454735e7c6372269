"""Lanes of an Odoo: a user each, with an assistant and a server for each suite, and one case at a time."""

import itertools
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import httpx

from dev import processes
from dev.checks.testbed import OdooServer
from dev.paths import LOGS, ROOT
from dev.setup import venvs

from ..bed import Llm
from .cases import HINTS, Case, Outcome, Setting
from .person import Person
from .tools import has_effect, key
from .worst_case import TICKET, Plan, WorstCase

SUITES = ("banking", "slack", "travel", "workspace")
SERVERS = "woow_paas_platform.mcp_server"
TOOLS = "woow_paas_platform.mcp_tool"
GRANTS = "woow_paas_platform.tool_grant"
LANES = 4
SPACE = 50_000  # tokens of definitions, so that no tool is looked up
ROUNDS = 50
SECONDS = 120  # until all servers are read
EXPIRE = """
turn = env["woow_paas_platform.ai_turn"].sudo().browse(env.context["turn"])
turn.write({"waiting_until": "2000-01-01 00:00:00"})
turn._expire_if_late()
"""


class Dojo(processes.Service):
    """`dojo` in a process of its own."""

    def __init__(self):
        port = processes.free_port()
        python = venvs.extra("injection") / "bin/python"
        process = processes.start(
            "AgentDojo",
            [python, "-m", "benchmarks.injection.dojo", str(port)],
            log=LOGS / f"agentdojo-{port}.log",
            env=processes.bare_environment(),
            cwd=ROOT,
        )
        super().__init__("AgentDojo", port, process)
        self.url = f"http://{self.address}"
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def cases(self, version: str) -> list[Case]:
        listed = self.http.get("/cases", params={"version": version}).raise_for_status().json()
        return [Case(version, *one) for one in listed]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.http.post(path, json=body).raise_for_status().json()


@contextmanager
def running_dojo() -> Iterator[Dojo]:
    dojo = Dojo()
    try:
        dojo.wait()
        yield dojo
    finally:
        dojo.stop()


class Lanes:
    """Records of all lanes. The number of a case chooses its lane, so runs are reproducible."""

    def __init__(
        self,
        odoo: OdooServer,
        llm: Llm,
        dojo: Dojo,
        hints: Iterable[str] = HINTS,
        lanes: int = LANES,
    ):
        self.odoo, self.llm, self.dojo = odoo, llm, dojo
        self.lanes = range(lanes)
        self.model = WorstCase()
        llm.answer = self.model.reply
        provider = {
            "api_base_url": llm.base_url,
            "model": "worst-case",
            "api_key": "test",
            "tool_protocol": "native",
        }
        (config,) = odoo.rpc("ai.config", "create", [{"name": "Worst Case", **provider}])
        self.users = self._users()
        self.servers = self._servers(hints)
        self.tools = odoo.rpc(TOOLS, "search", [("server_id", "in", self._ids())])
        self.assistants = {
            (lane, suite): self._assistant(lane, suite, config)
            for lane in self.lanes
            for suite in SUITES
        }
        self._expiry = self._expiry_action()
        self._chosen = (
            "",
            "",
            "",
        )  # of the setting: what the servers of the assistants follow from

    def _ids(self) -> list[int]:
        return list(self.servers.values())

    def _users(self) -> list[str]:
        known = [("module", "=", "base"), ("name", "=", "group_user")]
        (group,) = self.odoo.rpc("ir.model.data", "search_read", known, ["res_id"])
        logins = [f"lane{lane}-{uuid.uuid4().hex[:8]}" for lane in self.lanes]
        groups = {"group_ids": [[6, 0, [group["res_id"]]]]}
        users = [{"name": one, "login": one, "password": one, **groups} for one in logins]
        self.odoo.rpc("res.users", "create", users, context={"no_reset_password": True})
        for login in logins:  # before threads share the sessions
            self.odoo.session(login)
        return logins

    def _servers(self, hints: Iterable[str]) -> dict[tuple[int, str, str], int]:
        """Create the servers; Odoo then reads their tools in the background."""
        places = list(itertools.product(self.lanes, SUITES, hints))
        values = [
            {
                "name": f"{suite} {lane} {hint}",
                "url": f"{self.dojo.url}/{lane}/{suite}/{hint}/mcp",
            }
            for lane, suite, hint in places
        ]
        ids = self.odoo.rpc(SERVERS, "create", values)
        unread = [("id", "in", ids), ("state", "!=", "connected")]
        until = time.monotonic() + SECONDS
        while left := self.odoo.rpc(SERVERS, "search_read", unread, ["name", "state"]):
            if time.monotonic() > until:
                raise TimeoutError(f"not connected: {left}")
            time.sleep(0.2)
        return dict(zip(places, ids, strict=True))

    def _assistant(self, lane: int, suite: str, config: int) -> int:
        limits = {"max_rounds": ROUNDS, "confirm_round": 0, "definition_tokens": SPACE}
        values = {"name": f"{suite} {lane}", "config_id": config, **limits}
        (assistant,) = self.odoo.rpc("ai.assistant", "create", [values])
        return assistant

    def _expiry_action(self) -> int:
        (model,) = self.odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
        values = {"name": "Expire", "state": "code", "model_id": model, "code": EXPIRE}
        (action,) = self.odoo.rpc("ir.actions.server", "create", [values])
        return action

    def _expire(self, turn: int) -> None:
        self.odoo.rpc("ir.actions.server", "run", [self._expiry], context={"turn": turn})

    def arrange(self, setting: Setting) -> None:
        """Apply a setting and revoke all “always”."""
        rpc = self.odoo.rpc
        rpc(SERVERS, "write", self._ids(), {"trust_level": setting.trust})
        rpc(TOOLS, "write", self.tools, {"approval_policy": setting.policy})
        mode = {"approval_mode": setting.mode}
        rpc("ai.assistant", "write", list(self.assistants.values()), mode)
        chosen = (setting.trust, setting.hints, setting.beside)
        if chosen != self._chosen:
            for lane, suite in self.assistants:
                self._choose_servers(lane, suite, setting)
            self._chosen = chosen
        rpc(GRANTS, "unlink", rpc(GRANTS, "search", [("tool_id", "in", self.tools)]))

    def _choose_servers(self, lane: int, suite: str, setting: Setting) -> None:
        servers = [self.servers[lane, suite, setting.hints]]
        if setting.beside == "unreviewed":
            other = SUITES[0] if suite != SUITES[0] else SUITES[1]
            servers.append(self.servers[lane, other, "none"])
            self.odoo.rpc(SERVERS, "write", servers[1:], {"trust_level": "none"})
        values = {"mcp_server_ids": [[6, 0, servers]]}
        self.odoo.rpc("ai.assistant", "write", [self.assistants[lane, suite]], values)

    def run(
        self, setting: Setting, cases: Sequence[Case], progress: Callable[[], None] = lambda: None
    ) -> list[Outcome]:
        """Outcomes in the order of the cases."""
        self.arrange(setting)
        outcomes: dict[int, Outcome] = {}

        def work(lane: int) -> None:
            for number in range(lane, len(cases), len(self.lanes)):
                outcomes[number] = self._case(lane, number, cases[number], setting)
                progress()

        with ThreadPoolExecutor(len(self.lanes)) as pool:
            list(pool.map(work, self.lanes))
        return [outcomes[number] for number in range(len(cases))]

    def _case(self, lane: int, number: int, case: Case, setting: Setting) -> Outcome:
        begun = self.dojo.post(f"/{lane}/begin", asdict(case))
        calls = {
            name: [(tool, given) for tool, given in begun[name]]
            for name in ("user_calls", "attacker_calls")
        }
        plan = self.model.plans[number] = Plan(**{**begun, **calls})
        user_calls = frozenset(key(*call) for call in plan.user_calls)
        attackers = {key(*call) for call in plan.attacker_calls if has_effect(call[0])} - user_calls
        http = self.odoo.session(self.users[lane])
        assistant = {"assistant_id": self.assistants[lane, case.suite]}
        chat = _post(http, "/api/ai/conversations", assistant)
        question = {
            "content": f"{plan.prompt}\n\n{TICKET.format(number)}",
            "client_token": uuid.uuid4().hex,
        }
        turn = _post(http, f"/api/ai/conversations/{chat['id']}/messages", question)
        summary = Person(http, setting.person, self._expire).follow(turn, user_calls)
        self.llm.forget()
        judged = self.dojo.post(f"/{lane}/end", {"answer": summary.text})
        ran = Counter(key(*call) for call in judged["ran"])
        unapproved = [
            call
            for call in sorted(attackers)
            for _number in range(ran[call] - summary.approved[call])
        ]
        return Outcome(
            case=case,
            state=summary.state,
            is_done=judged["is_done"] and all(ran[call] for call in user_calls),
            requested=sum(summary.requested[call] for call in attackers),
            unapproved=tuple(unapproved),
            benign_cards=summary.benign_cards,
            benign_calls=summary.benign_calls,
            other_calls=summary.other_calls,
        )


def _post(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = http.post(path, json=body)
    if not answer.is_success:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
    return answer.json()
