"""OpenAPI requests: what a call of an operation sends, and where each argument stands in it."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..errors import ConfigError
from ..net import egress
from ..sentence import _lt
from ..specs import OperationSpec
from .components import mapping
from .parser import FORM, IGNORED_HEADERS

MAX_ADDRESS = 8_000  # characters of a path with its values


def request_parts(operation: OperationSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `httpx.AsyncClient.build_request` for a call.

    :raises ConfigError: an argument cannot stand where it has to
    """
    path = operation.path
    for name, value in mapping(arguments.get("path")).items():
        written = _written(value)
        if written in ("", ".", ".."):
            raise ConfigError(
                _lt("The value of “%(name)s” cannot be part of an address.", name=name)
            )
        slot, written = f"{{{name}}}", quote(written[:MAX_ADDRESS], safe="")
        if len(path) + path.count(slot) * len(written) > MAX_ADDRESS:
            raise ConfigError(_lt("The address is too long."))
        path = path.replace(slot, written)
    if "{" in path:
        raise ConfigError(_lt("A part of the address is missing."))
    params: list[tuple[str, str]] = []
    for name, value in mapping(arguments.get("query")).items():
        if value is None:
            continue
        if isinstance(value, list) and name not in operation.joined:
            params += [(name, _written(item)) for item in value]
        else:
            params.append((name, _written(value)))
    headers = {
        name: _written(value)
        for name, value in mapping(arguments.get("header")).items()
        if value is not None and name.lower() not in IGNORED_HEADERS
    }
    own = {name.lower() for name in operation.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in own}
    parts: dict[str, Any] = {
        "method": operation.method,
        "url": operation.base_url.rstrip("/") + path,
        "params": [*params, *operation.query.items()],
        "headers": {**egress.check_headers(headers), **operation.headers},
    }
    if "body" in arguments:
        if operation.content_type == FORM:
            form = {key: _written(value) for key, value in mapping(arguments["body"]).items()}
            parts["data"] = form
        else:
            parts["content"] = json.dumps(arguments["body"], ensure_ascii=False).encode()
            parts["headers"]["content-type"] = operation.content_type or "application/json"
    return parts


def _written(value: Any) -> str:
    """A value in an address or header: ``style: simple`` without explode."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(_written, value))
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)
