import logging
import secrets
from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import AccessError, ValidationError
from odoo.fields import Domain

from ...services.oauth_server import (
    client_document,
    client_secret,
    const,
    redirects,
    registration,
    tokens,
)
from ...services.oauth_server.errors import OAuthError

_logger = logging.getLogger(__name__)

PERIOD = 3600  # s
MAX_OF_NETWORK = 20  # registrations of one network within a period
MAX_UNUSED = 1000  # clients that nobody has signed in with
UNUSED_DAYS = 7  # until such a client is deleted
IDLE_DAYS = 180  # until a client is deleted that nobody is connected with any more
FRESH = 300  # s for which the document of a client is not read again


class OauthClient(models.Model):
    """Client of `/mcp`: a program that has registered itself (RFC 7591), describes itself at the address that is its
    id, or was added by an administrator. Its name is its own word, but for the last."""

    _name = "woow_paas_platform.oauth_client"
    _inherit = ["woow_paas_platform.readonly.mixin"]
    _description = "MCP Client"
    _order = "id desc"

    name = fields.Char(required=True, size=const.MAX_NAME)
    kind = fields.Selection(
        [
            ("registered", "Registered by Itself"),
            ("document", "Described at Its Address"),
            ("administrator", "Added by an Administrator"),
        ],
        "Added",
        required=True,
        readonly=True,
        default=lambda self: "registered" if self.env.su else "administrator",
    )
    client_id = fields.Char(
        "Client ID",
        required=True,
        readonly=True,
        copy=False,
        default=lambda self: secrets.token_urlsafe(16),
    )
    redirect_uris = fields.Text(
        "Redirect URIs",
        required=True,
        help="Addresses that may get the answer of a sign-in, one a line. The program's documentation names them.",
    )
    secret_digest = fields.Char(groups=fields.NO_ACCESS, copy=False)
    has_secret = fields.Boolean(
        compute="_compute_has_secret",
        compute_sudo=True,
        help="The client must show its secret whenever it asks for tokens.",
    )
    described_at = fields.Datetime(
        readonly=True, copy=False, help="When its document was last read."
    )
    grant_ids = fields.One2many("woow_paas_platform.oauth_grant", "client_id", readonly=True)
    last_used_at = fields.Datetime("Last Used", readonly=True)
    network = fields.Char(
        groups=fields.NO_ACCESS, help="Network that it registered from, kept for a day."
    )

    _client_id_unique = models.UniqueIndex("(client_id)")
    _recent = models.Index("(network, create_date) WHERE network IS NOT NULL")

    @api.model
    def _add_client(self, wanted, address):
        """Register a client, for nobody yet.

        :param wanted: `services.oauth_server.registration.Registration`
        :param address: IP address that asks
        :raises OAuthError: too many have come lately
        """
        network = registration.network(address)
        since = fields.Datetime.now() - timedelta(seconds=PERIOD)
        recent = [("network", "=", network), ("create_date", ">", since)]
        if self.search_count(recent, limit=MAX_OF_NETWORK) >= MAX_OF_NETWORK:
            raise _too_many()
        self._make_room(since)
        client = self.create(
            {
                "name": wanted.name,
                "redirect_uris": "\n".join(wanted.redirect_uris),
                "network": network,
            }
        )
        _logger.info("The MCP client %r has registered from %s.", wanted.name, network)
        return client

    @api.model
    def _keep_described(self, client_id, found):
        """Keep what the document of a client says now.

        :param client_id: address of the document
        :param found: `services.oauth_server.registration.Registration`
        :raises OAuthError: there are too many new clients
        """
        now = fields.Datetime.now()
        values = {
            "name": found.name,
            "redirect_uris": "\n".join(found.redirect_uris),
            "described_at": now,
        }
        if client := self._of(client_id):
            client.write(values)
            return
        self._make_room(now - timedelta(seconds=PERIOD))
        self.create({**values, "client_id": client_id, "kind": "document"})

    def _is_to_be_read(self, client_id):
        """True where `client_id` is the address of a document that was not read lately.

        :param self: the client of this id, empty without one
        """
        if not client_document.is_address(client_id):
            return False
        latest = fields.Datetime.now() - timedelta(seconds=FRESH)
        return not self.described_at or self.described_at < latest

    # ------------------------------------------------------------ of administrators

    @api.depends("secret_digest")
    def _compute_has_secret(self):
        for client in self:
            client.has_secret = bool(client.secret_digest)

    @api.constrains("redirect_uris")
    def _check_redirect_uris(self):
        for client in self:
            uris = client._uris()
            if not 0 < len(uris) <= const.MAX_URIS or not all(map(redirects.is_acceptable, uris)):
                raise ValidationError(
                    self.env._(
                        "Enter one to %(limit)s redirect URIs, one a line: https, http on localhost, or of an app's "
                        "own scheme.",
                        limit=const.MAX_URIS,
                    )
                )

    def write(self, vals):
        if not self.env.su and any(client.kind != "administrator" for client in self):
            raise AccessError(
                self.env._("This program describes itself; nobody else can change it.")
            )
        return super().write(vals)

    def action_new_secret(self):
        """Replace the secret, and show the new one this once."""
        self.ensure_one()
        self.check_access("write")
        if self.kind != "administrator":
            raise AccessError(
                self.env._("Only clients that an administrator has added have a secret.")
            )
        secret = client_secret.new()
        # sudo: oauth_client - its secret is readable by nobody; who may write the client may replace it
        self.sudo().secret_digest = tokens.digest(secret)
        _logger.info("User %s makes a secret for the MCP client %r.", self.env.uid, self.name)
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": "warning",
                "sticky": True,
                "message": self.env._("Copy the new secret now, it is not shown again: %s", secret),
                "next": {"type": "ir.actions.client", "tag": "soft_reload"},
            },
        }

    def _check_secret(self, secret):
        """:raises OAuthError: the client has another secret than it shows"""
        if self.secret_digest and not tokens.is_same(secret, self.secret_digest):
            raise OAuthError("invalid_client", "The client's secret is missing or wrong.")

    @api.model
    def _make_room(self, since):
        """Delete the oldest unused client where there are too many, but none that has come after `since`.

        :raises OAuthError: all of them are too new
        """
        unused = Domain("last_used_at", "=", False) & Domain("kind", "!=", "administrator")
        if self.search_count(unused, limit=MAX_UNUSED) < MAX_UNUSED:
            return
        oldest = self.search(unused & Domain("create_date", "<", since), order="id", limit=1)
        if not oldest:
            raise _too_many()
        oldest.unlink()

    @api.model
    def _of(self, client_id):
        """:param client_id: of a request, not checked; an unknown one gives an empty recordset"""
        if not client_id or "\0" in client_id:
            return self.browse()
        return self.search([("client_id", "=", client_id)])

    def _uris(self):
        return (self.redirect_uris or "").split()

    @api.autovacuum
    def _gc_over(self):
        now = fields.Datetime.now()
        unused = Domain("last_used_at", "=", False)
        unused &= Domain("create_date", "<", now - timedelta(days=UNUSED_DAYS))
        idle = Domain("last_used_at", "<", now - timedelta(days=IDLE_DAYS))
        nobodys = Domain("grant_ids", "=", False) & (unused | idle)
        nobodys &= Domain("kind", "!=", "administrator")
        self.search(nobodys, limit=10_000).unlink()
        known = [("network", "!=", False), ("create_date", "<", now - timedelta(days=1))]
        self.search(known, limit=10_000).network = False


def _too_many():
    said = "Too many clients have registered lately. Try again later."
    return OAuthError("temporarily_unavailable", said, retry_after=PERIOD)
