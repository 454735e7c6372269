from datetime import timedelta

from odoo import api, fields, models

KEPT = timedelta(days=1)  # after the last word of the client about it
MAX_OF_PERSON = 50  # sessions; the oldest goes first


class ClientSession(models.Model):
    """Wishes of a legacy MCP client that come after the handshake of its session. Read by nobody.

    No process keeps a session: all else is sealed in its id, see `services.gateway.sessions`.
    """

    _name = "woow_paas_platform.client_session"
    _description = "MCP Client Session"
    _order = "id desc"

    user_id = fields.Many2one("res.users", required=True, ondelete="cascade", index=True)
    key = fields.Char(required=True, help="Digest of the session's id.")
    log_level = fields.Char(help="Least severe log messages of servers that the client gets.")

    _key_unique = models.UniqueIndex("(user_id, key)")

    @api.model
    def _set_log_level(self, key, level):
        """:param key: of the current user's session"""
        self.env.cr.execute(
            """
            INSERT INTO woow_paas_platform_client_session
                   (user_id, key, log_level, create_uid, write_uid, create_date, write_date)
            VALUES (%(uid)s, %(key)s, %(level)s, %(uid)s, %(uid)s,
                    now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC')
       ON CONFLICT (user_id, key)
         DO UPDATE SET log_level = excluded.log_level, write_date = excluded.write_date
            """,
            {"uid": self.env.uid, "key": key, "level": level},
        )
        self.invalidate_model()
        own = [("user_id", "=", self.env.uid)]
        self.search(own, offset=MAX_OF_PERSON).unlink()

    @api.model
    def _log_level(self, key):
        """Level of the current user's session, empty without one."""
        found = self.search([("user_id", "=", self.env.uid), ("key", "=", key)], limit=1)
        return found.log_level or ""

    @api.autovacuum
    def _gc_ended(self):
        past = fields.Datetime.now() - KEPT
        old = self.search([("write_date", "<", past)], limit=1000)
        old.unlink()
        return len(old), len(old) == 1000
