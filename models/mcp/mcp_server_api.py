from dataclasses import replace
from urllib.parse import urlsplit

from odoo import api, models
from odoo.fields import Domain

from ...services.catalog import mcp_json
from ...tools import sentences, settings
from ...tools.moments import utc
from ...tools.refusals import Refusal


class McpServer(models.Model):
    """Servers as the API and the portal show them, and to whom.

    Who manages a server is told all but secrets. Of system servers everybody of their company who signs in sees
    name and tools (document 004, §4.2), never address, headers or errors: they may tell of the inside of a network.
    """

    _inherit = "woow_paas_platform.mcp_server"

    @api.model
    def _system_domain(self):
        """The system servers that the caller sees as everybody does."""
        return Domain("scope", "=", "system") & Domain(
            self._check_company_domain(self.env.companies.ids)
        )

    @api.model
    def _listed(self, cloud_service=None):
        """The servers that the caller may see, oldest first.

        :param cloud_service: of the user scope only those of this service
        """
        domain = [("cloud_service_id", "=", cloud_service.id)] if cloud_service else []
        managed = self.with_context(active_test=False).search(domain)
        # sudo: mcp_server - what is shown of them is up to `_api_data`
        return (managed | self.sudo().search(self._system_domain()).sudo(False)).sorted("id")

    def _visible(self):
        """The servers among these that the caller may see."""
        managed = self.exists()._filtered_access("read")
        # sudo: mcp_server - see `_listed`
        seen = self._system_domain() & Domain("active", "=", True)
        system = (self - managed).sudo().exists().filtered_domain(seen)
        return managed | system.sudo(False)

    def _api_data(self, with_tools=False):
        """One server as JSON; more of it for who may change it."""
        self.ensure_one()
        manages = self.has_access("write")
        # sudo: mcp_server - a manager reads all but secrets, everybody else only what is listed here
        server = self.sudo()
        tools = server.tool_ids.filtered("available")
        usable = tools.filtered("is_usable")
        data = {
            "id": server.id,
            "name": server.name,
            "title": server.title or "",
            "display_name": server.title or "",
            "description": server.description or "",
            "scope": server.scope,
            "active": server.active,
            "enabled": server.active,
            "state": server.state,
            "tool_count": len(tools),
            "active_tool_count": len(usable),
            "token_estimate": sum(usable.mapped("token_estimate")),
            "can_edit": manages,
        }
        if manages:
            data |= server._managed_data()
        if with_tools:
            shown = server.tool_ids if manages else usable
            data["tools"] = [tool._api_data() for tool in shown.sorted("name")]
        return data

    def _managed_data(self):
        service = self.cloud_service_id
        return {
            "url": self.url or "",
            "template": self.template_code or "",
            "transport": self.transport,
            "has_api_key": self.has_api_key,
            "header_names": self._header_names(),
            "trust_level": self.trust_level,
            "connect_timeout": self.connect_timeout,
            "call_timeout": self.call_timeout,
            "cloud_service": {"id": service.id, "name": service.name} if service else None,
            "is_personal": bool(self.owner_user_id),
            "user_id": self.owner_user_id.id or None,
            "state_message": self.state_sentence or "",
            "protocol_version": self.protocol_version or "",
            "review_count": self.review_count,
            "refused_count": self.refused_count,
            "warned_count": self.warned_count,
            "last_sync": utc(self.last_sync),
            "last_attempt": utc(self.last_attempt),
            "lock": self._lock_data(),
            "auto_start": self.auto_start,
            "created_at": utc(self.create_date),
            "updated_at": utc(self.write_date),
        }

    def _header_names(self):
        return [name for name in (self.header_names or "").split(", ") if name]

    def _remove_api_key(self):
        self.check_access("write")
        # sudo: mcp_server - the store is readable by nobody; who may write the server may empty it
        self.sudo().api_key_encrypted = False

    @api.model
    def _free_name(self, wanted, owner):
        """The name, with a number where it is taken already.

        :param owner: ``{"scope", "cloud_service_id", "owner_user_id"}`` of the server
        """
        taken, name, number = set(self._names_in(owner)), wanted, 2
        while name in taken:
            name, number = f"{wanted} {number}", number + 1
        return name

    @api.model
    def _names_in(self, owner):
        """The names that this owner's servers have.

        :raises AccessError: the caller may not add a server there
        """
        self._check_owner(owner)
        domain = [(field, "=", value) for field, value in owner.items()]
        # sudo: mcp_server - names of the servers beside which the caller is about to add one
        return self.sudo().with_context(active_test=False).search(domain).mapped("name")

    @api.model
    def _import_servers(self, document, owner, *, is_confirmed=False):
        """Make a server of each entry of an ``mcpServers`` document that can be one.

        :param is_confirmed: somebody has read what the document decides beside addresses
        :raises AccessError: the caller may not add servers there, and learns no name of those that are there
        :return: (servers, ``[{"name", "message"}]`` of what was left out or is still missing)
        :raises ConfigError: it is no such document
        :raises Refusal: nobody has confirmed what it decides; its notes say what
        """
        found, skipped = mcp_json.read(document)
        notes = [
            {"name": entry.name, "message": sentences.translated(self.env, entry.message)}
            for entry in skipped
        ]
        known = set(self._names_in(owner))
        usable = []
        for entry in found:
            if entry.name in known:
                message = self.env._("An MCP server with this name already exists here.")
                notes.append({"name": entry.name, "message": message})
                continue
            if locked := self._locked_at_address(entry.url):
                message = str(locked._refusal_by_lock())
                notes.append({"name": entry.name, "message": message})
                continue
            known.add(entry.name)
            usable.append(_that_fits(entry, owner))
        asks = [ask for entry in usable for ask in self._asks_of_import(entry)]
        if asks and not is_confirmed:
            message = self.env._("Confirm first what this document decides.")
            raise Refusal(message, "confirmation_required", notes=asks)
        servers = self
        for entry in usable:
            server = self.create({**owner, **_vals_of_import(entry)})
            # sudo: mcp_server - readonly for people; they have just made it of this document
            server.sudo().tools_at_first = _tools_of_import(entry)
            servers |= server
            if entry.missing:
                message = self.env._(
                    "Server added. Enter the values that the document did not contain: %(names)s.",
                    names=", ".join(entry.missing),
                )
                notes.append({"name": entry.name, "message": message})
        return servers, notes

    def _asks_of_import(self, entry):
        """Decisions for a person to confirm: that calls run unasked, or that a key of the operator's leaves."""
        messages, decided = [], entry.settings
        if (level := decided.get("trust_level", "none")) != "none":
            levels = dict(self._fields["trust_level"]._description_selection(self.env))
            messages.append(
                self.env._(
                    "This server comes with the trust level “%(level)s”. Check whether you trust it.",
                    level=levels[level],
                )
            )
        policies = decided.get("tools_policy", {})
        if unasked := sorted(name for name, policy in policies.items() if policy == "auto"):
            messages.append(
                self.env._("These of its tools always run: %(tools)s.", tools=", ".join(unasked))
            )
        if variable := decided.get("api_key_env"):
            messages.append(
                self.env._(
                    "%(url)s is sent the key in the operator's variable %(variable)s.",
                    url=entry.url,
                    variable=variable,
                )
            )
        return [{"name": entry.name, "message": message} for message in messages]

    def _export_servers(self):
        """The ``mcpServers`` document of these servers, without secrets; stdio servers stay with the operator."""
        return mcp_json.write(
            {
                "name": server.name,
                "url": server.url,
                "transport": server.transport,
                "description": server.description or "",
                "has_api_key": server.has_api_key,
                "header_names": server._header_names(),
                "settings": server._settings_to_export(),
            }
            for server in self
            if server.url
        )

    def _settings_to_export(self):
        """What differs from a new server, by `mcp_json.SETTINGS`."""
        new = self.default_get(list(mcp_json.SETTINGS.keys() & self._fields.keys()))
        found = {
            key: self[key]
            for key in mcp_json.SETTINGS
            if key in self._fields and self[key] != new.get(key, False)
        }
        # sudo: mcp_tool - names and switches of the tools of a server that the caller manages
        tools = self.sudo().tool_ids
        at_first = {} if tools else self.sudo().tools_at_first or {}
        off = tools.filtered(lambda tool: not tool.active).mapped("name") or at_first.get("off")
        decided = tools.filtered(lambda tool: tool.approval_policy != "default")
        policy = {tool.name: tool.approval_policy for tool in decided} or at_first.get("policy")
        found |= {"tools_off": sorted(off)} if off else {}
        return found | ({"tools_policy": policy} if policy else {})


def name_of(url):
    """A name for a server that got none: ``https://mcp.example.com/mcp`` is "example"."""
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:  # the constraint says what is wrong with it
        labels = []
    telling = [label for label in labels if label not in ("", "www", "api", "mcp")]
    return telling[0] if telling and not telling[0].isdecimal() else "server"


def _vals_of_import(entry):
    return {
        "name": entry.name,
        "url": entry.url,
        "transport": entry.transport,
        "description": entry.description,
        "api_key": entry.api_key,
        "headers_json": entry.headers_json,
        **{key: value for key, value in entry.settings.items() if not key.startswith("tools_")},
    }


def _tools_of_import(entry):
    named = {"off": entry.settings.get("tools_off"), "policy": entry.settings.get("tools_policy")}
    return {key: value for key, value in named.items() if value} or False


def _that_fits(entry, owner):
    """The entry without what only system servers can have; a person enters a key instead."""
    kept, is_system = dict(entry.settings), owner["scope"] == "system"
    released = settings.get().released_env if is_system else ()
    lacks_key = kept.get("api_key_env", "") not in ("", *released)
    if lacks_key:
        del kept["api_key_env"]
    if not is_system:
        lacks_key |= kept.pop("wants_own_keys", False)
    missing = (*entry.missing, *(["Authorization"] if lacks_key else []))
    return replace(entry, settings=kept, missing=missing)
