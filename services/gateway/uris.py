"""Addresses of resources: ``odoo://SERVER/URI``, since two servers may give the same URI to different things.

SERVER is the server's part of its tools' names in lower case; what follows is the server's own URI as it is.
"""

SCHEME = "odoo://"
MAX_LENGTH = 2_100  # characters: the longest name of a server and the longest URI that is read


def address(server: str, uri: str) -> str:
    """A server's own URI, or template of URIs, as clients are told it.

    :param server: empty where nobody could read it here; then the URI stays as it is

    >>> address("notes", "file:///a.txt"), split("odoo://notes/file:///a.txt")
    ('odoo://notes/file:///a.txt', ('notes', 'file:///a.txt'))
    """
    return f"{SCHEME}{server}/{uri}" if server else uri


def split(told: str) -> tuple[str, str]:
    """Server and own URI of an address; both are empty if it is none of ours."""
    if not told.startswith(SCHEME) or len(told) > MAX_LENGTH:
        return "", ""
    server, _, uri = told.removeprefix(SCHEME).partition("/")
    return (server, uri) if server and uri else ("", "")
