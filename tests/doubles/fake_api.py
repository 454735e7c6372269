"""A small HTTP service on loopback that describes itself in OpenAPI: customers, their orders and notes."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Orders", "version": "1.2"},
    "servers": [{"url": "/v1"}],
    "paths": {
        "/customers/{customer_id}/orders": {
            "parameters": [{"$ref": "#/components/parameters/customer"}],
            "get": {
                "operationId": "listOrders",
                "summary": "Orders of a customer",
                "description": "Lists the orders of one customer, the latest first.",
                "parameters": [
                    {
                        "name": "state",
                        "in": "query",
                        "schema": {"$ref": "#/components/schemas/State"},
                    },
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1}},
                    {"name": "x-account-id", "in": "header", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "The orders."}},
            },
        },
        "/customers/{customer_id}/notes": {
            "parameters": [{"$ref": "#/components/parameters/customer"}],
            "post": {
                "operationId": "addNote",
                "summary": "Add a note",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Note"}}
                    },
                },
                "responses": {"201": {"description": "The note."}},
            },
        },
        "/stock": {
            "get": {
                "operationId": "stock",
                "summary": "What is in stock",
                "responses": {"200": {"description": "Never happens."}},
            }
        },
        "/upload": {
            "post": {
                "operationId": "upload",
                "requestBody": {
                    "required": True,
                    "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
                },
                "responses": {"201": {"description": "Stored."}},
            }
        },
    },
    "components": {
        "parameters": {
            "customer": {
                "name": "customer_id",
                "in": "path",
                "required": True,
                "description": "Number of the customer",
                "schema": {"type": "integer"},
            }
        },
        "schemas": {
            "State": {"type": "string", "enum": ["open", "shipped"], "nullable": True},
            "Note": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {"type": "string", "minLength": 1},
                    "author": {"type": "string", "description": "E-mail address of the author"},
                    "about": {"$ref": "#/components/schemas/Note"},
                },
            },
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
    },
}


class FakeApi:
    """``with FakeApi() as api:`` serves until the end of the block.

    :ivar requests: (method, path with query, headers in lower case, parsed body) as they arrived
    :param key: what ``X-API-Key`` has to hold; "" for none
    """

    def __init__(self, key: str = ""):
        self.key = key
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def document_url(self) -> str:
        return f"{self.url}/openapi.json"

    def __enter__(self) -> "FakeApi":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, target: str, headers: dict[str, str], body: Any):
        """(status, what goes out as JSON)"""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if path == "/openapi.json":
            return 200, DOCUMENT
        if self.key and headers.get("x-api-key") != self.key:
            return 401, {"error": "Who are you?"}
        if path == "/v1/stock":
            return 503, {"error": {"message": "The warehouse is closed."}}
        if found := re.fullmatch(r"/v1/customers/([^/]+)/(orders|notes)", path):
            customer = unquote(found[1])
            if customer == "404":
                return 404, {"message": "There is no such customer."}
            if found[2] == "orders" and method == "GET":
                orders = [{"customer": customer, "number": f"SO-{customer}-{n}"} for n in (1, 2)]
                limit = int(query.get("limit", ["9"])[0])
                return 200, {"orders": orders[:limit], "state": query.get("state", ["any"])[0]}
            if found[2] == "notes" and method == "POST":
                return 201, {"id": 1, "customer": customer, **body}
        return 404, {"message": "There is nothing here."}


def _handler(api: FakeApi):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            if not self.path.startswith("/openapi"):
                api.requests.append((self.command, self.path, headers, body))
            status, data = api.answer(self.command, self.path, headers, body)
            content = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_):
            """Silent."""

    return Handler
