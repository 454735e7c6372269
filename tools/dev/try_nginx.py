"""Runs a turn through a real nginx with the configuration that docs/deployment.md shows: only the ports differ."""

import re
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.dev import mcp_servers, mock_llms, processes, testbed
from tools.dev.paths import LOGS, ROOT
from tools.dev.progress import DevError, say

MAIN = """
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


def site(port: int, http_port: int, gevent_port: int) -> str:
    """The block of the document with these ports instead of 80, 8069 and 8072."""
    text = (ROOT / "docs/deployment.md").read_text()
    found = re.search(r"```nginx\n(.*?)```", text, re.DOTALL)
    if not found:
        raise DevError("docs/deployment.md has no nginx block.")
    block = found[1]
    for before, after in (
        ("listen 80;", f"listen 127.0.0.1:{port};"),
        ("127.0.0.1:8069", f"127.0.0.1:{http_port}"),
        ("127.0.0.1:8072", f"127.0.0.1:{gevent_port}"),
    ):
        if block.count(before) != 1:
            raise DevError(f"The nginx block does not have one “{before}”.")
        block = block.replace(before, after)
    return block


def start(folder: Path, odoo: testbed.OdooServer, port: int) -> processes.Process:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if not program:
        raise DevError("nginx is not installed.")
    gevent_port = int(odoo.gevent_url.rsplit(":", 1)[1])
    config = folder / "nginx.conf"
    config.write_text(
        MAIN.format(folder=folder, site=site(port, odoo.process.http_port, gevent_port))
    )
    process = processes.start(
        "nginx", [program, "-p", folder, "-c", config], log=LOGS / "try-nginx.log"
    )
    process.wait_until(lambda: processes.listens(port), timeout=20)
    return process


def watch(odoo: testbed.OdooServer, llm: mock_llms.ScriptedLlm, url: str) -> None:
    """Ask through nginx: events must arrive while the answer is written, and survive a cut line."""
    llm.script(
        {
            "match": {"userMessage": "nginx"},
            "response": {"content": "word " * 60},
            "latency": 100,
            "chunkSize": 10,
        }
    )
    http = odoo.login("user")
    http.base_url = url
    assistant = http.get("/api/ai/assistants").json()["assistants"][0]["id"]
    conversation = http.post("/api/ai/conversations", json={"assistant_id": assistant}).json()["id"]
    path = f"/api/ai/conversations/{conversation}/messages"
    stream = http.post(path, json={"content": "nginx"}).json()["stream_url"]
    arrivals: list[float] = []
    seen: list[int] = []
    for room in (5, 10_000):  # the line is cut after five events
        headers = {"Last-Event-ID": str(seen[-1] if seen else 0)}
        with http.stream("GET", stream, headers=headers) as answer:
            if answer.status_code != 200:
                raise DevError(f"The stream answered {answer.status_code}.")
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    seen.append(int(line[4:]))
                    arrivals.append(time.monotonic())
                    room -= 1
                if not room:
                    break
    if seen != list(range(1, len(seen) + 1)):
        raise DevError(f"The events arrived as {seen}.")
    spread = arrivals[-1] - arrivals[0]
    if spread < 1.5:
        raise DevError(f"All events arrived within {spread:.1f} s: something buffers them.")
    page = http.get("/web/login")
    say(
        f"nginx passed {len(seen)} events on over {spread:.1f} s; the page answered {page.status_code}."
    )


def main() -> None:
    template = testbed.template()
    with testbed.running_postgres(template), TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers are another user when root starts it
        testbed.prepare_template(template, fresh=False)
        llm = mock_llms.start_scripted_llm(processes.free_port(), folder=LOGS / "nginx")
        time_server = mcp_servers.start_time(processes.free_port(), folder=LOGS / "nginx")
        llm.wait()
        time_server.wait()
        facts = {
            "WOOW_AI_DEMO_LLM_URL": llm.base_url,
            "WOOW_AI_DEMO_LLM_MODEL": "gpt-4o",
            "WOOW_AI_DEMO_LLM_KEY": "test",
            "WOOW_AI_DEMO_MCP_TIME_URL": time_server.url,
        }
        odoo = testbed.OdooServer(
            testbed.with_demo_servers(template, facts),
            "nginx",
            workers=2,
            options={"proxy_mode": True},
            environment=facts,
        )
        odoo.start()
        port = processes.free_port()
        nginx = start(folder, odoo, port)
        try:
            watch(odoo, llm, f"http://127.0.0.1:{port}")
        finally:
            nginx.stop()
            odoo.stop()
            llm.stop()
            time_server.stop()


if __name__ == "__main__":
    main()
