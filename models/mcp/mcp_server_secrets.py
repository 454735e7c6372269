import json
import os

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services.errors import ConfigError, KeyMissing
from ...services.net import egress
from ...services.specs import ServerSpec, variant_of_record
from ...tools import mcp_switch, sentences, settings

OTHERS_READ = "Your own key or sign-in for this MCP server is not used where others can read the conversation."
OWN_KEYS = "own_keys"  # those that people added for themselves, among the names of secrets


class McpServer(models.Model):
    """The credentials of a server, and the frozen copy with them that the engine gets."""

    _inherit = "woow_paas_platform.mcp_server"

    api_key = fields.Char(
        help="Sent as a bearer token. Stored encrypted. Leave empty to keep the current key. Changing "
        "the host or the owner of the server removes the key unless you enter a new one."
    )
    api_key_env = fields.Char(
        "API Key from the Environment",
        help="Name of an environment variable of Odoo that contains the key, used instead of a stored "
        "key. The operator has to release it.",
    )
    wants_own_keys = fields.Boolean(
        "Users Add Their Own Key",
        help="Each chat uses the key its user has added in the AI settings of the portal. The key above is "
        "only used to read the tools, never in a chat.",
    )
    headers_json = fields.Text(
        "Headers (JSON)",
        compute="_compute_headers_json",
        inverse="_inverse_headers_json",
        help='Additional HTTP headers, such as {"X-Team": "blue"}. Stored encrypted. Leave empty to '
        "keep the current headers; {} removes them.",
    )
    headers_json_encrypted = fields.Text(groups=fields.NO_ACCESS, copy=False)
    credential_count = fields.Integer(
        "Personal Keys",
        compute="_compute_credential_count",
        groups="woow_paas_platform.group_admin",
    )
    header_names = fields.Char(readonly=True, copy=False, help="Names of the stored headers.")

    def _compute_credential_count(self):
        counts = self._counts("woow_paas_platform.server_credential")
        for server in self:
            server.credential_count = counts.get(server, 0)

    @api.depends("headers_json_encrypted")
    def _compute_headers_json(self):
        self._blank_secrets("headers_json")

    def _inverse_headers_json(self):
        for server in self:
            if not server.headers_json:
                continue
            try:
                headers = json.loads(server.headers_json)
                egress.check_headers(headers)
            except (ValueError, ConfigError) as error:
                reason = sentences.translated(self.env, str(error))
                raise ValidationError(
                    self.env._("The headers are not valid: %(reason)s", reason=reason)
                ) from error
            # sudo: mcp_server - readonly; who may replace the headers replaces what is said of them
            server.sudo().header_names = ", ".join(headers)
        self._store_secret("headers_json")

    def _managed_data(self):
        return super()._managed_data() | {"api_key_env": self.api_key_env or ""}

    @api.onchange("url", "scope", "cloud_service_id", "owner_user_id")
    def _onchange_owner(self):
        return self._warn_of_move()

    def _owner_key(self):
        """Whose it is: secrets stay with those who entered them."""
        service = self.cloud_service_id._origin
        return self.scope, service.id, service.workspace_id.id, self.owner_user_id._origin.id

    def _secret_facts(self):
        """Secrets belong to who was at the address, and to whose server it was, when they were entered."""
        here = (egress.origin(self.url), self._owner_key())
        facts = {OWN_KEYS: here}
        if not self.managed_by_file:
            facts |= {"api_key": here, "headers_json": here}
        return super()._secret_facts() | facts

    def _forget_secrets(self, names):
        result = super()._forget_secrets(names)
        server = self.sudo()  # sudo: mcp_server - readonly for people; who moves it empties it
        if "headers_json" in names:
            server.header_names = False
        if OWN_KEYS in names:
            # sudo: server_credential - people's own keys, removed only
            self.env["woow_paas_platform.server_credential"].sudo().search(
                [("server_id", "in", self.ids)]
            ).unlink()
        self._reset_state()
        return result

    def _held_secrets(self):
        held = super()._held_secrets()
        Credential = self.env["woow_paas_platform.server_credential"]
        # sudo: server_credential - that there are some, not whose
        if Credential.sudo().search_count([("server_id", "=", self.id)], limit=1):
            held.add(OWN_KEYS)
        return held

    @api.constrains("wants_own_keys", "scope", "transport", "authorization")
    def _check_wants_own_keys(self):
        for server in self.filtered("wants_own_keys"):
            if server.scope != "system" or server.transport == "stdio":
                raise ValidationError(
                    self.env._(
                        "Only a system server with an address can require users to add their own key."
                    )
                )
            if server.authorization != "key":
                raise ValidationError(
                    self.env._(
                        "Servers that users sign in to do not accept keys. Switch off “Users Add Their Own Key”."
                    )
                )

    @api.constrains("api_key_env", "scope")
    def _check_api_key_env(self):
        """The operator's keys are for servers of the whole system, and only those that were released."""
        for server in self.filtered("api_key_env"):
            if server.scope != "system":
                raise ValidationError(
                    self.env._("Only a system server can take its key from the environment.")
                )
            if server.api_key_env not in settings.get().released_env:
                raise ValidationError(
                    self.env._(
                        "The operator has not released the variable %(name)s: it must be listed in "
                        "released_env of the section [woow_ai] in odoo.conf.",
                        name=server.api_key_env,
                    )
                )

    def _has_personal_credential(self):
        """Whether it is called with rights that are one person's own, by a key or by a sign-in."""
        return self.wants_own_keys

    def _key_problem(self, person):
        """:return: why the server cannot be used with what is this person's own, or ``None``

        :param person: an empty set where it is nobody's alone
        """
        if not person and self._has_personal_credential():
            return KeyMissing(OTHERS_READ)
        if not self.wants_own_keys:
            return None
        Credential = self.env["woow_paas_platform.server_credential"]
        return None if Credential._of(self, person) else KeyMissing()

    def _current_api_key(self, person):
        """:raises ConfigError: there is none where there should be one"""
        self.ensure_one()
        if self.wants_own_keys and person is not None:
            Credential = self.env["woow_paas_platform.server_credential"]
            return Credential._of(self, person)._read_secret("api_key")
        name = self.api_key_env
        if not name:
            return self._read_secret("api_key")
        if name not in settings.get().released_env or not os.environ.get(name):
            raise ConfigError(
                f"The key of this MCP server is missing: the environment variable {name} is not set."
            )
        return os.environ[name]

    def _server_specs(self, person=None):
        """:param person: as for `_server_spec`
        :return: the specs by id, and by id the error of each server that has none now"""
        specs, problems = {}, {}
        for server in self:
            try:
                specs[server.id] = server._server_spec(person)
            except ConfigError as error:
                problems[server.id] = error
        return specs, problems

    def _server_spec(self, person=None):
        """:param person: who asks, an empty set where others read along; None is Odoo itself, which reads the tools
        :raises ConfigError: a secret is missing, may not be used here or does not open"""
        if person is not None and (problem := self._key_problem(person)):
            raise problem
        headers = self._read_secret("headers_json")
        return ServerSpec(
            **self._spec_of_row(person),
            url=self.url,
            transport=self.transport,
            headers=json.loads(headers) if headers else {},
            api_key=self._current_api_key(person),
            call_timeout=self.call_timeout,
        )

    def _spec_of_row(self, person):
        """What the engine learns of every server from its row, wherever its address and secrets come from.

        :raises ConfigError: MCP is switched off, or in a neutralized copy nobody has switched the server on
        """
        self.ensure_one()
        mcp_switch.check(self.env)
        self._check_copy()
        return {
            "id": self.id,
            "name": self.name,
            "realm": self.env.cr.dbname,
            "person": person.id if person else 0,
            "last_variant": variant_of_record(self.detected_transport, self.protocol_version or ""),
            "title": self.display_name,
            "description": self.description or "",
            "trust_level": self.trust_level,
            "connect_timeout": self.connect_timeout,
        }

    def action_view_credentials(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.server_credential_action"
        )
        return {**action, "domain": [("server_id", "=", self.id)]}
