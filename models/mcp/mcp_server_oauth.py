import hashlib
from dataclasses import replace

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services.oauth import flow
from ...services.specs import OAuthSpec
from ...tools import mcp_switch

SIGN_IN = "woow_paas_platform.mcp_sign_in"
START = "/api/ai/oauth/start"
CALLBACK = "/api/ai/oauth/callback"
CLIENT = "/api/ai/oauth/client.json"
BY_A_PERSON = ("oauth_server", "oauth_user")
SIGN_INS = "sign_ins"  # tokens that were given out, among the names of secrets


class McpServer(models.Model):
    """Authorization of calls to a server: by a key, or by OAuth 2.1 tokens."""

    _inherit = "woow_paas_platform.mcp_server"

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

    is_first_contact = fields.Boolean(compute="_compute_is_first_contact")

    @api.depends("active", "state", "last_attempt", "authorization", "sign_in_ids")
    def _compute_is_first_contact(self):
        """Servers that are being asked what they have, for the first time."""
        for server in self:
            is_new = server.active and server.state == "draft" and not server.last_attempt
            waits = server.authorization == "oauth_server" and not server.sign_in_ids
            server.is_first_contact = is_new and not waits and bool(server._asked_by_odoo())

    @api.depends("oauth_issuer")
    def _compute_oauth_callbacks(self):
        # sudo: ir.config_parameter - the address of this Odoo, which its people know
        shared = f"{self.sudo().browse().get_base_url()}{CALLBACK}"
        for server in self:
            own = flow.callback_of(server.oauth_issuer) if server.oauth_issuer else ""
            server.oauth_callbacks = f"{shared}\n{shared}/{own}" if own else shared

    @api.depends("oauth_client_secret_encrypted")
    def _compute_oauth_client_secret(self):
        self._blank_secrets("oauth_client_secret")

    def _inverse_oauth_client_secret(self):
        self._store_secret("oauth_client_secret")

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

    def _after_write(self, vals):
        if vals.get("oauth_client_secret"):
            self._forget_secrets({SIGN_INS})
        return super()._after_write(vals)

    def _secret_facts(self):
        client = (self.oauth_client_id, self.oauth_issuer, self._owner_key())
        wanted = (self.url, self.authorization, self.oauth_scope)
        return super()._secret_facts() | {"oauth_client_secret": client, SIGN_INS: (client, wanted)}

    def _forget_secrets(self, names):
        if SIGN_INS in names:
            # sudo: mcp_sign_in - who may write the server decides where its tokens come from
            self.env[SIGN_IN].sudo().search([("server_id", "in", self.ids)]).unlink()
        return super()._forget_secrets(names)

    def _held_secrets(self):
        held = super()._held_secrets()
        if self.sudo().sign_in_ids:  # sudo: mcp_sign_in - that there are some, not whose
            held.add(SIGN_INS)
        return held

    def _before_unlink(self):
        # sudo: mcp_sign_in - who may delete the server signs everybody out of it
        self.env[SIGN_IN].sudo().search([("server_id", "in", self.ids)]).unlink()
        return super()._before_unlink()

    def _asked_by_odoo(self):
        """Those that Odoo can ask without a person; none while MCP is switched off."""
        if not mcp_switch.is_on(self.env):
            return self.browse()
        return self.filtered(lambda server: server.authorization != "oauth_user")

    def _has_personal_credential(self):
        return self.authorization == "oauth_user" or super()._has_personal_credential()

    def _server_spec(self, person=None):
        spec = super()._server_spec(person)
        if self.authorization == "key":
            return spec
        return replace(spec, api_key="", oauth=self._oauth_spec())

    def _oauth_spec(self):
        """How the current user gets a token."""
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
        """Whether this user's sign-in is one that the server wants: everybody's own, or a manager's."""
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

    def _managed_data(self):
        is_wanted = self.authorization in BY_A_PERSON
        sign_in = self._sign_in() if is_wanted else None
        return super()._managed_data() | {
            "authorization": self.authorization,
            "oauth_client_id": self.oauth_client_id or "",
            "has_oauth_client_secret": bool(self.oauth_client_secret_encrypted),
            "oauth_issuer": self.oauth_issuer or "",
            "oauth_scope": self.oauth_scope or "",
            "sign_in_url": f"{START}/{self.id}" if is_wanted else None,
            "sign_in_id": sign_in.id if sign_in and sign_in.is_active else None,
        }

    def action_sign_in(self):
        self.ensure_one()
        self.check_access("write")
        return {"type": "ir.actions.act_url", "url": f"{START}/{self.id}", "target": "new"}
