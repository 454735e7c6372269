import hashlib
import json
from datetime import timedelta

from odoo import api, fields, models

from ...services.errors import SecretUnreadable
from ...services.oauth import flow, registration
from ...tools import host, sentences, vault
from ...tools.moments import utc

EPOCH = fields.Datetime.to_datetime("1970-01-01")
KEPT = timedelta(days=8)  # a turn that waits may begin its sign-in again for so long


class McpSignIn(models.Model):
    """A sign-in: OAuth tokens of an MCP server, for everybody who uses it or for one person.

    Nobody reads its tokens.
    """

    _name = "woow_paas_platform.mcp_sign_in"
    _description = "MCP Server Sign-in"
    _inherit = ["woow_paas_platform.secret.mixin"]
    _audited_acts = {"unlink": "signed_out"}
    _order = "id desc"
    _rec_name = "server_id"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, readonly=True, ondelete="cascade"
    )
    user_id = fields.Many2one(
        "res.users",
        "Person",
        readonly=True,
        ondelete="cascade",
        index=True,
        help="Empty if the sign-in is shared.",
    )
    address = fields.Char(required=True, readonly=True, help="Tokens go to this address only.")
    issuer = fields.Char(readonly=True)
    scope = fields.Char("Permissions", readonly=True)
    is_active = fields.Boolean("Signed in", readonly=True, help="A token is stored.")
    since = fields.Datetime(readonly=True)
    expires_at = fields.Datetime(readonly=True)
    error = sentences.SentenceField(readonly=True, help="Why the last sign-in failed.")
    grant_encrypted = fields.Text(groups=fields.NO_ACCESS, copy=False)
    renewed_by = fields.Char(
        groups=fields.NO_ACCESS, copy=False, help="Process that is renewing the token."
    )
    renewed_until = fields.Datetime(groups=fields.NO_ACCESS, copy=False)

    _credential_unique = models.UniqueIndex("(server_id, COALESCE(user_id, 0), address)")

    def _audit_codes(self):
        return {"server": self.server_id, "of": self.user_id}

    def unlink(self):
        """Signing out: the tokens are forgotten here, and then given back where they came from."""
        # sudo: mcp_sign_in - tokens, read only to be given back
        token_sets = list(filter(None, (sign_in._token_set_or_none() for sign_in in self.sudo())))
        result = super().unlink()
        self._give_back(token_sets)
        return result

    def _give_back(self, token_sets):
        """:param token_sets: of `services.oauth.flow.TokenSet`"""
        if token_sets:
            self.env.cr.postcommit.add(lambda: host.current().revoke_later(token_sets))

    @api.model
    def _of(self, server_id, user_id, address, make=False):
        """:param user_id: 0 for the shared one"""
        values = {"server_id": server_id, "user_id": user_id or False, "address": address}
        domain = [(name, "=", value) for name, value in values.items()]
        found = self.search(domain)
        if found or not make:
            return found
        # In SQL, because another process may do the same now: the loser is repeated and sees the row.
        self.env.cr.execute(
            """
            INSERT INTO woow_paas_platform_mcp_sign_in (server_id, user_id, address, create_date, write_date)
                 SELECT id, %s, %s, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC'
                   FROM woow_paas_platform_mcp_server WHERE id = %s
            ON CONFLICT DO NOTHING
            """,
            [user_id or None, address, server_id],
        )
        return self.search(domain)

    @api.model
    def _own(self):
        """Sign-ins of the current user."""
        return self.search([("user_id", "=", self.env.uid), ("is_active", "=", True)])

    def _token_set(self):
        """:return: `services.oauth.flow.TokenSet` or None"""
        token = self.grant_encrypted
        return json.loads(vault.decrypt(token)) if token else None

    def _token_set_or_none(self):
        try:
            return self._token_set()
        except SecretUnreadable:
            return None

    def _keep(self, token_set):
        """Store the tokens; on an empty recordset (signed out during a renewal) revoke them.

        :param token_set: `services.oauth.flow.TokenSet`; without a token nobody has signed in yet
        """
        if not self:
            return self._give_back([token_set])
        self.ensure_one()
        ends, is_active = token_set.get("expires_at"), bool(token_set.get("access_token"))
        if is_active and not self.is_active:
            self._record_act("signed_in", **self._audit_codes())
        self.write(
            {
                "grant_encrypted": vault.encrypt(json.dumps(token_set)),
                "issuer": token_set.get("issuer"),
                "scope": token_set.get("scope") or False,
                "is_active": is_active,
                "since": is_active and (self.since or fields.Datetime.now()),
                "expires_at": EPOCH + timedelta(seconds=ends) if ends else False,
            }
        )

    def _signed_in(self):
        """The current user has signed in; see `CallQuestion._go_on_after` for the calls that waited for it."""
        self.error = False
        own = [("sign_in_id", "=", self.id), ("user_id", "=", self.env.uid)]
        self.env["woow_paas_platform.mcp_sign_in_request"].search(own).unlink()

    def _error_sentence(self):
        return sentences.translated(self.env, self.error) if self.error else ""

    def _sign_in_data(self):
        """Public data of a sign-in: ``{id, server, issuer, scope, since}``."""
        return [
            {
                "id": sign_in.id,
                # sudo: mcp_server - the name of a server that the person has signed in to
                "server": sign_in.sudo().server_id.display_name,
                "issuer": sign_in.issuer or "",
                "scope": sign_in.scope or "",
                "since": utc(sign_in.since),
            }
            for sign_in in self
        ]


class McpSignInRequest(models.Model):
    """A sign-in that has begun: single-use, bound to the person and the credential. Read by nobody."""

    _name = "woow_paas_platform.mcp_sign_in_request"
    _description = "Pending MCP Server Sign-in"
    _inherit = ["woow_paas_platform.secret.mixin"]
    _audited_acts = {}
    _order = "id desc"

    sign_in_id = fields.Many2one(
        "woow_paas_platform.mcp_sign_in", required=True, ondelete="cascade", index=True
    )
    user_id = fields.Many2one("res.users", required=True, ondelete="cascade", index=True)
    state_hash = fields.Char(required=True, help="Only the browser knows the state itself.")
    pending_encrypted = fields.Text(groups=fields.NO_ACCESS, copy=False)

    _state_unique = models.UniqueIndex("(state_hash)")

    @api.model
    def _hash(self, state):
        return hashlib.sha256(state.encode()).hexdigest()

    @api.model
    def _put(self, sign_in, user_id, state, pending):
        return self.create(
            {
                "sign_in_id": sign_in.id,
                "user_id": user_id,
                "state_hash": self._hash(state),
                "pending_encrypted": vault.encrypt(json.dumps(pending)),
            }
        )

    @api.model
    def _of_state(self, user_id, state):
        """The request that this person has begun, whatever its age."""
        return self.search([("user_id", "=", user_id), ("state_hash", "=", self._hash(state))])

    @api.model
    def _take(self, sign_in, user_id, state):
        """Take the stored request of this state, once; None for another person or credential.

        Too old ones are told by the engine, which knows when they began.
        """
        self.env.cr.execute(
            """
            DELETE FROM woow_paas_platform_mcp_sign_in_request
             WHERE state_hash = %s AND sign_in_id = %s AND user_id = %s
         RETURNING pending_encrypted
            """,
            [self._hash(state), sign_in.id, user_id],
        )
        row = self.env.cr.fetchone()
        return json.loads(vault.decrypt(row[0])) if row else None

    @api.model
    def _begin_again(self, sign_in, user_id):
        """A fresh link for what this person was asked to sign in to.

        :return: None if nothing is known of it, empty if its client may be forgotten there: the server is to be asked
        """
        known = self.search(
            [("sign_in_id", "=", sign_in.id), ("user_id", "=", user_id)], order="id desc", limit=1
        )
        if not known:
            return None
        wanted = json.loads(vault.decrypt(known.pending_encrypted))
        if not registration.is_usable(wanted["client"]):
            return ""
        state, pending, url = flow.begin(wanted)
        self._put(sign_in, user_id, state, pending)
        return url

    @api.autovacuum
    def _gc_old(self):
        old = fields.Datetime.now() - KEPT
        self.search([("create_date", "<", old)], limit=10_000).unlink()
