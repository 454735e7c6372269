import hashlib
import json
import secrets
from datetime import timedelta

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import UserError
from odoo.tools import html_sanitize, plaintext2html

from ...services import text
from ...services.records import sources
from ...services.render import conversation_file, formulas, markdown
from ...tools.refusals import Changed, Refusal, TooLarge, Unavailable

SHARE = "woow_paas_platform.conversation_share"
DAYS = (1, 7, 30)  # that a link may live
TOKEN_BYTES = 32  # of a link
MAX_SHARES = 100  # of one person
GC_BATCH = 1_000  # expired links that are deleted at once
MAX_TEXT = 512 * 1024  # bytes of a shared text
MAX_SOURCES = 200  # calls on records behind a shared text
MAX_CONTINUED = 60_000  # characters of a text that a conversation continues, the latest ones
MESSAGE = ("role", "author", "date", "text", "own", "sources")  # of a shared message
UNRELIABLE = (
    "reference",
    "many2one_reference",
    "properties",
)  # fields that show records of any model


class ConversationShare(models.Model):
    """A link to the text of a conversation: a copy of the words that the person has seen and confirmed.

    It holds neither calls nor results, files or cards. Answers are shown to those who may read all records that were
    read until then. Who may read is decided at each reading, see `_reaches`.
    """

    _name = "woow_paas_platform.conversation_share"
    _description = "Shared Conversation"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "id desc"
    _audited_acts = {"create": "created", "unlink": "deleted"}

    name = fields.Char(required=True, readonly=True)
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    channel_id = fields.Many2one(
        "discuss.channel", required=True, readonly=True, ondelete="cascade", index=True
    )
    company_id = fields.Many2one("res.company", required=True, readonly=True, ondelete="cascade")
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace",
        readonly=True,
        ondelete="cascade",
        help="Its members may read; without one, the internal users of the company.",
    )
    expires_at = fields.Datetime("Expires On", required=True, readonly=True)
    token_digest = fields.Char(required=True, readonly=True, copy=False)
    content = fields.Json(
        readonly=True,
        prefetch=False,
        help="Messages, and the records that were read for each answer.",
    )

    _token_once = models.UniqueIndex("(token_digest)")
    _of_expired = models.Index("(expires_at)")

    # ------------------------------------------------------------ making one

    @api.model
    def _text_of(self, channel, until=None):
        """The text of a conversation of the caller, as it would be shared now.

        :param until: turn with whose answer it ends
        :return: ``{"messages": [{"role", "author", "date", "text", "own", "sources"}], "sources"}``; what is not the
            person's `own` words holds nothing but of so many of the first sources
        :raises Refusal: it is too long, or there is nothing in it; or this answer is no longer shown
        """
        exported = channel._exported(_shared_message)
        # sudo: discuss.channel - the caller's own; its record, and those behind the text that it continues
        own = channel.sudo()
        known = (own.woow_beginning or {}).get("sources", [])
        if own.woow_res_model:  # also one that the caller may no longer read
            known = [*known, [own.woow_res_model, [own.woow_res_id], []]]
        messages = []
        unattended = own.woow_turn_ids.filtered("is_unattended").message_id.ids
        for message in exported["messages"]:
            if message["id"] in unattended:  # an instruction with values of a record, or a mail
                message |= {"own": False, "sources": [None]}
            known = [*known, *(one for one in message["sources"] if one not in known)]
            messages.append({**message, "sources": len(known)})
            if until and message["turn"] == until.id:
                break
        else:
            if until and not exported["incomplete"]:  # another wording of a question is shown
                raise Changed(
                    self.env._("This answer is no longer shown. Reload the conversation."),
                    "turn_outdated",
                )
        messages = [
            {key: message[key] for key in MESSAGE} for message in messages if message["text"]
        ]
        if not messages:
            raise Refusal(self.env._("There is nothing to share yet."), "empty_conversation")
        is_too_long = exported["incomplete"] or len(known) > MAX_SOURCES
        if is_too_long or text.weight(messages, MAX_TEXT) >= MAX_TEXT:
            said = (
                self.env._("This conversation is too long to be continued in a new one.")
                if until
                else self.env._("This conversation is too long to be shared. Export it instead.")
            )
            raise TooLarge(said, "conversation_too_long")
        return {"messages": messages, "sources": known}

    @api.model
    def _digest_of(self, content, audience):
        """Digest of what the person has seen and confirms: the text, and who may read it."""
        confirmed = [content, {name: record.id for name, record in audience.items()}]
        return hashlib.sha256(json.dumps(confirmed, sort_keys=True).encode()).hexdigest()

    def _readers(self):
        """A sentence on who may read."""
        # sudo: workspace, res.company - their names, for one of them
        return self._readers_sentence(self.sudo().company_id, self.sudo().workspace_id)

    @api.model
    def _readers_sentence(self, company_id, workspace_id):
        if workspace_id:
            return self.env._(
                "Members of the workspace “%(workspace)s” can read it once they have signed in.",
                workspace=workspace_id.name,
            )
        return self.env._(
            "Internal users of %(company)s can read it once they have signed in.",
            company=company_id.name,
        )

    @api.model
    def _audience_of(self, channel):
        """Audience of a link to a conversation of the caller: `company_id` and `workspace_id`, with sudo.

        :raises Refusal: nobody
        """
        # sudo: cloud_service - its workspace, of what the caller's own conversation is about
        workspace = channel.sudo().woow_cloud_service_id.workspace_id
        if not _is_in_audience(self.env.user, self.env.company, workspace):
            raise Refusal(
                self.env._(
                    "You can share conversations about a cloud service of a workspace to which you belong."
                ),
                "nobody_to_share_with",
            )
        return {"company_id": self.env.company.sudo(), "workspace_id": workspace}

    @api.model
    def _share(self, channel, days, digest):
        """Make a link to a conversation of the caller.

        :param digest: `_digest_of` what the caller has confirmed
        :return: the share, and the token of its link, which is not kept
        :raises Refusal: it cannot be shared, or is not what was confirmed
        """
        audience, content = self._audience_of(channel), self._text_of(channel)
        if digest != self._digest_of(content, audience):
            raise Changed(
                self.env._(
                    "The conversation has changed. Check the text again before you share it."
                ),
                "conversation_changed",
            )
        self.env.user._woow_one_at_a_time()
        if len(self._shares_of_caller()) >= MAX_SHARES:
            raise Refusal(
                self.env._(
                    "You have reached the limit of %(limit)s links. Revoke some first.",
                    limit=MAX_SHARES,
                ),
                "too_many_shares",
            )
        token = secrets.token_urlsafe(TOKEN_BYTES)
        # sudo: conversation_share - people have no access to write; a copy of the caller's own conversation
        named = (
            channel.sudo() if content["messages"][0]["own"] else channel.sudo().woow_assistant_id
        )
        share = self.sudo().create(
            {
                "name": named.name or self.env._("Shared conversation"),
                "user_id": self.env.uid,
                "channel_id": channel.id,
                "expires_at": fields.Datetime.now() + timedelta(days=days),
                "token_digest": _token_digest(token),
                "content": content,
                **{name: record.id for name, record in audience.items()},
            }
        )
        return share.sudo(False), token

    @api.model
    def _shares_of_caller(self):
        """The caller's links that have not expired."""
        return self.search(
            [("user_id", "=", self.env.uid), ("expires_at", ">", fields.Datetime.now())]
        )

    def _own_share(self):
        """The record when it is a link of the caller, else an empty set."""
        # sudo: conversation_share - decides only whether the record is the caller's own
        own = self.sudo().exists().filtered(lambda share: share.user_id == self.env.user)
        return own.sudo(False)

    def _revoke(self):
        """The link leads nowhere from now on, and the copy of the text is gone."""
        # sudo: conversation_share - people have no access to write; the caller's own, see `_own_share`
        self.sudo().unlink()

    @api.autovacuum
    def _gc_expired(self):
        expired = [("expires_at", "<=", fields.Datetime.now())]
        gone = self.search(expired, limit=GC_BATCH)
        gone.unlink()
        return len(gone), self.search_count(expired, limit=GC_BATCH)

    # ------------------------------------------------------------ reading one

    @api.model
    def _of_token(self, token):
        """The share to which a link leads the caller now, with sudo; empty without one, whatever the reason."""
        # sudo: conversation_share - readers have no access; who reads is decided here
        share = self.sudo().search([("token_digest", "=", _token_digest(token))])
        is_open = (
            share
            and share.expires_at > fields.Datetime.now()
            and share._reaches(share.user_id)
            and share._reaches(self.env.user)
        )
        return share if is_open else share.browse()

    def _reaches(self, user):
        """True if a user belongs to those who may read, now."""
        return _is_in_audience(user, self.company_id, self.workspace_id)

    def _messages_for(self, reader):
        """The messages that a user may read now, and whether answers are left out.

        The sharer reads all. For all others, what is not the sharer's own words is there as long as they may read each
        record behind it.
        """
        content = self.content
        messages, count = content["messages"], len(content["sources"])
        if reader != self.user_id:
            count = next(
                (
                    number
                    for number, source in enumerate(content["sources"])
                    if not _is_readable(reader, source)
                ),
                count,
            )
        shown = [message for message in messages if message["own"] or message["sources"] <= count]
        return shown, len(shown) < len(messages)

    def _sources_of(self, messages):
        """The sources behind these messages."""
        count = max((message["sources"] for message in messages), default=0)
        return self.content["sources"][:count]

    # ------------------------------------------------------------ continuing

    def _can_continue(self):
        """True if the caller may go on with the same assistant, about the same cloud service."""
        return not self.channel_id._closed_sentence()

    def _continue(self):
        """Make a conversation of the caller's own that begins with what they may read of this one.

        :raises Refusal: the assistant is not available to them
        """
        messages, _is_cut = self._messages_for(self.env.user)
        return self.sudo(False)._continue_text(
            self.channel_id,
            {"messages": messages, "sources": self._sources_of(messages)},
            self.name,
            self.user_id,
        )

    @api.model
    def _continue_from(self, turn):
        """Make a conversation of the caller's own that begins with the text of this one until an answer.

        :param turn: of the caller
        """
        channel = turn.channel_id._own_conversation()
        return self._continue_text(
            channel, self._text_of(channel, until=turn), channel.name, self.env.user
        )

    @api.model
    def _continue_text(self, channel, content, name, sharer):
        """
        :param channel: whose assistant answers
        :param content: see `_text_of`
        :param sharer: whose conversation it was
        """
        # sudo: discuss.channel, res.users - with whom it was, about what, and the name of who shared it
        channel, sharer = channel.sudo(), sharer.sudo()
        if refusal := channel._closed_sentence():
            raise Unavailable(refusal, "assistant_unavailable")
        service = channel.woow_cloud_service_id.with_user(self.env.user).sudo(False)
        assistant = channel.woow_assistant_id.with_user(self.env.user).sudo(False)
        own = self.env["discuss.channel"]._create_ai_conversation(assistant, service or None, name)
        said = "\n\n".join(f"{one['author']}:\n{one['text']}" for one in content["messages"])
        heading = (
            self.env._("This conversation continues “%(name)s”.", name=name)
            if sharer == self.env.user
            else self.env._(
                "This conversation continues “%(name)s”, shared by %(person)s.",
                name=name,
                person=sharer.name,
            )
        )
        lines = Markup().join(
            Markup("<p><strong>%s</strong></p>%s") % (one["author"], html_of(one))
            for one in content["messages"]
        )
        own._begin_with(
            {"text": said[-MAX_CONTINUED:], "sources": content["sources"]},
            Markup("<p>%s</p><blockquote>%s</blockquote>") % (heading, lines),
        )
        return own


def _is_in_audience(user, company, workspace):
    if not user.active or user._is_public():
        return False
    if workspace:
        return workspace.active and bool(workspace._role_of(user))
    return user._is_internal() and company in user.company_ids


def html_of(message):
    """A message of a share as HTML that is safe to store."""
    if message["role"] == "user":
        return plaintext2html(message["text"])
    return html_sanitize(markdown.render(message["text"]))


def drawn(messages):
    """Messages of a share for a page: with ``html``."""
    return [
        {**message, "html": Markup(_framed(formulas.drawn(html_of(message))))}  # noqa: S704 sanitised
        for message in messages
    ]


def _framed(html):
    """HTML of the portal, where a table without a class has no lines."""
    return html.replace("<table>", '<table class="table table-sm table-bordered w-auto">')


def _shared_message(message):
    return {
        "id": message["id"],
        "role": message["role"],
        "own": message["role"] == "user",
        "author": message["author"]["name"],
        "date": message["date"],
        "text": conversation_file.text_of_message(message),
        "sources": sources.of_message(message),
        "turn": message["turn"] and message["turn"]["id"],
    }


def _token_digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


def _is_readable(reader, source):
    """True if a user may read all records and fields of a source now; False if it is not known what these are."""
    if source is None:
        return False
    name, ids, paths = source
    if name not in reader.env:
        return False
    context = {"allowed_company_ids": reader.company_ids.ids}
    records = reader.env[name].with_user(reader).sudo(False).with_context(**context).browse(ids)
    try:
        return records.exists() == records and all(
            _is_path_readable(records, path.split(".")) for path in ("id", *paths)
        )
    except (UserError, ValueError):  # no right to it, or a computed value that cannot be told
        return False


def _is_path_readable(records, steps):
    if records._filtered_access("read") != records:
        return False
    if not steps:
        return True
    field = records._fields.get(steps[0])
    if not field or not _is_same_for_all(field, records.pool.field_depends_context[field]):
        return False
    if not records._has_field_access(field, "read"):
        return False
    if field.relational:
        # sudo: a record of any model - which records there are, also those that rules hide from the reader
        found = records.sudo().with_context(active_test=False)[field.name]
        return _is_path_readable(found.with_env(records.env), steps[1:])
    return len(steps) == 1


def _is_same_for_all(field, context_keys):
    """True of a field whose value does not follow from who reads it, and in which companies.

    :param context_keys: of the context, on which the value depends
    """
    if field.name in ("id", "display_name"):
        return True
    is_kept = bool(field.store or field.related)
    return is_kept and field.type not in UNRELIABLE and {*context_keys} <= {"lang"}
