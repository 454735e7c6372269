"""Deterministic OpenAI-compatible servers that nobody here wrote, for tests over real HTTP.

* *llmock* breaks on demand: errors, Retry-After, cut, corrupt and stalled streams, bad tool calls.
* *aimock* plays scripts: it answers by what the request holds (user text, tool results, turn).
"""

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dev import processes
from dev.paths import LOGS, VENV
from dev.setup import node


class MockLlm(processes.Service):
    """A running server; ``base_url`` is what a provider's record wants, ``url`` the server's root."""

    def __init__(self, name: str, port: int, process: processes.Process) -> None:
        super().__init__(name, port, process)
        self.url = f"http://{self.address}"
        self.base_url = f"{self.url}/v1"

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The JSON answer of one request to the server's own control routes."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")


class FaultLlm(MockLlm):
    """llmock: each behaviour is used up by the requests that come next."""

    def behave(self, *behaviors: dict[str, Any]) -> None:
        """Queue behaviours, for example ``{"type": "fail", "status": 429, "retry_after": 1}``."""
        self.call("POST", "/_llmock/scenario", {"behaviors": list(behaviors)})

    def requests(self) -> Any:
        """Every request so far, with its timing and the fault it got."""
        return self.call("GET", "/_llmock/requests")

    def reset(self) -> None:
        self.call("POST", "/_llmock/reset")


class ScriptedLlm(MockLlm):
    """aimock: the first fixture whose ``match`` fits a request gives its ``response``."""

    def script(self, *fixtures: dict[str, Any]) -> None:
        """Add fixtures: ``{"match": {"userMessage": …, "hasToolResult": …}, "response": {"content": …}}``.

        A response may hold ``toolCalls``; ``latency`` (ms between chunks) and ``chunkSize`` pace a stream.
        """
        self.call("POST", "/__aimock/fixtures", {"fixtures": list(fixtures)})

    def requests(self) -> Any:
        """Every request so far, with its body and the fixture that matched."""
        return self.call("GET", "/__aimock/journal")

    def reset(self) -> None:
        """Forget fixtures and requests."""
        self.call("POST", "/__aimock/reset")


def start_fault_llm(port: int, *, folder: Path = LOGS, options: Sequence[str] = ()) -> FaultLlm:
    """Start llmock; call :meth:`MockLlm.wait` before the first use."""
    process = processes.start(
        "llmock",
        [VENV / "bin/llmock", "serve", "--host", "127.0.0.1", "--port", str(port), *options],
        log=folder / f"llmock-{port}.log",
        env=processes.bare_environment(),
    )
    return FaultLlm("llmock", port, process)


def start_scripted_llm(port: int, *, folder: Path = LOGS) -> ScriptedLlm:
    """Start aimock without fixtures; what no fixture matches is a 404. Call :meth:`MockLlm.wait` first."""
    fixtures = folder / "aimock-none"
    fixtures.mkdir(parents=True, exist_ok=True)
    program = node.node_modules() / "@copilotkit/aimock/dist/cli.js"
    process = processes.start(
        "aimock",
        [node.node(), program, "--host", "127.0.0.1", "--port", str(port), "--fixtures", fixtures],
        log=folder / f"aimock-{port}.log",
        env=processes.bare_environment(),
    )
    return ScriptedLlm("aimock", port, process)
