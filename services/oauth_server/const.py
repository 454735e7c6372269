"""Scopes, lifetimes and limits of the authorization server."""

import re

READ, CALL, ASSISTANTS = "tools:read", "tools:call", "assistants"
RECORDS = "records:write"
TOOLS = (READ, CALL)  # of MCP, for clients that name no scope
SCOPES = (*TOOLS, ASSISTANTS, RECORDS)

CODE_LIFE = 60  # s; RFC 6749, 4.1.2 allows ten minutes
ACCESS_LIFE = 3600  # s
REFRESH_LIFE = 30 * 24 * 3600  # s without use
GRANT_LIFE = 365 * 24 * 3600  # s; then the person is asked again

CODE = re.compile(r"[a-z0-9-]{1,40}")  # of a gateway, the last part of its address

MAX_BODY = 16 * 1024  # bytes of a request
MAX_FIELD = 4_000  # characters of a parameter
MAX_NAME = 60  # characters of a client's name
MAX_URI = 1_000  # characters of a redirect URI
MAX_URIS = 10  # redirect URIs of one client
