"""Engine facade: joins `services/` to the runner of this process. LangChain and mcp come with it, see `load`."""

import asyncio
import concurrent.futures
import contextlib
import importlib
import logging

from ..services import const, packages, traces
from ..services.errors import AuthRequired, PackageMissing, ServerTimeout
from ..services.money import counting
from ..services.net import webhooks
from ..services.render import markdown

_logger = logging.getLogger(__name__)

SERVICES = f"{__name__.rpartition('.runtime.')[0]}.services.{{}}"
PROTOCOLS = (
    "jsonschema",
    "jwt",
    "langchain_mcp_adapters.sessions",
    "mcp",
    "yaml",
    *map(
        SERVICES.format,
        (
            "mcp.discovery.diagnose",
            "mcp.discovery.discovery",
            "mcp.discovery.health",
            "oauth.revocation",
            "mcp.features.prompts_resources",
            "openapi.operations",
            "mcp.pool.pool",
            "turn.tools",
        ),
    ),
)
MODELS = (
    "langchain_core.messages",
    "langchain_openai",
    "langsmith",
    "markdown_it",
    "openai",
    *map(SERVICES.format, ("turn.ai_client", "llm.reply", "llm.diagnose", "embeddings.index")),
)


def preload():
    """Import in a master that forks what the loop of each worker needs: once, and into memory that they share.

    What cannot be imported fails each turn that needs it, see `Engine.load`, and never the start of Odoo.
    """
    for names, group in ((PROTOCOLS, packages.PROTOCOLS), (MODELS, packages.MODELS)):
        with contextlib.suppress(Exception):
            _import(names, group)


def _import(names, group):
    packages.check(group)
    for name in names:
        importlib.import_module(name)


class Engine:
    """:param policy: where connections may go
    :param capacity: turns at a time; each may use as many servers as an assistant has
    :param watch: is told what the pool learns of servers, see `runtime.servers.watch.ServerWatch`
    :param tokens: the `services.oauth.flow.TokenStore`
    :param ledger: the `services.money.counting.Ledger`
    """

    def __init__(self, policy, capacity, watch, tokens, ledger):
        self.ledger = ledger
        self._watch = watch
        self._tokens = tokens
        self._policy = policy
        self._capacity = capacity
        self._pool = None
        self._connections = None
        self._vectors = None
        self._protocols = concurrent.futures.Future()
        self._models = concurrent.futures.Future()

    def load(self):
        """Import all that the loop uses, in a thread: seconds of CPU that must be nobody's who waits."""
        for loaded, names, group in (
            (self._protocols, PROTOCOLS, packages.PROTOCOLS),
            (self._models, MODELS, packages.MODELS),
        ):
            try:
                _import(names, group)
            except ImportError as error:  # of what one of ours depends on, or of another version
                _logger.exception("The engine cannot be loaded.")
                loaded.set_exception(PackageMissing(error.name or str(error)))
            except PackageMissing as error:
                _logger.error("%s", error)
                loaded.set_exception(error)
            except BaseException as error:
                loaded.set_exception(error)
            else:
                loaded.set_result(None)

    def is_loaded(self):
        return self._models.done()

    def wait_loaded(self):
        """Wait in any thread but the loop's; what could not be loaded is said by each turn that needs it."""
        concurrent.futures.wait([self._models])

    async def _with(self, loaded):
        # Who is cancelled leaves it to the others.
        await asyncio.shield(asyncio.wrap_future(loaded))

    @property
    def pool(self):
        """The MCP sessions of this process; lives on the runner's loop."""
        if self._pool is None:
            from ..services.mcp.pool.pool import Pool  # noqa: PLC0415

            self._pool = Pool(
                self._policy,
                max_sessions=self._capacity * const.MAX_SERVERS_PER_ASSISTANT,
                tokens=self._tokens,
                can_ask=True,
                on_opened=self._watch.opened,
                on_state=self._watch.state,
                on_list_changed=self._watch.list_changed,
                on_stderr=self._watch.stderr,
            )
        return self._pool

    @property
    def connections(self):
        """Connections to models that are kept between turns; they live on the runner's loop."""
        if self._connections is None:
            from ..services.llm.connections import Connections  # noqa: PLC0415

            self._connections = Connections()
        return self._connections

    @property
    def vectors(self):
        """Vectors of what tools mean; they live on the runner's loop."""
        if self._vectors is None:
            from ..services.embeddings.index import EmbeddingIndex  # noqa: PLC0415

            self._vectors = EmbeddingIndex(
                self.connections, self.ledger, on_state=self._watch.embeddings
            )
        return self._vectors

    async def run(self, request, progress, journal, stop):
        await self._with(self._models)
        from ..services.turn import ai_client, tools  # noqa: PLC0415

        turn_tools = await asyncio.to_thread(tools.TurnTools, request, self.pool, self.vectors)
        turn_tools.prepare()
        return await ai_client.run_turn(
            request, progress, journal, turn_tools, stop, connections=self.connections
        )

    async def reply(self, request, timeout, faults, kind="answer"):
        """One answer without a turn, see `services.llm.reply`.

        :param kind: of its cost
        """
        await self._with(self._models)
        from ..services.llm import reply  # noqa: PLC0415
        from ..services.turn import tools  # noqa: PLC0415

        turn_tools = await asyncio.to_thread(tools.TurnTools, request, self.pool)
        account = counting.Account(self.ledger, kind, request.payer, request.llm.database)
        return await reply.reply(
            request, turn_tools.functions, timeout, self.connections, faults, account
        )

    def render(self, text):
        return markdown.render(text)

    async def discover(self, spec):
        await self._with(self._protocols)
        from ..services.mcp.discovery import discovery, health  # noqa: PLC0415

        def once():
            return discovery.discover(
                spec,
                self._policy,
                can_ask=True,
                process=self.pool.process(spec),
                oauth=self.pool.oauth(spec),
            )

        try:
            async with asyncio.timeout(spec.sync_timeout):
                return await health.patiently(once)
        except TimeoutError as error:
            raise ServerTimeout from error

    async def check(self, specs, keep):
        """Ask servers whether they are well, see `services.mcp.discovery.health.check_all`."""
        await self._with(self._protocols)
        from ..services.mcp.discovery import health  # noqa: PLC0415

        await health.check_all(specs, self._policy, keep, self.pool.oauth)

    async def diagnose(self, spec):
        await self._with(self._protocols)
        from ..services.mcp.discovery import diagnose  # noqa: PLC0415

        return await diagnose.diagnose(
            spec, self._policy, can_ask=True, oauth=self.pool.oauth(spec)
        )

    async def diagnose_provider(self, spec, timeout, payer):
        """See `services.llm.diagnose`.

        :param payer: `services.specs.Payer`
        """
        await self._with(self._models)
        from ..services.embeddings import endpoint  # noqa: PLC0415
        from ..services.llm import diagnose  # noqa: PLC0415

        account = counting.Account(self.ledger, "connection", payer, spec.database)
        return await diagnose.diagnose(spec, timeout, self.connections, account, endpoint.size)

    async def model_names(self, spec):
        """See `services.llm.model_names`."""
        await self._with(self._models)
        from ..services.llm import model_names  # noqa: PLC0415

        return await model_names.read(spec, self.connections)

    async def call(self, call, conversation_id, timeout, **options):
        """One call without a turn, see `services.turn.execution.execute`.

        :param options: of `CallOptions`
        """
        await self._with(self._protocols)
        from ..services.mcp.session.call_options import CallOptions  # noqa: PLC0415
        from ..services.turn import execution  # noqa: PLC0415

        with traces.tool(call) as span:
            executed = await execution.execute(
                call,
                self.pool,
                conversation_id,
                timeout=timeout,
                options=CallOptions(**options),
            )
            if executed.error:
                span.fail(executed.error)
            span.end_call(executed.result)
        return executed

    def features(self, spec, conversation_id):
        """Prompts and resources of a server, see `services.mcp.features.prompts_resources.ServerFeatures`."""
        from ..services.mcp.features import prompts_resources  # noqa: PLC0415

        return prompts_resources.ServerFeatures(self.pool, spec, conversation_id)

    async def complete_sign_in(self, spec, answer):
        """:param answer: the query of the callback, see `services.oauth.flow.OAuth.complete`"""
        await self._with(self._protocols)
        if not (oauth := self.pool.oauth(spec)):
            raise AuthRequired
        await oauth.complete(answer)

    async def revoke(self, token_set):
        """Give tokens back, see `services.oauth.revocation.revoke`."""
        await self._with(self._protocols)
        from ..services.oauth import revocation  # noqa: PLC0415

        await revocation.revoke(token_set, self._policy)

    async def fetch(self, url, timeout, **cap):
        await self._with(self._protocols)
        from ..services.openapi import operations  # noqa: PLC0415

        return await operations.fetch(url, self._policy, timeout=timeout, **cap)

    async def deliver(self, delivery):
        """One try, see `services.net.webhooks.post`."""
        return await webhooks.post(delivery, self._policy)

    async def drop(self, database, server_id):
        """Close every session of a server at once.

        :param database: the database that the server stands in
        """
        if self._pool is not None:
            self._pool.drop(database, server_id)

    async def leave(self, database):
        """Close every session of a database that rests or is gone, see `Pool.leave`."""
        if self._pool is not None:
            self._pool.leave(database)
        self._watch.leave(database)

    async def release(self, database, conversation_id):
        """Close every session of a conversation that is over."""
        if self._pool is not None:
            self._pool.release(database, conversation_id)

    async def reset_breaker(self, database, server_id):
        """Ask a server again that was left alone, see `Pool.reset_breaker`."""
        if self._pool is not None:
            self._pool.reset_breaker(database, server_id)

    async def close(self):
        if self._pool is not None:
            await self._pool.close()
        if self._vectors is not None:
            await self._vectors.close()
        if self._connections is not None:
            await self._connections.close()
