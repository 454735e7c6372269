"""Tasks of servers, which the engine waits for where its caller takes tasks."""

import pytest

from services import const
from services.errors import ElicitationRequired, ProtocolError, ServerRefused, ServerTimeout
from services.mcp.pool.pool import Pool
from services.mcp.session import elicitation
from services.mcp.session.call_options import CallOptions
from services.mcp.session.elicitation import ElicitResult
from services.net.egress import EgressPolicy
from services.specs import ServerSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text

FORM = {"type": "object", "properties": {"seats": {"type": "integer"}}}
QUESTION = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "How many?", "requestedSchema": FORM},
}
WORKING = {"status": "working", "pollIntervalMs": 1}


class Tasks:
    """A server that makes a task of each call of a client that takes them.

    :param states: of the task, one a look; the last one stays
    """

    def __init__(self, *states):
        self.states, self.asked = list(states), []

    async def call(self, call):
        declared = call.params["_meta"][f"{const.META_PREFIX}clientCapabilities"]
        if const.TASKS not in declared.get("extensions", {}):
            return text("at once")
        return {"resultType": "task", "taskId": "t1", "status": "working", "pollIntervalMs": 1}

    async def asks(self, call):
        self.asked.append((call.headers["mcp-method"], call.params.get("inputResponses")))
        assert call.headers["mcp-name"] == call.params["taskId"] == "t1"
        if call.headers["mcp-method"] != "tasks/get":
            return {"resultType": "complete"}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"resultType": "complete", "taskId": "t1", **state}


async def made(server, timeout=30.0, ends_with="", **options):
    """:param ends_with: method that the server is asked at last"""
    fake = FakeMcp(eras=("modern",), tools={"work": (server.call, OBJECT)})
    fake.methods_more |= dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), server.asks)
    pool = Pool(EgressPolicy.parse("127.0.0.1:*"), can_ask=True)
    async with fake:
        spec = ServerSpec(id=1, name="fake", url=fake.url)
        try:
            wishes = CallOptions(**{"takes_task": True, **options})
            return await pool.call(spec, 1, "work", {}, timeout=timeout, options=wishes)
        finally:
            if ends_with:
                await fake.until(lambda: server.asked[-1][0] == ends_with)
            await pool.close()


async def test_the_result_of_a_task_is_that_of_the_call():
    server = Tasks(WORKING, WORKING, {"status": "completed", "result": text("done")})
    assert (await made(server))["content"][0]["text"] == "done"
    assert server.asked == [("tasks/get", None)] * 3
    assert (await made(server, takes_task=False))["content"][0]["text"] == "at once"


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"status": "failed", "error": {"code": -32603, "message": "Crashed."}}, ServerRefused),
        ({"status": "failed"}, ServerRefused),
        ({"status": "cancelled"}, ServerRefused),
        ({"status": "completed"}, ProtocolError),
        ({"status": ["x"]}, ProtocolError),
        ({}, ProtocolError),
    ],
)
async def test_what_ends_a_task_ends_the_call(state, error):
    with pytest.raises(error) as caught:
        await made(Tasks(state))
    if (state.get("error") or {}).get("code"):
        assert caught.value.rpc_code == -32603


async def test_a_task_that_takes_too_long_is_cancelled():
    server = Tasks(WORKING)
    with pytest.raises(ServerTimeout):
        await made(server, timeout=0.6, ends_with="tasks/cancel")


async def test_a_task_asks_and_goes_on_with_the_answers():
    asks = {"status": "input_required", "inputRequests": {"a": QUESTION}}
    server = Tasks(asks, {"status": "completed", "result": text("booked")})
    with pytest.raises(ElicitationRequired) as caught:
        await made(server, suspends=True)
    answers = {"a": ElicitResult(action="accept", content={"seats": 2})}
    resume = elicitation.retry_params(caught.value, answers)
    result = await made(server, suspends=True, resume=resume)
    assert result["content"][0]["text"] == "booked"
    assert ("tasks/update", resume["inputResponses"]) in server.asked
