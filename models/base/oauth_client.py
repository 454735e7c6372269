import logging
import secrets
from datetime import timedelta

from odoo import api, fields, models
from odoo.fields import Domain

from ...services.oauth_server import registration
from ...services.oauth_server.errors import OAuthError

_logger = logging.getLogger(__name__)

PERIOD = 3600  # s
MAX_OF_NETWORK = 20  # registrations of one network within a period
MAX_UNUSED = 1000  # clients that nobody has signed in with
UNUSED_DAYS = 7  # until such a client is deleted
IDLE_DAYS = 180  # until a client is deleted that nobody is connected with any more


class OauthClient(models.Model):
    """Client of `/mcp`: a program that has registered itself (RFC 7591). Its name is its own word."""

    _name = "woow_paas_platform.oauth_client"
    _description = "MCP Client"
    _order = "id desc"

    name = fields.Char(required=True, readonly=True)
    client_id = fields.Char("Client ID", required=True, readonly=True)
    redirect_uris = fields.Text("Redirect URIs", required=True, readonly=True, help="One a line.")
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
                "client_id": secrets.token_urlsafe(16),
                "redirect_uris": "\n".join(wanted.redirect_uris),
                "network": network,
            }
        )
        _logger.info("The MCP client %r has registered from %s.", wanted.name, network)
        return client

    @api.model
    def _make_room(self, since):
        """Delete the oldest unused client where there are too many, but none that has come after `since`.

        :raises OAuthError: all of them are too new
        """
        unused = Domain("last_used_at", "=", False)
        if self.search_count(unused, limit=MAX_UNUSED) < MAX_UNUSED:
            return
        oldest = self.search(unused & Domain("create_date", "<", since), order="id", limit=1)
        if not oldest:
            raise _too_many()
        oldest.unlink()

    @api.model
    def _of(self, client_id):
        """:param client_id: of a request, not checked; an unknown one gives an empty recordset"""
        return self.search([("client_id", "=", client_id)]) if client_id else self.browse()

    def _uris(self):
        return self.redirect_uris.split("\n")

    @api.autovacuum
    def _gc_over(self):
        now = fields.Datetime.now()
        unused = Domain("last_used_at", "=", False)
        unused &= Domain("create_date", "<", now - timedelta(days=UNUSED_DAYS))
        idle = Domain("last_used_at", "<", now - timedelta(days=IDLE_DAYS))
        nobodys = Domain("grant_ids", "=", False) & (unused | idle)
        self.search(nobodys, limit=10_000).unlink()
        known = [("network", "!=", False), ("create_date", "<", now - timedelta(days=1))]
        self.search(known, limit=10_000).network = False


def _too_many():
    said = "Too many clients have registered lately. Try again later."
    return OAuthError("temporarily_unavailable", said, retry_after=PERIOD)
