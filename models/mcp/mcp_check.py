from datetime import timedelta

from odoo import api, fields, models

from ...services import text
from ...services.approval import taint
from ...services.const import PROMPT_CHARS
from ...tools.refusals import TooOften

PERIOD = 60  # seconds
MAX_CHECKS = 20  # tests and syncs of one person within a period
MAX_PROMPTS = 20  # of one person, the latest
PROMPT_DAYS = 7


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


class DeliveredPrompt(models.Model):
    """One prompt of a server that a person was given, to tell it from the person's own words when it comes back."""

    _name = "woow_paas_platform.delivered_prompt"
    _description = "Delivered Prompt"
    _log_access = False

    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")
    server_name = fields.Char(required=True, readonly=True)
    content = fields.Text(required=True, readonly=True)
    date = fields.Datetime(required=True, readonly=True, default=fields.Datetime.now)

    _recent = models.Index("(user_id, date)")

    @api.model
    def _keep(self, user_id, server_name, texts):
        """Remember a prompt before the person is given it.

        :param texts: of its messages
        """
        content = text.storable("\n".join(texts))[:PROMPT_CHARS]
        if not content.strip():
            return
        # sudo: delivered_prompt - nobody has access; those of this person
        own = self.sudo().search([("user_id", "=", user_id)], order="id DESC")
        same = own.filtered(lambda one: (one.server_name, one.content) == (server_name, content))
        (same | (own - same)[MAX_PROMPTS - 1 :]).unlink()
        own.create({"user_id": user_id, "server_name": server_name, "content": content})

    @api.model
    def _server_of(self, message):
        """Name of the server whose prompt the current user's message holds, or None."""
        since = fields.Datetime.now() - timedelta(days=PROMPT_DAYS)
        mine = [("user_id", "=", self.env.uid), ("date", ">", since)]
        # sudo: delivered_prompt - nobody has access; the caller's own, compared
        for prompt in self.sudo().search(mine, order="id DESC"):
            if taint.shares_words(message, prompt.content):
                return prompt.server_name
        return None

    @api.model
    def _is_foreign(self, words, former=""):
        """True if a text that the current user keeps holds a quote or a prompt of a server.

        :param former: its foreign text of before: a prompt is known for some days only, and stays foreign
        """
        return bool(
            taint.has_quote(words)
            or self._server_of(words)
            or (former and taint.shares_words(words, former))
        )

    @api.autovacuum
    def _gc_old(self):
        old = fields.Datetime.now() - timedelta(days=PROMPT_DAYS)
        self.search([("date", "<=", old)], limit=10_000).unlink()
