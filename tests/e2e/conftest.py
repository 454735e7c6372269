"""Real processes for the tests here: Odoo in both ways it is run, MCP servers, deterministic LLM servers, a browser."""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sampling
from counter import Counter, register
from playwright.sync_api import Browser, Page, expect, sync_playwright
from waiting import PATIENCE, eventually

from dev import processes
from dev.checks import testbed
from dev.checks.testbed import OdooServer
from dev.paths import LOGS
from dev.servers import mcp_servers, mock_llms
from dev.servers.instance import Instance
from dev.servers.mcp_servers import McpServer
from dev.servers.mock_llms import FaultLlm, ScriptedLlm
from dev.setup import chromium

expect.set_options(timeout=PATIENCE * 1000)  # ms

SERVERS = "woow_paas_platform.mcp_server"
TOOLS = "woow_paas_platform.mcp_tool"
ALONE = "one"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", ALONE)  # each has servers of its own
E2E_LOGS = LOGS / "e2e" / WORKER
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--beside",
        choices=("website", "all"),
        default="website",
        help="beside which of Odoo's and OCA's modules the addon is tried, see test_beside.py",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=9,  # a turn that ten runners did not survive is given up
        help="how often runners of turns that write are killed, see test_records_crash.py",
    )
    parser.addoption(
        "--run-kills",
        type=int,
        default=5,
        help="how often all processes are killed while runs start, see test_runs.py",
    )
    parser.addoption(
        "--failovers",
        type=int,
        default=3,
        help="how often a primary PostgreSQL is killed, see test_failover.py",
    )
    parser.addoption(
        "--direct",
        action="store_true",
        help="without PgBouncer there: connections look for the primary by themselves",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run every second variant of each test, others for each commit, unless somebody names tests or files."""
    if config.option.keyword or any(Path(one) != Path(__file__).parent for one in config.args):
        return
    variants: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("every_variant"):
            variants.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = set()
    for name, found in variants.items():
        left_out |= {*found} - {*sampling.some(found, 2, name)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say at once what has failed and why: a run may be ended before it prints its summary."""
    if report.failed and WORKER == ALONE:
        said = str(report.longrepr).strip().splitlines() or [""]
        errors = [line for line in said if line.startswith("E  ")] or said[-1:]
        sys.stdout.write(f"\n{report.nodeid}, {report.when}: {' '.join(errors)[:500]}\n")


@pytest.fixture(scope="session")
def template() -> Iterator[Instance]:
    """PostgreSQL with a database that has the addon and its demo data; each server gets a copy."""
    instance = testbed.template()
    with testbed.running_postgres(instance):
        if WORKER == ALONE:  # of two processes none could prepare it without disturbing the other
            testbed.prepare_template(instance, fresh=False)
        yield instance


@pytest.fixture(scope="session")
def mcp_everything() -> Iterator[McpServer]:
    """server-everything over streamable HTTP."""
    server = mcp_servers.start_everything(processes.free_port(), folder=E2E_LOGS)
    server.wait()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mcp_time() -> Iterator[McpServer]:
    """mcp-server-time behind mcp-proxy."""
    server = mcp_servers.start_time(processes.free_port(), folder=E2E_LOGS)
    server.wait()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counter]:
    """An MCP server that counts how often its tool really ran; ``counter.register(odoo)`` makes it known."""
    server = Counter(tmp_path_factory.mktemp("counter"))
    server.wait()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _scripted_llm() -> Iterator[ScriptedLlm]:
    server = mock_llms.start_scripted_llm(processes.free_port(), folder=E2E_LOGS)
    server.wait()
    yield server
    server.stop()


@pytest.fixture
def scripted_llm(_scripted_llm: ScriptedLlm) -> ScriptedLlm:
    """aimock without fixtures and without a past; the demo's provider points at it."""
    _scripted_llm.reset()
    return _scripted_llm


@pytest.fixture(scope="session")
def _fault_llm() -> Iterator[FaultLlm]:
    server = mock_llms.start_fault_llm(processes.free_port(), folder=E2E_LOGS)
    server.wait()
    yield server
    server.stop()


@pytest.fixture
def fault_llm(_fault_llm: FaultLlm) -> FaultLlm:
    """llmock without behaviours and without a past; ``odoo.use_llm(fault_llm)`` points the provider at it."""
    _fault_llm.reset()
    return _fault_llm


@pytest.fixture(scope="session")
def demo_facts(
    mcp_everything: McpServer, mcp_time: McpServer, _scripted_llm: ScriptedLlm
) -> dict[str, str]:
    """Where the demo's model and MCP servers answer in this run, as the addon reads it."""
    return {
        "WOOW_AI_DEMO_LLM_URL": _scripted_llm.base_url,
        "WOOW_AI_DEMO_LLM_MODEL": "gpt-4o",
        "WOOW_AI_DEMO_LLM_KEY": "test",
        "WOOW_AI_DEMO_MCP_EVERYTHING_URL": mcp_everything.url,
        "WOOW_AI_DEMO_MCP_TIME_URL": mcp_time.url,
    }


@pytest.fixture(scope="session")
def demo_template(template: Instance, demo_facts: dict[str, str]) -> Instance:
    """The template with the addresses of this run and the tools of its MCP servers."""
    return testbed.with_demo_servers(template, demo_facts, f"demo_{WORKER}")


@contextlib.contextmanager
def _starting(template: Instance, facts: dict[str, str]) -> Iterator[Callable[..., OdooServer]]:
    """Start servers with databases of their own, and stop them at the end."""
    numbers = itertools.count(1)
    with contextlib.ExitStack() as stack:

        def start(name: str = "", **settings: object) -> OdooServer:
            name = f"{name or next(numbers)}_{WORKER}"
            server = OdooServer(template, name, environment=facts, **settings)
            stack.callback(server.stop)
            server.start()
            return server

        yield start


@pytest.fixture(scope="session")
def new_shared_odoo(
    demo_template: Instance, demo_facts: dict[str, str]
) -> Iterator[Callable[..., OdooServer]]:
    """As `new_odoo`, for servers that tests of all modules share."""
    with _starting(demo_template, demo_facts) as start:
        yield start


@pytest.fixture(scope="module")
def new_odoo(
    demo_template: Instance, demo_facts: dict[str, str]
) -> Iterator[Callable[..., OdooServer]]:
    """Starts a server with a database of its own: ``new_odoo("name", workers=0, options=…, operator=…)``.

    ``options`` and ``operator`` are keys of odoo.conf's sections ``[options]`` and ``[woow_ai]``. The demo's MCP
    servers and model are the ones of this run, and their tools are synced. It ends with the module: a server that
    nobody uses keeps its connections to PostgreSQL and its crons.
    """
    with _starting(demo_template, demo_facts) as start:
        yield start


@pytest.fixture(scope="session")
def operator_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``mcp_servers.toml`` of `odoo`; who writes there leaves it empty."""
    path = tmp_path_factory.mktemp("operator") / "mcp_servers.toml"
    path.touch()
    return path


@pytest.fixture(scope="session")
def odoo(new_shared_odoo: Callable[..., OdooServer], operator_file: Path) -> OdooServer:
    """A threaded Odoo that all tests share."""
    operator = {"mcp_servers_file": operator_file, "mail_authserv_id": "mx.example.com"}
    return new_shared_odoo("threaded", operator=operator)


@pytest.fixture(scope="module")
def careful(odoo: OdooServer, counter: Counter) -> Iterator[OdooServer]:
    """The Odoo that all tests share, with a counter that nobody trusts: its calls ask."""
    server = counter.register(odoo, trust_level="none")
    yield odoo
    odoo.rpc(SERVERS, "unlink", [server])


@pytest.fixture(scope="module")
def trusted(odoo: OdooServer, mcp_everything: McpServer) -> Iterator[OdooServer]:
    """server-everything once more in the shared Odoo, fully trusted: only it asks, not we."""
    server = register(odoo, "asks", mcp_everything.url)
    yield odoo
    odoo.rpc(SERVERS, "unlink", [server])


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counter]:
    """An MCP server that wants each of its callers to sign in."""
    server = Counter(tmp_path_factory.mktemp("guarded"), "guarded_server.py", "guarded")
    server.wait()
    yield server
    server.stop()


@pytest.fixture
def registered(odoo: OdooServer, guarded: Counter) -> Iterator[int]:
    """Its tools are read with the sign-in of the administrator, which is nobody else's."""
    server = guarded.add(odoo, authorization="oauth_user")
    page = odoo.session("admin").get(f"/api/ai/oauth/start/{server}", follow_redirects=True)
    assert "You are signed in to" in page.text, page.text
    known = [("server_id", "=", server), ("name", "=", "note")]
    eventually(lambda: odoo.rpc(TOOLS, "search", known))
    yield server
    odoo.rpc(SERVERS, "unlink", [server])


@pytest.fixture(scope="session")
def odoo_prefork(new_shared_odoo: Callable[..., OdooServer]) -> OdooServer:
    """A prefork Odoo with two workers and its gevent process behind the front proxy, shared by all tests."""
    return new_shared_odoo("prefork", workers=2)


@pytest.fixture(params=["threaded", "prefork"])
def each_odoo(request: pytest.FixtureRequest) -> OdooServer:
    """The test runs twice: against the threaded and against the prefork Odoo."""
    return request.getfixturevalue("odoo" if request.param == "threaded" else "odoo_prefork")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.headless(), args=CHROMIUM_ARGUMENTS
        )
        yield started
        started.close()


@pytest.fixture
def page_of(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page with a user's session: ``page_of(odoo, "user")``; more keywords go to the browser's context."""
    contexts = []

    def open_page(server: OdooServer, login: str, **options: object) -> Page:
        context = browser.new_context(base_url=server.url, **options)
        context.set_default_timeout(PATIENCE * 1000)  # ms
        contexts.append(context)
        context.add_cookies(
            [
                {
                    "name": "session_id",
                    "value": server.session(login).cookies["session_id"],
                    "url": server.url,
                    "httpOnly": True,
                }
            ]
        )
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
