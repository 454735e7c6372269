import pytest

from services.egress import EgressPolicy
from services.pool import Pool
from services.specs import ServerSpec
from services.testing.fake_mcp import FakeMcp

POLICY = EgressPolicy.parse("127.0.0.1:*")


@pytest.fixture(params=["json", "stream", "sse"])
async def any_fake(request):
    """The same server over each HTTP transport, with a spec for it."""
    async with FakeMcp(stream=request.param == "stream") as fake:
        fake.spec = spec_of(fake, legacy=request.param == "sse")
        yield fake


@pytest.fixture
async def fake():
    async with FakeMcp() as server:
        server.spec = spec_of(server)
        yield server


@pytest.fixture
async def pool():
    pool = Pool(POLICY)
    yield pool
    await pool.close()


def spec_of(fake, *, legacy=False, **more):
    return ServerSpec(
        id=1,
        name="fake",
        url=fake.sse_url if legacy else fake.url,
        transport="sse" if legacy else "streamable_http",
        **more,
    )
