"""Secrets in an address: some servers take their key as a parameter of the query or as a part of the path.

The one rule for whatever leaves with an address in it: exports, templates, versions.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

PATH = "path_"  # with a number, the name of a secret in the path
MIN_KEY = 20  # characters of a key that is known by its shape alone
MIN_MIXED = 12  # of them in words that nobody has thought of
LONG = 16  # characters of a word, from which on a digit at its end is no number of it

_SECRET = re.compile(r"key|token|secret|password|auth|sig", re.IGNORECASE)
_OPEN = re.compile(r"\{\w+\}")
_WORDS = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Za-z]+\d{0,4}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def secrets(url: str) -> list[str]:
    """Names of the secrets in an address; one whose value is a ``{name}`` still is none.

    >>> secrets("https://x.example.com/s/Zk3v9QpLx72bT0aYw8Rr/mcp?apiKey=s&page=2&token={token}")
    ['path_1', 'apiKey']
    """
    found: list[str] = []

    def note(name: str) -> str:
        found.append(name)
        return ""

    without_secrets(url, note)
    return list(dict.fromkeys(found))


def without_secrets(url: str, stand_in: Callable[[str], str]) -> str:
    """The address with something else in place of its secrets.

    :param stand_in: gives it by the secret's name

    >>> without_secrets("https://x.example.com/mcp?apiKey=s&page=2", lambda name: f"<{name}>")
    'https://x.example.com/mcp?apiKey=<apiKey>&page=2'
    """
    address, *query = re.split(r"([?&#])", url)
    scheme, mark, rest = address.partition("://")
    host, *path = rest.split("/")
    keys = [index for index, part in enumerate(path) if is_key(part)]
    for number, index in enumerate(keys, 1):
        path[index] = stand_in(f"{PATH}{number}")
    for index, parameter in enumerate(query):
        name, equals, value = parameter.partition("=")
        if not equals and is_key(name):
            query[index] = stand_in("key")
        elif value and not _OPEN.fullmatch(value) and (_SECRET.search(name) or is_key(value)):
            query[index] = f"{name}={stand_in(name)}"
    return "/".join([f"{scheme}{mark}{host}", *path]) + "".join(query)


def is_key(part: str) -> bool:
    """True if it looks like a generated key: it is long, and letters and digits alternate as in no word.

    >>> is_key("Zk3v9QpLx72bT0aYw8Rr"), is_key("model-context-protocol-v2-2025")
    (True, False)
    """
    part = unquote(part)
    mixed = sum(len(word) for word in _WORDS.findall(part) if _is_mixed(word))
    return bool(_UUID.fullmatch(part)) or (len(part) >= MIN_KEY and mixed >= MIN_MIXED)


def _is_mixed(word: str) -> bool:
    if word.isalpha() or word.isdigit():
        return False
    return len(word) >= LONG or not _WORD.fullmatch(word)
