"""Tests, syncs and commands of a chat: they wait for servers after the commit, without a cursor, and are never made
twice.
"""

import asyncio

from odoo import http
from odoo.http import request

from ..runtime import process
from ..runtime.servers import server_jobs
from ..runtime.web.after_commit import AfterCommit
from ..runtime.web.checks import Check, diagnosis_data
from ..runtime.web.slots import at_most
from ..services.errors import EngineError
from ..services.specs import Payer
from ..tools import db, sentences, server_files
from .chat import (
    ROUTE,
    assistant_or_404,
    conversation_or_404,
    visible_or_404,
    visible_service,
)
from .dispatcher import body, query_int
from .mcp_servers import managed_or_404

PROVIDER = "ai.config"
TEST_TIMEOUT = 90.0  # s; models on slow machines need most of it for their first word
NAMES_TIMEOUT = 20.0  # s
COMMAND = (
    "/api/ai/conversations/<int:conversation_id>/command",
    "/api/ai/assistants/<int:assistant_id>/command",  # of a new chat; ?cloud_service_id=
)


class McpCheckController(http.Controller):
    @http.route("/api/mcp/servers/<int:server_id>/test", methods=["POST"], **ROUTE)
    def test_server(self, server_id):
        """Step by step up to the first that fails: ``{ok, steps, error, server}``."""
        return _Check(managed_or_404(server_id)).test()

    @http.route("/api/mcp/servers/<int:server_id>/sync", methods=["POST"], **ROUTE)
    def sync_server(self, server_id):
        """Read `tools/list` now: the server with its tools."""
        return _Check(managed_or_404(server_id)).sync()

    @http.route(list(COMMAND), methods=["POST"], **ROUTE)
    def command(self, conversation_id=None, assistant_id=None):
        """Answer a slash command about the chat's servers: ``{title, rows: [{name, about}]}``."""
        values = body("Command")
        wanted = values["server_ids"]
        if conversation_id is not None:
            channel = conversation_or_404(conversation_id)
            # sudo: ai.assistant - the caller has found their own conversation with it
            assistant = channel.sudo().woow_assistant_id
            servers = channel._mcp_servers() if wanted is None else channel._offered_mcp_servers()
        else:
            assistant = assistant_or_404(assistant_id)
            service = visible_service(query_int("cloud_service_id"))
            servers = assistant._offered_mcp_servers(request.env.user, service)
        if wanted is not None:
            servers = servers.filtered(lambda server: server.id in wanted)
        if values["command"] == "/mcp reload":
            return _Reload(assistant, servers).response()
        return assistant._command_answer(values["command"], servers)


class _Check(Check):
    """One question to a server."""

    def __init__(self, server):
        super().__init__(server, server._server_spec)

    def test(self):
        return self.response(self._test)

    def sync(self):
        return self.response(self._sync)

    def _test(self):
        diagnosis = process.wait_for(
            lambda engine: engine.diagnose(self.spec), self.spec.sync_timeout
        )

        def keep(env, server):
            if diagnosis.ok:
                server._record_health(diagnosis.found)
            else:
                server._record_failure(diagnosis.error)
            return {**diagnosis_data(env, diagnosis), "server": server._api_data()}

        return self.in_new_cursor(keep), 200

    def _sync(self):
        store = process.server_store(self.dbname)
        try:
            discovery = process.discover(self.spec)
        except EngineError as error:
            store.failed(self.spec.id, error)
            raise
        store.synced(self.spec.id, discovery)
        return self.in_new_cursor(lambda _env, server: server._api_data(with_tools=True)), 200


class _Reload:
    """The operator's file and the tools of a chat's servers, as far as the caller may have them read again."""

    def __init__(self, assistant, servers):
        env = request.env
        process.runner()
        self.env = env
        self.reader = sentences.Reader.manager(env)
        self.rows = assistant._reload_rows(servers)
        managed = assistant._managed_of(servers)
        managed._count_checks()
        # sudo: mcp_server - addresses and credentials, for the engine
        self.specs, problems = managed.sudo()._server_specs()
        for server_id, problem in problems.items():
            self.rows[server_id]["about"] = sentences.for_reader(problem, self.reader)
        self.rereads_file = env["ai.assistant"]._may_reread_file()
        self.dbname, self.uid, self.context = env.cr.dbname, env.uid, dict(env.context)

    def response(self):
        return AfterCommit(self.env, self._reload)

    def _reload(self):
        store, rows = process.server_store(self.dbname), dict(self.rows)
        if self.rereads_file:
            problem = server_files.reload()
            store.apply_file(False)
        outcomes = self._discovered()

        def tell(env):
            env = env(user=self.uid, context=self.context, su=False)
            for server_id, outcome in outcomes.items():
                failed = isinstance(outcome, EngineError)
                message = (
                    sentences.for_reader(outcome, self.reader)
                    if failed
                    else env._("Tools reloaded.")
                )
                rows[server_id] = {**rows[server_id], "about": message}
            lines = list(rows.values())
            if self.rereads_file:
                lines.insert(0, env["ai.assistant"]._file_row(problem))
            lines += env["ai.assistant"]._off_rows()
            return {"title": env._("Reloaded"), "rows": lines}, 200

        for server_id, outcome in outcomes.items():
            store.keep(server_id, outcome)
        return db.transaction(self.dbname, tell)

    def _discovered(self):
        """Ask all servers at once.

        :return: by id a `Discovery` or an `EngineError`
        """
        if not self.specs:
            return {}

        async def ask(engine):
            specs = self.specs.values()
            found = await asyncio.gather(*(server_jobs.discovered(engine, one) for one in specs))
            return dict(zip(self.specs, found, strict=True))

        timeout = max(spec.sync_timeout for spec in self.specs.values())
        return process.wait_for(ask, timeout)


class ProviderController(http.Controller):
    @http.route("/api/ai/providers/<int:provider_id>/test", methods=["POST"], **ROUTE)
    def test_provider(self, provider_id):
        """Step by step up to the first that fails: ``{ok, steps, error}``."""
        provider = _managed_or_404(provider_id)
        check = Check(provider, provider._llm_spec)
        payer = Payer(user=request.env.uid, company=request.env.company.id)

        def test():
            limit = at_most(TEST_TIMEOUT)
            diagnosis = process.wait_for(
                lambda engine: engine.diagnose_provider(check.spec, limit, payer), limit
            )

            def keep(env, provider):
                provider._record_test(diagnosis)
                return diagnosis_data(env, diagnosis)

            return check.in_new_cursor(keep), 200

        return check.response(test)

    @http.route("/api/ai/providers/models", methods=["POST"], **ROUTE)
    def list_models(self):
        """Names that the provider of a form offers, as it would be saved: ``{models}``."""
        values = body("ProviderAddress")
        provider_id = values.get("provider_id")
        provider = _managed_or_404(provider_id) if provider_id else request.env[PROVIDER]
        provider.check_access("create")
        check = Check(
            provider,
            lambda: provider._listing_spec(values["api_base_url"], values.get("api_key")),
        )

        def listed():
            names = process.wait_for(lambda engine: engine.model_names(check.spec), NAMES_TIMEOUT)
            return {"models": list(names or ())}, 200

        return check.response(listed)


def _managed_or_404(provider_id):
    missing = request.env._("This provider does not exist.")
    provider = visible_or_404(PROVIDER, provider_id, missing)
    provider.check_access("write")
    return provider
