"""MCP prompts and resources of the servers of a chat, for routes that wait for them.

As in `direct_call` the servers are asked after the request's commit. Reading has no side effects, so
there is no row to write; only files that a server sends are kept, in a transaction of their own.
"""

import asyncio
from dataclasses import asdict, dataclass
from typing import Any

from ...services.errors import EngineError
from ...tools import db
from ...tools.sentences import Reader
from .. import process
from . import api_error
from .after_commit import AfterCommit

CONNECT_ALLOWANCE = 5.0  # s beside a request's own limit, to open the session


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """The servers that a request asks for its person.

    :ivar servers: `mcp_server` records
    :ivar session_key: what the engine's sessions belong to: a conversation, or the new chats of a person
    :ivar channel_id: of the conversation that keeps what comes with the answers; a new chat keeps nothing
    """

    env: Any
    servers: Any
    session_key: int | str
    channel_id: int | None = None


def list_response(query, **readers):
    """Ask all of these servers at once; one that fails costs only its own part.

    :param readers: key of the answer -> ``await reader(features)``, a list of dataclasses
    :return: a response ``{key: [{"server", …}], "problems": [{"server", "code", "message"}]}``
    """
    reader, session_key = Reader(query.env.lang), query.session_key
    specs, problems = query.servers._server_specs(query.env.user)
    answer = {key: [] for key in readers}
    answer["problems"] = [
        _problem(query.servers.browse(server_id), error, reader)
        for server_id, error in problems.items()
    ]

    async def ask(engine):
        async def read(spec, key):
            return key, spec, await readers[key](engine.features(spec, session_key))

        async def safely(spec):
            try:
                return await asyncio.gather(*(read(spec, key) for key in readers))
            except EngineError as error:
                answer["problems"].append(_problem(spec, error, reader))
                return []

        return await asyncio.gather(*map(safely, specs.values()))

    def work():
        limit = max((spec.sync_timeout for spec in specs.values()), default=0) + CONNECT_ALLOWANCE
        for found in process.wait_for(ask, limit) if specs else ():
            for key, spec, entries in found:
                answer[key] += [{"server": _name(spec), **asdict(entry)} for entry in entries]
        return answer, 200

    return AfterCommit(query.env, work)


def single_response(query, server, ask, shape):
    """Ask one of these servers.

    :param ask: ``await ask(features)``
    :param shape: ``shape(what it gave, write)`` makes the answer, or raises;
        ``write(work)`` gives ``work(channel)``, the conversation in a transaction with all rights;
        None where there is no conversation
    :raise EngineError: the server cannot be asked for the caller
    """
    dbname, reader = query.env.cr.dbname, Reader(query.env.lang)
    session_key, channel_id = query.session_key, query.channel_id
    spec = server._server_spec(query.env.user)

    def write(work):
        return db.transaction(dbname, lambda env: work(env["discuss.channel"].browse(channel_id)))

    async def read(engine):
        return await ask(engine.features(spec, session_key))

    def work():
        try:
            found = process.wait_for(read, spec.call_timeout + CONNECT_ALLOWANCE)
        except EngineError as error:
            refused = api_error.of(error, reader)
            refused.details["server"] = _name(spec)
            raise refused from error
        return shape(found, write if channel_id else None), 200

    return AfterCommit(query.env, work)


def _name(server):
    return {"id": server.id, "name": server.name}


def _problem(server, error, reader):
    return {"server": _name(server), **api_error.of(error, reader).item()}
