"""The official conformance suite of MCP, in both of its roles.

* *client*: it starts ``tests/conformance/client.py``, which is our engine, once for each scenario, all at once.
* *server*: it calls the ``/mcp`` of a real Odoo, as a person's client with a key, one scenario after the other. What it
  calls is served by ``tests/conformance/catalogue.py``, an MCP server of that Odoo.

The suite knows which scenarios a revision requires. What we expect to fail stands in
``tests/conformance/baseline.toml`` with its reason; a scenario of it that holds after all is a failure too.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from dev import processes
from dev.checks import testbed
from dev.checks.report import Outcome
from dev.paths import DEV, ROOT, VENV
from dev.processes import die_with_parent
from dev.progress import say
from dev.servers import odoo_log
from dev.servers.instance import Instance
from dev.setup import node, venvs

NODE = 22  # the oldest version that the suite runs on
REVISIONS = ("2025-11-25", "2026-07-28")
TIMEOUT = 90  # seconds for one scenario
TIME_LIMIT = 300  # seconds for one revision
FOLDER = ROOT / "tests/conformance"
BASELINE = FOLDER / "baseline.toml"
CATALOGUE = "conformance"  # name of its MCP server
CATALOGUE_KIND = "mcp2"  # environment of it
LISTENS = 60  # seconds until a program of the tests does


def run(logs: Path, instance: Instance) -> Outcome:
    """Run every revision in both roles; a scenario counts as a test.

    :param instance: whose database the Odoo gets a copy of
    """
    outcome = Outcome("conformance")
    began = time.monotonic()
    known = tomllib.loads(BASELINE.read_text())
    say("\n== conformance")
    client = ("--command", f"{VENV / 'bin/python'} {FOLDER / 'client.py'}")
    for revision in REVISIONS:
        _revision(outcome, revision, ("client", *client), known, logs)
    with _signed_in(logs, instance) as (url, odoo):
        for revision in REVISIONS:
            _revision(outcome, revision, ("server", "--url", url), known, logs)
    outcome.problems += odoo_log.complaints(odoo.log)
    outcome.seconds = time.monotonic() - began
    return outcome


@contextlib.contextmanager
def _signed_in(logs: Path, instance: Instance) -> Iterator[tuple[str, testbed.OdooServer]]:
    """Address at which the suite is a client of a prefork Odoo, and that Odoo."""
    with contextlib.ExitStack() as stack:

        def start(
            program: str, port: int, python: Path, *arguments: object, **environment: str
        ) -> None:
            process = processes.start(
                program,
                [python, FOLDER / program, str(port), *map(str, arguments)],
                log=logs / f"conformance-{program}.log",
                env=processes.bare_environment(**environment),
            )
            stack.callback(process.stop)
            process.wait_until(lambda: processes.listens(port), timeout=LISTENS)

        catalogue, door = processes.free_port(), processes.free_port()
        start("catalogue.py", catalogue, venvs.extra(CATALOGUE_KIND) / "bin/python")
        odoo = testbed.OdooServer(instance, "conformance", workers=2)
        stack.callback(odoo.stop)
        odoo.start()
        url = f"http://localhost:{door}"
        key = _key(odoo, f"http://127.0.0.1:{catalogue}/mcp", url)
        address = odoo.url.removeprefix("http://")
        start("door.py", door, Path(sys.executable), address, CATALOGUE, KEY=key)
        yield f"{url}/mcp", odoo


def _key(odoo: testbed.OdooServer, url: str, base: str) -> str:
    """Make the catalogue an MCP server of the demo's assistants.

    :param base: address at which the suite finds this Odoo
    :return: key of a user
    """
    made = odoo.shell(
        "from datetime import datetime, timedelta\n"
        "def key(login, scope):\n"
        "    user = env['res.users'].search([('login', '=', login)])\n"
        "    keys = env(user=user.id)['res.users.apikeys'].sudo()\n"
        "    return keys._generate(scope, 'Suite', datetime.now() + timedelta(days=1))\n"
        f"env['ir.config_parameter'].set_param('web.base.url', {base!r})\n"
        f"values = {{'name': {CATALOGUE!r}, 'url': {url!r}, 'trust_level': 'full'}}\n"
        "servers = env['woow_paas_platform.mcp_server'].with_context(woow_no_sync=True)\n"
        "server = servers.create(values)\n"
        "env['ai.assistant'].search([]).write({'mcp_server_ids': [(4, server.id)]})\n"
        "result = {'server': server.id, 'admin': key('admin', 'rpc'), 'user': key('user', 'mcp')}\n"
    )
    sync = urllib.request.Request(
        f"{odoo.url}/api/mcp/servers/{made['server']}/sync",
        headers={"Authorization": f"Bearer {made['admin']}"},
        method="POST",
    )
    with urllib.request.urlopen(sync, timeout=LISTENS):
        return made["user"]


def _revision(
    outcome: Outcome,
    revision: str,
    role: tuple[str, ...],
    known: Mapping[str, Mapping[str, Mapping[str, str]]],
    logs: Path,
) -> None:
    """:param role: command of the suite with the options that only it has"""
    name = f"{role[0]} {revision}"
    output = _suite(role, revision, logs / f"conformance-{role[0]}-{revision}.txt")
    held = _results(output)
    if not held:
        outcome.problems.append(f"{name}: no scenario was executed.\n{output[-2000:]}")
    _judge(outcome, name, held, known.get(role[0], {}).get(revision, {}))


def program() -> Path:
    """The suite, a program of Node."""
    return node.node_modules() / "@modelcontextprotocol/conformance/dist/index.js"


def _suite(role: tuple[str, ...], revision: str, log: Path) -> str:
    results = DEV / "conformance" / role[0] / revision
    shutil.rmtree(results, ignore_errors=True)
    command = [
        node.node(NODE),
        program(),
        *role,
        "--requirements",
        revision,
        "--timeout",
        str(TIMEOUT * 1000),
        "--output-dir",
        results,
    ]
    with log.open("w") as output:
        subprocess.run(
            [str(part) for part in command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=TIME_LIMIT,
            check=False,
            preexec_fn=die_with_parent,
        )
    return log.read_text(errors="replace")


def _results(output: str) -> dict[str, bool]:
    """Outcome of each scenario of the summary, True if it holds."""
    _, _, summary = output.partition("SUMMARY ===")
    lines = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", summary, re.M)
    return {name: mark == "✓" and int(passed) > 0 for mark, name, passed, _ in lines}


def _judge(
    outcome: Outcome, where: str, held: Mapping[str, bool], known: Mapping[str, str]
) -> None:
    good = sorted(name for name, holds in held.items() if holds)
    say(f"{where}: {len(good)} of {len(held)} scenarios hold: {', '.join(good)}")
    for name, reason in known.items():
        say(f"  known: {name}: {reason}")
    for name, holds in held.items():
        if holds and name in known:
            outcome.problems.append(f"{where}: {name} holds now, take it from the baseline.")
        elif holds:
            outcome.passed += 1
        elif name not in known:
            outcome.failed += 1
            outcome.failures[f"{where} {name}"] = f"{name} does not hold"
    for name in known.keys() - held.keys():
        outcome.problems.append(f"{where}: {name} of the baseline was not executed.")
