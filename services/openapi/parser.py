"""OpenAPI parser, 3.0 and 3.1: the operations of a document as tools, and the request that a call becomes.

A tool's arguments have a layer for each place that a parameter may stand in:
``{"path": {…}, "query": {…}, "header": {…}, "body": …}``. References stay as they are; the components
that they mean come along in the schema, so that `schema` and `arguments` find them. Nothing is fetched.

https://spec.openapis.org/oas/v3.1.1.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin

from .. import text
from ..errors import ConfigError
from ..net import egress
from ..specs import OperationSpec

MAX_OPERATIONS = 1_000  # of one document; the largest public one has about as many
MAX_COMPONENTS = 300  # that come along with one operation
MAX_DEPTH = 60  # nested schemas
MAX_PATH = 1_000  # characters
MAX_ADDRESS = 8_000  # characters of a path with its values
MAX_SCHEMA = (
    256 * 1024
)  # bytes of one operation's schema, about; the largest that is known has 124 kB
MAX_SCHEMAS = 16 * 1024 * 1024  # bytes of all of them
MAX_DESCRIPTION = 20_000  # characters
LAYERS = ("path", "query", "header", "body")

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_IGNORED_HEADERS = {"accept", "content-type", "authorization"}  # OpenAPI: "SHALL be ignored"
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json|\*/\*")
_FORM = "application/x-www-form-urlencoded"
_PREFIX = "#/components/schemas/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """:ivar key: the ``operationId``, or method and path
    :ivar problem: why it cannot be called, empty if it can
    """

    key: str
    method: str
    path: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any]
    content_type: str = ""
    joined: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """:ivar credential: (``bearer``, ``header`` or ``query``; the name) that it asks for, if it does"""

    title: str
    version: str
    base_url: str
    operations: tuple[Operation, ...]
    credential: tuple[str, str] = ("", "")


def read(document: Mapping[str, Any], url: str = "") -> Document:
    """:param url: where the document came from; relative addresses of servers start there
    :raises ConfigError: there is no operation in it
    """
    found: dict[str, Operation] = {}
    room = MAX_SCHEMAS
    for operation in _operations(document):
        if len(found) >= MAX_OPERATIONS or room <= 0:
            break
        room -= text.weight(operation.input_schema, MAX_SCHEMA)
        found.setdefault(operation.key, operation)
    if not found:
        raise ConfigError("The OpenAPI document describes no operation.")
    info = _mapping(document.get("info"))
    return Document(
        title=text.one_line(str(info.get("title") or ""), 200),
        version=text.one_line(str(info.get("version") or ""), 50),
        base_url=_base_url(document, url),
        operations=tuple(found.values()),
        credential=_credential(document),
    )


# ---------------------------------------------------------------- operations


def _operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    components = _Components(document)
    for path, item in _mapping(document.get("paths")).items():
        item = _resolved(document, item)
        shared = _list(item.get("parameters"))
        for method in _METHODS:
            is_path = len(str(path)) <= MAX_PATH and str(path).startswith("/")
            if isinstance(item.get(method), Mapping) and is_path:
                yield _operation(document, components, str(path), method, item[method], shared)


def _operation(document, components, path, method, described, shared) -> Operation:
    layers: dict[str, dict[str, Any]] = {}
    joined = []
    for parameter in _parameters(document, shared, _list(described.get("parameters"))):
        location, name = parameter["in"], parameter["name"]
        if location == "cookie" or (location == "header" and name.lower() in _IGNORED_HEADERS):
            continue
        layer = layers.setdefault(location, {"type": "object", "properties": {}, "required": []})
        layer["properties"][name] = _parameter_schema(parameter)
        if parameter.get("required") is True or location == "path":
            layer["required"].append(name)
        if location == "query" and parameter.get("explode") is False:
            joined.append(name)
    body, required, content_type, problem = _body(document, described.get("requestBody"))
    if body is not None:
        layers["body"] = body
    needs = [layer for layer in LAYERS if layers.get(layer, {}).get("required") and layer != "body"]
    schema = {
        "type": "object",
        "properties": {layer: _trimmed(layers[layer]) for layer in LAYERS if layer in layers},
        "required": [*needs, *(["body"] if required else [])],
        "additionalProperties": False,
    }
    key = described.get("operationId")
    schema = components.beside(schema)
    if text.weight(schema, MAX_SCHEMA) >= MAX_SCHEMA:
        schema, problem = {"type": "object"}, "Its description is too large."
    return Operation(
        key=text.one_line(key if isinstance(key, str) and key else f"{method} {path}", 200),
        method=method.upper(),
        path=path,
        title=text.one_line(str(described.get("summary") or ""), 200),
        description=text.clean(
            str(described.get("description") or described.get("summary") or "")[:MAX_DESCRIPTION]
        ),
        input_schema=_trimmed(schema),
        content_type=content_type,
        joined=tuple(joined),
        problem=problem,
    )


def _parameters(document, *lists) -> list[Mapping[str, Any]]:
    """Those of the path and the operation; the operation's own win."""
    found = {}
    for parameter in (_resolved(document, item) for items in lists for item in items):
        name, location = parameter.get("name"), parameter.get("in")
        if isinstance(name, str) and location in ("path", "query", "header", "cookie"):
            found[location, name] = parameter
    return list(found.values())


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter.get("schema")
    if schema is None:
        content = next(iter(_mapping(parameter.get("content")).values()), {})
        schema = _mapping(content).get("schema")
    schema = dict(_mapping(schema))
    if isinstance(parameter.get("description"), str):
        schema.setdefault("description", parameter["description"])
    return schema


def _body(document, described) -> tuple[dict[str, Any] | None, bool, str, str]:
    """(schema or None, required, content type, problem) of a request's body."""
    body = _resolved(document, described)
    content = _mapping(body.get("content"))
    if not content:
        return None, False, "", ""
    required = body.get("required") is True
    for kind, media in content.items():
        plain = str(kind).partition(";")[0].strip().lower()
        if _JSON.fullmatch(plain) or plain == _FORM:
            schema = dict(_mapping(_mapping(media).get("schema")))
            return schema, required, "application/json" if plain == "*/*" else plain, ""
    if required:
        return (
            None,
            False,
            "",
            f"Its body has a content type that is not supported: {next(iter(content))}.",
        )
    return None, False, "", ""


class _Components:
    """Those of a document, each looked at once."""

    def __init__(self, document: Mapping[str, Any]):
        self._modern = str(document.get("openapi", "")).startswith("3.1")
        self._all = _mapping(_mapping(document.get("components")).get("schemas"))
        self._read: dict[str, tuple[Any, list[str], int]] = {}  # translated, its references, weight

    def beside(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema in today's dialect, with all components that it needs, as far as they are not too large."""
        schema = _translated(schema, self._modern)
        included: dict[str, Any] = {}
        waiting, room = list(_references(schema)), MAX_SCHEMA
        while waiting and len(included) < MAX_COMPONENTS and room > 0:
            name = waiting.pop()
            if name in included or name not in self._all:
                continue
            included[name], more, weight = self._component(name)
            waiting += more
            room -= weight
        return {**schema, "components": {"schemas": included}} if included else schema

    def _component(self, name: str) -> tuple[Any, list[str], int]:
        if name not in self._read:
            read = _translated(self._all[name], self._modern)
            names = list(dict.fromkeys(_references(read)))
            self._read[name] = read, names, text.weight(read, MAX_SCHEMA)
        return self._read[name]


def _translated(schema: Any, modern: bool, depth: int = MAX_DEPTH) -> Any:
    """OpenAPI 3.0's ``nullable`` and boolean limits as JSON Schema 2020-12 says them; examples go."""
    if depth <= 0:
        return {}
    if isinstance(schema, list):
        return [_translated(item, modern, depth - 1) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            out[key] = {
                str(name): _translated(item, modern, depth - 1) for name, item in value.items()
            }
        elif key in ("enum", "const", "default", "required"):
            out[key] = value
        elif key not in ("example", "examples", "xml", "externalDocs") and not (
            isinstance(key, str) and key.startswith("x-")
        ):
            out[key] = _translated(value, modern, depth - 1)
    if modern:
        return out
    if out.pop("nullable", None) is True:
        if isinstance(out.get("type"), str):
            out["type"] = [out["type"], "null"]
        if isinstance(out.get("enum"), list) and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(out.get(exclusive), bool):
            is_exclusive = out.pop(exclusive)
            if is_exclusive and limit in out:
                out[exclusive] = out.pop(limit)
    return out


def _references(schema: Any) -> Iterator[str]:
    """Names of the components that a schema mentions."""
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield (
                reference.removeprefix(_PREFIX).split("/")[0].replace("~1", "/").replace("~0", "~")
            )
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _trimmed(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "required" or value}


def _resolved(document: Mapping[str, Any], item: Any) -> Mapping[str, Any]:
    """A parameter, body or path item, through its references into this document."""
    for _ in range(10):
        item = _mapping(item)
        reference = item.get("$ref")
        if reference is None:
            return item
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return {}
        item = document
        for part in reference[2:].split("/"):
            item = _mapping(item).get(part.replace("~1", "/").replace("~0", "~"))
    return {}


# ---------------------------------------------------------------- service


def _base_url(document: Mapping[str, Any], url: str) -> str:
    server = next(iter(_list(document.get("servers"))), None)
    address = str(_mapping(server).get("url") or "/")[: egress.MAX_URL + 1]
    for name, variable in _mapping(_mapping(server).get("variables")).items():
        if len(address) > egress.MAX_URL:  # variables within variables
            return ""
        default = str(_mapping(variable).get("default") or "")[: egress.MAX_URL]
        address = address.replace(f"{{{name}}}", default)
    address = urljoin(url, address) if url else address
    try:
        return egress.check_url(address).rstrip("/")
    except ConfigError:
        return ""


def _credential(document: Mapping[str, Any]) -> tuple[str, str]:
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    for scheme in map(_mapping, schemes.values()):
        if scheme.get("type") in ("http", "oauth2", "openIdConnect"):
            if str(scheme.get("scheme", "bearer")).lower() == "bearer":
                return "bearer", ""
        elif scheme.get("type") == "apiKey" and scheme.get("in") in ("header", "query"):
            return scheme["in"], str(scheme.get("name") or "")
    return "", ""


# ---------------------------------------------------------------- calls


def request_parts(operation: OperationSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `httpx.AsyncClient.build_request` for a call.

    :raises ConfigError: an argument cannot stand where it has to
    """
    path = operation.path
    for name, value in _mapping(arguments.get("path")).items():
        written = _written(value)
        if written in ("", ".", ".."):
            raise ConfigError(f"The value of “{name}” cannot be part of an address.")
        slot, written = f"{{{name}}}", quote(written[:MAX_ADDRESS], safe="")
        if len(path) + path.count(slot) * len(written) > MAX_ADDRESS:
            raise ConfigError("The address is too long.")
        path = path.replace(slot, written)
    if "{" in path:
        raise ConfigError("A part of the address is missing.")
    params: list[tuple[str, str]] = []
    for name, value in _mapping(arguments.get("query")).items():
        if value is None:
            continue
        if isinstance(value, list) and name not in operation.joined:
            params += [(name, _written(item)) for item in value]
        else:
            params.append((name, _written(value)))
    headers = {
        name: _written(value)
        for name, value in _mapping(arguments.get("header")).items()
        if value is not None and name.lower() not in _IGNORED_HEADERS
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
        if operation.content_type == _FORM:
            form = {key: _written(value) for key, value in _mapping(arguments["body"]).items()}
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []
