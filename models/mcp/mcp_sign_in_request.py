import hashlib
import json
from datetime import timedelta

from odoo import api, fields, models

from ...services.oauth import flow, registration
from ...tools import vault

KEPT = timedelta(days=8)  # a turn that waits may begin its sign-in again for so long


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
