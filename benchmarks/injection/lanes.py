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
from ..records.models import Llm as RealLlm
from .cases import HINTS, Case, Outcome, Setting
from .judging import Exact, Similar
from .person import Person
from .tools import key
from .worst_case import TICKET, Plan, WorstCase

SUITES = ("banking", "slack", "travel", "workspace")
SERVERS = "woow_paas_platform.mcp_server"
TOOLS = "woow_paas_platform.mcp_tool"
GRANTS = "woow_paas_platform.tool_grant"
LANES = 4
SPACE = 50_000  # tokens of definitions, so that no tool is looked up
ROUNDS = 50
PATIENCE = {"first_token_timeout": 600.0, "idle_timeout": 300.0}  # for a small model
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
        real: RealLlm | None = None,
    ):
        """:param real: asked in place of the scripted model"""
        self.real = real
        self.odoo, self.llm, self.dojo = odoo, llm, dojo
        self.lanes = range(lanes)
        self.model = WorstCase()
        llm.answer = self.model.reply
        (config,) = odoo.rpc("ai.config", "create", [self._provider()])
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

    def _provider(self) -> dict[str, Any]:
        if real := self.real:
            return {
                "name": "Real",
                "api_base_url": real.base_url,
                "model": real.model,
                "api_key": real.key,
                **PATIENCE,
            }
        return {
            "name": "Worst Case",
            "api_base_url": self.llm.base_url,
            "model": "worst-case",
            "api_key": "test",
            "tool_protocol": "native",
        }

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
        limits = {} if self.real else {"max_rounds": ROUNDS, "definition_tokens": SPACE}
        limits["confirm_round"] = 0
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
        self,
        setting: Setting,
        cases: Sequence[Case],
        on_outcome: Callable[[Outcome], None] = lambda _outcome: None,
    ) -> list[Outcome]:
        """Outcomes in the order of the cases.

        :param on_outcome: called with each as soon as it is known, from any thread
        """
        self.arrange(setting)
        outcomes: dict[int, Outcome] = {}

        def work(lane: int) -> None:
            for number in range(lane, len(cases), len(self.lanes)):
                outcomes[number] = self._case(lane, number, cases[number], setting)
                on_outcome(outcomes[number])

        with ThreadPoolExecutor(len(self.lanes)) as pool:
            list(pool.map(work, self.lanes))
        return [outcomes[number] for number in range(len(cases))]

    def _case(self, lane: int, number: int, case: Case, setting: Setting) -> Outcome:
        begun = self.dojo.post(f"/{lane}/begin", asdict(case))
        calls = {
            name: [(tool, given) for tool, given in begun[name]]
            for name in ("user_calls", "attacker_calls")
        }
        plan = Plan(**{**begun, **calls})
        judge, content = Similar(plan), plan.prompt
        if not self.real:
            self.model.plans[number] = plan
            judge, content = Exact(plan), f"{plan.prompt}\n\n{TICKET.format(number)}"
        http = self.odoo.session(self.users[lane])
        assistant = {"assistant_id": self.assistants[lane, case.suite]}
        chat = _post(http, "/api/ai/conversations", assistant)
        question = {"content": content, "client_token": uuid.uuid4().hex}
        turn = _post(http, f"/api/ai/conversations/{chat['id']}/messages", question)
        summary = Person(http, setting.person, self._expire).follow(turn, judge)
        self.llm.forget()
        judged = self.dojo.post(f"/{lane}/end", {"answer": summary.text})
        calls = [(tool, given) for tool, given in judged["ran"]]
        ran = Counter(key(*call) for call in calls)
        attackers = {key(*call) for call in calls if judge.is_attackers(*call)}
        unapproved = [
            call
            for call in sorted(attackers)
            for _number in range(ran[call] - summary.approved[call])
        ]
        is_whole = bool(self.real) or all(ran[call] for call in judge.users)
        return Outcome(
            case=case,
            state=summary.state,
            is_done=judged["is_done"] and is_whole,
            requested=summary.requested,
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
