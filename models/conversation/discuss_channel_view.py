"""A conversation as its person sees it: lists, pages, files, and the choice of servers."""

import base64
import itertools
import time
from dataclasses import dataclass
from urllib.parse import unquote

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import UserError
from odoo.fields import Domain
from odoo.tools import SQL, html2plaintext, html_escape, html_sanitize, split_every
from psycopg2.errors import QueryCanceled

from ...services import const, text
from ...services.documents import pictures
from ...services.errors import FileError, FileTooComplex
from ...services.llm import files
from ...services.render import conversation_file, formulas, markdown
from ...tools import db, sentences
from ...tools.moments import utc
from ...tools.refusals import BadInput, NotThere, Refusal, TooLarge
from ..base.discuss_channel import CONVERSATION, LISTED
from ..mcp.mcp_server import OPT_OUT
from ..turn.ai_turn_view import without_summary

PAGE_BYTES = 4 * 1024 * 1024  # of results that one page of messages shows, about
EXPORT_PAGE = 100  # messages that an export reads at once
EXPORT_MESSAGES = 5_000  # of one export, the latest ones
EXPORT_WEIGHT = 32 * 1024 * 1024  # bytes of them, about
PDF_CHARS = 1_000_000  # of one conversation as a PDF, about 300 pages
PDF_PICTURES = 32 * 1024 * 1024  # bytes of its pictures in base64; later ones are only named
PDF_PIXELS = 100_000_000  # of its pictures, which are decoded; later ones are only named
PDF_TYPES = ("image/png", "image/jpeg", "image/gif")  # that the program draws
ACTS = {  # of several conversations at once, and what each writes for their person
    "pin": {"woow_is_pinned": True, "woow_is_archived": False},
    "unpin": {"woow_is_pinned": False},
    "archive": {"woow_is_archived": True, "woow_is_pinned": False},
    "restore": {"woow_is_archived": False},
    "move": None,
    "keep": None,
    "end": None,
    "delete": None,
}
BEFORE, AROUND = 40, 160  # characters in front of what was found, and in all
SEARCH_TIME = 2.0  # s that one search may take
MAX_ASSISTANTS = 30  # of a menu
MAX_RECORDS = 1_000  # with conversations of one person that are counted, the latest ones
PORTION = 25  # conversations that are looked through at once
MAX_UNSENT = (
    3 * files.MAX_FILES
)  # files that wait for their message in a conversation; older ones go
READING_SECONDS = 30.0  # of all files of an answer; a request that takes longer ends its worker


class DiscussChannel(models.Model):
    """Conversation as its person sees it: in lists, page by page, with files and a choice of servers."""

    _inherit = "discuss.channel"

    # ------------------------------------------------------------ lists and search

    @api.model
    def _ai_conversations(
        self,
        limit=30,
        before=None,
        cloud_service=None,
        is_archived=False,
        folder=None,
        assistant=None,
        since=None,
        has_files=False,
        record=None,
    ):
        """The caller's own conversations: the pinned ones, then the others, the one in which something happened last
        first.

        :param before: id of the conversation that ends the page before
        :param cloud_service: only those about it
        :param is_archived: those in the archive instead of all others
        :param folder: only those in it, with an empty recordset those in none
        :param assistant: only those with it
        :param since: date; only those in which something happened from then on
        :param has_files: only those that hold files
        :param record: ``(model, id)``; only those about it
        """
        Member = self.env["discuss.channel.member"]
        domain = Domain("channel_type", "=", CONVERSATION) & Domain(
            "woow_user_id", "=", self.env.uid
        )
        domain &= Domain(LISTED)
        archived = Member._kept_by_caller("woow_is_archived")
        domain &= archived if is_archived else ~archived
        if cloud_service:
            domain &= Domain("woow_cloud_service_id", "=", cloud_service.id)
        if folder is not None:
            domain &= Member._kept_by_caller("woow_folder_id", folder.id)
        if assistant:
            domain &= Domain("woow_assistant_id", "=", assistant.id)
        if since:
            domain &= Domain("last_interest_dt", ">=", fields.Datetime.to_datetime(since))
        if has_files:
            domain &= Domain("id", "in", self._with_files())
        if record:
            model, res_id = record
            domain &= Domain("woow_res_model", "=", model) & Domain("woow_res_id", "=", res_id)
        later, starts_with_pinned = Domain.TRUE, True
        if before:
            moment = self._last_activity(before)
            later = Domain("last_interest_dt", "<", moment) | (
                Domain("last_interest_dt", "=", moment) & Domain("id", "<", before)
            )
            starts_with_pinned = self.browse(before)._own_conversation()._kept()["pinned"]
        # nothing in the archive is pinned
        pinned = Domain.FALSE if is_archived else Member._kept_by_caller("woow_is_pinned")
        # sudo: discuss.channel - the caller's own, see the domain; nobody reads the fields of a member
        order, found, Own = "last_interest_dt desc, id desc", self.browse(), self.sudo()
        if starts_with_pinned:
            found = Own.search(domain & pinned & later, order=order, limit=limit)
            later = Domain.TRUE
        if limit is None or len(found) < limit:
            rest = limit and limit - len(found)
            found += Own.search(domain & ~pinned & later, order=order, limit=rest)
        return found.sudo(False)

    @api.model
    def _ai_unseen(self):
        """Conversations of the chat's list, without those in the archive, that hold an answer which the caller has not
        seen, the newest answer first; with sudo."""
        # sudo: ai_turn, discuss.channel.member - the caller's own; names of their conversations
        Turn = self.env["woow_paas_platform.ai_turn"].sudo()
        channels = Turn.search(Turn._unseen_domain(), order="id desc").channel_id
        listed = channels.filtered_domain([("channel_type", "=", CONVERSATION), *LISTED])
        members = listed._member_of_caller()
        return listed & members.filtered(lambda one: not one.woow_is_archived).channel_id

    @api.model
    def _with_files(self):
        """Ids of the caller's conversations that hold files."""
        self.env["ir.attachment"].flush_model(["res_model", "res_id", "res_field"])
        self.env.cr.execute(
            """
            SELECT DISTINCT channel.id
              FROM discuss_channel channel
              JOIN ir_attachment file
                ON file.res_model = 'discuss.channel' AND file.res_id = channel.id AND file.res_field IS NULL
             WHERE channel.woow_user_id = %s
            """,
            [self.env.uid],
        )
        return [row[0] for row in self.env.cr.fetchall()]

    @api.model
    def _counts_by_record(self):
        """Records that the caller's conversations are about: ``[{"model", "id", "count"}]``, the latest first."""
        self.env["discuss.channel"].flush_model()
        self.env["discuss.channel.member"].flush_model(["woow_is_archived"])
        self.env.cr.execute(
            """
            SELECT c.woow_res_model, c.woow_res_id, COUNT(*)
              FROM discuss_channel c
              JOIN discuss_channel_member m ON m.channel_id = c.id AND m.partner_id = %s
             WHERE c.woow_user_id = %s AND c.woow_res_id > 0
               AND c.woow_is_of_program IS NOT TRUE AND c.woow_is_of_run IS NOT TRUE
               AND c.woow_temporary_until IS NULL
               AND m.woow_is_archived IS NOT TRUE
             GROUP BY c.woow_res_model, c.woow_res_id
             ORDER BY MAX(c.last_interest_dt) DESC
             LIMIT %s
            """,
            [self.env.user.partner_id.id, self.env.uid, MAX_RECORDS],
        )
        rows = self.env.cr.fetchall()
        return [{"model": model, "id": res_id, "count": count} for model, res_id, count in rows]

    @api.model
    def _last_activity(self, conversation_id):
        """Time of the last activity in a conversation of the caller; now for any other."""
        return self.browse(conversation_id)._own_conversation().last_interest_dt or (
            fields.Datetime.now()
        )

    @api.model
    def _ai_conversations_with(self, words, limit=30, **narrowed):
        """The caller's own conversations with these words in the name or in a message, in the order of the list, and
        what surrounds the words in each.

        The words are text, not a pattern; tags of the messages are not searched.

        :param narrowed: as for `_ai_conversations`
        :return: the conversations, ``{id: excerpt}``, and whether all could be looked through in `SEARCH_TIME`
        """
        self.env["mail.message"].flush_model(["body", "model", "res_id", "message_type"])
        until = time.monotonic() + SEARCH_TIME
        own = self._ai_conversations(None, **narrowed)
        found, excerpts = self.browse(), {}
        for ids in split_every(PORTION, own.ids):
            portion = self.browse(ids).with_prefetch(own.ids)
            rows = self._in_time(
                SQL(
                    """
                    SELECT DISTINCT ON (message.res_id) message.res_id, message.body
                      FROM mail_message message
                     WHERE message.res_id = ANY(%(channels)s) AND %(says)s
                     ORDER BY message.res_id, message.id DESC
                    """,
                    channels=list(ids),
                    says=_says(words),
                ),
                until,
            )
            if rows is None:
                return found, excerpts, False
            excerpts |= {channel_id: _excerpt(body, words) for channel_id, body in rows}
            found |= self.browse(
                channel.id
                for channel in portion
                if channel.id in excerpts or words.lower() in (channel.name or "").lower()
            )
            if limit and len(found) >= limit:
                break
        return found[:limit], excerpts, True

    def _in_time(self, query, until):
        """Rows of a query, None where they are not there at this moment of `time.monotonic`."""
        cr, left = self.env.cr, until - time.monotonic()
        if left <= 0:
            return None
        try:
            with cr.savepoint(flush=False), db.timeouts(cr, statement=left):
                cr.execute(query, log_exceptions=False)
                rows = cr.fetchall()
        except QueryCanceled:
            return None
        return rows

    def _kept(self):
        """The place that the caller gave it: ``{"pinned": bool, "archived": bool, "folder_id": int | None}``."""
        member = self._member_of_caller()
        return {
            "pinned": member.woow_is_pinned,
            "archived": member.woow_is_archived,
            "folder_id": member.woow_folder_id.id or None,
        }

    def _member_of_caller(self):
        # sudo: discuss.channel.member - the caller's own membership
        members = self.sudo().channel_member_ids
        return members.filtered(lambda member: member.partner_id == self.env.user.partner_id)

    def _keep(self, act, folder=None):
        """Do one of `ACTS` to a conversation of the caller.

        :param folder: one of the caller, into which it is moved; empty to take it out
        """
        self.ensure_one()
        if act == "delete":
            self._delete_ai_conversation()
        elif act == "keep":
            self._keep_temporary()
        elif act == "end":
            self._leave_temporary()
        elif act == "move":
            self._member_of_caller().woow_folder_id = folder
        else:
            self._member_of_caller().write(ACTS[act])

    # ------------------------------------------------------------ data and pages of messages

    def _conversation_data(self):
        self.ensure_one()
        # sudo: ai.assistant, cloud_service - names only, of what the caller chats with
        channel = self.sudo()
        turn = self._running_turn()
        service = channel.woow_cloud_service_id
        record = self._about(self.env.user)
        return {
            "id": channel.id,
            "name": channel.name,
            "assistant": channel.woow_assistant_id._api_name(),
            "cloud_service": {"id": service.id, "name": service.name} if service else None,
            "record": {"model": record._name, "id": record.id, "name": record.display_name}
            if record
            else None,
            "last_message_at": utc(channel.last_interest_dt),
            "turn": {"id": turn.id, "state": turn.state} if turn else None,
            "temporary": bool(channel.woow_temporary_until),
            **self._kept(),
        }

    def _can_post(self):
        """True if the caller may post on the record that the conversation is about, in the backend."""
        record = self._about(self.env.user)
        if not record or not self.env.user._is_internal() or not hasattr(record, "message_post"):
            return False
        right = record._mail_get_operation_for_mail_message_operation("create").get(record)
        return bool(right) and record.has_access(right)

    def _conversation_page(self, limit, before=None):
        """The latest messages, oldest first, each answer behind its question and with its turn's calls."""
        context = self.env["woow_paas_platform.ai_turn"]._context_of(self)
        domain = [
            ("model", "=", "discuss.channel"),
            ("res_id", "=", self.id),
            ("message_type", "=", "comment"),
        ]
        if before:
            domain.append(("id", "<", before))
        uncommon = self._uncommon_turns()
        # what entered an answer is told in its timeline
        entered = uncommon.filtered(lambda turn: turn.entered_id and turn.ended_at)
        if left_out := (uncommon.filtered("hidden") | entered)._message_ids():
            domain.append(("id", "not in", left_out))
        # sudo: mail.message - of the caller's own conversation, see `_own_conversation`
        messages = self.env["mail.message"].sudo().search(domain, order="id desc", limit=limit + 1)
        limit = self._fitting(messages[:limit])
        page = messages[:limit].sorted("id")
        page.attachment_ids.mapped("name")
        turns = self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                "|",
                ("message_id", "in", page.ids),
                ("answer_message_id", "in", page.ids),
            ]
        )
        # the last try at a question of an earlier page may stand here
        if cut := turns.message_id - page:
            turns |= turns.search([("channel_id", "=", self.id), ("message_id", "in", cut.ids)])
        turns = turns.sorted("id")  # a retry comes after what it retries
        # Read at once what is shown call by call.
        calls = turns.call_ids
        calls.mapped("tool_name")
        # sudo: call_question - of the person's own calls, see the rule; the names of who answered
        calls.sudo().question_ids.mapped("answered_by_id.name")
        # sudo: ir.attachment - names and types, see `ir_attachment._ai_file_data`
        calls.sudo().attachment_ids.mapped("name")
        by_answer = {turn.answer_message_id.id: turn for turn in turns if turn.answer_message_id}
        by_question = {turn.message_id.id: turn for turn in turns}
        last_answers = {turn.message_id.id: answer for answer, turn in by_answer.items()}
        unanswered = {
            last_answers.get(asked, asked): turn
            for asked, turn in by_question.items()
            if turn.ended_at and not turn.answer_message_id
        }
        # what was asked while an answer was being written stands in front of it in the channel
        asked_by = {answer: turn.message_id.id for answer, turn in by_answer.items()}
        page = page.sorted(lambda message: (asked_by.get(message.id) or message.id, message.id))
        bodies = {message.id: without_summary(message.body) for message in page}
        timelines = turns._timelines(
            {turn.id: bodies.get(turn.answer_message_id.id, "") for turn in turns}
        )
        asked_first = {turn.message_id.id: turn.id for turn in reversed(turns)}
        versions = uncommon._version_groups()
        data = []
        for message in page:
            turn = by_answer.get(message.id)
            question = by_question.get(message.id)
            data.append(
                {
                    **self._message_data(message, bodies[message.id], turn),
                    "turn": self._turn_data(turn, timelines),
                    "text": _text_of(bodies[message.id], question.prompt if question else ""),
                    "turn_id": asked_first.get(message.id),
                    "versions": versions.get(asked_first.get(message.id), []),
                    "records": question._attached_records() if question else [],
                }
            )
            if message.id in unanswered:
                data.append(self._unanswered_data(unanswered[message.id], timelines))
        open_turns = self._open_turns()
        closed = self._closed_sentence()
        return {
            **self._conversation_data(),
            "messages": data,
            "has_more": len(messages) > limit,
            "closed": closed,
            "assistants": [] if closed else self._assistants_to_retry(),
            "can_post": self._can_post(),
            "unseen": self.env["woow_paas_platform.ai_turn"]._has_unseen(self),
            "turn": open_turns[0]._running_data() if open_turns else None,
            "queued": [turn._queued_data() for turn in open_turns[1:]],
            "context": context,
        }

    def _fitting(self, messages):
        """:return: how many of the messages a page takes, the latest first, by the results that it shows with them"""
        self.env["woow_paas_platform.tool_call"].flush_model(["kept_bytes", "turn_id"])
        self.env.cr.execute(
            """
            SELECT COALESCE(t.answer_message_id, t.message_id), SUM(LEAST(COALESCE(c.kept_bytes, 0), %s))
              FROM woow_paas_platform_ai_turn t
              JOIN woow_paas_platform_tool_call c ON c.turn_id = t.id
             WHERE t.channel_id = %s AND (t.answer_message_id = ANY(%s) OR t.message_id = ANY(%s))
             GROUP BY 1
            """,
            [const.UI_RESULT_CAP, self.id, messages.ids, messages.ids],
        )
        sizes = dict(self.env.cr.fetchall())
        totals = itertools.accumulate(sizes.get(message.id, 0) for message in messages)
        return max(1, sum(total <= PAGE_BYTES for total in totals))

    def _closed_sentence(self):
        """The reason that the conversation is closed to the caller, empty while it is open."""
        # sudo: discuss.channel - the caller's own conversation; rights are asked as the caller
        channel = self.sudo()
        service = channel.woow_cloud_service_id
        refusal = channel.woow_assistant_id._refusal_to(self.env.user, service)
        return sentences.translated(self.env, refusal)

    def _assistants_to_retry(self):
        """``[{"id", "name", "image_url"}]`` of those who may answer the last question."""
        # sudo: discuss.channel - the caller's own conversation; assistants are found with the caller's rights
        assistant = self.sudo().woow_assistant_id.sudo(False)
        return [one._api_name() for one in assistant._alternatives()[:MAX_ASSISTANTS]]

    def _turn_data(self, turn, timelines):
        return {**turn._ended_data(), "timeline": timelines[turn.id]} if turn else None

    def _message_data(self, message, body, turn):
        # sudo: discuss.channel, ai_turn - name and image of who answered, of the caller's own conversation
        channel = self.sudo()
        # Not by the assistant's contact, which may be deleted.
        is_answer = message.author_id != channel.woow_user_id.partner_id
        assistant = turn.sudo().assistant_id if turn else channel.woow_assistant_id
        image = assistant._image_url() if is_answer and assistant else None
        return {
            "id": message.id,
            "role": "assistant" if is_answer else "user",
            "html": formulas.drawn(body),
            "author": {
                "id": message.author_id.id,
                "name": message.author_id.name or "",
                "image_url": image,
            },
            "date": utc(message.date),
            "attachments": message.attachment_ids.sorted("id")._ai_file_data(),
        }

    def _unanswered_data(self, turn, timelines):
        """Stands where the answer of a failed or stopped turn would be."""
        # sudo: ai_turn - name and image of who was to answer
        assistant = turn.sudo().assistant_id
        return {
            "id": None,
            "role": "assistant",
            "html": "",
            "text": "",
            "author": {**assistant._api_name(), "id": assistant.partner_id.id},
            "date": utc(turn.ended_at),
            "attachments": [],
            "turn": self._turn_data(turn, timelines),
        }

    def _lines_of_calls(self, calls, reader):
        return self.env["woow_paas_platform.decision"]._lines(calls, reader)

    # ------------------------------------------------------------ export

    def _exported(self, data_of=conversation_file.message_data):
        """The conversation as it is shown, see docs/api.md; the oldest messages of a long one are left out.

        :param data_of: takes a message of `_conversation_page`, and returns what is kept of it
        """
        pages, count, room, before, left_out = [], 0, EXPORT_WEIGHT, None, False
        while True:
            page = self._conversation_page(min(EXPORT_PAGE, EXPORT_MESSAGES - count), before)
            messages = [data_of(message) for message in page["messages"]]
            room -= text.weight(messages, room)
            if room <= 0 and pages:
                left_out = True
                break
            pages.append(messages)
            ids = [message["id"] for message in page["messages"] if message["id"]]
            count += len(ids)
            self.env.invalidate_all()  # what was read is not kept until the end
            if not page["has_more"]:
                break
            if not ids or room <= 0 or count >= EXPORT_MESSAGES:
                left_out = True
                break
            before = min(ids)
        return {
            "format": conversation_file.FORMAT,
            "name": page["name"],
            "assistant": page["assistant"]["name"],
            "cloud_service": (page["cloud_service"] or {}).get("name", ""),
            "record": page["record"],
            "exported_at": utc(fields.Datetime.now()),
            "incomplete": left_out,
            "messages": [message for messages in reversed(pages) for message in messages],
        }

    def _words_of_export(self):
        _ = self.env._
        outcome = self.env["woow_paas_platform.tool_call"]._fields["outcome"]
        return conversation_file.Words(
            _("Earlier messages are left out."),
            _("Attached"),
            _("Tool"),
            dict(outcome._description_selection(self.env)),
        )

    def _exported_pdf(self):
        """The Markdown document as a PDF by Odoo's reports, with the pictures of messages and calls.

        :raises Refusal: this server cannot make one, or it would be too long
        """
        Report = self.env["ir.actions.report"]
        unavailable = Refusal(
            self.env._(
                "Odoo cannot make PDF files here. Ask an administrator to check wkhtmltopdf, or choose Markdown."
            ),
            "pdf_unavailable",
        )
        if Report.get_wkhtmltopdf_state() not in ("ok", "upgrade"):
            raise unavailable
        exported = self._exported(conversation_file.with_files)
        parts, size, room, pixels = [], 0, PDF_PICTURES, PDF_PIXELS
        for said, message in conversation_file.sections(exported, self._words_of_export()):
            size += len(said)
            if size > PDF_CHARS:
                raise TooLarge(
                    self.env._("This conversation is too long for a PDF file. Choose Markdown."),
                    "conversation_too_long",
                )
            parts.append(Markup(html_sanitize(markdown.render(said))))  # noqa: S704 sanitised
            # sudo: ir.attachment - of the caller's own conversation, as it is shown
            for file in self.env["ir.attachment"].sudo().browse((message or {}).get("attachments")):
                picture, decoded = _picture(file.exists(), room, pixels)
                room, pixels = room - len(picture), pixels - decoded
                if picture:
                    parts.append(
                        Markup('<p><img class="mw-100" alt="%s" src="data:%s;base64,%s"/></p>')
                        % (file.name, file.mimetype, picture)
                    )
        data = {"parts": parts, "name": exported["name"]}
        try:
            content, _kind = Report._render_qweb_pdf(
                "woow_paas_platform.conversation_report", data=data
            )
        except UserError as error:  # the program's own words, which Odoo has logged
            raise unavailable from error
        return exported["name"], content

    # ------------------------------------------------------------ files of a question

    def _attach_content(self, name, content, source=None, reading=None):
        """Keep a file for a message that the caller is about to send in their own conversation.

        :param content: bytes
        :param source: ``{"server", "uri"}`` of what a server offered to read
        :param reading: `services.llm.files.Reading` of it; whoever has a cursor for others' use reads before
        :return: the `ir.attachment`, with the rights of the conversation
        :raises Refusal: it is too large or empty
        :raises FileError: it is of a kind that no model can use
        """
        self.ensure_one()
        file = self._file_of(name, content, source, reading)
        # sudo: ir.attachment - portal users may not write them; these belong to their own conversation
        self._unsent_files().sorted("id", reverse=True)[MAX_UNSENT - 1 :].sudo().unlink()
        return self.sudo()._keep_files([file]).sudo(False)

    @api.model
    def _attach_unsent(self, name, content, reading=None):
        """The same before it is known in which conversation: only the caller reaches it until it is sent."""
        file = self._file_of(name, content, None, reading)
        Attachment = self.env["ir.attachment"]
        # sudo: ir.attachment - the caller's own
        Attachment._ai_unsent(self.env.user).sorted("id", reverse=True)[MAX_UNSENT - 1 :].unlink()
        return self.sudo()._create_files([file], woow_unsent_by_id=self.env.uid).sudo(False)

    def _file_of(self, name, content, source, reading):
        self._check_room(content)
        self._drop_unsent(len(content))
        name = text.one_line(name, files.NAME_CHARS) or self.env._("File")
        reading = reading or files.read(name, content, (self.env.cr.dbname, self.env.uid))
        return {
            "name": name,
            "mimetype": reading.mimetype,
            "data": base64.b64encode(content),
            "source": source,
            "values": self.env["ir.attachment"]._ai_reading_values(reading),
        }

    def _check_count(self, count):
        """:raises Refusal: these are too many files for one message"""
        if count > files.MAX_FILES:
            raise Refusal(
                self.env._(
                    "At most %(limit)s files can be attached to one message.",
                    limit=files.MAX_FILES,
                ),
                "too_many_files",
                max_files=files.MAX_FILES,
            )

    def _own_files(self):
        """Files that the caller has attached here, sent or not."""
        # sudo: ir.attachment - of the caller's own conversation, and made by the caller
        Attachment = self.env["ir.attachment"].sudo()
        return Attachment.search(
            [
                ("res_model", "=", self._name),
                ("res_id", "=", self.id),
                ("create_uid", "=", self.env.uid),
            ],
            order="id",
        )

    def _unsent_files(self):
        # sudo: ai_turn - to leave out what the caller has sent
        return self._own_files() - self.sudo().woow_turn_ids.attachment_ids

    def _files_to_send(self, ids):
        """Files of these ids that the caller has attached; from now on they belong to this conversation.

        :raises Refusal: one is not theirs, or they are too many
        """
        if not ids:
            return self.env["ir.attachment"]
        self._check_count(len(ids))
        unsent = self.env["ir.attachment"]._ai_unsent(self.env.user)
        chosen = (self._own_files() | unsent).filtered(lambda file: file.id in ids)
        if len(chosen) != len(set(ids)):
            raise NotThere(self.env._("This file does not exist."))
        here = {"res_model": self._name, "res_id": self.id, "woow_unsent_by_id": False}
        (chosen & unsent).write(here)
        return chosen.sorted("id")

    def _attach_resource(self, source, contents, left_out):
        """Keep what a server sent for a resource, for a message that the caller is about to send.

        :param source: ``{"server", "uri"}`` as the person chose it
        :param contents: see `files_of`
        :param left_out: how many were too many to be read
        :return: ``{"attachments", "left_out"}``: how many parts are neither picture nor text, or too many
        :raises Refusal: nothing of it can be attached; it says why
        :raises FileError: the same, because of what it is
        """
        channel = self._own_conversation()
        if not channel:
            raise NotThere(self.env._("This conversation does not exist."))
        attached, refusal = self._attach_each(
            contents,
            lambda content: channel._attach_content(
                content.name, content.data, {**source, "uri": content.uri}, content.reading
            ),
        )
        if not attached:
            raise refusal or BadInput(self.env._("The file is empty."), "empty_file")
        return {
            "attachments": attached._ai_file_data(),
            "left_out": left_out + len(contents) - len(attached),
        }

    @api.model
    def _attach_of_prompt(self, sent):
        """Keep files of a server's prompt for a message that the caller is about to send, in whichever conversation.

        :param sent: see `read_sent`
        :return: `ir.attachment` records, without those that cannot be attached
        """
        attached, _refusal = self._attach_each(
            sent, lambda file: self._attach_unsent(file.name, file.data, file.reading)
        )
        return attached

    def _attach_each(self, sent, attach):
        """Attach what a server sent, as far as it can be attached.

        :param attach: ``attach(sent file)`` makes the `ir.attachment`
        :return: (`ir.attachment` records, the last reason to leave one out or None)
        """
        attached, refusal = self.env["ir.attachment"], None
        for file in sent:
            try:
                if isinstance(file.reading, FileError):
                    raise file.reading
                attached += attach(file)
            except (Refusal, FileError) as error:
                refusal = error
        return attached, refusal

    # ------------------------------------------------------------ choice of servers (document 004, §6)

    def _narrowed(self, servers, person):
        """Servers among these that the person left on: here, or else in general.

        A conversation with a choice of its own keeps it whatever the person switches in general.
        """
        # sudo: discuss.channel - a choice among servers, nothing is shown
        if config := self.sudo().woow_mcp_config:
            return servers.filtered(lambda s: s.id in config["server_ids"])
        return servers - self.env[OPT_OUT]._servers_of(person)

    def _mcp_config(self):
        """Data of the conversation's panel: each server, its switch and its cost."""
        offered = self._offered_mcp_servers()
        # sudo: ai.assistant - the caller has found their own conversation with it
        assistant = self.sudo().woow_assistant_id
        return assistant._mcp_config(offered, self._narrowed(offered, self.env.user))

    def _select_servers(self, names):
        """Let the conversation use only the servers of these names; None: whatever is offered and left on in general.

        :raises UserError: a name that is not offered here
        """
        offered = self._offered_mcp_servers()
        called = offered._unambiguous_names()
        unknown = {*(names or ())} - {called[server] for server in offered}
        if unknown:
            raise UserError(
                self.env._(
                    "This conversation has no MCP server called “%(name)s”.", name=min(unknown)
                )
            )
        named = None if names is None else offered._named(names)
        self._keep_servers(named, offered)

    def _switch_server(self, server, is_on):
        """Switch one server on or off for this conversation only; False where it is not offered at all."""
        offered = self._offered_mcp_servers()
        server = offered.filtered(lambda s: s.id == server.id)
        if server:
            selected = self._narrowed(offered, self.env.user)
            self._keep_servers(selected | server if is_on else selected - server, offered)
        return bool(server)

    def _switch_server_for_me(self, server, is_on):
        """Switch one server in all conversations of the caller, and in this one whatever its own choice was."""
        offered = self._offered_mcp_servers().filtered(lambda s: s.id == server.id)
        if offered:
            offered._switch_for_me(is_on)
            self._switch_server(server, is_on)
        return bool(offered)

    def _keep_servers(self, servers, offered):
        """:param servers: None, or what the person leaves on in general, is no choice of the conversation's own"""
        general = offered - self.env[OPT_OUT]._servers_of(self.env.user)
        is_general = servers is None or servers == general
        # sudo: discuss.channel - portal users may not write channels, but choose in their own conversation
        self.sudo().woow_mcp_config = False if is_general else {"server_ids": servers.ids}


def _picture(file, room, most):
    """A picture in base64 and its number of pixels; nothing of any other file.

    :param room: bytes of base64 that it may have
    :param most: pixels that it may have
    """
    if file.mimetype not in PDF_TYPES or file.file_size * 4 // 3 > room:
        return "", 0
    data = file.raw or b""
    number = pictures.pixels(data)
    return (base64.b64encode(data).decode(), number) if 0 < number <= most else ("", 0)


def _says(words):
    """The condition on a row ``message`` of ``mail_message``; tags are not searched.

    A tag stands for a blank, so each word is in the body as it is: few bodies have to lose their tags.
    """
    escaped = str(html_escape(words))
    return SQL(
        "message.model = 'discuss.channel' AND message.message_type = 'comment'"
        " AND CASE WHEN strpos(lower(message.body), lower(%s)) > 0"
        " THEN strpos(lower(regexp_replace(message.body, '<[^<>]*>', ' ', 'g')), lower(%s)) > 0"
        " ELSE FALSE END",
        max(escaped.split(), key=len, default=""),
        escaped,
    )


def _excerpt(body, words):
    said = " ".join(html2plaintext(body, include_references=False).split())
    at = said.lower().find(words.lower())
    start = max(0, at - BEFORE)
    part = said[start : start + AROUND]
    return f"{'… ' * bool(start)}{part}{' …' * (start + AROUND < len(said))}"


@dataclass(frozen=True, slots=True)
class SentFile:
    """A part of what a server sent, as it was read.

    :ivar reading: a `files.Reading`; an error where it cannot be read, None where it is too large to try
    """

    name: str
    uri: str
    data: bytes
    reading: files.Reading | FileError | None


def files_of(source, name, contents, person):
    """Read what a server sent for a resource.

    :param source: ``{"server", "uri"}`` as the person chose it
    :param name: what the server calls it
    :param contents: `services.mcp.features.prompts_resources.ResourceContent`
    :param person: as the result see `read_sent`
    """
    uris = [content.uri or source["uri"] for content in contents]
    parts = zip(uris, contents, strict=True)
    return read_sent(((_file_name(uri, name), uri, _data_of(part)) for uri, part in parts), person)


def read_sent(sent, person):
    """Read files that a server sent; a document takes seconds, so nobody may hold a cursor.

    :param sent: name, address (may be empty) and content of each
    :param person: see `services.llm.files.read`
    :return: `SentFile` of each
    """
    until = time.monotonic() + READING_SECONDS
    return [_sent(*file, person, is_late=time.monotonic() > until) for file in sent]


def _sent(name, uri, data, person, is_late):
    reading = None
    if len(data) <= files.MAX_BYTES:
        if is_late:
            return SentFile(name, uri, data, FileTooComplex())
        try:
            reading = files.read(name, data, person)
        except FileError as error:
            reading = error
    return SentFile(name, uri, data, reading)


def _data_of(content):
    if content.files:
        return base64.b64decode(content.files[0]["data"])
    return content.text.encode()


def _file_name(uri, name):
    """The end of an address that looks like a file, else the resource's own name."""
    last = unquote(uri.rsplit("/", 1)[-1])
    return last if "." in last or not name else name


def _text_of(body, prompt):
    """Text of a message: a question as it was asked, since no text comes back from HTML as it was.

    :param prompt: of the question, empty of other messages; another one if the message was edited in Discuss
    """
    said = html2plaintext(body, include_references=False).strip()
    is_same = prompt and "".join(prompt.split()) == "".join(said.split())
    return prompt if is_same else said
