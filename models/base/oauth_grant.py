import logging
from datetime import UTC, datetime, timedelta

from odoo import api, fields, models
from odoo.fields import Domain
from odoo.tools import email_normalize

from ...services.oauth_server import const, exchange, id_jag, parameters, redirects, tokens
from ...services.oauth_server.errors import OAuthError
from ...services.oauth_server.exchange import KeptCode
from ...tools.moments import utc
from ...tools.refusals import NotThere, Refusal

_logger = logging.getLogger(__name__)

MAX_OF_PERSON = 20  # connected clients


class OauthGrant(models.Model):
    """Grant: a person's consent to one client of `/mcp`, and digests of the tokens that it has for it.

    Ending it is deleting it. Nobody can read a token.
    """

    _name = "woow_paas_platform.oauth_grant"
    _description = "Connected MCP Client"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _audited_acts = {"create": "client_allowed", "unlink": "client_ended"}
    _order = "id desc"
    _rec_name = "client_id"

    client_id = fields.Many2one(
        "woow_paas_platform.oauth_client",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    scope = fields.Char(
        "Permissions",
        required=True,
        readonly=True,
        help="tools:read lists the user's tools, tools:call calls them, assistants asks assistants, records:write asks "
        "to change records.",
    )
    redirect_uri = fields.Char(
        "Redirect URI", required=True, readonly=True, help="Address that took the code."
    )
    resource = fields.Char("Address", required=True, readonly=True, help="The tokens are for.")
    gateway_id = fields.Many2one(
        "woow_paas_platform.gateway",
        readonly=True,
        ondelete="cascade",
        index="btree_not_null",
        help="Empty: all that the user may use in chats.",
    )
    company_id = fields.Many2one(
        "res.company",
        readonly=True,
        ondelete="cascade",
        help="The user has chosen it for the client. Empty: all companies of the user.",
    )
    last_used_at = fields.Datetime(
        "Last Used", readonly=True, help="When it last got a token, which is valid for an hour."
    )
    expires_at = fields.Datetime(
        "Valid Until", required=True, readonly=True, help="Unless it is used before."
    )

    family_digest = fields.Char(required=True, groups=fields.NO_ACCESS, copy=False)
    code_digest = fields.Char(groups=fields.NO_ACCESS, copy=False)
    code_challenge = fields.Char(groups=fields.NO_ACCESS, copy=False)
    access_digest = fields.Char(groups=fields.NO_ACCESS, copy=False)
    access_expires_at = fields.Datetime(groups=fields.NO_ACCESS, copy=False)
    refresh_digest = fields.Char(groups=fields.NO_ACCESS, copy=False)

    _family_unique = models.UniqueIndex("(family_digest)")
    _access_unique = models.UniqueIndex("(access_digest) WHERE access_digest IS NOT NULL")

    def _audit_codes(self):
        return {
            "client": self.client_id,
            "gateway": self.gateway_id,
            "scope": self.scope,
            "of": self.user_id,
        }

    # ------------------------------------------------------------ consent

    @api.model
    def _check_room(self, client, gateway):
        """:raises Refusal: the current user has too many clients beside this one at this gateway"""
        others = self._own() - client.grant_ids.filtered(lambda one: one.gateway_id == gateway)
        if len(others) >= MAX_OF_PERSON:
            raise Refusal(
                self.env._(
                    "You have connected %(limit)s MCP clients already. Disconnect one in your AI settings first.",
                    limit=MAX_OF_PERSON,
                ),
                "too_many_clients",
            )

    @api.model
    def _allow(self, client, asked, gateway, company):
        """Grant what a client has asked the current user for.

        :param asked: `services.oauth_server.authorization.Asked`
        :param gateway: that it has asked for, empty for the personal one
        :param company: one of the user's, empty for all of them
        :return: the code, which nobody can read again
        """
        family = tokens.new_family()
        code = tokens.new("code", family)
        # sudo: oauth_grant - nobody creates one otherwise; that of the current user, who has allowed it
        self.sudo().create(
            {
                "client_id": client.id,
                "user_id": self.env.uid,
                "scope": asked.scope,
                "redirect_uri": asked.redirect_uri,
                "resource": asked.resource,
                "gateway_id": gateway.id,
                "company_id": company.id,
                "family_digest": tokens.digest(family),
                "code_digest": tokens.digest(code),
                "code_challenge": asked.challenge,
                "expires_at": _in(const.CODE_LIFE),
            }
        )
        _logger.info("User %s allows the MCP client %r.", self.env.uid, client.name)
        return code

    # ------------------------------------------------------------ tokens

    @api.model
    def _exchange(self, asked):
        """New tokens for a code or a refresh token, which is used up by that.

        A second use is a theft of the first or of this one, so the grant ends, which has to be committed.

        :param asked: `services.oauth_server.exchange.TokenRequest`
        :return: JSON of the answer
        :raises OAuthError: there are none
        """
        client = self._client_of(asked)
        grant = self._of_family(asked.family)
        if asked.grant_type == "authorization_code":
            grant._check_code(client, asked)
            grant._check_resource(asked)
            client.grant_ids.filtered(
                lambda other: (
                    other != grant
                    and (other.user_id, other.gateway_id) == (grant.user_id, grant.gateway_id)
                )
            ).unlink()
        else:
            grant._check_refresh_token(client, asked)
            grant._check_resource(asked)
        if not grant._is_open():
            grant._end("the user may not connect clients any more, or not in this company")
            raise _not_valid()
        return grant._renew(asked.family)

    @api.model
    def _exchange_assertion(self, asked, provider, audience, resource, gateway_of):
        """An access token for an assertion of the identity provider, which is used up by that.

        :param asked: `services.oauth_server.exchange.TokenRequest`
        :param provider: `services.oauth_server.id_jag.Provider`
        :param audience: issuer of this authorization server
        :param resource: address of the personal gateway
        :param gateway_of: ``gateway_of(user, code)`` gives the gateway, empty where the user has none of this code
        :return: JSON of the answer
        :raises OAuthError: there is none
        """
        client = self._client_of(asked)
        if not client.has_secret:
            raise OAuthError("unauthorized_client", "This grant is for clients with a secret.")
        told = id_jag.read(asked.token, provider, audience, client.client_id, asked.scope)
        code = parameters.gateway(told.resource or asked.resource, resource)
        bound_to = f"{resource}/{code}" if code else resource
        if asked.resource and asked.resource != bound_to:
            raise OAuthError("invalid_target", "The assertion is for another address.")
        users = self.env["res.users"]
        # sudo: res.users - a login, which people do not choose themselves, counts before an address, which they do
        user = users.sudo().search([("login", "=", told.user)]) or users._woow_of_address(
            email_normalize(told.user) or told.user
        )
        if not user or not _may_connect(user):
            raise OAuthError("invalid_grant", "The assertion names nobody who may connect clients.")
        gateway = gateway_of(user, code)
        if code and not gateway:
            raise OAuthError("invalid_target", "There is no such gateway.")
        if not self.env["woow_paas_platform.oauth_assertion"]._use(provider.name, told):
            raise OAuthError("invalid_grant", "The assertion was used before.")
        # sudo: oauth_grant - of the user whom the identity provider has named
        grants = self.with_user(user).sudo()
        return grants._give(client, told.scope, gateway, bound_to, provider.name)

    @api.model
    def _give(self, client, scope, gateway, resource, provider):
        """Replace the access token that a client has for the current user by an assertion.

        :param provider: name of the identity provider
        :return: JSON of the answer, see `_exchange_assertion`
        """
        of = {"client_id": client.id, "user_id": self.env.uid}
        of |= {"resource": resource, "redirect_uri": provider}
        grant = self.search([(name, "=", value) for name, value in of.items()], limit=1)
        if not grant and len(self._own()) >= MAX_OF_PERSON:
            raise OAuthError("invalid_grant", "The user has connected too many MCP clients.")
        family, now = tokens.new_family(), fields.Datetime.now()
        access = tokens.new("access", family)
        values = {
            "scope": scope,
            "family_digest": tokens.digest(family),
            "access_digest": tokens.digest(access),
            "access_expires_at": _in(const.ACCESS_LIFE),
            "expires_at": _in(const.ACCESS_LIFE),
            "last_used_at": now,
        }
        if grant:
            grant.write(values)
        else:
            grant = self.create({**of, "gateway_id": gateway.id, **values})
        client.last_used_at = now
        grant._record_act("tokens_issued", **grant._audit_codes())
        return exchange.answer(access, "", scope)

    @api.model
    def _client_of(self, asked):
        """:raises OAuthError: there is no such client, or it does not show its secret"""
        client = self.env["woow_paas_platform.oauth_client"]._of(asked.client_id)
        if not client:
            raise OAuthError("invalid_client", "This client is not registered, or not any more.")
        client._check_secret(asked.secret)
        return client

    @api.model
    def _of_family(self, family):
        found = self.search([("family_digest", "=", tokens.digest(family))]) if family else self
        if not found:
            raise _not_valid()
        return found

    def _check_resource(self, asked):
        if asked.resource and asked.resource != self.resource:
            raise OAuthError("invalid_target", "The tokens are for another address.")

    def _is_open(self):
        """True while its user may have clients and, if it is for one company, belongs to that."""
        user, company = self.user_id, self.company_id
        return _may_connect(user) and (not company or company <= user.company_ids)

    def _check_code(self, client, asked):
        if not self.code_digest:
            self._end("a code was used twice")
            raise _not_valid()
        if self.client_id != client:
            raise _not_valid()
        kept = KeptCode(
            digest=self.code_digest,
            is_over=self._is_over(),
            redirect_uri=self.redirect_uri,
            challenge=self.code_challenge,
        )
        exchange.check_code(asked, kept)

    def _check_refresh_token(self, client, asked):
        if not tokens.is_same(asked.token, self.refresh_digest):
            self._end("a refresh token was used twice")
            raise _not_valid()
        if self.client_id != client or self._is_over():
            raise _not_valid()

    def _renew(self, family):
        """Replace all tokens of the grant.

        :param family: that the client has shown
        :return: JSON of the answer
        """
        access, refresh = tokens.new("access", family), tokens.new("refresh", family)
        now = fields.Datetime.now()
        last = self.create_date + timedelta(seconds=const.GRANT_LIFE)
        self.write(
            {
                "code_digest": False,
                "code_challenge": False,
                "access_digest": tokens.digest(access),
                "access_expires_at": min(_in(const.ACCESS_LIFE), last),
                "refresh_digest": tokens.digest(refresh),
                "expires_at": min(_in(const.REFRESH_LIFE), last),
                "last_used_at": now,
            }
        )
        self.client_id.last_used_at = now
        self._record_act("tokens_issued", **self._audit_codes())
        return exchange.answer(access, refresh, self.scope)

    @api.model
    def _authenticate(self, token, resource):
        """The grant of an access token that is valid for `resource` now; empty where there is none."""
        grant = self.search_fetch(
            [
                ("access_digest", "=", tokens.digest(token)),
                ("access_expires_at", ">", fields.Datetime.now()),
                ("resource", "=", resource),
            ],
            ["user_id", "company_id", "client_id", "scope"],
        )
        grant.client_id.fetch(["name"])
        return grant if grant._is_open() else self.browse()

    @api.model
    def _revoke(self, token, client):
        """End the grant of a token at the client's wish (RFC 7009); a token that is none of it says nothing.

        :param client: `services.oauth_server.client_secret.Credentials`
        :raises OAuthError: the client does not show its secret
        """
        self.env["woow_paas_platform.oauth_client"]._of(client.client_id)._check_secret(
            client.secret
        )
        known = Domain("access_digest", "=", tokens.digest(token))
        if family := tokens.family_of(token):
            known |= Domain("family_digest", "=", tokens.digest(family))
        found = self.search(known & Domain("client_id.client_id", "=", client.client_id))
        found._end("its client has signed out")

    def _end(self, reason):
        for grant in self:
            _logger.info(
                "The MCP client %r of user %s is disconnected: %s.",
                grant.client_id.name,
                grant.user_id.id,
                reason,
            )
        self.unlink()

    def _is_over(self):
        return self.expires_at <= fields.Datetime.now()

    # ------------------------------------------------------------ what people see

    @api.model
    def _own(self):
        """Connected clients of the current user."""
        own = Domain("user_id", "=", self.env.uid) & Domain("last_used_at", "!=", False)
        return self.search(own & Domain("expires_at", ">", fields.Datetime.now()))

    def _data(self):
        """Public data: ``[{id, name, gateway, place, can_call, can_ask, can_change, connected_at, last_used_at,
        expires_at}]``."""
        return [
            {
                "id": grant.id,
                # sudo: oauth_client - the name of a client that the person has connected
                "name": grant.sudo().client_id.name,
                # sudo: gateway - the name of the one that the person has connected it to
                "gateway": grant.sudo().gateway_id.name or "",
                "place": redirects.place(grant.redirect_uri)[1],
                "can_call": const.CALL in grant.scope.split(),
                "can_ask": const.ASSISTANTS in grant.scope.split(),
                "can_change": const.RECORDS in grant.scope.split(),
                "connected_at": utc(grant.create_date),
                "last_used_at": utc(grant.last_used_at),
                "expires_at": utc(grant.expires_at),
            }
            for grant in self
        ]

    @api.model
    def _disconnect(self, grant_id):
        """End a grant of the current user: the next request of its client is refused everywhere.

        :raises NotThere: there is none with this id
        """
        found = self._own().filtered(lambda grant: grant.id == grant_id)
        if not found:
            raise NotThere(self.env._("This client is not connected."))
        # sudo: oauth_grant - of the current user
        found.sudo()._end("the user has ended it")

    @api.autovacuum
    def _gc_over(self):
        self.search([("expires_at", "<", fields.Datetime.now())], limit=10_000).unlink()


def _in(seconds):
    return fields.Datetime.now() + timedelta(seconds=seconds)


def _may_connect(user):
    """True for people: archived ones and the public user have no clients."""
    return bool(user.active) and (user._is_internal() or user._is_portal())


def _not_valid():
    return OAuthError("invalid_grant", "The token is not valid, or not any more.")


class OauthAssertion(models.Model):
    """Assertion of the identity provider that was exchanged: until it expires, no second time. Read by nobody."""

    _name = "woow_paas_platform.oauth_assertion"
    _description = "Exchanged Assertion"

    digest = fields.Char(required=True)
    expires_at = fields.Datetime(required=True, index=True)

    _digest_unique = models.UniqueIndex("(digest)")

    @api.model
    def _use(self, provider, assertion):
        """Use up an assertion.

        :param provider: its name
        :param assertion: a `services.oauth_server.id_jag.Assertion`
        :return: False where it was used before
        """
        self.env.cr.execute(
            """
            INSERT INTO woow_paas_platform_oauth_assertion (digest, expires_at)
                 VALUES (%s, %s)
            ON CONFLICT (digest) DO NOTHING
              RETURNING id
            """,
            [
                tokens.digest(f"{provider} {assertion.id}"),
                datetime.fromtimestamp(assertion.expires_at, UTC).replace(tzinfo=None),
            ],
        )
        return bool(self.env.cr.fetchone())

    @api.autovacuum
    def _gc_over(self):
        self.search([("expires_at", "<", fields.Datetime.now())], limit=10_000).unlink()
