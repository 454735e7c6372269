"""Log messages of a server, as they are passed on to the client that made the call.

Sources: MCP 2025-11-25 and 2026-07-28, server/utilities/logging; levels of RFC 5424.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import text

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MAX_DATA = 16 * 1024  # bytes of one message, about
MAX_LOGGER = 200  # characters of a logger's name
BLOT = "•••"
LEFT_OUT = "[left out: too large]"

OnLog = Callable[[dict[str, Any]], None]
"""Called on the loop with a cleaned message; must not block."""


def is_as_severe(level: Any, least: str) -> bool:
    """True if a message of this level passes where `least` was asked for.

    :param level: of a server, not checked

    >>> is_as_severe("error", "info"), is_as_severe("debug", "info"), is_as_severe([], "debug")
    (True, False, False)
    """
    return level in LEVELS and LEVELS.index(level) >= LEVELS.index(least)


def cleaned(params: Any, least: str, secrets: Sequence[str] = ()) -> dict[str, Any] | None:
    """Params of ``notifications/message``, None for a message that does not pass.

    :param params: of a server, not checked
    :param least: level that was asked for
    :param secrets: of the server, blotted out

    >>> cleaned({"level": "info", "data": {"key": "sk-1"}, "logger": "sk-1"}, "debug", ["sk-1"])
    {'level': 'info', 'data': {'key': '•••'}, 'logger': '•••'}
    """
    if not isinstance(params, Mapping) or not is_as_severe(params.get("level"), least):
        return None
    data = params.get("data")
    is_large = text.weight(data, MAX_DATA) >= MAX_DATA
    message = {"data": LEFT_OUT if is_large else text.storable(data)}
    if isinstance(logger := params.get("logger"), str):
        message["logger"] = text.one_line(logger, MAX_LOGGER)
    return {"level": params["level"], **_blotted(message, secrets)}


def _blotted(message: dict[str, Any], secrets: Sequence[str]) -> dict[str, Any]:
    if not secrets:
        return message
    try:
        said = json.dumps(message)
        for secret in secrets:
            said = said.replace(json.dumps(secret)[1:-1], json.dumps(BLOT)[1:-1])
        return json.loads(said)
    except (ValueError, RecursionError):  # a secret that is a number, or too many levels
        return {"data": LEFT_OUT}
