from datetime import UTC, datetime

from odoo import api, fields, models

from ...services.oauth_server import tokens


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
