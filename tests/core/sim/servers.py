"""MCP servers in memory: each call is executed where it arrives, whatever became of who has asked."""

from dataclasses import dataclass
from typing import Any

from services import jsonrpc
from services.errors import (
    ConnectFailed,
    ServerRefused,
    SessionExpired,
    SessionLost,
    SignInRequired,
)
from services.mcp.session import elicitation
from services.mcp.session.session import ServerInfo, Session

FORM = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}
PAGE = {"mode": "url", "message": "Visit this.", "url": "https://mcp.example.com/page"}


@dataclass(slots=True)
class Arrival:
    """One request that has reached a server; `executed` when it had its effect.

    `unanswered` are the questions that nobody had answered when their answers came.
    """

    at: float
    database: str
    server: int
    tool: str
    token: int
    arguments: dict[str, Any]
    resume: dict[str, Any]
    unanswered: list[str]
    executed: bool = False


class MemorySession(Session):
    """A session of the product on a transport of the world."""

    era = "modern"
    world = None

    async def _open(self, stack):
        process = self.world.running
        self.process = process
        await self._travel()
        if self.world.luck() < 0.03:
            raise ConnectFailed
        self.databases = set()  # of whom it has served
        self.world.opened.append(self)
        return ServerInfo(transport="streamable_http", protocol_version="2026-07-28", era="modern")

    @property
    def is_closing(self):
        return self._over.is_set()

    async def _travel(self):
        """The time a request or an answer takes."""
        future = self._loop.create_future()
        self.world.after(self.world.latency(), self.process.deliver, future, _nothing)
        await future

    async def _send(self, request):
        world, luck = self.world, self.world.luck()
        if luck < 0.01:
            raise ConnectFailed
        if luck < 0.02:
            self.retire()
            raise SessionExpired
        if luck < 0.03:
            raise SessionLost  # before it had arrived, but who knows
        params = request.params
        token = params["arguments"]["token"]
        wants = world.token_wants[token]
        self.databases.add(world.database_of[token])
        if wants == "held":
            await self._travel()
            with request.paused():
                answer = await request.options.on_elicit(elicitation.elicit_request(FORM))
            if answer.action != "accept":
                return _text("Not wanted.", is_error=True)
        arrival = Arrival(
            world.now,
            self.spec.database,
            self.spec.id,
            params["name"],
            token,
            params["arguments"],
            resume := params.get("inputResponses") or {},
            world.unanswered(self.spec.database, token) if resume else [],
        )
        future = self._loop.create_future()
        world.after(world.latency(), self._arrive, arrival, wants, future)
        return await future

    def _arrive(self, arrival, wants, future):
        world = self.world
        world.arrivals.append(arrival)
        answer = self._answer(arrival, wants)
        world.tell(f"server {arrival.database}/{arrival.server}", arrival)
        seconds = world.rng.choice((0.005, 0.05, 0.3, 1, 5, 20, 90)) if arrival.executed else 0.01
        luck = world.luck()
        if luck < 0.02:
            answer = _raise(SessionLost())
        if luck < 0.03:
            return  # it never answers
        world.after(seconds, self.process.deliver, future, answer)

    def _answer(self, arrival, wants):
        world, params = self.world, {"requestState": f"state of {arrival.token}"}
        asked = (arrival.database, arrival.token)
        if wants == "form" and not arrival.resume:
            world.asks[asked] += 1
            form = {"q": {"method": "elicitation/create", "params": FORM}}
            return lambda: {"resultType": "input_required", "inputRequests": form, **params}
        if wants == "form" and arrival.resume["q"]["action"] != "accept":
            return lambda: _text("Not wanted.", is_error=True)
        if wants == "page" and arrival.token not in world.visited:
            world.asks[asked] += 1
            error = {"elicitations": [{**PAGE, "elicitationId": "1"}]}
            return _raise(ServerRefused.of_rpc(jsonrpc.URL_REQUIRED, "Visit a page first.", error))
        if wants == "sign_in" and not world.people.is_signed_in(arrival.database, arrival.server):
            world.asks[asked] += 1
            world.people.hear_of_sign_in(arrival.database, arrival.server)
            return _raise(SignInRequired(url="https://login.example.com/", state="s"))
        arrival.executed = True
        return lambda: _text("done")


def _nothing():
    return None


def _text(text, is_error=False):
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _raise(error):
    def answer():
        raise error

    return answer
