"""Tests and syncs: they wait for the server after the commit, without a cursor, and are never made twice."""

from odoo import http

from ..runtime import process
from ..runtime.web.after_commit import AfterCommit
from ..runtime.web.api_error import ApiError, error_body
from ..services.errors import EngineError
from ..tools import db, sentences
from .chat import ROUTE
from .mcp_servers import SERVER, managed_or_404


class McpCheckController(http.Controller):
    @http.route("/api/mcp/servers/<int:server_id>/test", methods=["POST"], **ROUTE)
    def test_server(self, server_id):
        """Step by step up to the first that fails: ``{ok, steps, error, server}``."""
        return _Check(managed_or_404(server_id)).test()

    @http.route("/api/mcp/servers/<int:server_id>/sync", methods=["POST"], **ROUTE)
    def sync_server(self, server_id):
        """Read `tools/list` now: the server with its tools."""
        return _Check(managed_or_404(server_id)).sync()


class _Check:
    """One question to a server; the caller may change it."""

    def __init__(self, server):
        env = server.env
        process.runner()  # where nothing can be asked, nothing is counted
        env["woow_paas_platform.mcp_check"]._count_one()
        self.env = env
        self.spec = server._server_spec()
        self.dbname, self.uid, self.context = env.cr.dbname, env.uid, dict(env.context)

    def test(self):
        return AfterCommit(self.env, self._test)

    def sync(self):
        return AfterCommit(self.env, self._sync)

    def _test(self):
        diagnosis = process.wait_for(
            lambda engine: engine.diagnose(self.spec), self.spec.sync_timeout
        )

        def keep(env, server):
            if diagnosis.ok:
                server._record_health(diagnosis.discovery)
            else:
                server._record_failure(diagnosis.error)
            return {
                "ok": diagnosis.ok,
                "steps": [_step(env, step, diagnosis.error) for step in diagnosis.steps],
                "error": _error(env, diagnosis.error) if diagnosis.error else None,
                "server": server._api_data(),
            }

        return self._in_new_cursor(keep), 200

    def _sync(self):
        store = process.server_store(self.dbname)
        try:
            discovery = process.discover(self.spec)
        except EngineError as caught:
            failure = caught
            store.failed(self.spec.id, failure)
            told = self._in_new_cursor(lambda env, _server: _error(env, failure))
            return error_body(ApiError(502, told["code"], told["message"])), 502
        store.synced(self.spec.id, discovery)
        return self._in_new_cursor(lambda _env, server: server._api_data(with_tools=True)), 200

    def _in_new_cursor(self, work):
        """``work(env, server)`` as the caller, in the caller's language."""

        def run(env):
            env = env(user=self.uid, context=self.context, su=False)
            return work(env, env[SERVER].browse(self.spec.id))

        return db.transaction(self.dbname, run)


def _error(env, error):
    return {"code": error.code, "message": sentences.of_error(env, error)}


def _step(env, step, error):
    message = sentences.translated(env, step.message) if step.message else ""
    if step.state == "failed":
        message = sentences.with_inside(env, message, error.inside)
    return {
        "name": step.name,
        "state": step.state,
        "message": message,
        "advice": sentences.translated(env, step.advice) if step.advice else "",
        "duration_ms": step.duration_ms,
    }
