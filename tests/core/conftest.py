import asyncio
import contextlib
import time

import pytest
from hypothesis import settings
from memory_store import MemoryStore

from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import ServerSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_oauth import FakeOAuth
from services.testing.memory_tokens import MemoryTokens
from services.turn.queue.runner import Runner

POLICY = EgressPolicy.parse("127.0.0.1:*")

settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")


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
