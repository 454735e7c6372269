"""OpenAPI parser, 3.0 and 3.1: the operations of a document as tools.

A tool's arguments have a layer for each place that a parameter may stand in:
``{"path": {…}, "query": {…}, "header": {…}, "body": …}``. References stay as they are; the components
that they mean come along in the schema, so that `schema` and `arguments` find them. Nothing is fetched.

https://spec.openapis.org/oas/v3.1.1.html
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from .. import text
from ..errors import ConfigError
from ..net import egress
from ..sentence import _lt
from .components import MAX_SCHEMA, Components, mapping

MAX_OPERATIONS = 1_000  # of one document; the largest public one has about as many
MAX_PATH = 1_000  # characters
MAX_SCHEMAS = 16 * 1024 * 1024  # bytes of all of them
MAX_DESCRIPTION = 20_000  # characters
LAYERS = ("path", "query", "header", "body")

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
IGNORED_HEADERS = {"accept", "content-type", "authorization"}  # OpenAPI: "SHALL be ignored"
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json|\*/\*")
FORM = "application/x-www-form-urlencoded"


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
        raise ConfigError(_lt("The OpenAPI document describes no operation."))
    info = mapping(document.get("info"))
    return Document(
        title=text.one_line(str(info.get("title") or ""), 200),
        version=text.one_line(str(info.get("version") or ""), 50),
        base_url=_base_url(document, url),
        operations=tuple(found.values()),
        credential=_credential(document),
    )


# ---------------------------------------------------------------- operations


def _operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    components = Components(document)
    for path, item in mapping(document.get("paths")).items():
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
        if location == "cookie" or (location == "header" and name.lower() in IGNORED_HEADERS):
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
        schema, problem = {"type": "object"}, _lt("Its description is too large.")
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
    """Parameters of the path and the operation; the operation's own win."""
    found = {}
    for parameter in (_resolved(document, item) for items in lists for item in items):
        name, location = parameter.get("name"), parameter.get("in")
        if isinstance(name, str) and location in ("path", "query", "header", "cookie"):
            found[location, name] = parameter
    return list(found.values())


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter.get("schema")
    if schema is None:
        content = next(iter(mapping(parameter.get("content")).values()), {})
        schema = mapping(content).get("schema")
    schema = dict(mapping(schema))
    if isinstance(parameter.get("description"), str):
        schema.setdefault("description", parameter["description"])
    return schema


def _body(document, described) -> tuple[dict[str, Any] | None, bool, str, str]:
    """(schema or None, required, content type, problem) of a request's body."""
    body = _resolved(document, described)
    content = mapping(body.get("content"))
    if not content:
        return None, False, "", ""
    required = body.get("required") is True
    for kind, media in content.items():
        plain = str(kind).partition(";")[0].strip().lower()
        if _JSON.fullmatch(plain) or plain == FORM:
            schema = dict(mapping(mapping(media).get("schema")))
            return schema, required, "application/json" if plain == "*/*" else plain, ""
    if required:
        return (
            None,
            False,
            "",
            _lt(
                "Its body has a content type that is not supported: %(name)s.",
                name=next(iter(content)),
            ),
        )
    return None, False, "", ""


def _trimmed(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "required" or value}


def _resolved(document: Mapping[str, Any], item: Any) -> Mapping[str, Any]:
    """A parameter, body or path item, through its references into this document."""
    for _ in range(10):
        item = mapping(item)
        reference = item.get("$ref")
        if reference is None:
            return item
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return {}
        item = document
        for part in reference[2:].split("/"):
            item = mapping(item).get(part.replace("~1", "/").replace("~0", "~"))
    return {}


# ---------------------------------------------------------------- service


def _base_url(document: Mapping[str, Any], url: str) -> str:
    server = next(iter(_list(document.get("servers"))), None)
    address = str(mapping(server).get("url") or "/")[: egress.MAX_URL + 1]
    for name, variable in mapping(mapping(server).get("variables")).items():
        if len(address) > egress.MAX_URL:  # variables within variables
            return ""
        default = str(mapping(variable).get("default") or "")[: egress.MAX_URL]
        address = address.replace(f"{{{name}}}", default)
    address = urljoin(url, address) if url else address
    try:
        return egress.check_url(address).rstrip("/")
    except ConfigError:
        return ""


def _credential(document: Mapping[str, Any]) -> tuple[str, str]:
    schemes = mapping(mapping(document.get("components")).get("securitySchemes"))
    for scheme in map(mapping, schemes.values()):
        if scheme.get("type") in ("http", "oauth2", "openIdConnect"):
            if str(scheme.get("scheme", "bearer")).lower() == "bearer":
                return "bearer", ""
        elif scheme.get("type") == "apiKey" and scheme.get("in") in ("header", "query"):
            return scheme["in"], str(scheme.get("name") or "")
    return "", ""


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []
