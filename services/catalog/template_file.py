"""Template file: forms for well-known servers as JSON, to be shared between databases (document 004, 12.5).

``{"mcpTemplates": [{"id", "name", …, "fields": […]}]}``. A file holds no command: what a template with a command starts
stands in `stdio_templates` and in the operator's file. It holds no secret either: it asks for them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import text
from ..errors import ConfigError
from ..net import egress
from ..sentence import _lt
from . import address
from .mcp_json import Skipped
from .stdio_templates import TEMPLATES

MAX_TEMPLATES = 200  # of one file
MAX_FIELDS = 30  # of one template
MAX_TEXT = 2000  # characters of one value
CATEGORIES = ("automation", "communication", "data", "development", "knowledge", "search")
TRANSPORTS = ("auto", "streamable_http", "sse", "stdio")
AUTHORIZATIONS = ("key", "oauth_server", "oauth_user")
TARGETS = ("address", "path", "api_key", "header", "description", "command")
TEXTS = ("name", "description", "icon", "website", "url")
CHOICES = {"category": CATEGORIES, "transport": TRANSPORTS, "authorization": AUTHORIZATIONS}
FIELD_TEXTS = ("name", "label", "placeholder", "help", "header")
SWITCHES = ("required", "secret")
CODE = re.compile(r"[a-z0-9_]{1,64}")
_NAMED = re.compile(r"\{(\w+)\}")
_ICON = re.compile(r"fa-[\w-]{1,60}")

Entry = dict[str, Any]


def read(document: Any) -> tuple[list[Entry], list[Skipped]]:
    """Every entry of the document, in one of the two lists.

    :raises ConfigError: it is no such document at all
    """
    entries = document.get("mcpTemplates") if isinstance(document, Mapping) else None
    if not isinstance(entries, list) or not entries:
        raise ConfigError(_lt('This is not a file of templates, such as {"mcpTemplates": […]}.'))
    if len(entries) > MAX_TEMPLATES:
        raise ConfigError(
            _lt("At most %(count)s templates can be imported at once.", count=MAX_TEMPLATES)
        )
    found: dict[str, Entry] = {}
    skipped: list[Skipped] = []
    for entry in entries:
        name = entry.get("id") if isinstance(entry, Mapping) else ""
        shown = text.one_line(str(name), MAX_TEXT)[:100]
        try:
            template = check(entry)
            if template["id"] in found:
                raise ConfigError(_lt("The file has this template twice."))
            found[template["id"]] = template
        except ConfigError as error:
            skipped.append(Skipped(name=shown, message=str(error)))
    return [*found.values()], skipped


def write(templates: Iterable[Entry]) -> dict[str, Any]:
    """:param templates: as `read` gives them; what is empty is left out"""
    return {"mcpTemplates": [_full(template) for template in templates]}


def _full(entry: Entry) -> Entry:
    fields = [{key: value for key, value in one.items() if value} for one in entry["fields"]]
    return {key: value for key, value in entry.items() if value and key != "fields"} | {
        "fields": fields
    }


def check(entry: Any) -> Entry:
    """A template with all that may be left out.

    :param entry: of a file, or what a record would be there
    :raises ConfigError: it can be none
    """
    if not isinstance(entry, Mapping):
        raise ConfigError(_lt("Each template must be a JSON object with an “id” and a “name”."))
    _check_keys(entry, {"id", "fields", *TEXTS, *CHOICES})
    code = entry.get("id")
    if not isinstance(code, str) or not CODE.fullmatch(code):
        raise ConfigError(_lt("The “id” must consist of small letters, digits and “_”."))
    found: Entry = {"id": code, **{key: _text(entry, key) for key in TEXTS}}
    for key, choices in CHOICES.items():
        found[key] = entry.get(key, choices[0] if key != "category" else None)
        if found[key] not in choices:
            raise ConfigError(
                _lt(
                    "The “%(name)s” must be one of: %(choices)s.",
                    name=key,
                    choices=", ".join(choices),
                )
            )
    if not found["name"]:
        raise ConfigError(_lt("The “name” is missing."))
    if found["icon"] and not _ICON.fullmatch(found["icon"]):
        raise ConfigError(_lt("The “icon” must be a class of Font Awesome, such as “fa-plug”."))
    if found["website"]:
        egress.check_url(found["website"])  # a browser may be sent there
    fields = entry.get("fields", [])
    if not isinstance(fields, list) or len(fields) > MAX_FIELDS:
        raise ConfigError(
            _lt("The “fields” must be a list of at most %(count)s.", count=MAX_FIELDS)
        )
    found["fields"] = [_field(field) for field in fields]
    names = [field["name"] for field in found["fields"]]
    if len({*names}) < len(names):
        raise ConfigError(_lt("Two fields have the same name."))
    if found["transport"] == "stdio":
        _check_command(found)
    else:
        _check_address(found)
    return found


def _field(entry: Any) -> Entry:
    if not isinstance(entry, Mapping):
        raise ConfigError(_lt("Each field must be a JSON object with a “name”."))
    _check_keys(entry, {"target", *FIELD_TEXTS, *SWITCHES})
    found: Entry = {key: _text(entry, key) for key in FIELD_TEXTS}
    if not re.fullmatch(r"\w{1,64}", found["name"]):
        raise ConfigError(_lt("The “name” of a field must consist of letters, digits and “_”."))
    found["label"] = found["label"] or found["name"]
    for key in SWITCHES:
        found[key] = entry.get(key, False)
        if not isinstance(found[key], bool):
            raise ConfigError(_lt("The “%(name)s” of a field must be true or false.", name=key))
    found["target"] = entry.get("target")
    if found["target"] not in TARGETS:
        raise ConfigError(
            _lt(
                "The “%(name)s” must be one of: %(choices)s.",
                name="target",
                choices=", ".join(TARGETS),
            )
        )
    if found["target"] == "header":
        egress.check_headers({found["header"]: "x"})
    return found


def _check_keys(entry: Mapping[str, Any], known: set[str]) -> None:
    if {"command", "args", "env", "env_config"} & entry.keys():
        raise ConfigError(
            _lt(
                "Servers started by a command can only be defined in the operator's configuration file."
            )
        )
    if unknown := sorted(map(str, entry.keys() - known)):
        raise ConfigError(_lt("A template has no “%(name)s”.", name=text.one_line(unknown[0], 60)))


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ConfigError(
            _lt(
                "The “%(name)s” must be a text of at most %(count)s characters.",
                name=key,
                count=MAX_TEXT,
            )
        )
    return text.clean(value).strip()


def _check_command(template: Entry) -> None:
    known = TEMPLATES.get(template["id"])
    if not known:
        raise ConfigError(
            _lt("Only %(names)s are started by a command.", names=", ".join(TEMPLATES))
        )
    targets = {field["target"] for field in template["fields"]}
    if template["url"] or targets - {"command"}:
        raise ConfigError(_lt("A template with a command has no address, key or header."))


def _check_address(template: Entry) -> None:
    targets = {field["name"]: field["target"] for field in template["fields"]}
    if "command" in targets.values():
        raise ConfigError(_lt("Only a template with a command has such a field."))
    if not template["url"] and "address" not in targets.values():
        raise ConfigError(_lt("The “url” is missing."))
    if template["url"]:
        egress.check_url(_NAMED.sub("x", template["url"]))
        if address.secrets(template["url"]):
            raise ConfigError(_lt("The “url” contains a key. Make it a field of the template."))
        for name in _NAMED.findall(template["url"]):
            if targets.get(name) != "path":
                raise ConfigError(
                    _lt(
                        "The “url” names %(name)s, which is no field of the address.",
                        name=f"{{{name}}}",
                    )
                )


def of_server(server: Mapping[str, Any]) -> Entry:
    """The template that makes servers like this one, with a field for each of its secrets.

    :param server: ``{id, name, title, description, url, transport, authorization, has_api_key, header_names}``
    """
    url = address.without_secrets(server["url"], lambda name: f"{{{_field_name(name)}}}")
    fields = [_of_address(name) for name in address.secrets(server["url"])]
    if server["has_api_key"]:
        fields.append(_secret("api_key", "API key", "api_key"))
    for header in server["header_names"]:
        fields.append(_secret(_field_name(header).lower(), header, "header", header))
    entry = {
        "id": server["id"],
        "name": server["title"] or server["name"],
        "description": server["description"],
        "category": server["category"],
        "icon": "fa-plug",
        "website": "",
        "url": url,
        "transport": server["transport"],
        "authorization": server["authorization"],
    }
    return check(entry | {"fields": fields})


def code_of(name: str) -> str:
    """
    >>> code_of("Our team's GitHub"), code_of("天氣")
    ('our_team_s_github', 'template')
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or "template"


def _of_address(name: str) -> Entry:
    label = "Key in the address" if name.startswith(address.PATH) else name
    return _secret(_field_name(name), label, "path")


def _field_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _secret(name: str, label: str, target: str, header: str = "") -> Entry:
    kinds = {"required": True, "secret": True, "target": target}
    return {"name": name, "label": label, **kinds, **({"header": header} if header else {})}
