import asyncio
import contextlib
import time
from typing import get_args, get_type_hints

import pytest
from hypothesis import settings
from memory_store import MemoryStore

from services import metrics
from services.errors import EngineError
from services.mcp.pool.breaker import State
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import Outcome, ServerSpec, TurnResult
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_oauth import FakeOAuth
from services.testing.memory_tokens import MemoryTokens
from services.turn.queue.runner import Runner

POLICY = EgressPolicy.parse("127.0.0.1:*")

settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")


# What may part a measure: few values, none of which anybody has named.
KINDS = {*get_args(Outcome), *get_args(State), *get_args(get_type_hints(TurnResult)["state"])}
KINDS |= {"input", "output", "cached"}

LEGACY = ["json", "stream", "sse"]
MODERN = ["modern", "modern stream"]


@pytest.fixture(params=[*LEGACY, *MODERN])
async def any_fake(request):
    """The same server over each HTTP transport of each era, with a spec for it."""
    async with fake_of(request.param) as fake:
        yield fake


@pytest.fixture(params=LEGACY)
async def legacy_fake(request):
    """As `any_fake`, but with sessions."""
    async with fake_of(request.param) as fake:
        yield fake


@pytest.fixture(params=MODERN)
async def modern_fake(request):
    """As `any_fake`, but of the 2026-07-28 revision only."""
    async with fake_of(request.param) as fake:
        yield fake


@contextlib.asynccontextmanager
async def fake_of(kind):
    eras = ("modern",) if kind in MODERN else ("legacy",)
    async with FakeMcp(stream=kind.endswith("stream"), eras=eras) as fake:
        fake.spec = spec_of(fake, legacy=kind == "sse")
        yield fake


@pytest.fixture
async def fake():
    async with FakeMcp() as server:
        server.spec = spec_of(server)
        yield server


@pytest.fixture
async def authority(fake):
    """The authorization server of `fake`, which then wants a token for each request."""
    async with FakeOAuth(fake) as server:
        yield server


@pytest.fixture
async def tokens():
    return MemoryTokens()


@pytest.fixture
async def pool(tokens):
    pool = Pool(POLICY, can_ask=True, tokens=tokens)
    yield pool
    await pool.close()


def codes(error):
    """Of its class and all below it."""
    return {error.code}.union(*map(codes, error.__subclasses__()))


class Labels:
    """A sink of metrics that knows what may part them.

    :ivar strange: other labels that came
    """

    def __init__(self):
        self.strange = []

    def add(self, name, _value, labels):
        known = KINDS | codes(EngineError)
        if not known.issuperset(labels.values()) or labels.keys() != set(
            metrics.MEASURES[name].labels
        ):
            self.strange.append((name, labels))

    set = add

    def observe(self, name, _seconds):
        self.add(name, 1, {})


@pytest.fixture(autouse=True)
def _kinds_only(monkeypatch):
    """Whatever happens, who watches a process learns no name."""
    labels = Labels()
    monkeypatch.setattr(metrics, "_sink", labels)
    yield
    assert labels.strange == []


@pytest.fixture
def store():
    """The queue of a runner, in memory."""
    return MemoryStore()


@pytest.fixture
def start(store):
    """Starts runners on that queue; they end with the test."""
    runners = []

    def start_runner(engine, **options):
        runner = Runner(engine, lambda text: f"<p>{text}</p>", **options)
        runner.start()
        runner.attach(store)
        runners.append(runner)
        return runner

    yield start_runner
    for runner in runners:
        runner.stop(0.1)


@pytest.fixture
def pass_time(monkeypatch):
    """``await pass_time(seconds)``: every clock of this process goes on by them at once."""
    passed, real = 0.0, time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + passed)

    async def go_on(seconds):
        nonlocal passed
        passed += seconds
        await asyncio.sleep(0.01)  # what was due by then comes first

    return go_on


def spec_of(fake, *, legacy=False, **more):
    return ServerSpec(
        id=1,
        name="fake",
        url=fake.sse_url if legacy else fake.url,
        transport="sse" if legacy else "streamable_http",
        **more,
    )


@pytest.fixture
def root(tmp_path):
    """A folder that the operator releases, with ways out of it."""
    (tmp_path / "files/team").mkdir(parents=True)
    (tmp_path / "files-of-others").mkdir()
    (tmp_path / "files/way-out").symlink_to("/etc")
    (tmp_path / "files/shortcut").symlink_to(tmp_path / "files/team")
    return tmp_path / "files"
