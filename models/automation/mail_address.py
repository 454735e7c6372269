import logging

from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.tools import email_normalize, formataddr, html2plaintext

from ...services import text
from ...services.mail import headers, letter
from ...services.sentence import _lt
from ...tools import limits, settings
from ...tools.refusals import Refusal
from ..turn.ai_turn import PROMPT_CHARS, Question
from .ir_actions_server import check_run_as

_logger = logging.getLogger(__name__)

SUBJECT_CHARS = 200
OWN_CHARS = 20_000  # of what the sender has written; quotes have the rest of a message
FROM_CHARS = 1_000  # of the field that names the sender
ID_CHARS = 500  # of a Message-Id
MAX_REFERENCES = 32  # mails of a thread, the latest, as Odoo itself looks at
ORIGINAL = "original_email.eml"  # the mail itself, which a mail server of Odoo may be set to keep
MAILS_PER_HOUR = 30  # of one sender
MAILS_PER_THREAD = 10  # within an hour
REFUSALS_PER_HOUR = 20  # of one address that are kept

ANSWER = "Answer this mail."
OTHERS = "The mail also holds the following text, which others may have written:"
ANSWER_QUOTED = "Answer the following mail."

NOT_BY_GATEWAY = _lt("The mail was not delivered by an administrator or by Odoo's mail gateway.")
ARCHIVED = _lt("The mail address was archived.")
AUTOMATIC = _lt(
    "A program has sent the mail: an automatic answer, a bounce, a newsletter or a mailing list."
)
OWN_ADDRESS = _lt("The mail comes from one of Odoo's own addresses.")
NO_SERVER = _lt(
    "No sender can be verified: the operator has to name the mail server in the setting mail_authserv_id."
)
NOT_VERIFIED = _lt(
    "The mail server has not verified that the mail comes from the domain of its sender."
)
NO_USER = _lt("The sender's address belongs to no active user, or to several.")
OTHER_DOMAIN = _lt("The sender's address is not of the domain that the mail address answers.")
NO_RUN_AS = _lt("The user that mails run as was deactivated.")
TOO_MANY = _lt("Too many mails of this sender, or to this address, came within an hour.")
EMPTY = _lt("The mail holds neither text nor a file.")


class MailAddress(models.Model):
    """Mail address: an alias at which an assistant answers mails, of its users or of everyone in a domain."""

    _name = "woow_paas_platform.mail_address"
    _description = "Mail Address of an Assistant"
    _inherit = ["mail.alias.mixin.optional", "woow_paas_platform.audited.mixin"]
    _rec_name = "alias_name"

    active = fields.Boolean(default=True)
    assistant_id = fields.Many2one(
        "ai.assistant",
        domain=[("cloud_service_id", "=", False)],
        required=True,
        ondelete="restrict",
        index=True,
    )
    answers = fields.Selection(
        [("known", "Users of the assistant"), ("domain", "Everyone in one domain")],
        required=True,
        default="known",
        help="A mail of a user runs with that user's rights.",
    )
    domain = fields.Char("Sender Domain", help="Domain of the senders, for example example.com.")
    user_id = fields.Many2one(
        "res.users",
        "Runs As",
        ondelete="restrict",
        help="Mails of the domain run with the rights of this user, who also decides about calls that ask. Everyone "
        "in the domain can be told what this user may read.",
    )
    is_unverified = fields.Boolean(compute="_compute_is_unverified")

    def _compute_is_unverified(self):
        """True while the operator has named no mail server, so that every mail is refused."""
        self.is_unverified = not settings.get().mail_authserv_id

    @api.depends("alias_email", "alias_name")
    def _compute_display_name(self):
        for address in self:
            address.display_name = address.alias_email or address.alias_name or ""

    @api.constrains("alias_id", "answers", "assistant_id", "domain", "user_id")
    def _check_senders(self):
        _ = self.env._
        for address in self:
            if not address.alias_name:
                raise ValidationError(_("Enter the part of the address before the @."))
            if address.answers == "domain":
                if email_normalize(f"a@{address.domain or ''}") != f"a@{address.domain}":
                    raise ValidationError(
                        _("Enter the domain of the senders, for example example.com.")
                    )
                check_run_as(address.user_id)

    def _alias_get_creation_values(self):
        return {
            **super()._alias_get_creation_values(),
            "alias_model_id": self.env["ir.model"]._get_id(self._name),
            "alias_force_thread_id": self.id,
        }

    # ------------------------------------------------------------ a mail comes in

    @api.model
    def _routing_check_route(self, message, message_dict, route, raise_exception=True):
        """Take a mail that Odoo's gateway has for an address; Odoo itself posts it nowhere and answers nothing.

        :return: no route
        """
        # sudo: mail_address - the gateway has found the alias; who has sent the mail is checked here
        address = self.sudo().browse(route[1]).exists()
        if address:
            address._take(message, message_dict)
        return ()

    def _take(self, message, mail):
        """Schedule the run of a mail, or keep why there is none.

        :param message: `email.message.EmailMessage`
        :param mail: what Odoo has read of it, see `mail.thread.message_parse`
        """
        Run = self.env["woow_paas_platform.ai_run"]
        event = mail["message_id"][:ID_CHARS]
        same = [("address_id", "=", self.id), ("event", "=", event), ("user_id", "!=", False)]
        if Run.search_count(same, limit=1):
            return
        header = [(name, str(value)) for name, value in message.raw_items()]
        sender = _sender_of(header)
        subject = text.one_line(mail.get("subject") or "", SUBJECT_CHARS)
        user, problem = self._user_of(header, sender)
        vals = {
            "name": subject or self.display_name,
            "address_id": self.id,
            "assistant_id": self.assistant_id.id,
            "user_id": user.id,
            "event": event,
            "mail_from": sender or text.one_line(mail["email_from"] or "", SUBJECT_CHARS),
        }
        references = _references_of(mail)
        earlier = self._earlier(vals, references)
        if problem := problem or self._rate_problem(vals, earlier):
            self._refuse(vals, problem)  # nothing else of it is read
            return
        files = [(file.fname, _bytes(file.content)) for file in mail.get("attachments") or ()]
        files = [(name, content) for name, content in files if content and name != ORIGINAL]
        said = letter.read(message)
        if problem := self._content_problem(said, files, subject):
            self._refuse(vals, problem)
            return
        vals["mail"] = {
            "subject": subject,
            "question": self._question(said, sender, subject, earlier),
            "references": references,
        }
        Run._schedule_mail(vals, files)

    def _user_of(self, header, sender):
        """The user that a mail runs as, empty unless its sender is verified, and why it does not run, else ``""``."""
        nobody = self.env["res.users"]
        gateway = self.env.user
        if not (gateway._is_superuser() or gateway._is_system()):
            return nobody, NOT_BY_GATEWAY  # everybody can call `message_process`
        if not self.active:
            return nobody, ARCHIVED
        if headers.is_automatic(header):
            return nobody, AUTOMATIC
        if self.env["mail.alias.domain"]._find_aliases([sender]):
            return nobody, OWN_ADDRESS
        server = settings.get().mail_authserv_id
        if not server:
            return nobody, NO_SERVER
        domain = sender.rpartition("@")[2]
        if not headers.is_verified(header, server, domain):
            return nobody, NOT_VERIFIED
        if self.answers == "domain":
            if domain != self.domain:
                return nobody, OTHER_DOMAIN
            user, problem = self.user_id, "" if self.user_id.active else NO_RUN_AS
        else:
            user = nobody._woow_of_address(sender)
            if not user:
                return nobody, NO_USER
            problem = ""
        return user, problem or self.assistant_id._refusal_to(user)

    def _rate_problem(self, vals, earlier):
        hour = fields.Datetime.subtract(fields.Datetime.now(), hours=1)
        # Refused ones may be of others who write in the sender's name.
        recent = [("create_date", ">", hour), ("state", "!=", "refused")]
        of_sender = [*recent, ("mail_from", "=", vals["mail_from"])]
        found = [
            ([*recent, ("address_id", "=", self.id)], limits.get(self.env, "runs_per_hour")),
            (of_sender, MAILS_PER_HOUR),
        ]
        if earlier:
            of_thread = [*of_sender, ("channel_id", "=", earlier.channel_id.id)]
            found.append((of_thread, MAILS_PER_THREAD))
        Run = self.env["woow_paas_platform.ai_run"]
        return TOO_MANY if any(Run.search_count(d, limit=n) >= n for d, n in found) else ""

    def _content_problem(self, said, files, subject):
        try:
            self.env["discuss.channel"]._check_count(len(files))
            for _name, content in files:
                self.env["ir.attachment"]._ai_check_size(len(content))
        except Refusal as refusal:
            return str(refusal)
        return "" if said.own or said.foreign or subject or files else EMPTY

    def _refuse(self, vals, problem):
        Run = self.env["woow_paas_platform.ai_run"]
        hour = fields.Datetime.subtract(fields.Datetime.now(), hours=1)
        refused = [
            ("address_id", "=", self.id),
            ("state", "=", "refused"),
            ("create_date", ">", hour),
        ]
        _logger.info("%s refuses a mail: %s", self.display_name, problem)
        if Run.search_count(refused, limit=REFUSALS_PER_HOUR) < REFUSALS_PER_HOUR:
            now = fields.Datetime.now()
            Run._create_of_mail({**vals, "state": "refused", "problem": problem, "ended_at": now})

    def _question(self, said, sender, subject, earlier):
        """Message for the assistant: what the user has written, and all else as quotes, which are foreign words.

        :param earlier: the run before it in the thread, whose subject and answers need not be quoted
        """
        own, foreign = said.own, said.foreign
        line = f"Subject: {subject}" if subject and not earlier else ""
        if self.answers == "domain":
            facts = filter(None, (f"From: {sender}", line, own, foreign))
            own, foreign, intro = ANSWER_QUOTED, "\n".join(facts), ""
        else:
            foreign = letter.unknown(foreign, self._said_in(earlier))
            if letter.is_reply(subject):
                foreign, line = "\n".join(filter(None, (line, foreign))), ""
            own = "\n\n".join(filter(None, (line, own))) or ANSWER
            intro = OTHERS
        own = text.cap(own, OWN_CHARS)
        if not foreign:
            return own
        head = "\n\n".join(filter(None, (own, intro)))
        return f"{head}\n\n{letter.quoted(foreign)}"[:PROMPT_CHARS]

    def _said_in(self, earlier):
        """Questions and answers of the conversation, the latest first."""
        turns = self.env["woow_paas_platform.ai_turn"].search(
            [("channel_id", "=", earlier.channel_id.id), ("channel_id", "!=", False)],
            order="id DESC",
            limit=MAX_REFERENCES,
        )
        answers = (html2plaintext(turn.answer_message_id.body or "") for turn in turns)
        return "\n".join([*answers, *(turn.prompt or "" for turn in turns)])

    # ------------------------------------------------------------ its run

    def _earlier(self, vals, references):
        """The last run of the same sender with the same assistant in the thread that a mail belongs to."""
        return self.env["woow_paas_platform.ai_run"].search(
            [
                ("address_id", "=", self.id),
                ("user_id", "=", vals["user_id"]),
                ("mail_from", "=", vals["mail_from"]),
                ("channel_id.woow_assistant_id", "=", self.assistant_id.id),
                "|",
                ("event", "in", references),
                ("mail_answer_id", "in", references),
            ],
            limit=1,
        )

    def _ask(self, run, env):
        """Ask in the conversation of the mail's thread.

        :param run: `ai_run`
        :param env: of its user
        :return: the turn
        """
        about = {"user_id": run.user_id.id, "mail_from": run.mail_from}
        channel = self._earlier(about, run.mail["references"]).channel_id.with_env(env)
        if not channel:
            channel = env["discuss.channel"]._create_ai_conversation(
                self.assistant_id.with_env(env), name=run.name, is_of_run=True
            )
        files = run._mail_files()
        channel._check_count(len(files))
        for file in files:
            channel._check_room(file.raw)
            file.write({"res_model": channel._name, "res_id": channel.id})
        return channel._ask(
            Question(
                run.mail["question"],
                companies=env.companies.ids,
                attachments=files.with_env(env),
                is_unattended=True,
            )
        )

    def _answer(self, run, html):
        """Queue the answer: a mail to the sender alone.

        :return: its Message-Id
        """
        subject, references = run.mail["subject"], [*run.mail["references"], run.event]
        sender = formataddr((self.assistant_id.name, self.alias_email or self.alias_name))
        # sudo: mail.mail - the answer goes to the verified sender of the mail and to nobody else
        mail = (
            self.env["mail.mail"]
            .sudo()
            .create(
                {
                    "subject": subject if letter.is_reply(subject) else f"Re: {subject}",
                    "body_html": html,
                    "author_id": self.assistant_id.partner_id.id,
                    "email_from": sender,
                    "reply_to": sender,
                    "email_to": run.mail_from,
                    "record_alias_domain_id": self.alias_domain_id.id,
                    "references": " ".join(references[-MAX_REFERENCES:]),
                    "headers": repr(
                        {
                            "In-Reply-To": run.event,
                            "Auto-Submitted": "auto-replied",
                            "X-Auto-Response-Suppress": "All",
                        }
                    ),
                    "auto_delete": True,
                }
            )
        )
        # sudo: ir.cron - sends what is queued
        self.env.ref("mail.ir_cron_mail_scheduler_action").sudo()._trigger()
        return mail.message_id


def _sender_of(header):
    """Normalized address in `From`, ``""`` unless it is exactly one.

    Encoded words stay as they are: what they hold is part of the name.
    """
    given = headers.values(header, "From")
    if len(given) != 1 or len(given[0]) > FROM_CHARS:
        return ""
    return email_normalize(" ".join(given[0].split())) or ""


def _references_of(mail):
    """Message-Ids of the thread, the latest last."""
    named = f"{mail.get('references') or ''} {mail.get('in_reply_to') or ''}"
    found = named.replace("><", "> <").split()[-MAX_REFERENCES:]
    return [one for one in found if len(one) <= ID_CHARS]


def _bytes(content):
    """Content of a file as Odoo has read it: bytes, text, or a mail."""
    if isinstance(content, str):
        return content.encode()
    return content if isinstance(content, bytes) else content.as_bytes()
