"""Follows docs/deployment.md: its odoo.conf, its units or its containers' commands, its nginx; and docs/updating.md.

Only what names a place differs: ports, files, the database. Each way runs a turn through nginx and stops in good order.
The update goes to the commit that is checked out, and back again.
"""

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from dev import processes
from dev.checks import testbed
from dev.commands import run
from dev.paths import ADDON, LOGS, ROOT, VENV
from dev.progress import DevError, say
from dev.servers import mcp_servers, mock_llms
from dev.servers.instance import ODOO_BIN, Instance
from dev.servers.odoo_server import answers
from dev.setup import odoo_tree

PAGE = ROOT / "docs/deployment.md"
UPDATING = ROOT / "docs/updating.md"
QUEUED = """
user = env.ref('woow_paas_platform.user_user')
assistant = env.ref('woow_paas_platform.ai_assistant_demo').with_user(user)
channel = env['discuss.channel'].with_user(user)._create_ai_conversation(assistant)
result = channel._ask('Later').id
"""
CONFIG = "/etc/odoo/odoo.conf"  # names of the page …
DATABASE = "production"
START_TIMEOUT = 120  # s
STOP_TIMEOUT = 30  # s, the page's TimeoutStopSec and stop_grace_period
NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


@dataclass(frozen=True)
class Service:
    """One long-running command of the page."""

    name: str
    command: str
    environment: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1


def blocks(language: str, page: Path = PAGE) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def unit_files() -> list[str]:
    """The page's unit files; not every other block of its kind has sections."""
    return [text for text in blocks("ini") if "[Service]" in text]


def units() -> list[Service]:
    """Units that systemd would start: the web service and two runners."""
    found = []
    for text in unit_files():
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read_string(text)
        assignments = shlex.split(unit["Service"].get("Environment", ""))
        environment = dict(entry.split("=", 1) for entry in assignments)
        command = unit["Service"]["ExecStart"]
        name, replicas = ("runner", 2) if "%i" in text else ("web", 1)
        found.append(Service(name, command, environment, replicas))
    return found


def containers() -> list[Service]:
    """Containers that compose would start."""
    services: dict[str, dict[str, Any]] = yaml.safe_load(blocks("yaml")[0])["services"]
    return [
        Service(
            name,
            services[name]["command"],
            services[name]["environment"],
            services[name].get("deploy", {}).get("replicas", 1),
        )
        for name in ("web", "runner")
    ]


def verify_units() -> None:
    """Let systemd read the units, where it is installed; the programs they name are Odoo's, which is elsewhere."""
    program = shutil.which("systemd-analyze")
    if not program:
        say("systemd is not installed: the units are followed, their syntax is not checked.")
        return
    with TemporaryDirectory() as folder:
        files = []
        names = ("odoo.service", "odoo-ai-runner@.service")
        for name, text in zip(names, unit_files(), strict=True):
            files.append(Path(folder) / name)
            files[-1].write_text(re.sub(r"(?<=^ExecStart=)\S+", "/bin/true", text, flags=re.M))
        done = subprocess.run(
            [program, "verify", *map(str, files)], capture_output=True, text=True, check=False
        )
        ours = [line for line in done.stderr.splitlines() if folder in line or "odoo" in line]
        if ours:
            raise DevError("systemd-analyze says of the units:\n" + "\n".join(ours))
        say("systemd-analyze finds nothing wrong in the units.")


def configuration() -> tuple[dict[str, str], dict[str, str]]:
    """``[options]`` and ``[woow_ai]`` of the page's odoo.conf."""
    parser = configparser.RawConfigParser()
    parser.read_string(next(text for text in blocks("ini") if "[options]" in text))
    return dict(parser["options"]), dict(parser["woow_ai"])


def site(port: int, http_port: int, gevent_port: int) -> str:
    """The page's nginx block with these ports instead of 443, 8069 and 8072, and without a certificate."""
    (block,) = blocks("nginx")
    for before, after in (
        ("listen 80;", f"listen 127.0.0.1:{processes.free_port()};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{port};"),
        ("    ssl_certificate /etc/ssl/certs/odoo.example.com.pem;\n", ""),
        ("    ssl_certificate_key /etc/ssl/private/odoo.example.com.key;\n", ""),
        ("127.0.0.1:8069", f"127.0.0.1:{http_port}"),
        ("127.0.0.1:8072", f"127.0.0.1:{gevent_port}"),
    ):
        if block.count(before) != 1:
            raise DevError(f"The nginx block does not have one “{before}”.")
        block = block.replace(before, after)
    return block


def start_nginx(folder: Path, site_text: str, port: int) -> processes.Process:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if not program:
        raise DevError("nginx is not installed.")
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, site=site_text))
    process = processes.start(
        "nginx", [program, "-p", folder, "-c", config], log=LOGS / "try-nginx.log"
    )
    process.wait_until(lambda: processes.listens(port), timeout=20)
    return process


def start_service(
    service: Service, number: int, instance: Instance, key: str, facts: Mapping[str, str]
) -> processes.Process:
    """Run one command of the page with this instance's places."""
    places = {
        CONFIG: str(instance.config),
        DATABASE: instance.database,
        "${SECRET_KEY}": key,
    }
    arguments = shlex.split(service.command)
    if arguments[0].endswith("/bin/python"):  # of a venv: here it is the developers'
        del arguments[0]
    if Path(arguments.pop(0)).name != "odoo":
        raise DevError(f"“{service.command}” does not start Odoo.")
    environment = {name: places.get(value, value) for name, value in service.environment.items()}
    return processes.start(
        f"{service.name} {number}",
        [VENV / "bin/python", ODOO_BIN, *(places.get(part, part) for part in arguments)],
        log=LOGS / f"deployment-{service.name}{number}.log",
        env={**os.environ, **instance.postgres.environment, **facts, **environment},
    )


def ask(odoo: testbed.OdooServer, llm: mock_llms.ScriptedLlm, url: str) -> str:
    """Ask through nginx: events must arrive while the answer is written, and survive a cut line."""
    llm.script(
        {
            "match": {"userMessage": "nginx"},
            "response": {"content": "word " * 60},
            "latency": 100,
            "chunkSize": 10,
        }
    )
    odoo.url = url
    http = odoo.login("user")
    assistant = http.get("/api/ai/assistants").json()["assistants"][0]["id"]
    conversation = http.post("/api/ai/conversations", json={"assistant_id": assistant}).json()["id"]
    path = f"/api/ai/conversations/{conversation}/messages"
    stream = http.post(path, json={"content": "nginx"}).json()["stream_url"]
    arrivals: list[float] = []
    seen: list[int] = []
    last = ""
    for room in (5, 10_000):  # the line is cut after five events
        headers = {"Last-Event-ID": str(seen[-1] if seen else 0)}
        with http.stream("GET", stream, headers=headers) as answer:
            if answer.status_code != 200:
                raise DevError(
                    f"The stream answered {answer.status_code} after {len(seen)} events: {last}"
                )
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    seen.append(int(line[4:]))
                    arrivals.append(time.monotonic())
                elif line.startswith("data: "):
                    last = line
                    room -= 1
                if not room:
                    break
    if seen != list(range(1, len(seen) + 1)):
        raise DevError(f"The events arrived as {seen}.")
    spread = arrivals[-1] - arrivals[0]
    if spread < 1.5:
        raise DevError(f"All events arrived within {spread:.1f} s: something buffers them.")
    return f"{len(seen)} events passed nginx over {spread:.1f} s"


def follow(
    way: str,
    services: list[Service],
    template: Instance,
    llm: mock_llms.ScriptedLlm,
    facts: Mapping[str, str],
) -> None:
    """Start everything as this way of the page says, ask, and stop it as systemd or compose would."""
    options, operator = configuration()
    # The page's key is a placeholder, and the servers of this try live on the loopback.
    key = template.secret("secret_key")
    operator = {**operator, "secret_key": key, "egress_allow": "127.0.0.1:*"}
    odoo = testbed.OdooServer(template, "deployment", options=options, operator=operator)
    instance, port = odoo.instance, processes.free_port()
    with ExitStack() as stack, TemporaryDirectory() as name:
        stack.callback(odoo.stop)
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers are another user when root starts it
        running = []
        for service in services:
            for number in range(1, service.replicas + 1):
                process = start_service(service, number, instance, key, facts)
                stack.callback(process.kill)
                running.append(process)
        http_port, gevent_port = odoo.process.http_port, odoo.process.gevent_port
        running[0].wait_until(lambda: answers(http_port, "/web/login"), timeout=START_TIMEOUT)
        running[0].wait_until(lambda: processes.listens(gevent_port), timeout=START_TIMEOUT)
        nginx = start_nginx(folder, site(port, http_port, gevent_port), port)
        stack.callback(nginx.stop)
        passed = ask(odoo, llm, f"http://127.0.0.1:{port}")
        begun = time.monotonic()
        for process in running:
            process.popen.send_signal(signal.SIGTERM)
        codes = [process.popen.wait(STOP_TIMEOUT) for process in running]
        if any(codes):
            raise DevError(f"After SIGTERM the processes of {way} ended with {codes}.")
        say(
            f"{way}: {len(running)} processes started, {passed}, all stopped within"
            f" {time.monotonic() - begun:.1f} s."
        )


def follow_update(template: Instance) -> None:
    """Run the page's commands but for systemd's, with a turn that is queued meanwhile: it survives the update, and is
    stopped on the way back."""
    order, back = (text for text in blocks("sh", UPDATING) if "systemctl" in text)
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        addon = folder / "addons" / ADDON
        run(["git", "clone", "--quiet", ROOT, addon], what="Cloning the addon")
        commit = run(["git", "rev-parse", "HEAD"], what="Reading the commit", cwd=addon).strip()
        programs = Path(template.postgres.program("pg_dump")).parent
        paths = ",".join(map(str, [*odoo_tree.addons_paths(odoo_tree.odoo_path()), addon.parent]))
        options = {"addons_path": paths, "pg_path": programs}
        odoo = testbed.OdooServer(
            template, "updating", options=options, operator={"in_process_runner": False}
        )
        stack.callback(odoo.stop)
        instance = odoo.instance
        key = instance.data_dir / "woow_ai_secret_key"
        if not key.exists():  # here the key stands in odoo.conf
            key.touch()
            stack.callback(key.unlink)
        places = {
            "runuser -u odoo -- ": "",
            "/opt/odoo-venv/bin/python /usr/bin/odoo": f"{VENV / 'bin/python'} {ODOO_BIN}",
            "/opt/odoo-venv/bin/pip install": "test -s",
            " -r /opt": " /opt",  # of pip, whose requirements are those of the developers here
            "-o odoo -g odoo ": "",
            CONFIG: str(instance.config),
            "/etc/odoo/": f"{instance.config.parent}/",
            "/var/lib/odoo/.local/share/Odoo": str(instance.data_dir),
            "/var/backups/odoo": str(folder / "backups"),
            f"/opt/odoo-addons/{ADDON}": str(addon),
            "your_db": odoo.db,
            "COMMIT": commit,
        }
        turn = odoo.shell(QUEUED)
        state = f"SELECT state FROM woow_paas_platform_ai_turn WHERE id = {turn}"
        for text, expected in ((order, "queued"), (back, "stopped")):
            script = "\n".join(
                line for line in text.splitlines() if not line.startswith("systemctl")
            )
            for before, after in places.items():
                script = script.replace(before, after)
            done = subprocess.run(
                ["bash", "-eu", "-c", script],
                env={**os.environ, **instance.postgres.environment},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise DevError(f"The commands of the page failed:\n{done.stderr[-4000:]}")
            if (found := odoo.sql(state)) != expected:
                raise DevError(f"After these commands the turn is {found}:\n{text}")
    say("docs/updating.md: updated and back, with a turn that waited.")


def main() -> None:
    verify_units()
    template = testbed.template()
    with testbed.running_postgres(template), ExitStack() as stack:
        testbed.prepare_template(template, fresh=False)
        follow_update(template)
        llm = mock_llms.start_scripted_llm(processes.free_port(), folder=LOGS / "deployment")
        stack.callback(llm.stop)
        clock = mcp_servers.start_time(processes.free_port(), folder=LOGS / "deployment")
        stack.callback(clock.stop)
        llm.wait()
        clock.wait()
        facts = {
            "WOOW_AI_DEMO_LLM_URL": llm.base_url,
            "WOOW_AI_DEMO_LLM_MODEL": "gpt-4o",
            "WOOW_AI_DEMO_LLM_KEY": "test",
            "WOOW_AI_DEMO_MCP_TIME_URL": clock.url,
        }
        source = testbed.with_demo_servers(template, facts)
        for way, services in (("systemd", units()), ("containers", containers())):
            follow(way, services, source, llm, facts)


if __name__ == "__main__":
    main()
