"""Benchmarks of the engine, in small: each still runs, and its counts are right; no figure of time is looked at."""

import asyncio
import contextlib
import gzip
import hashlib
import json
import re

import psutil
import pytest

from benchmarks import answers, figures, watch
from benchmarks.answering import meaning
from benchmarks.mcp import __main__ as of_mcp
from benchmarks.mcp import recovery, soak
from dev.paths import ROOT
from services.testing.scripted_llm import ScriptedLlm

TOWNS = ("Accra", "Basel", "Cairo", "Dakar", "Essen", "Genoa", "Hanoi", "Izmir", "Kyoto", "Oslo")
KINDS = ("bridges", "concerts", "ferries", "harbours", "markets", "museums", "schools", "taxis")
THINGS = [(kind, town) for kind in KINDS for town in TOWNS]
PAGE = (ROOT / "docs/performance.md").read_text()
SECTIONS = [text for text in PAGE.split("\n## ") if "\n|" in text]


@pytest.mark.parametrize("part", of_mcp.PARTS)
async def test_engine_beside_a_bare_session(part, monkeypatch, capsys):
    """`make bench-mcp`: typed errors, usable servers, connections and refused results are counted."""
    monkeypatch.setattr(of_mcp, "CALLS", 10)
    monkeypatch.setattr(recovery, "TRIES", 1)
    await part()
    assert " (wanted: " in capsys.readouterr().out


async def test_engine_while_servers_restart(monkeypatch):
    """`make soak-mcp`: no call hangs, nothing leaks."""
    monkeypatch.setattr(soak.breaker, "PAUSE", 1.0)
    calls = soak.Soak(0.1)
    before, after, _drift = await calls.run()
    assert calls.hung == 0
    assert {what for what in after if after[what] > before[what]} == set()
    assert calls.outcomes["ok"] > 0


@pytest.fixture
def folder(tmp_path):
    """Tools and tasks as those of LiveMCPBench: a tool for each thing of each town, and a task for each tool."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(json.dumps(content).encode()))

    schema = {"type": "object", "properties": {"day": {"type": "string", "description": "A day."}}}
    tools = [
        {
            "name": f"{town.lower()}_{kind}",
            "description": f"The {kind} of {town}. " + "It tells where each of them is. " * 25,
            "inputSchema": schema,
        }
        for kind, town in THINGS
    ]
    servers = {f"s{n}": {"tools": tools[n::3]} for n in range(3)}
    write("livemcpbench/tools.json.gz", [{"description": "What a town has.", "tools": servers}])
    notes = [
        {"Steps": f"1. Find the {kind} of {town}.", "Tools": f"1. {town.lower()}_{kind}"}
        for kind, town in THINGS
    ]
    write(
        "livemcpbench/tasks.json.gz",
        [{"Question": "What is there to see?", "Annotator Metadata": each} for each in notes],
    )
    write("tools/towns.json.gz", {"server": "towns", "tools": tools})
    return tmp_path


def test_tools_that_tasks_need_are_found(folder, capsys):
    """`make bench-answers`."""
    answers.main(folder)
    assert f"| {100:.1f} % of {len(THINGS)} (" in capsys.readouterr().out


def test_tools_that_are_not_found_fail_the_benchmark(folder, monkeypatch):
    monkeypatch.setattr(answers.lookup.Lookup, "find", lambda *_arguments: [])
    with pytest.raises(figures.Missed, match="steps with a needed tool"):
        answers.main(folder)


async def test_tools_are_found_by_meaning(folder, capsys):
    """`make bench-meaning`, with an endpoint whose vectors say which words a text has."""
    async with ScriptedLlm() as endpoint:
        endpoint.embed = words
        await meaning.measure(folder, int(endpoint.base_url.rsplit(":", 1)[1].split("/")[0]))
    said = capsys.readouterr().out
    for way in ("by words", "by meaning", "both"):
        assert f"| steps in English beside the question: {way} | 100.0 % of {len(THINGS)} (" in said


def words(text):
    vector = [0.0] * 512
    for word in text.lower().replace(".", " ").replace("_", " ").split():
        vector[int(hashlib.md5(word.encode()).hexdigest(), 16) % 512] += 1.0
    return vector


@pytest.mark.parametrize(
    ("numbers", "missed"),
    [
        ([1, 2, 3], None),
        ([1, 3], "misplaced: 1"),
        ([1, 2, 2, 3], "misplaced: 1"),
        ([2, 1, 3], "misplaced: 1"),
        (None, "refused: 1"),
    ],
)
async def test_watched_events_are_there_once_in_order(numbers, missed, monkeypatch, capsys):
    """The readers of `make bench ARGS=streams` and of the fleet's streams.

    :param numbers: of the events that the stream tells; None where it is refused
    """
    monkeypatch.setattr(watch, "ARRIVAL", 0.0)
    monkeypatch.setattr(watch, "EVENT_TIMEOUT", 0.2)

    async def stream(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        if numbers is None:
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nretry: 1000\n\n")
            for number in numbers:
                writer.write(b'id: %d\ndata: {"at": 0}\n\n' % number)
            await reader.read()
        writer.close()

    server = await asyncio.start_server(stream, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        watched = watch.Watch(port, psutil.Process(), {"one": (7, "cookie")})
        await watched.run(lambda: 3)
    watched.tell(1.0)
    assert "lag p95" in capsys.readouterr().out
    with pytest.raises(figures.Missed, match=missed) if missed else contextlib.nullcontext():
        watched.check()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.splitlines()[0])
def test_figures_name_a_command_that_exists(section):
    """Each section of docs/performance.md with a table."""
    commands = re.findall(r"`(?:make|\.dev/venv/bin/python -m) ([\w.-]+)", section)
    assert commands
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    for command in commands:
        module = ROOT / f"{command.replace('.', '/')}.py"
        assert command in targets or module.exists(), command
