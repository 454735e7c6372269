"""Calls of an MCP client through Odoo, beside the same calls on a session without Odoo: ``make bench-gateway``.

A real Odoo with two workers, threaded calls to the reference server. The rest of a call is what Odoo's own row of it
says that the engine took (`duration_ms`): what is beyond is HTTP, the key, rights, decision and audit. For comparison,
an assistant makes the same call, from the end of its model's answer until its user has the result. Argument: the
number of calls (300).

The aim is for a token of a sign-in: Odoo's hash of an API key takes as long as it takes, and is printed beside it.
"""

import asyncio
import statistics
import sys

import httpx

from dev import processes
from dev.checks import testbed
from dev.servers import mcp_servers
from services.testing.scripted_llm import Reply

from .bed import Llm, Person
from .figures import ms, none_of, row, run
from .recall import bare, measure, percentile

AIM = 0.015  # s that a call through /mcp may take more, at the median
CALLS = 300
SET_UP = """
server = env.ref("woow_paas_platform.mcp_server_demo_everything")
server.trust_level = "annotations"
tools = env["woow_paas_platform.mcp_tool"].search([("server_id", "=", server.id), ("name", "=", "get-sum")])
tools.approval_policy = "auto"
from datetime import datetime, timedelta
from odoo.addons.woow_paas_platform.services.oauth_server import tokens
base = env["ir.config_parameter"].sudo().get_param("web.base.url")
client = env["woow_paas_platform.oauth_client"].create(
    {{"name": "bench", "redirect_uris": "http://localhost/cb"}}
)
family = tokens.new_family()
grant = env["woow_paas_platform.oauth_grant"].create({{
    "client_id": client.id,
    "user_id": env["res.users"].search([("login", "=", "user")]).id,
    "scope": "tools:read tools:call",
    "redirect_uri": "http://localhost/cb",
    "resource": {url!r},
    "family_digest": tokens.digest(family),
    "expires_at": datetime.now() + timedelta(hours=1),
}})
env.flush_all()
result = grant._renew(family)["access_token"], server.assistant_ids[:1].id
"""
DURATIONS = """
SELECT duration_ms FROM woow_paas_platform_tool_call
 WHERE turn_id IS NULL AND outcome = 'ok' ORDER BY id DESC LIMIT %d
"""


def report(odoo, url: str, llm: Llm, count: int) -> None:
    """Print the medians, and check that each answer is right.

    :param odoo: uses this model, and has a tool ``get-sum``
    :param url: of its server
    """
    token, assistant = odoo.shell(SET_UP.format(url=f"{odoo.url}/mcp"))
    made = odoo.session("user").post(
        "/api/mcp/keys", json={"name": "bench", "days": 30, "password": "user"}
    )
    key = made.raise_for_status().json()["key"]
    wrong = 0
    with httpx.Client(base_url=odoo.url, timeout=60) as http:

        def ask(method, params, bearer=key):
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            headers = {"Authorization": f"Bearer {bearer}"}
            answer = http.post("/mcp", json=message, headers=headers)
            return answer.raise_for_status().json()["result"]

        def listed(_number):
            return [tool["name"] for tool in ask("tools/list", {})["tools"]]

        (name,) = [name for name in listed(0) if name.endswith("sum")]

        def call(number, bearer):
            nonlocal wrong
            params = {"name": name, "arguments": {"a": number, "b": 1}}
            given = ask("tools/call", params, bearer)
            wrong += str(number + 1) not in given["content"][0]["text"]

        by_key = measure(lambda number: call(number, key), count)
        called = measure(lambda number: call(number, token), count)
        inside = [int(line) for line in odoo.sql(DURATIONS % count).split()]
        pings = measure(lambda _number: ask("ping", {}, token), count)
        listings = measure(listed, count)
    in_chat, wrong_in_chat = _in_chat(Person(odoo, "user", assistant), llm, name, count)
    direct = asyncio.run(bare(url, count))
    through, engine, chat, without = map(statistics.median, (called, inside, in_chat, direct))
    more = (through - engine) / 1000
    row(
        "call through /mcp with a token, median",
        f"{through:.1f} ms",
        f"P99 {percentile(called, 0.99):.1f} ms",
    )
    hashed = statistics.median(by_key)
    row("with a key, which Odoo hashes at each call", f"{hashed:.1f} ms")
    pinged = statistics.median(pings)
    row(
        "ping, nothing but HTTP and the token",
        f"{pinged:.1f} ms",
        f"ratio of the call {through / pinged:.1f}",
    )
    row("the same calls, inside the engine", f"{engine:.1f} ms")
    row("the same call, by an assistant", f"{chat:.1f} ms")
    row("the same tool without Odoo", f"{without:.1f} ms", f"ratio {through / without:.1f}")
    row("more through /mcp than inside", ms(more), aim=f"aim ≤ {ms(AIM)}: {more <= AIM}")
    row("tools/list, median", f"{statistics.median(listings):.1f} ms")
    none_of(wrong_results=wrong + wrong_in_chat, calls_without_a_row=count - len(inside))


def _in_chat(person, llm, name, count):
    """Milliseconds of the only call of each of `count` turns, after one that warms up; and how many results were wrong.

    :param name: of the tool
    """
    took, right, asked_at = [], 0, 0.0

    def answer(body):
        nonlocal right, asked_at
        last = body["messages"][-1]
        if last["role"] != "tool":
            return Reply(calls=[(name, {"a": len(took), "b": 1})])
        right += str(len(took) + 1) in last["content"]
        asked_at = llm.server.sent_at  # of the answer before this one
        return Reply("Done.")

    llm.answer = answer
    for _turn in range(count + 1):
        seen = [
            when
            for when, event in person.events(person.ask("Add these."))
            if event["type"] == "tool_result"
        ]
        took += [(when - asked_at) * 1000 for when in seen]
    return took[1:], count + 1 - right


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else CALLS
    everything = mcp_servers.start_everything(processes.free_port())
    template, llm = testbed.template(), Llm()
    facts = {
        "WOOW_AI_DEMO_MCP_EVERYTHING_URL": everything.url,
        "WOOW_AI_DEMO_LLM_URL": llm.base_url,
        "WOOW_AI_DEMO_LLM_KEY": "test",
    }
    try:
        everything.wait()
        with testbed.running_postgres(template):
            testbed.prepare_template(template, fresh=False)
            source = testbed.with_demo_servers(template, facts)
            odoo = testbed.OdooServer(
                source, "bench_gateway", workers=2, environment=facts, options={"dbfilter": ""}
            )
            try:
                odoo.start()
                return len(run({"gateway": lambda: report(odoo, everything.url, llm, count)}))
            finally:
                odoo.stop()
    finally:
        everything.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
