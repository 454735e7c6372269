"""The official suite's way to ``/mcp``: ``door.py PORT ODOO SERVER``.

The suite knows neither keys nor a gateway's names. Each request gets the key in ``KEY``, and its names the prefix that
the gateway gives to those of this server; the answer loses the prefix again. All else passes as it is.
"""

import contextlib
import http.client
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TIMEOUT = 60  # s
OWN = (
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
)  # headers of one connection


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    odoo: str
    name: str  # before names of tools and prompts
    uri: str  # before addresses of resources

    def do_POST(self) -> None:
        self._pass()

    do_GET = do_DELETE = do_POST

    def _pass(self) -> None:
        body = self._prefixed(self.rfile.read(int(self.headers.get("content-length") or 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in OWN}
        headers["Authorization"] = f"Bearer {os.environ['KEY']}"
        if "mcp-name" in self.headers:
            del headers[next(name for name in headers if name.lower() == "mcp-name")]
            called, method = self.headers["mcp-name"], self.headers.get("mcp-method", "")
            prefix = self.uri if method == "resources/read" else self.name
            headers["Mcp-Name"] = called if method.startswith("tasks/") else f"{prefix}{called}"
        line = http.client.HTTPConnection(self.odoo, timeout=TIMEOUT)
        with contextlib.closing(line):
            line.request(self.command, self.path, body or None, headers)
            self._answer(line.getresponse())

    def _prefixed(self, body: bytes) -> bytes:
        try:
            message = json.loads(body)
            params, method = message["params"], message["method"]
        except (ValueError, TypeError, KeyError):
            return body
        if "name" in params and method in ("tools/call", "prompts/get"):
            params["name"] = f"{self.name}{params['name']}"
        elif "uri" in params:
            params["uri"] = f"{self.uri}{params['uri']}"
        elif method == "completion/complete":
            params["ref"]["name"] = f"{self.name}{params['ref']['name']}"
        return json.dumps(message).encode()

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in (*OWN, "server", "date"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.readline():  # a message has no line breaks
            for prefix in (self.name, self.uri):
                piece = piece.replace(f'"{prefix}'.encode(), b'"')
            self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


def main(port: str, odoo: str, server: str) -> None:
    Door.odoo, Door.name, Door.uri = odoo, f"{server}__", f"odoo://{server}/"
    ThreadingHTTPServer(("127.0.0.1", int(port)), Door).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
