"""Programs in a sandbox: what they reach of the host, asked of a real one by its own tools."""

import asyncio
import json
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import POLICY

from services.errors import EngineError, SandboxUnavailable
from services.mcp.pool.pool import Pool
from services.mcp.transport import stdio
from services.sandbox import bubblewrap, packages
from services.specs import SandboxSpec, ServerSpec

needs_sandbox = pytest.mark.skipif(
    bool(bubblewrap.problem()), reason=f"no sandbox here: {bubblewrap.problem()}"
)
SERVER = """
import ctypes, json, os, pathlib, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"

def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def attempt(act):
    try:
        return act() or True
    except Exception as error:
        return f"{type(error).__name__}: {error}"

ACTS = {
    "read": lambda path: pathlib.Path(path).read_text(),
    "list": lambda path: sorted(os.listdir(path)),
    "write": lambda path: bool(pathlib.Path(path).write_text("mine")),
    "connect": lambda port: socket.create_connection(("127.0.0.1", port), 2).close(),
    "processes": lambda _: [int(name) for name in os.listdir("/proc") if name.isdigit()],
    "kill": lambda pid: os.kill(pid, 0),
    "trace": lambda pid: done(libc.ptrace(0x4206, pid, None, None)),
    "namespace": lambda _: done(libc.unshare(0x10000000)),
    "forked namespace": lambda _: done(libc.syscall(56 if X86 else 220, 0x10000011, 0, 0, 0, 0)),
    "mount": lambda _: done(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
    "keys": lambda _: done(libc.syscall(250 if X86 else 219, 0, -3, 1)),
    "raw socket": lambda _: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "status": lambda _: pathlib.Path("/proc/self/status").read_text(),
    "limits": lambda _: pathlib.Path("/proc/self/limits").read_text(),
    "environment": lambda _: dict(os.environ),
    "program": lambda _: subprocess.run(["sh", "-c", "echo yes"], capture_output=True, text=True).stdout,
}

def answer(message):
    if message["method"] == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bare", "version": "1"}}
    given = message["params"]["arguments"]
    said = {name: attempt(lambda: ACTS[name.split(" of ")[0]](value)) for name, value in given.items()}
    return {"content": [{"type": "text", "text": json.dumps(said)}]}

def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)

if __name__ == "__main__":
    serve()
"""
ENDS = (
    SERVER
    + """
    import time
    def end(*_):
        print("saved", file=sys.stderr, flush=True)
        sys.exit()
    signal.signal(signal.SIGTERM, end)
    time.sleep(1000)
"""
)


@pytest.fixture
async def pool():
    pool = Pool(POLICY)
    yield pool
    await pool.close()


@pytest.fixture
def host(tmp_path):
    """Folders as an Odoo has them."""
    for folder in ("work/ours", "work/theirs", "data/filestore"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work/theirs/note").write_text("theirs")
    (tmp_path / "data/secret_key").write_text("secret")
    (tmp_path / "odoo.conf").write_text("admin_passwd = secret")
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def spec_of(host, code=SERVER, **more):
    box = {"network": False, "folders": (str(host / "work/ours"),), **more}
    command = (sys.executable, "-c", code)
    return ServerSpec(
        id=1, name="bare", command=command, connect_timeout=60, sandbox=SandboxSpec(**box)
    )


async def ask(pool, spec, **acts):
    result = await pool.call(spec, 1, "any", acts, timeout=60)
    return json.loads(result["content"][0]["text"])


def refused(said):
    return {name for name, answer in said.items() if isinstance(answer, str) and "Error" in answer}


@needs_sandbox
async def test_its_own_folder_is_all_that_it_has_of_the_host(pool, host):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        out = {
            "read of conf": str(host / "odoo.conf"),
            "read of key": str(host / "data/secret_key"),
            "list of filestore": str(host / "data/filestore"),
            "list of theirs": str(host / "work/theirs"),
            "read of theirs": str(host / "work/theirs/note"),
            "read of passwords": "/etc/shadow",
            "list of home": "/home",
            "write of system": "/usr/woow-evil",
            "write of etc": "/etc/woow-evil",
            "read of memory": f"/proc/{os.getpid()}/environ",
            "connect": listening.getsockname()[1],
            "kill": os.getpid(),
            "trace": os.getpid(),
            **dict.fromkeys(("namespace", "forked namespace", "mount", "keys", "raw socket")),
        }
        said = await ask(pool, spec_of(host), **out)
    assert refused(said) == set(out), said
    inside = await ask(
        pool,
        spec_of(host),
        **{"list of works": str(host / "work"), "write": str(host / "work/ours/new")},
        **dict.fromkeys(("processes", "status", "limits", "environment", "program")),
    )
    assert inside["list of works"] == ["ours"]
    assert (host / "work/ours/new").read_text() == "mine"
    assert len(inside["processes"]) <= 3
    assert "NoNewPrivs:\t1" in inside["status"] and "Seccomp:\t2" in inside["status"]
    assert "CapEff:\t0000000000000000" in inside["status"]
    (files,) = [line for line in inside["limits"].splitlines() if line.startswith("Max open files")]
    assert files.split()[3:5] == ["1024", "1024"]
    assert inside["environment"]["HOME"] == "/tmp"
    assert inside["program"] == "yes\n"


@needs_sandbox
async def test_a_program_that_needs_the_network_has_it(pool, host):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        said = await ask(pool, spec_of(host, network=True), connect=port, kill=os.getpid())
    assert said["connect"] is True
    assert refused(said) == {"kill"}


@needs_sandbox
async def test_what_the_operator_names_is_there_but_for_what_is_hidden(pool, host):
    spec = replace(spec_of(host), command=(sys.executable, str(host / "server.py")))
    with pytest.raises(EngineError):
        await ask(pool, spec, status=None)
    box = replace(spec.sandbox, readable=(str(host / "server.py"),))
    assert not refused(await ask(pool, replace(spec, id=2, sandbox=box), status=None))
    box = replace(spec.sandbox, readable=(str(host),), hidden=(f"{host}/data", f"{host}/odoo.conf"))
    own = {"read of conf": f"{host}/odoo.conf", "list of data": f"{host}/data"}
    said = await ask(pool, replace(spec, id=3, sandbox=box), **own)
    assert refused(said) == {"read of conf"}
    assert said["list of data"] is True  # it is empty
    (host / "link").symlink_to(host / "data")
    box = replace(box, hidden=(f"{host}/link",))
    assert (await ask(pool, replace(spec, id=4, sandbox=box), **own))["list of data"] is True


@needs_sandbox
async def test_another_workspace_is_hidden_where_all_of_them_are_mounted(pool, host):
    spec = spec_of(host, readable=(str(host),), hidden=(str(host / "work"),))
    said = await ask(
        pool,
        spec,
        **{
            "list": str(host / "work"),
            "read of theirs": str(host / "work/theirs/note"),
            "write of work": str(host / "work/new"),
            "write of ours": str(host / "work/ours/new"),
        },
    )
    assert said["list"] == ["ours"]
    assert refused(said) == {"read of theirs", "write of work"}
    assert (host / "work/ours/new").read_text() == "mine"


@needs_sandbox
async def test_what_others_keep_in_a_home_is_not_there(pool, host):
    home = host / ".local"
    for folder in ("bin", "lib/own", "share/keyrings"):
        (home / folder).mkdir(parents=True)
    (home / "share/keyrings/login").write_text("secret")
    program = home / "bin/own"
    program.write_text(f"#!{sys.executable}\n{SERVER}")
    program.chmod(0o755)
    said = await ask(
        pool,
        replace(spec_of(host), command=(str(program),)),
        **{"list": str(home), "read": str(home / "share/keyrings/login")},
    )
    assert said["list"] == ["bin", "lib"]
    assert refused(said) == {"read"}


def test_what_a_package_runs_in_is_there(tmp_path):
    node = tmp_path / "bin/node"
    node.parent.mkdir()
    node.touch(0o755)
    box = SandboxSpec(runtime="node", package="x@1", packages=str(tmp_path / "packages"))
    environment = {"PATH": str(node.parent)}
    command = bubblewrap.wrapped(box, [f"{bubblewrap.PACKAGE}/bin/x"], environment, 3)
    place = command.index(str(node.parent))
    assert command[place - 1 : place + 2] == ["--ro-bind", str(node.parent), str(node.parent)]


def test_a_home_that_is_closed_has_no_settings():
    closed = "/" + "x" * 300  # as pathlib sees a folder that only others may enter: an error
    environment = {"PATH": os.environ["PATH"], "HOME": closed}
    command = bubblewrap.wrapped(SandboxSpec(), ["npm"], environment, 3, is_fetching=True)
    assert closed not in " ".join(command)


@needs_sandbox
async def test_it_is_asked_to_end_and_nothing_is_left(pool, host, monkeypatch):
    monkeypatch.setattr(stdio, "EXIT_GRACE", 0.05)
    monkeypatch.setattr(stdio, "TERM_GRACE", 20)
    spec = spec_of(host, ENDS)
    await ask(pool, spec, status=None)
    (session,) = pool._alive
    pool.release(spec.database, 1)
    await session.closed(30)
    assert pool.process(spec).last_output == "saved"


async def test_a_host_that_allows_none_is_told_apart(pool, host, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_try", lambda: "bwrap: No permissions to create new namespace")
    monkeypatch.setattr(bubblewrap, "_probe", bubblewrap._Probe())
    with pytest.raises(SandboxUnavailable) as raised:
        await ask(pool, spec_of(host), status=None)
    assert raised.value.code == "sandbox_unavailable"
    said = await ask(pool, replace(spec_of(host, required=False), id=2), status=None)
    assert "Seccomp:\t0" in said["status"]


def test_monitors_wait_for_no_host_and_many_ask_it_once(monkeypatch):
    asked, go = [], threading.Event()

    def slow():
        asked.append(threading.current_thread())
        go.wait()
        return "No permissions"

    monkeypatch.setattr(bubblewrap, "_try", slow)
    probe = bubblewrap._Probe()
    assert [probe.known() for _monitor in range(20)] == [None] * 20
    with ThreadPoolExecutor() as pool:
        starts = [pool.submit(probe.look) for _start in range(4)]
        go.set()
        assert [start.result() for start in starts] == ["No permissions"] * 4
    assert len(asked) == 1 and asked[0] is not threading.current_thread()
    assert probe.known() == "No permissions"


def npm_package(folder):
    """A package without dependencies, which npm installs from a folder."""
    (folder / "bin.js").write_text(
        """#!/usr/bin/env node
const fs = require("fs");
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.id === undefined) return;
    const can = (path) => { try { fs.writeFileSync(path, "x"); return true; } catch { return false; } };
    const result = message.method === "initialize"
        ? {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "n", version: "1"}}
        : {content: [{type: "text", text: JSON.stringify({package: can("/package/x"), own: can(process.argv[2])})}]};
    console.log(JSON.stringify({jsonrpc: "2.0", id: message.id, result}));
});
"""
    )
    (folder / "package.json").write_text(
        json.dumps({"name": "woow-example", "version": "1.0.0", "bin": {"other": "bin.js"}})
    )


@needs_sandbox
async def test_a_package_is_fetched_before_the_program_starts(pool, host, monkeypatch):
    (host / "package").mkdir()
    npm_package(host / "package")
    fetching = packages.fetching

    def from_folder(box):
        command, variables = fetching(box)
        return [*command[:-1], "--install-links", str(host / "package")], variables

    monkeypatch.setattr(packages, "fetching", from_folder)
    box = SandboxSpec(
        network=False,
        folders=(str(host / "work/ours"),),
        readable=(str(host / "package"),),
        runtime="node",
        package="woow-example@1.0.0",
        args=(str(host / "work/ours/new"),),
        packages=str(host / "packages"),
    )
    spec = ServerSpec(id=1, name="n", command=("npx",), connect_timeout=120, sandbox=box)
    assert await ask(pool, spec) == {"package": False, "own": True}
    assert [path.name for path in (host / "packages").iterdir()] == [packages.folder(box).name]
    monkeypatch.setattr(packages, "fetching", None)  # it is not fetched again
    assert await asyncio.wait_for(ask(pool, replace(spec, id=2)), 60) == {
        "package": False,
        "own": True,
    }
    assert not Path("/package").exists()
