from datetime import timedelta

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessDenied
from odoo.fields import Domain

from ...tools.moments import utc
from ...tools.refusals import BadInput, NotThere, Refusal

MCP_SCOPE = "mcp"  # of the API keys of MCP clients (res.users.apikeys)
KEY_DAYS = (30, 90, 365)  # that such a key may be valid
MAX_KEYS = 10  # of one person
MAX_KEY_NAME = 60  # characters
MORNING = range(7, 12)  # hours of the user's day in which a digest is sent
PREFERENCES = {  # switches of each person's own, by their names in the API
    "show_tool_calls": "woow_ai_show_calls",
    "notify": "woow_ai_notify",
    "remembers": "woow_ai_remembers",
    "digest": "woow_ai_digest",
}


class ResUsers(models.Model):
    _inherit = "res.users"

    woow_ai_show_calls = fields.Boolean(
        "Show Tool Calls of Earlier Answers",
        default=True,
        help="Show the tool calls of completed answers in chats with assistants.",
    )

    woow_ai_notify = fields.Boolean(
        "Notify about Assistants",
        default=True,
        help="Tell the user who is away that an answer is ready or a decision waits: by the browser, and after a "
        "while by mail.",
    )

    woow_ai_remembers = fields.Boolean(
        "Memory of Assistants",
        help="Assistants may propose short facts about the user, which they read in the user's later conversations "
        "once the user has confirmed them.",
    )

    woow_ai_digest = fields.Boolean(
        "Daily Digest of Assistants",
        help="Each morning, one mail lists the decisions and unread answers that wait for the user, if there are any.",
    )
    woow_ai_digest_on = fields.Date(
        "Last Daily Digest",
        readonly=True,
        help="Last day, in the user's time zone, whose digest was prepared.",
    )

    @property
    def SELF_READABLE_FIELDS(self):
        return [*super().SELF_READABLE_FIELDS, *PREFERENCES.values()]

    @property
    def SELF_WRITEABLE_FIELDS(self):
        return [*super().SELF_WRITEABLE_FIELDS, *PREFERENCES.values()]

    def _woow_ai_companies(self, asked):
        """Companies that were active and are the person's still; else all of the person's.

        :param asked: ids that a browser or a program named, not checked
        """
        self.ensure_one()
        mine = self.company_ids
        active = [i for i in asked or () if i in mine.ids]
        return mine.browse(active) if active else self.company_id | mine

    @api.model
    def _woow_of_address(self, address, domain=()):
        """The one user whose email address it is, empty if that is unclear.

        People enter addresses for themselves: internal users count before portal users, then a login, which others
        cannot take.

        :param address: normalized
        :param domain: of the users to look among
        """
        # sudo: res.users - whose address it is, for who decides about them
        found = self.sudo().search(
            Domain(domain)
            & (Domain("login", "=", address) | Domain("email_normalized", "=", address))
            if address
            else Domain.FALSE
        )
        internal = found.filtered(lambda user: user._is_internal())
        found = internal or found.filtered(lambda user: user._is_portal())
        found = found.filtered(lambda user: user.login == address) or found
        return found if len(found) == 1 else found.browse()

    def _woow_digest_day(self):
        """Today in the user's time zone while a digest is due, else None."""
        now = fields.Datetime.context_timestamp(
            self.with_context(tz=self.tz), fields.Datetime.now()
        )
        is_due = self.active and self.woow_ai_digest and now.hour in MORNING
        return now.date() if is_due and self.woow_ai_digest_on != now.date() else None

    def _woow_one_at_a_time(self):
        """Serialize the user's concurrent transactions: one of those that call this commits, Odoo reruns the others."""
        self.env.cr.execute("UPDATE res_users SET id = id WHERE id = %s", [self.id])

    def _woow_ai_mail(self, subject, sentence, path):
        """Write to a person, with a button that leads to a page.

        :param sentence: escaped, in the person's language like the subject
        """
        self.ensure_one()
        in_language = self.with_context(lang=self.lang)
        url = f"{self.get_base_url()}{path}"
        body = Markup('<p>%s</p><p><a href="%s">%s</a></p>') % (
            sentence,
            url,
            in_language.env._("Open the page"),
        )
        # sudo: mail.thread - a message of the system to this person only
        in_language.env["mail.thread"].sudo().message_notify(
            partner_ids=self.partner_id.ids,
            subject=subject,
            body=body,
            author_id=self.env.ref("base.partner_root").id,
            email_layout_xmlid="mail.mail_notification_light",
        )

    def _woow_ai_preferences(self):
        self.ensure_one()
        return {
            **{name: self[field] for name, field in PREFERENCES.items()},
            "language": self.lang or "en_US",
            "languages": [
                {"code": code, "name": name.rpartition(" / ")[2]}  # as it calls itself
                for code, name in self.env["res.lang"].get_installed()
            ],
        }

    def _set_woow_ai_preferences(self, language=None, **switches):
        """Each person's own; what is None stays.

        :param switches: by the names of `PREFERENCES`
        """
        self.ensure_one()
        # sudo: res.users - portal users cannot write their own row; a switch and the language of their own chat
        user = self.sudo()
        for name, is_on in switches.items():
            if is_on is not None:
                user[PREFERENCES[name]] = is_on
        if language is not None:
            if language not in dict(self.env["res.lang"].get_installed()):
                raise BadInput(self.env._("This language is not installed."))
            user.lang = language

    # ------------------------------------------------------------ keys for MCP clients

    def _woow_mcp_keys(self):
        """The person's keys that are still valid, the newest first, as JSON; the keys themselves nobody can read."""
        valid = Domain("expiration_date", "=", False)
        valid |= Domain("expiration_date", ">", fields.Datetime.now())
        own = Domain("user_id", "=", self.id) & Domain("scope", "=", MCP_SCOPE)
        return [
            {
                "id": key.id,
                "name": key.name,
                "created_at": utc(key.create_date),
                "expires_at": utc(key.expiration_date),
            }
            for key in self.env["res.users.apikeys"].search(own & valid, order="id desc")
        ]

    def _make_woow_mcp_key(self, name, days, password):
        """Make a key for MCP clients of this person, who is the current user.

        :param days: one of `KEY_DAYS`
        :param password: the person's own, as for any key of Odoo
        :return: the key, which can be read now and never again
        :raises Refusal: something of it is not right
        """
        self.ensure_one()
        _ = self.env._
        name = name.strip()
        if not 0 < len(name) <= MAX_KEY_NAME:
            raise BadInput(
                _("Give the key a name of at most %(limit)s characters.", limit=MAX_KEY_NAME)
            )
        if days not in KEY_DAYS:
            raise BadInput(_("Choose how long the key is valid."))
        if len(self._woow_mcp_keys()) >= MAX_KEYS:
            raise Refusal(
                _("You have %(limit)s keys already. Revoke one first.", limit=MAX_KEYS),
                "too_many_keys",
            )
        credential = {"type": "password", "login": self.login, "password": password}
        try:
            with self._assert_can_auth(user=self.login):
                self._check_credentials(credential, {"interactive": True})
        except AccessDenied as error:
            raise Refusal(
                _("The password is wrong. After several wrong attempts, wait a minute."),
                "wrong_password",
            ) from error
        # sudo: res.users.apikeys - for the current user and for nothing but /mcp, where the user's own rights hold;
        # portal users may have keys for this without the setting that opens all of Odoo to their programs
        keys = self.env["res.users.apikeys"].sudo()
        key = keys._generate(MCP_SCOPE, name, fields.Datetime.now() + timedelta(days=days))
        self.env["woow_paas_platform.audit.mixin"]._record_act("key_made", of=self, days=days)
        return key

    def _revoke_woow_mcp_key(self, key_id):
        """Revoke a key of this person, who is the current user: the next request with it is refused everywhere.

        :raises NotThere: there is none with this id
        """
        own = [("id", "=", key_id), ("user_id", "=", self.id), ("scope", "=", MCP_SCOPE)]
        key = self.env["res.users.apikeys"].search(own)
        if not key:
            raise NotThere(self.env._("This key does not exist."))
        key._remove()
        self.env["woow_paas_platform.audit.mixin"]._record_act("key_revoked", of=self, key=key_id)
