import hashlib
import json
import os
from dataclasses import replace

from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Domain

from ...services.errors import ConfigError, KeyMissing
from ...services.net import egress
from ...services.oauth import flow
from ...services.sentence import _lt
from ...services.specs import OAuthSpec, ServerSpec, variant_of_record
from ...tools import mcp_switch, sentences, settings
from ...tools.moments import utc

OTHERS_READ = _lt(
    "Your own key or sign-in for this MCP server is not used where others can read the conversation."
)
OWN_KEYS = "own_keys"  # those that people added for themselves, among the names of secrets
SIGN_INS = "sign_ins"  # tokens that were given out, among the names of secrets
SIGN_IN = "woow_paas_platform.mcp_sign_in"
START = "/api/ai/oauth/start"
CALLBACK = "/api/ai/oauth/callback"
CLIENT = "/api/ai/oauth/client.json"
BY_A_PERSON = ("oauth_server", "oauth_user")


class McpServer(models.Model):
    """The secrets of a server: keys, headers and sign-ins, and the frozen copy with them that the engine gets."""

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
    header_names = fields.Char(readonly=True, copy=False, help="Names of the stored headers.")
    credential_count = fields.Integer(
        "Personal Keys",
        compute="_compute_credential_count",
        groups="woow_paas_platform.group_admin",
    )

    authorization = fields.Selection(
        [
            ("key", "Key, headers or none"),
            ("oauth_server", "OAuth, one sign-in for everyone"),
            ("oauth_user", "OAuth, each user signs in"),
            ("oauth_client", "OAuth, client credentials"),
        ],
        required=True,
        default="key",
        tracking=True,
        help="With one sign-in for everyone, all chats act with the permissions of the user who signed in.",
    )
    oauth_client_id = fields.Char(
        "Client ID",
        help="Only needed if this Odoo was registered manually. Otherwise it identifies itself automatically.",
    )
    oauth_client_secret = fields.Char(
        "Client Secret",
        compute="_compute_oauth_client_secret",
        inverse="_inverse_oauth_client_secret",
        help="Stored encrypted. Leave empty to keep the current secret.",
    )
    oauth_client_secret_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    oauth_issuer = fields.Char(
        "Authorization Server",
        help="Issuer where the client is registered. The client secret is never sent anywhere else.",
    )
    oauth_callbacks = fields.Text(
        "Callback URLs",
        compute="_compute_oauth_callbacks",
        help="Redirect URLs to register for the client. The second one is used when users are sent to a "
        "page of another server.",
    )
    oauth_scope = fields.Char(
        "Scopes",
        help="Scopes to request, separated by spaces. Leave empty to use the scopes listed by the server.",
    )
    sign_in_ids = fields.One2many(
        SIGN_IN, "server_id", "Sign-ins", domain=[("is_active", "=", True)], copy=False
    )

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

    @api.depends("oauth_client_secret_encrypted")
    def _compute_oauth_client_secret(self):
        self._blank_secrets("oauth_client_secret")

    def _inverse_oauth_client_secret(self):
        self._store_secret("oauth_client_secret")

    @api.depends("oauth_issuer")
    def _compute_oauth_callbacks(self):
        # sudo: ir.config_parameter - the address of this Odoo, which its people know
        shared = f"{self.sudo().browse().get_base_url()}{CALLBACK}"
        for server in self:
            own = flow.callback_of(server.oauth_issuer) if server.oauth_issuer else ""
            server.oauth_callbacks = f"{shared}\n{shared}/{own}" if own else shared

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

    @api.constrains("authorization", "oauth_client_id", "oauth_issuer", "transport")
    def _check_oauth(self):
        for server in self.filtered(lambda server: server.authorization != "key"):
            if server.transport == "stdio":
                raise ValidationError(
                    self.env._("Servers started by a command do not support OAuth.")
                )
            if server.oauth_client_id and not server.oauth_issuer:
                raise ValidationError(
                    self.env._("Enter the authorization server where the client is registered.")
                )
            if server.authorization == "oauth_client" and not server.oauth_client_id:
                raise ValidationError(self.env._("Client credentials need a client ID."))

    @api.onchange("url", "scope", "cloud_service_id", "owner_user_id")
    def _onchange_owner(self):
        return self._warn_of_move()

    def action_view_credentials(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.server_credential_action"
        )
        return {**action, "domain": [("server_id", "=", self.id)]}

    def action_sign_in(self):
        self.ensure_one()
        self.check_access("write")
        return {"type": "ir.actions.act_url", "url": f"{START}/{self.id}", "target": "new"}

    # ------------------------------------------------------------ what secrets were entered for, and when they are void

    def _owner_key(self):
        """Key of the owner: secrets stay with those who entered them."""
        service = self.cloud_service_id._origin
        return self.scope, service.id, service.workspace_id.id, self.owner_user_id._origin.id

    def _secret_facts(self):
        """Secrets belong to who was at the address, and to whose server it was, when they were entered."""
        owner = self._owner_key()
        here = (egress.origin(self.url), owner)
        client = (self.oauth_client_id, self.oauth_issuer, owner)
        wanted = (self.url, self.authorization, self.oauth_scope)
        facts = {OWN_KEYS: here, "oauth_client_secret": client, SIGN_INS: (client, wanted)}
        if not self.managed_by_file:
            facts |= {"api_key": here, "headers_json": here}
        if self.template_code:
            facts["template_values"] = owner
        return super()._secret_facts() | facts

    def _forget_secrets(self, names):
        if SIGN_INS in names:
            self._end_sign_ins()
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
        if "template_values" in names:
            self._stop_without_values()
        return result

    def _forget_sign_ins(self):
        """Void all tokens: the client is another one."""
        self._forget_secrets({SIGN_INS})

    def _end_sign_ins(self):
        # sudo: mcp_sign_in - who may write or delete the server decides about the tokens that it has
        self.env[SIGN_IN].sudo().search([("server_id", "in", self.ids)]).unlink()

    def _held_secrets(self):
        held = super()._held_secrets()
        Credential = self.env["woow_paas_platform.server_credential"]
        # sudo: server_credential - that there are some, not whose
        if Credential.sudo().search_count([("server_id", "=", self.id)], limit=1):
            held.add(OWN_KEYS)
        if self.sudo().sign_in_ids:  # sudo: mcp_sign_in - that there are some, not whose
            held.add(SIGN_INS)
        return held

    def _remove_api_key(self):
        self.check_access("write")
        # sudo: mcp_server - the store is readable by nobody; who may write the server may empty it
        self.sudo().api_key_encrypted = False
        self._record_act("secret_removed", secret="api_key")  # noqa: S106 the name of the field

    # ------------------------------------------------------------ the frozen copy for the engine

    def _has_personal_credential(self):
        """True if it is called with rights that are one person's own, by a key or by a sign-in."""
        return self.authorization == "oauth_user" or self.wants_own_keys

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
                _lt(
                    "The key of this MCP server is missing: the environment variable %(name)s is not set.",
                    name=name,
                )
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
        """:param person: who asks, an empty set where others read along; None is Odoo itself, which reads the tools.
            Matters to servers outside the operator's file only
        :raises ConfigError: a secret is missing, may not be used here or does not open, or the operator's file does not
            say any more how the server is asked"""
        self.ensure_one()
        if self.managed_by_file or self.transport == "stdio":
            spec = self._spec_of_entry(person)
        else:
            spec = self._spec_of_address(person)
        if self.authorization == "key":
            return spec
        return replace(spec, api_key="", oauth=self._oauth_spec())

    def _spec_of_address(self, person):
        """Specification as `_server_spec`, of a server whose address and secrets are in its row."""
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
        """The part of the `ServerSpec` that comes from the row, wherever address and secrets come from.

        :raises ConfigError: MCP is switched off, or in a neutralized copy nobody has switched the server on
        """
        self.ensure_one()
        mcp_switch.check(self.env)
        self._check_copy()
        return {
            "id": self.id,
            "name": self.name,
            "database": self.env.cr.dbname,
            "person": person.id if person else 0,
            "last_variant": variant_of_record(self.detected_transport, self.protocol_version or ""),
            "title": self.display_name,
            "description": self.description or "",
            "trust_level": self.trust_level,
            "connect_timeout": self.connect_timeout,
        }

    # ------------------------------------------------------------ OAuth 2.1

    def _oauth_spec(self):
        """The `OAuthSpec` by which the current user gets a token."""
        base = self.get_base_url()
        is_client = self.authorization == "oauth_client"
        return OAuthSpec(
            key=self._credential_key(
                self.env.uid if self.authorization == "oauth_user" else 0,
                0 if is_client else self.env.uid,
            ),
            redirect_uri=f"{base}{CALLBACK}",
            grant="client_credentials" if is_client else "authorization_code",
            scope=self.oauth_scope or "",
            client_metadata_url=f"{base}{CLIENT}" if base.startswith("https:") else "",
            client_id=self.oauth_client_id or "",
            client_secret=self._read_secret("oauth_client_secret"),
            client_issuer=self.oauth_issuer or "",
        )

    def _credential_key(self, user_id, signer_id):
        """The name of a credential, ``OAuthSpec.key``: ``database/server/user/signer/address``.

        :param user_id: whose it is, 0 if everybody's
        :param signer_id: who would sign in now
        """
        self.ensure_one()
        address = self._address_digest()
        return f"{self.env.cr.dbname}/{self.id}/{user_id}/{signer_id}/{address}"

    def _address_digest(self):
        """Changes with the server's address: its tokens go nowhere else."""
        self.ensure_one()
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    def _can_sign_in(self, user):
        """True if this user's sign-in is one that the server wants: everybody's own, or a manager's."""
        self.ensure_one()
        if self.authorization == "oauth_user":
            return True
        own = self.with_user(user).sudo(False)
        return self.authorization == "oauth_server" and own.has_access("write")

    def _sign_in(self, make=False):
        """The current user's credential, or the one that all share.

        :return: sudo'd, empty where there is none
        """
        self.ensure_one()
        # sudo: mcp_sign_in - found by the server and the current user only
        SignIn = self.env[SIGN_IN].sudo()
        user_id = self.env.uid if self.authorization == "oauth_user" else 0
        return SignIn._of(self.id, user_id, self._address_digest(), make=make)

    def _authorization_data(self):
        """The authorization of its calls, as JSON for its managers."""
        is_wanted = self.authorization in BY_A_PERSON
        sign_in = self._sign_in() if is_wanted else None
        return {
            "authorization": self.authorization,
            "oauth_client_id": self.oauth_client_id or "",
            "has_oauth_client_secret": bool(self.oauth_client_secret_encrypted),
            "oauth_issuer": self.oauth_issuer or "",
            "oauth_scope": self.oauth_scope or "",
            "sign_in_url": f"{START}/{self.id}" if is_wanted else None,
            "sign_in_id": sign_in.id if sign_in and sign_in.is_active else None,
        }


class ServerCredential(models.Model):
    """A personal key for a system server that requires one of each person. Nobody reads a key back;
    its person sees that it is there and takes it away, administrators see which ones there are."""

    _name = "woow_paas_platform.server_credential"
    _description = "Personal MCP Server Key"
    _inherit = ["woow_paas_platform.api_key.mixin"]
    _audited_acts = {"unlink": "secret_removed"}
    _order = "id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, readonly=True, ondelete="cascade"
    )
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )

    _unique = models.Constraint(
        "UNIQUE (server_id, user_id)", "A user can have only one key per MCP server."
    )

    def _audit_codes(self):
        return {"server": self.server_id, "of": self.user_id}

    @api.depends("server_id.name", "server_id.title")
    def _compute_display_name(self):
        for credential in self:
            # sudo: mcp_server - everybody sees the names of system servers
            credential.display_name = credential.sudo().server_id.display_name

    @api.model
    def _of(self, server, person):
        """The row of this person, an empty set if there is none."""
        # sudo: server_credential - that it is there is asked for its own person only, the key goes to the engine
        return self.sudo().search([("server_id", "=", server.id), ("user_id", "=", person.id)])

    @api.model
    def _keep(self, server, person, api_key):
        """Add the person's key for the server, or replace it."""
        if known := self._of(server, person):
            known.api_key = api_key
            return known
        vals = {"server_id": server.id, "user_id": person.id, "api_key": api_key}
        return self.sudo().create(vals)  # sudo: server_credential - people write only their own

    @api.model
    def _connections(self):
        """Each server that wants a key of the caller, or has one, as JSON."""
        # sudo: mcp_server, server_credential - the caller's own, and everybody sees the names of system servers
        Server, mine = self.env["woow_paas_platform.mcp_server"].sudo(), self.sudo()
        has_one = mine.search([("user_id", "=", self.env.uid)]).server_id.ids
        wants_one = Domain("wants_own_keys", "=", True) & Domain("active", "=", True)
        wants_one &= Server._system_domain()
        wanting = Server.with_context(active_test=False).search(
            wants_one | Domain("id", "in", has_one)
        )
        return [self._of(server, self.env.user)._connection(server) for server in wanting]

    def _connection(self, server):
        """:return: ``{"id", "name", "title", "description"}`` of the server, and since when there is a key or None"""
        return {
            "server": {
                "id": server.id,
                "name": server.name,
                "title": server.title or "",
                "description": server.description or "",
            },
            "has_key": bool(self),
            "key_since": utc(self.write_date),
        }
