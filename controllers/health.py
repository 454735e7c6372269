from odoo import http
from odoo.http import request
from odoo.modules.module import get_manifest
from werkzeug.exceptions import NotFound

from ..runtime import process
from ..runtime.metrics import exporter
from ..runtime.traces import collector
from ..runtime.turns import listeners
from ..runtime.web.api_error import ApiError
from ..services import packages
from ..services.errors import SecretUnreadable
from ..services.sandbox import seccomp
from ..tools import mcp_switch, rehearsal, server_files, settings
from .openapi_document import document


class HealthController(http.Controller):
    """Routes that nobody has to sign in for."""

    @http.route(
        "/api/mcp/openapi.json", type="woow_ai", auth="none", methods=["GET"], readonly=True
    )
    def openapi(self):
        """The OpenAPI document of the routes; holds nothing of this database."""
        version = get_manifest("woow_paas_platform")["version"]
        return document(version, request.httprequest.url_root.rstrip("/"))

    @http.route("/api/ai/health", type="woow_ai", auth="none", methods=["GET"], readonly=True)
    def health(self):
        """Numbers for monitors: no names of people or servers, no addresses."""
        request.env.cr.execute(
            """
            SELECT COUNT(*) FILTER (WHERE state = 'queued'),
                   COUNT(*) FILTER (WHERE state = 'running'),
                   COUNT(*) FILTER (WHERE state = 'running'
                                      AND lease_until < now() AT TIME ZONE 'UTC')
              FROM woow_paas_platform_ai_turn
             WHERE state IN ('queued', 'running')
            """
        )
        queued, running, orphaned = request.env.cr.fetchone()
        request.env.cr.execute(
            "SELECT state, COUNT(*) FROM woow_paas_platform_mcp_server WHERE active GROUP BY state"
        )
        servers = dict(request.env.cr.fetchall())
        missing = packages.missing(
            packages.PROTOCOLS, packages.MODELS, packages.DOCUMENTS, packages.FORMULAS
        )
        # sudo: secrets - a number of those that cannot be read
        unreadable = request.env["woow_paas_platform.secret.mixin"].sudo()._count_unreadable()
        faulty, unknown = sorted(settings.get().faults), len(settings.get().unknown)
        if server_files.error():
            faulty.append("mcp_servers_file")
        status = "settings_invalid" if faulty or unknown else "ok"
        status = "package_missing" if missing else SecretUnreadable.code if unreadable else status
        request.env.cr.execute(
            "SELECT COUNT(*) FROM ai_config WHERE active AND embedding_problem IS NOT NULL"
        )
        (failing,) = request.env.cr.fetchone()
        return {
            "status": status,
            "mcp_enabled": mcp_switch.is_on(request.env),
            "missing_packages": missing,
            "unreadable_secrets": unreadable,
            "faulty_settings": faulty,
            "unknown_settings": unknown,
            "version": get_manifest("woow_paas_platform")["version"],
            "runner": {
                "in_process": settings.get().in_process_runner,
                "here": process.running_count(),
                "queued": queued,
                "running": running,
                "orphaned": orphaned,
            },
            "wakeup": listeners.channel().state(),
            "wakeup_reason": listeners.channel().reason(),
            "traces": collector.state(),
            "servers": servers,
            "isolation": {
                "documents": seccomp.is_known_to_kernel(),
                **request.env["woow_paas_platform.mcp_server"]._sandbox_state(),
            },
            "failing_embeddings": failing,
            "track_counts": rehearsal.counts(request.env.cr),
        }

    @http.route("/metrics", type="woow_ai", auth="none", methods=["GET"], readonly=True)
    def metrics(self):
        """Measures for Prometheus, with the operator's token; nobody else learns that there is anything."""
        if not exporter.is_on():
            raise NotFound
        if not exporter.allows(request.httprequest.headers.get("Authorization", "")):
            raise ApiError(
                401,
                "unauthenticated",
                "Send the operator's metrics_token as a bearer token.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if names := packages.missing(packages.METRICS):
            sentence = (
                f"The Python package {names[0]} is not installed: see requirements-extras.txt."
            )
            raise ApiError(503, "package_missing", sentence)
        found = exporter.text(request.env.cr)
        return request.make_response(found, [("Content-Type", exporter.CONTENT_TYPE)])
