"""Stdio transport: starts the process of a server and keeps the end of its output on stderr."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import anyio

from ... import const, jsonrpc, large, text
from ...errors import (
    ConfigError,
    EngineError,
    ProtocolError,
    ResultTooLarge,
    SandboxUnavailable,
    ServerPaused,
)
from ...large_result_bypass import LargeResultBypass
from ...net.intake import Intake
from ...sandbox import bubblewrap, packages
from ...sentence import _lt
from ...specs import SandboxSpec, ServerSpec
from .noise import Noise
from .streams import BREATH

STDERR_KEPT = 16_000  # characters
LAST_OUTPUT = 300  # characters that `last_output` has
BLOT = "•••"
STDERR_DELAY = 1.0  # s, output within it is reported once
SHORT_LIFE = 10.0  # s, a process that ends sooner has crashed
FIRST_PAUSE = (
    1.0  # s after the second crash in a row, doubled each time; after the first there is none
)
MAX_PAUSE = 60.0  # s

EXIT_GRACE = 2.5  # s for a program to end by itself once its stdin is closed (MCP, basic/lifecycle, shutdown)
TERM_GRACE = 2.0  # s, the same after SIGTERM
KILL_GRACE = 0.5  # s for what was killed to be gone
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "LOGNAME",
    "USER",
)  # of our environment

FETCHING = (  # of our environment, for what fetches packages: the way out and whom to trust
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *(
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "npm_config_registry",
        "UV_INDEX_URL",
    ),
)
_logger = logging.getLogger(__name__)

CHILD = str(Path(__file__).with_name("stdio_child.py"))


class _Child(Protocol):
    """An `asyncio.subprocess.Process` whose three streams are pipes."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    pid: int
    returncode: int | None
    _transport: asyncio.SubprocessTransport

    async def wait(self) -> int: ...
    def send_signal(self, signal: int) -> None: ...


class Process:
    """State of a server's successive processes: their output, and the pause after crashes.

    :ivar stderr: the end of their output
    :param tell: called on the loop with it, a moment after it has changed
    """

    def __init__(self, tell: Callable[[str], None] | None = None):
        self.stderr = ""
        self._tell = tell
        self._telling = False
        self._new_characters = 0  # since the last start
        self._crashes = 0
        self._started_at = 0.0
        self._paused_until = 0.0

    def on_start(self) -> None:
        """:raises ServerPaused: it crashed a moment ago"""
        now = time.monotonic()
        if now < self._paused_until:
            raise ServerPaused(
                _lt("The MCP server's process crashed and will be restarted in a moment."),
                detail=self.stderr[-500:],
                retry_after=self._paused_until - now,
            )
        self._started_at = now

    def forget_output(self) -> None:
        """A new process starts: earlier output is not part of its `last_output`."""
        self._new_characters = 0

    @property
    def last_output(self) -> str:
        """The end of the current process's output, in one line."""
        return (
            text.one_line(self.stderr[-min(self._new_characters, LAST_OUTPUT) :], LAST_OUTPUT)
            if self._new_characters
            else ""
        )

    def on_end(self, asked: bool) -> None:
        """:param asked: whether we ended it"""
        now = time.monotonic()
        if asked or now - self._started_at > SHORT_LIFE:
            self._crashes = 0
            return
        if self._crashes:
            self._paused_until = now + min(FIRST_PAUSE * 2 ** (self._crashes - 1), MAX_PAUSE)
        self._crashes += 1

    def on_output(self, chunk: bytes, secrets: Sequence[str] = ()) -> None:
        """:param secrets: what is blotted out"""
        new = text.clean(chunk.decode("utf-8", "replace"))
        output = self.stderr + new
        for secret in secrets:
            output = output.replace(secret, BLOT)
        self.stderr = output[-STDERR_KEPT:]
        self._new_characters += len(new)
        if self._tell and not self._telling:
            self._telling = True
            asyncio.get_running_loop().call_later(STDERR_DELAY, self._tell_now)

    def silence(self) -> None:
        """Report no more of its output, neither its last words."""
        self._tell = None

    def _tell_now(self) -> None:
        self._telling = False
        if self._tell:
            self._tell(self.stderr)


@contextlib.asynccontextmanager
async def streams(
    spec: ServerSpec, process: Process, aside: LargeResultBypass, intake: Intake
) -> AsyncIterator[tuple[Any, Any]]:
    """The read and write stream of a new process, in a process group and with an environment of its own.

    Of our environment it sees what a program needs to start and nothing else. Whatever happens, the
    whole group is gone at the end.

    :raises ConfigError: there is no such command, or no sandbox for one that needs it
    """
    if not spec.command:
        raise ConfigError(_lt("The MCP server has no command."))
    process.forget_output()
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | dict(
        spec.env
    )
    box = await _sandbox_of(spec)
    command, package = spec.command, ""
    if box and box.package:
        package = str(await _package(box, environment, process, spec.secrets))
        command = (packages.program(box), *box.args)
    else:
        _check_program(command[0], environment)
    child = await _spawn(command, environment, box, package)
    read_in, read_out = anyio.create_memory_object_stream(0)
    write_in, write_out = anyio.create_memory_object_stream(0)
    work = [
        asyncio.create_task(_read(child.stdout, read_in, aside, intake)),
        asyncio.create_task(_write(write_out, child.stdin)),
        asyncio.create_task(_listen(child.stderr, process, spec.secrets)),
    ]
    try:
        yield read_out, write_in
    finally:
        try:
            child.stdin.close()
            await _end(child)
        finally:
            _kill(child.pid)
            for task in work[:2]:
                task.cancel()
        await asyncio.wait(work, timeout=KILL_GRACE)
        work[2].cancel()
        child._transport.close()


def _check_program(program: str, environment: Mapping[str, str]) -> None:
    """:raises ConfigError: it is not there"""
    if not shutil.which(program, path=environment.get("PATH")):
        raise ConfigError(
            _lt(
                "The program %(name)s of this MCP server is not installed on this host.",
                name=program,
            )
        )


async def _spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    box: SandboxSpec | None,
    package: str = "",
    *,
    is_fetching: bool = False,
) -> _Child:
    """Start a program below a supervisor, in a sandbox if it has one."""
    files = []
    if box:
        files.append(bubblewrap.file_of(bubblewrap.calls()))
        command = bubblewrap.wrapped(
            box, command, environment, files[0], package=package, is_fetching=is_fetching
        )
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", CHILD, str(os.getpid()), *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
            pass_fds=files,
        )
        return cast(_Child, child)
    finally:
        for file in files:
            os.close(file)


async def _sandbox_of(spec: ServerSpec) -> SandboxSpec | None:
    """The sandbox that a program gets here.

    :raises SandboxUnavailable: it needs one, and this host allows none
    """
    if not spec.sandbox:
        return None
    problem = await asyncio.to_thread(bubblewrap.problem)
    if not problem:
        return spec.sandbox
    if spec.sandbox.required:
        raise SandboxUnavailable(detail=problem)
    _logger.warning("MCP server %s runs without a sandbox. %s", spec.id, problem)
    return None


async def _package(
    box: SandboxSpec, environment: Mapping[str, str], process: Process, secrets: Sequence[str]
) -> Path:
    """The folder of a program's package, fetched in a sandbox of its own where it is not there.

    :raises ConfigError: it cannot be fetched
    """
    folder = packages.folder(box)
    if folder.is_dir():
        return folder
    command, variables = packages.fetching(box)
    _check_program(command[0], environment)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = tempfile.mkdtemp(prefix=".draft-", dir=folder.parent)
    own = {name: environment[name] for name in (*PASSED_ON, *FETCHING) if name in environment}
    own |= {name: os.environ[name] for name in FETCHING if name in os.environ} | variables
    try:
        child = await _spawn(command, own, box, draft, is_fetching=True)
        work = [
            asyncio.create_task(_listen(stream, process, secrets))
            for stream in (child.stdout, child.stderr)
        ]
        child.stdin.close()
        try:
            await asyncio.wait(work)
            code = await child.wait()
        finally:
            await _end(child)
            _kill(child.pid)
            child._transport.close()
        if code:
            raise ConfigError(
                _lt("The package %(name)s of this MCP server cannot be fetched.", name=box.package)
            )
        with contextlib.suppress(OSError):  # another process has fetched it meanwhile
            os.rename(draft, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
    return folder


async def _end(child: _Child) -> None:
    """Let the program end by itself, then ask it to, then kill it; cancelled, it waits for next to nothing."""
    try:
        if await _has_ended(child, EXIT_GRACE):
            return
        _signal(child, signal.SIGTERM)
        if await _has_ended(child, TERM_GRACE):
            return
    except asyncio.CancelledError:
        _signal(child, signal.SIGTERM)
        await _has_ended(child, KILL_GRACE)
        raise
    finally:
        _signal(child, signal.SIGUSR1)  # see stdio_child
        await _has_ended(child, KILL_GRACE)


def _signal(child: _Child, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(number)


async def _has_ended(child: _Child, within: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(child.wait(), within)
    return child.returncode is not None


async def _read(
    stdout: asyncio.StreamReader, heard: Any, aside: LargeResultBypass, intake: Intake
) -> None:
    """One message per line; lines that are not JSON-RPC (stray prints) are skipped."""
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp.types import JSONRPCMessage  # noqa: PLC0415

    noise = Noise(const.WIRE_CAP)
    async with heard:
        with contextlib.suppress(ConnectionError, ResultTooLarge):
            async for line in _lines(stdout, intake):
                message = await _message(line, noise, aside)
                if message is not None:
                    with contextlib.suppress(ValueError):
                        await heard.send(SessionMessage(JSONRPCMessage.model_validate(message)))


async def _message(
    line: bytearray, noise: Noise, aside: LargeResultBypass
) -> dict[str, Any] | None:
    """The message of a line as the client may see it, if any.

    :raises ResultTooLarge: the process sends too much beside its answers
    """
    size = len(line)
    try:
        message = await large.parse(line)
    except ResultTooLarge as error:
        return _failed(line, error)
    del line[:]  # it may be large, and its reader holds it
    if not isinstance(message, dict):
        return None
    if isinstance(message.get("method"), str):
        return message if noise.passes(size) else None
    request_id = message.get("id", "")
    try:
        answer = aside.without_large(jsonrpc.normal_answer(message, request_id), size)
    except ProtocolError:
        return None
    except ResultTooLarge as error:
        return jsonrpc.error(request_id, str(error))
    noise.answered()
    return answer


def _failed(line: bytearray, error: EngineError) -> dict[str, Any] | None:
    """An error in place of an answer that is too large, for the request it belongs to."""
    found = jsonrpc.ID.search(line, 0, large.SMALL)
    return jsonrpc.error(int(found[1]), str(error)) if found else None


async def _lines(stdout: asyncio.StreamReader, intake: Intake) -> AsyncIterator[bytearray]:
    """Read lines until one is larger than the cap."""
    rest, number = bytearray(), 0
    try:
        while chunk := await stdout.read(large.SMALL):
            *lines, last = chunk.split(b"\n")
            for line in lines:
                rest += line
                number += 1
                if not number % BREATH:
                    await asyncio.sleep(0)
                if rest not in (b"", b"\r"):
                    yield rest
                rest = bytearray()
            rest += last
            if len(rest) > const.WIRE_CAP:
                return
            await intake.grow(len(rest))
        if rest:
            yield rest
    finally:
        intake.end()


async def _write(messages: Any, stdin: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        async with messages:
            async for item in messages:
                line = item.message.model_dump_json(by_alias=True, exclude_none=True)
                stdin.write(line.encode("utf-8", "replace") + b"\n")
                await stdin.drain()


async def _listen(stderr: asyncio.StreamReader, process: Process, secrets: Sequence[str]) -> None:
    while chunk := await stderr.read(65_536):
        process.on_output(chunk, secrets)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
