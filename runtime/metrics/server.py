"""The metrics of a process that serves no other HTTP: `odoo-bin ai_runner` with `metrics_port`."""

import http.server
import logging
import threading
from http import HTTPStatus

from ...services import packages
from ...tools import settings
from . import exporter

_logger = logging.getLogger(__name__)


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = 10  # s for a request

    def do_GET(self):
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND)
        elif not exporter.allows(self.headers.get("Authorization", "")):
            self.send_error(HTTPStatus.UNAUTHORIZED)
        else:
            body = exporter.text().encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", exporter.CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *args):
        pass


def start() -> None:
    """Answer at `metrics_port`, if the operator wants it."""
    exporter.begin()
    port = settings.get().metrics_port
    if not port or not exporter.is_on():
        return
    if names := packages.missing(packages.METRICS):
        _logger.error("No metrics: the Python package %s is not installed.", names[0])
        return
    try:
        server = http.server.ThreadingHTTPServer(("", port), _Handler)
    except OSError as error:
        _logger.error("No metrics at port %s: %s", port, error)
        return
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="woow-ai-metrics", daemon=True).start()
