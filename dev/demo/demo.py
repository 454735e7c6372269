"""``make demo``: everything from nothing to a page that answers, and the end of it all on Ctrl-C."""

import json
import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import FrameType
from urllib.parse import urlsplit

from dev import processes
from dev.cache import try_lock
from dev.demo import llm, templates
from dev.paths import DEV
from dev.progress import DevError, say, step, warn
from dev.servers import addon, mcp_servers
from dev.servers.instance import Instance
from dev.servers.odoo_server import OdooProcess
from dev.setup import daemons, node, odoo_venv, venvs, wkhtmltopdf

DATABASE = "woow_demo"
HTTP_PORT, GEVENT_PORT = 8069, 8072  # Odoo's own defaults
LANGUAGES = ("zh_TW", "zh_CN")  # beside English
# Whose records the sales assistant works with, and what asks it by itself.
APPS = ("crm", "sale_management", "base_automation")
LOGINS = (
    ("admin", "admin", "administrator, in the backend"),
    ("demo", "demo", "salesperson, in the backend, with the Sales Assistant"),
    ("portal", "portal", "portal, a customer: the Order Assistant knows the orders"),
    ("owner", "owner", "portal, owns the demo workspace and its cloud service"),
    ("colleague", "colleague", "portal, whom the owner can add as a member"),
    ("user", "user", "portal, end user in the demo workspace"),
    ("stranger", "stranger", "portal, another workspace"),
)
OTHER_MODEL = "For another model set OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY (any OpenAI-compatible one)."


def run_demo() -> int:
    """Set up, start, print where it answers, and wait for Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    database = os.environ.get("DB_NAME", DATABASE)
    instance = Instance("demo" if database == DATABASE else f"demo-{database}", database)
    with ExitStack() as stack:
        if not stack.enter_context(try_lock(DEV / "run" / f"{instance.name}.lock")):
            raise DevError(
                f"A demo with the database {database} runs from this checkout already; "
                "DB_NAME=another make demo starts a second one."
            )
        try:
            Demo(instance, stack).run()
        except KeyboardInterrupt:
            say("\nStopping …")
    say("Stopped.")
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Demo:
    """The parts of one demo; ``stack`` ends them in the reverse order of their start."""

    def __init__(self, instance: Instance, stack: ExitStack) -> None:
        self.instance = instance
        self.stack = stack
        self.own_model = "OPENAI_BASE_URL" not in os.environ
        self.llm_port = 0
        self.shop = ""  # connection string of a database to ask
        self.facts = {"WOOW_AI_DEMO_LANGUAGES": ",".join(LANGUAGES), "WOOW_AI_DEMO_GROUNDED": "yes"}
        self.addresses: list[str] = []
        self.watched: list[processes.Process] = []

    def run(self) -> None:
        began = time.monotonic()
        embedded = self._set_up()
        workers = int(os.environ.get("ODOO_WORKERS", "0"))
        port = self._port("http", "ODOO_PORT", HTTP_PORT)
        gevent_port = self._port("gevent", "GEVENT_PORT", GEVENT_PORT)
        self.instance.postgres.start()
        self.stack.callback(self.instance.postgres.stop)
        servers = self._start_mcp_servers()
        if embedded:
            self._start_llm()
        elif not self.own_model:
            self._use_provider()
        self.shop = templates.make_shop(self.instance)
        self._write_config(port, gevent_port)
        environment = {**self.instance.postgres.environment, **self.facts}
        addon.bring_up_to_date(self.instance, environment, APPS)
        odoo = OdooProcess(
            self.instance,
            port=port,
            gevent_port=gevent_port,
            workers=workers,
            environment=environment,
        )
        odoo.log.unlink(missing_ok=True)
        odoo.start()
        self.stack.callback(odoo.stop)
        for server in servers:
            server.wait()
        with step("Telling the database where the model and the tools answer"):
            openings = addon.refresh_demo(self.instance, environment)
        if self.llm_port and openings:
            # Nobody has to wait for it: a question that comes earlier is answered too, only later.
            warm_up = threading.Thread(
                target=self._warm_up, args=(self.llm_port, openings), daemon=True
            )
            warm_up.start()
        with step("Waiting for the first page"):
            odoo.wait()
        self._greet(odoo, time.monotonic() - began)
        self._watch(odoo)

    def _set_up(self) -> bool:
        """Get everything that has to be fetched; whether the embedded model can be used."""
        daemons.offer_bubblewrap()
        with ThreadPoolExecutor(max_workers=4, thread_name_prefix="setup") as pool:
            model: Future[object] | None = pool.submit(_fetch_llm) if self.own_model else None
            waiting = [pool.submit(venvs.extra, "mcp"), pool.submit(wkhtmltopdf.folder)]
            try:
                node.node_modules()
                odoo_venv.main()
                for part in waiting:
                    part.result()
                if model:
                    model.result()
                    return True
            except KeyboardInterrupt:
                # The threads' programs die with this process; waiting for them would not stop anything.
                os._exit(130)
            except _NoModel as error:
                warn(f"The embedded model cannot be had: {error}")
                warn(f"The demo starts without one, so assistants cannot answer. {OTHER_MODEL}")
        return False

    def _port(self, key: str, variable: str, default: int) -> int:
        explicit = os.environ.get(variable)
        if not explicit:
            return self.instance.port(key, default)
        if not processes.port_is_free(int(explicit)):
            raise DevError(f"{variable}={explicit} is taken by another program.")
        return int(explicit)

    def _start_mcp_servers(self) -> list[mcp_servers.McpServer]:
        servers = [
            mcp_servers.start_everything(self.instance.port("mcp-everything")),
            mcp_servers.start_clock(self.instance.port("mcp-time")),
        ]
        for server in servers:
            self.stack.callback(server.stop)
            self.watched.append(server.process)
            self.addresses.append(server.address)
            self.facts[f"WOOW_AI_DEMO_MCP_{server.name.upper()}_URL"] = server.url
        return servers

    def _start_llm(self) -> None:
        port = self.instance.port("llm")
        process = llm.start(port, self.instance.folder)
        self.stack.callback(process.stop)
        self.watched.append(process)
        self.addresses.append(f"127.0.0.1:{port}")
        self.facts |= {
            "WOOW_AI_DEMO_LLM_URL": f"http://127.0.0.1:{port}/v1",
            "WOOW_AI_DEMO_LLM_MODEL": llm.MODEL,
            "WOOW_AI_DEMO_LLM_KEY": "none",
            "WOOW_AI_DEMO_LLM_CONTEXT": str(llm.CONTEXT_TOKENS),
        }
        self.llm_port = port

    @staticmethod
    def _warm_up(port: int, openings: list[str]) -> None:
        for name, opening in map(json.loads, openings):
            if llm.warm_up(port, opening):
                say(f"  The embedded model is warmed up for the {name}.")

    def _use_provider(self) -> None:
        address = urlsplit(os.environ["OPENAI_BASE_URL"])
        # Who starts the demo decides as its operator that this address may be reached.
        port = address.port or (443 if address.scheme == "https" else 80)
        self.addresses.append(f"{address.hostname}:{port}")
        self.facts |= {
            "WOOW_AI_DEMO_LLM_URL": os.environ["OPENAI_BASE_URL"],
            "WOOW_AI_DEMO_LLM_MODEL": os.environ.get("OPENAI_MODEL", ""),
            "WOOW_AI_DEMO_LLM_KEY": os.environ.get("OPENAI_API_KEY", ""),
        }
        if not self.facts["WOOW_AI_DEMO_LLM_MODEL"]:
            raise DevError(
                "OPENAI_BASE_URL is set, but OPENAI_MODEL does not say which model to use."
            )

    def _write_config(self, port: int, gevent_port: int) -> None:
        allow = [*self.addresses, *filter(None, [os.environ.get("EGRESS_ALLOW", "")])]
        self.instance.write_config(
            {"http_port": port, "gevent_port": gevent_port},
            {
                "egress_allow": ",".join(allow),
                "mcp_servers_file": templates.release(self.instance),
            },
        )

    def _greet(self, odoo: OdooProcess, seconds: float) -> None:
        say(f"\nReady after {seconds:.0f} s: {odoo.url}/my/ai   (backend: {odoo.url}/odoo)")
        for login, password, what in LOGINS:
            say(f"  {login + ' / ' + password:<22}{what}")
        if self.llm_port:
            say(
                "  The model is small (1.5B): it shows how things work, not how well a large one does."
            )
        if self.own_model:
            say(f"  {OTHER_MODEL}")
        say("  It speaks English, 繁體中文 and 简体中文: a first chat asks which.")
        say("  Templates to try: Filesystem (also in the portal, as owner) and PostgreSQL.")
        if self.shop:
            say(f"    A shop for PostgreSQL: {self.shop}")
        model = self.facts.get("WOOW_AI_DEMO_LLM_MODEL", "none")
        say(f"  model: {model}   log: {odoo.log.relative_to(DEV.parent)}   Ctrl-C ends everything.")

    def _watch(self, odoo: OdooProcess) -> None:
        while odoo.running():
            for process in list(self.watched):
                if not process.running():
                    self.watched.remove(process)
                    warn(
                        f"{process.name} ended with {process.popen.returncode}:\n{process.log_tail(5)}"
                    )
            time.sleep(0.5)
        raise DevError(f"Odoo ended:\n{odoo.log_tail()}")


class _NoModel(Exception):
    """The embedded model's parts cannot be fetched."""


def _fetch_llm() -> None:
    try:
        venvs.extra("llm")
        llm.model_file()
    except DevError as error:
        raise _NoModel(str(error)) from error
