from datetime import timedelta

from odoo import api, fields, models

from ...tools.refusals import TooOften

PERIOD = 60  # seconds
MAX_CHECKS = 20  # tests and syncs of one person within a period


class McpCheck(models.Model):
    """One test or sync that a person asked for through the API. Kept for an hour, to count them."""

    _name = "woow_paas_platform.mcp_check"
    _description = "MCP Server Test"
    _log_access = False

    user_id = fields.Many2one("res.users", required=True, ondelete="cascade")
    date = fields.Datetime(required=True, default=fields.Datetime.now)

    _recent = models.Index("(user_id, date)")

    @api.model
    def _count_one(self):
        """Count a test or sync of the current user: nobody turns this Odoo against other machines.

        :raises TooOften: there were too many within the last minute
        """
        # sudo: mcp_check - nobody has access; the caller's own, counted
        own = self.sudo()
        since = fields.Datetime.now() - timedelta(seconds=PERIOD)
        if own.search_count([("user_id", "=", self.env.uid), ("date", ">", since)]) >= MAX_CHECKS:
            raise TooOften(
                self.env._("Too many tests in a short time. Try again in a minute."),
                "too_many_checks",
                retry_after=PERIOD,
            )
        own.create({"user_id": self.env.uid})

    @api.autovacuum
    def _gc_old(self):
        old = fields.Datetime.now() - timedelta(hours=1)
        self.search([("date", "<", old)], limit=10_000).unlink()


class RequestSlot(models.Model):
    """One request that holds a thread while a server answers, see `runtime/web/slots.py`, which writes it in plain SQL.

    It has no foreign key, so that nobody who waits locks a user.
    """

    _name = "woow_paas_platform.request_slot"
    _description = "Waiting Request"
    _log_access = False

    uid = fields.Integer(required=True, readonly=True)
    number = fields.Integer(required=True, readonly=True)
    holder = fields.Char(required=True, readonly=True)
    until = fields.Datetime(required=True, readonly=True)

    _slot_unique = models.UniqueIndex("(uid, number)")

    @api.autovacuum
    def _gc_ended(self):
        self.search([("until", "<", fields.Datetime.now())], limit=10_000).unlink()
