import logging
from dataclasses import replace
from datetime import datetime, timedelta

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.fields import Domain
from odoo.tools import SQL

from ...services import text
from ...services.llm.files import MAX_BYTES, fitting_files
from ...services.render import conversation_file
from ...tools import db, limits, notify
from ...tools.limits import MEGABYTE
from ...tools.refusals import Busy, NotThere, Refusal
from ..base.discuss_channel import CONVERSATION, LISTED
from ..turn.ai_turn_request import COMPACT
from .conversation_folder import FOLDER

_logger = logging.getLogger(__name__)

MAX_DIGITS = 9  # of an id
NAME_CHARS = 120  # characters of a conversation's name
FIXED = frozenset(  # set when the conversation is made, by the system only
    {
        "woow_assistant_id",
        "woow_user_id",
        "woow_cloud_service_id",
        "woow_res_model",
        "woow_res_id",
        "woow_is_of_program",
        "woow_is_of_run",
        "woow_temporary_until",
        "woow_turn_ids",
        "woow_mcp_config",
        "woow_beginning",
    }
)
CONTINUED = "This conversation continues another one, whose text follows as data:"  # for the model
NEVER_PINNED = datetime(9000, 1, 1)  # Discuss pins what is younger than the moment it was unpinned
DELETED_AT_ONCE = 10  # conversations that make room for a new one
TEMPORARY_HOURS = 24  # after its last question that a temporary conversation is kept
MAX_TEMPORARY = 10  # of one person; beyond them the one that was used longest ago goes
STOPPING_SECONDS = 10  # until it is looked again whether a runner has let go of an answer
TEMPORARY_BATCH = 100  # conversations that one run of the cron deletes
MAX_UNSENT_BYTES = 8 * MAX_BYTES  # of one person; what was attached first goes first


class DiscussChannel(models.Model):
    """Conversation with an assistant: a channel of its own type with two fixed members."""

    _inherit = "discuss.channel"

    woow_turn_ids = fields.One2many(
        "woow_paas_platform.ai_turn", "channel_id", "AI Turns", readonly=True
    )
    woow_mcp_config = fields.Json(
        "MCP Servers in Use",
        readonly=True,
        help='{"server_ids": […]}; empty means what is offered and left on in general.',
    )
    woow_beginning = fields.Json(
        "Text of Another Conversation",
        readonly=True,
        prefetch=False,
        help='{"text": …, "sources": […]}: what this conversation continues, and the records that were read for it.',
    )
    woow_ai_mentions = fields.Boolean(
        "Assistants Answer Mentions",
        help="Users who mention an AI assistant here get its answer in a thread that everyone here can read.",
    )

    @api.constrains("channel_member_ids")
    def _check_conversation_members(self):
        # sudo: discuss.channel - a constraint, nothing is shown
        for channel in self.sudo().filtered(lambda c: c.channel_type == CONVERSATION):
            allowed = channel.woow_user_id.partner_id | channel.woow_assistant_id.partner_id
            members = channel.channel_member_ids
            if members.guest_id or members.partner_id - allowed:
                raise ValidationError(
                    self.env._("Members cannot be added to a conversation with an assistant.")
                )

    @api.model_create_multi
    def create(self, vals_list):
        channels = super().create(vals_list)
        if not self.env.su and any(
            # sudo: discuss.channel - only whether it is a conversation, nothing is shown
            channel.channel_type == CONVERSATION or any(channel[name] for name in FIXED)
            for channel in channels.sudo()
        ):
            raise AccessError(
                self.env._("Conversations with assistants can only be created in the chat.")
            )
        return channels

    def write(self, vals):
        if "woow_ai_mentions" in vals and not self._may_allow_ai_mentions():
            raise AccessError(
                self.env._(
                    "Only the creator of a channel can decide whether assistants answer in it."
                )
            )
        if not self.env.su and not FIXED.isdisjoint(vals):
            raise AccessError(
                self.env._("The participants and the subject of a conversation cannot be changed.")
            )
        return super().write(vals)

    def unlink(self):
        """The calls go with their turns; that there were some, the statistics still tell."""
        # sudo: discuss.channel - only numbers are kept, and nothing of it if the deletion is refused
        channels = self.sudo()
        turns = channels.woow_turn_ids
        if turns:
            self.env["woow_paas_platform.tool_call_sum"]._fold(SQL("turn_id = ANY(%s)", turns.ids))
        turns._leave_runs()
        for channel in turns.channel_id | channels.filtered("woow_assistant_id"):
            notify.conversation_over(self.env.cr, channel.id)
        return super().unlink()

    # ------------------------------------------------------------ life and members

    @api.model
    def _create_ai_conversation(
        self,
        assistant,
        cloud_service=None,
        name=None,
        record=None,
        is_of_program=False,
        is_of_run=False,
        is_temporary=False,
    ):
        """The one way to make a conversation of the current user.

        :param record: what it is about; its actions are offered beside the assistant's tools
        :param is_of_program: asked by a program; nothing lists it
        :param is_of_run: asked by a server action, which nothing lists but its runs
        :param is_temporary: nothing lists it, and it is deleted when its person leaves it, or some time later
        :raises Refusal: the user has as many as one person may
        :raises AccessError: the user may not use the assistant, the cloud service or the record
        """
        is_listed = not (is_of_program or is_of_run or is_temporary)
        if is_of_program:
            self._make_room_for_program()
        if is_temporary:
            self._make_room_for_temporary()
        if is_listed:
            self._check_conversation_count()
        assistant.check_access("read")
        if cloud_service:
            cloud_service.check_access("read")
        if record:
            record.check_access("read")
        assistant._check_answers_about(cloud_service, record)
        # sudo: ai.assistant - its contact's id only
        partners = self.env.user.partner_id | assistant.sudo().partner_id
        unpinned = {} if is_listed else {"unpin_dt": NEVER_PINNED}
        # sudo: discuss.channel - people cannot create this type themselves; the members are fixed here
        channel = self.sudo().create(
            {
                "name": self._valid_name(name or ""),
                "channel_type": CONVERSATION,
                "woow_assistant_id": assistant.id,
                "woow_user_id": self.env.uid,
                "woow_cloud_service_id": cloud_service.id if cloud_service else False,
                "woow_res_model": record._name if record else False,
                "woow_res_id": record.id if record else False,
                "woow_is_of_program": is_of_program,
                "woow_is_of_run": is_of_run,
                "woow_temporary_until": is_temporary and self._temporary_from_now(),
                "channel_member_ids": [
                    fields.Command.create({"partner_id": partner.id, **unpinned})
                    for partner in partners
                ],
            }
        )
        return channel.sudo(False)

    def _own_conversation(self):
        """The record when it is a conversation of the caller that is not over, else an empty set."""
        # sudo: discuss.channel - decides only whether the record is the caller's own
        own = (
            self.sudo()
            .exists()
            .filtered(lambda c: c.channel_type == CONVERSATION and c.woow_user_id == self.env.user)
        )
        return own.filtered(lambda c: not c._is_over()).sudo(False)

    @api.model
    def _conversation_of_program(self, number, assistant):
        """The caller's conversation in which a program goes on to ask an assistant.

        :param number: id as the program sends it, not checked
        :raises Refusal: there is none, or its last question is not answered yet
        """
        is_id = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS
        found = self.browse(int(number) if is_id else ())._own_conversation()
        # sudo: discuss.channel - the caller's own
        own = found.sudo()
        if not own.woow_is_of_program or own.woow_assistant_id != assistant:
            raise NotThere(self.env._("There is no such conversation with this assistant."))
        found._refuse_while_busy()
        return found

    def _contact_of(self, assistant):
        """The contact of an assistant; that of a deleted one stays in its conversation."""
        members = self.channel_member_ids.partner_id - self.woow_user_id.partner_id
        of_conversation = members[:1] if self.channel_type == CONVERSATION else members.browse()
        return assistant.partner_id or of_conversation or self.env.ref("base.partner_root")

    def _rename_ai_conversation(self, name):
        # sudo: discuss.channel - portal users may not write channels, but name their own conversation
        self.sudo().name = self._valid_name(name)

    @api.model
    def _valid_name(self, name):
        """A name without invisible characters, or the one of a conversation that has none."""
        return text.clean(name).strip()[:NAME_CHARS] or self.env._("New conversation")

    def _name_after_first_message(self, content):
        """A conversation without a name of its own is called after what was first asked."""
        # sudo: discuss.channel - see `_rename_ai_conversation`
        channel = self.sudo()
        # Whoever made it, and whoever asks, may have another language.
        codes = {"en_US", *(code for code, _name in self.env["res.lang"].get_installed())}
        if channel.name in {
            self.with_context(lang=code).env._("New conversation") for code in codes
        }:
            channel.name = self._valid_name(" ".join(text.clean(content).split())[:60])

    def _delete_ai_conversation(self):
        """Messages, turns, events and calls go with it."""
        # sudo: discuss.channel - whether the caller's own conversation is temporary
        if self.sudo().woow_temporary_until:
            self._end_temporary()
            return
        running = self.sudo().woow_turn_ids.filtered(
            lambda t: t.state in ("queued", "running", "waiting")
        )
        if running:
            raise UserError(self.env._("Stop the answer before you delete the conversation."))
        # sudo: discuss.channel - people may not delete channels, but their own conversation
        self.sudo().unlink()

    def _forget_response(self, turn):
        """No program finds this answer any more; with the last one of the conversation, that is deleted.

        :raises UserError: it is still being written
        """
        # sudo: ai_turn, discuss.channel - people have no write access; the caller's own turn and conversation
        channel = self.sudo()
        turn.sudo().is_response = False
        if not channel.woow_turn_ids.filtered("is_response"):
            channel._delete_ai_conversation()

    # ------------------------------------------------------------ temporary conversations

    @api.model
    def _temporary_from_now(self):
        return fields.Datetime.now() + timedelta(hours=TEMPORARY_HOURS)

    def _is_over(self):
        """True of a temporary conversation whose time is up, or that its person has left."""
        until = self.woow_temporary_until
        return bool(until) and until <= fields.Datetime.now()

    def _leave_temporary(self):
        """End the caller's conversation, unless it has been kept meanwhile, perhaps in another tab."""
        # sudo: discuss.channel - whether the caller's own conversation is temporary
        if self.sudo().woow_temporary_until:
            self._end_temporary()

    def _end_temporary(self):
        """Delete a temporary conversation; where a runner still has to stop its answer, the cron does it then."""
        # sudo: discuss.channel - people may not delete channels, but their own conversation
        channel = self.sudo()
        open_turns = channel.woow_turn_ids.filtered(lambda turn: not turn.ended_at)
        for turn in open_turns:
            turn._request_stop()
        if all(turn.ended_at for turn in open_turns):
            channel.unlink()
            return
        channel.woow_temporary_until = fields.Datetime.now()
        cron = self.env.ref("woow_paas_platform.ir_cron_temporary", raise_if_not_found=False)
        if cron:  # else an administrator has deleted it
            # sudo: ir.cron - one of our own, which deletes only what is over
            cron.sudo()._trigger(fields.Datetime.now() + timedelta(seconds=STOPPING_SECONDS))

    @api.model
    def _cron_end_temporary(self):
        over = [("woow_temporary_until", "<=", fields.Datetime.now())]
        channels = self.search(over, order="woow_temporary_until", limit=TEMPORARY_BATCH)
        commit = self.env["ir.cron"]._commit_progress
        commit(remaining=self.search_count(over))
        for channel in channels:
            try:
                with self.env.cr.savepoint():
                    if channel.exists() and channel._is_over():
                        channel._end_temporary()
            except Exception:
                _logger.exception("A temporary conversation could not be deleted")
            if not commit(1):
                return

    @api.model
    def _make_room_for_temporary(self):
        """End what the caller has used longest ago, also where an answer is under way: else any number could wait."""
        mine = [("woow_user_id", "=", self.env.uid)]
        mine.append(("woow_temporary_until", ">", fields.Datetime.now()))
        # sudo: discuss.channel - the caller's own
        old = self.sudo().search(
            mine,
            order="last_interest_dt desc, id desc",
            offset=MAX_TEMPORARY - 1,
            limit=DELETED_AT_ONCE,
        )
        for channel in old:
            channel._end_temporary()

    def _keep_temporary(self):
        """Make an ordinary conversation of a temporary one.

        :raises Refusal: the caller has as many as one person may
        """
        # sudo: discuss.channel - people may not write channels; the caller's own
        channel = self.sudo()
        if channel.woow_temporary_until:
            self._check_conversation_count()
            channel.woow_temporary_until = False
            self._member_of_caller().unpin_dt = False

    # ------------------------------------------------------------ turns

    def _running_turn(self):
        return self._open_turns(limit=1)

    def _open_turns(self, limit=None):
        """The turn that is under way, and those that wait behind it in the order in which they come."""
        is_open = ("state", "in", ("queued", "running", "waiting"))
        return self._own_turns([is_open], order="id", limit=limit)

    def _own_turns(self, domain, **options):
        """The caller's among the turns of the conversation; most often none, which needs no look at rights."""
        mine = [("channel_id", "=", self.id), ("user_id", "=", self.env.uid), *domain]
        # sudo: ai_turn - which there are; the caller's rights are looked at then
        turns = self.env["woow_paas_platform.ai_turn"].sudo().search(mine, **options)
        return turns.sudo(False)._filtered_access("read")

    def _last_turn(self, domain=()):
        shown = [("channel_id", "=", self.id), ("hidden", "=", 0), ("entered_id", "=", False)]
        return self.env["woow_paas_platform.ai_turn"].search(
            [*shown, *domain], order="id desc", limit=1
        )

    def _turn_of_token(self, client_token):
        if not client_token:
            return self.env["woow_paas_platform.ai_turn"]
        return self._own_turns([("client_token", "=", client_token)])

    def _refuse_while_busy(self, when=None):
        """
        :param when: "queue" lets a message wait for what is under way, "steer" enter it while nobody has to decide
        :raises Busy: an answer is under way, or waits for a decision
        """
        busy = self._running_turn()
        if busy and when != "queue" and (when != "steer" or busy.state == "waiting"):
            raise Busy(
                self.env._("The assistant is still busy with the last message."),
                "turn_waiting" if busy.state == "waiting" else "turn_running",
                turn_id=busy.id,
                stream_url=busy._stream_url(),
            )

    # ------------------------------------------------------------ questions and answers

    def _ask(self, question):
        """Post the person's message and queue its turn; `/compact` is asked, and seen, like a question.

        :param question: a `Question`
        :raises AccessError: the assistant is no longer available to the person
        """
        self.ensure_one()
        if question.edits:
            question = self._begin_branch(question)
        if beginning := self._text_before_first(question):
            question = replace(question, client_messages=beginning)
        if self._kept()["archived"]:
            self._keep("restore")
        # sudo: discuss.channel - the caller's own conversation, which a question keeps for longer
        if self.sudo().woow_temporary_until:
            self.sudo().woow_temporary_until = self._temporary_from_now()
        notify.prepare(self.env.cr)  # the turn begins before pages are told of the message
        self.woow_assistant_id.check_access("read")
        if question.compacts:  # a command asks nothing by which a conversation could be called
            line = f"{COMPACT} {question.content}".strip()
            question = replace(question, content=line, steers=False)
        else:
            attached = question.message.attachment_ids if question.message else question.attachments
            # sudo: ir.attachment - the names of the caller's own files
            names = attached.sudo().mapped("name") if attached else []
            self._name_after_first_message(question.content or ", ".join(names))
        return self.env["woow_paas_platform.ai_turn"]._start(self, question)

    def _answers_about(self, record):
        service = self.woow_cloud_service_id
        return not self.woow_assistant_id._refusal_by_service(service, record)

    def _folder_words(self, user):
        # sudo: discuss.channel.member - the person's own membership and folder
        members = self.sudo().channel_member_ids
        own = members.filtered(lambda member: member.partner_id == user.partner_id)
        folder = own.woow_folder_id.filtered(lambda folder: folder.user_id == user)
        return folder._words() if folder else None

    def _post_answer(self, assistant, html, silent=False):
        """Post as the assistant; the runner's last act of a turn."""
        return self._post_as_assistant(
            assistant,
            body=Markup(html),  # noqa: S704 rendered by services/render, raw HTML escaped
            silent=silent,
            message_type="comment",
        )

    @api.model
    def _stop_answers_by(self, providers):
        self.env["woow_paas_platform.ai_turn"]._stop_all_by(providers)

    def _post_as_assistant(self, assistant, **values):
        # sudo: discuss.channel - the author is the assistant's contact, which has no login
        channel = self.sudo().with_context(woow_ai_no_turn=True, **db.SEND_LATER)
        return channel.message_post(
            author_id=channel._contact_of(assistant).id, subtype_xmlid="mail.mt_comment", **values
        )

    def _notify_get_recipients(self, message, msg_vals=False, **kwargs):
        """Write to nobody else in a conversation with an assistant, whoever is named in a message.

        Of an answer to a question of a chat, `AiTurn._push_to_person` tells those who are away.
        """
        found = super()._notify_get_recipients(message, msg_vals, **kwargs)
        if self.channel_type != CONVERSATION or not found:
            return found
        if kwargs.get("silent"):
            return []
        # sudo: discuss.channel.member - who hears of a message
        members = self.sudo().channel_member_ids.partner_id.ids
        return [recipient for recipient in found if recipient["id"] in members]

    # ------------------------------------------------------------ beginning that is the text of another conversation

    def _begin_with(self, beginning, html):
        """Let the conversation continue the text of another one, which is shown above its first question.

        :param beginning: ``{"text", "sources"}``, see `woow_beginning`
        :param html: the same for people
        """
        # sudo: discuss.channel - people may not write channels, but continue in one of their own
        channel = self.sudo()
        channel.woow_beginning = beginning
        channel._post_as_assistant(
            channel.woow_assistant_id, body=html, silent=True, message_type="comment"
        )

    def _text_before_first(self, question):
        """The text that is continued, as messages before the first question; None before commands and later questions.

        It is quoted, so that it counts as foreign words whoever has written it.
        """
        # sudo: discuss.channel - the caller's own conversation
        beginning = self.sudo().woow_beginning
        if not beginning or question.compacts or self._last_turn([("is_compact", "=", False)]):
            return None
        quoted = conversation_file.quoted(beginning["text"])
        return [{"role": "user", "content": f"{CONTINUED}\n{quoted}"}]

    # ------------------------------------------------------------ branches, begun by edited questions

    def _begin_branch(self, question):
        """Make room for another wording; what followed the former one stays on its own branch, calls included.

        :param question: a `Question` that edits the turn of the shown version
        :return: the same with the former one's files and records, where it has none or says nothing of them
        """
        self._refuse_while_busy()
        # sudo: ai_turn - the caller's own question, with its files
        former = question.edits.sudo()
        former._leave_branch(former.message_id.id)
        return replace(
            question,
            attachments=question.attachments or former.attachment_ids,
            mentions=former.mentions if question.mentions is None else question.mentions,
            steers=False,
        )

    def _question_turn(self, message_id):
        """The shown turn that this message of the person started."""
        return self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                ("message_id", "=", message_id),
                ("hidden", "=", 0),
                ("user_id", "=", self.env.uid),
            ],
            order="id",
            limit=1,
        )

    def _uncommon_turns(self):
        """Hidden turns, those of edited questions, and those that enter an answer; mostly none."""
        return self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                "|",
                "|",
                ("hidden", ">", 0),
                ("version_of_id", "!=", False),
                ("entered_id", "!=", False),
            ],
            order="id",
        )

    # ------------------------------------------------------------ MCP servers, and the files that they send

    def _mcp_servers(self):
        """The servers that the conversation uses now: what it is offered, without what its person switched off."""
        return self._narrowed(self._offered_mcp_servers(), self.sudo().woow_user_id)

    def _offered_mcp_servers(self):
        """The servers that the conversation's person may use in it now; none if the chat itself is closed to them."""
        self.ensure_one()
        # sudo: discuss.channel - the caller has found their own conversation; what its person may use now
        # is checked with that person's rights
        channel = self.sudo()
        return channel.woow_assistant_id._offered_mcp_servers(
            channel.woow_user_id, channel.woow_cloud_service_id
        )

    def _keep_files(self, files):
        """Store what a server sent beside text; who may read the conversation may read it.

        As far as the conversation's person has room for them; a thread of a channel is nobody's.

        :param files: ``{"name", "mimetype", "data", "source"?}`` with base64 data; ``"values"`` are more columns
        :return: `ir.attachment` records
        """
        if self.woow_user_id:
            # sudo: discuss.channel - whose conversation it is
            files = fitting_files(files, *self._room_for_files(self.sudo().woow_user_id))
        self.ensure_one()
        return self._create_files(files, res_model=self._name, res_id=self.id)

    @api.model
    def _create_files(self, files, **values):
        # An untrusted picture is not decoded: a few kB of PNG can stand for gigabytes. HTML and SVG are text.
        Attachment = self.env["ir.attachment"].with_context(
            image_no_postprocess=True, attachments_mime_plainxml=True
        )
        return Attachment.create(
            [
                {
                    "name": file["name"],
                    "mimetype": file["mimetype"],
                    "datas": file["data"],
                    "woow_source_server": (file.get("source") or {}).get("server"),
                    "woow_source_uri": (file.get("source") or {}).get("uri"),
                    **file.get("values", {}),
                    **values,
                }
                for file in files
            ]
        )

    # ------------------------------------------------------------ quotas of a person

    @api.model
    def _check_conversation_count(self):
        """:raises Refusal: the caller has as many as one person may"""
        limit = limits.get(self.env, "max_conversations_per_person")
        # sudo: discuss.channel - the caller's own, counted
        mine = [("woow_user_id", "=", self.env.uid), *LISTED]
        own = self.sudo().search_count(mine, limit=limit)
        if own >= limit:
            raise Refusal(
                self.env._(
                    "You have reached the limit of %(limit)s conversations. Delete some first.",
                    limit=limit,
                ),
                "too_many_conversations",
            )

    @api.model
    def _make_room_for_program(self):
        """Delete what the caller's programs have used longest ago, where they have as many as one person may."""
        self.env["discuss.channel"].flush_model()
        self.env.cr.execute(
            """
            SELECT c.id
              FROM (SELECT id FROM discuss_channel
                     WHERE woow_is_of_program AND woow_user_id = %s
                     ORDER BY last_interest_dt DESC, id DESC
                    OFFSET %s LIMIT %s) AS old
              JOIN discuss_channel c ON c.id = old.id
             WHERE NOT EXISTS (
                    SELECT 1 FROM woow_paas_platform_ai_turn t
                     WHERE t.channel_id = c.id AND t.ended_at IS NULL)
               FOR UPDATE OF c SKIP LOCKED
            """,
            [
                self.env.uid,
                limits.get(self.env, "max_program_conversations_per_person") - 1,
                DELETED_AT_ONCE,
            ],
        )
        # sudo: discuss.channel - people may not delete channels; these are the caller's own
        self.sudo().browse(row[0] for row in self.env.cr.fetchall()).unlink()

    def _check_room(self, content):
        """
        :raises Refusal: the file is too large, empty, or the caller keeps as many as one person may
        """
        self.env["ir.attachment"]._ai_check_size(len(content))
        count, size = self._room_for_files(self.env.user)
        if count < 1 or size < len(content):
            raise Refusal(
                self.env._(
                    "Your conversations have reached the limit for files. Delete conversations that you no longer need."
                ),
                "storage_full",
            )

    @api.model
    def _room_for_files(self, person):
        """(number, bytes) of files that still fit into this person's conversations and folders, sent or not."""
        self.env["ir.attachment"].flush_model(
            ["res_model", "res_id", "file_size", "woow_unsent_by_id"]
        )
        self.env.cr.execute(
            """
            SELECT COUNT(*), COALESCE(SUM(file_size), 0)
              FROM (SELECT file.file_size
                      FROM ir_attachment file
                      JOIN discuss_channel channel ON channel.id = file.res_id
                     WHERE file.res_model = 'discuss.channel' AND channel.woow_user_id = %(person)s
                     UNION ALL
                    SELECT file.file_size
                      FROM ir_attachment file
                      JOIN woow_paas_platform_conversation_folder folder ON folder.id = file.res_id
                     WHERE file.res_model = 'woow_paas_platform.conversation_folder'
                       AND folder.user_id = %(person)s
                     UNION ALL
                    SELECT file_size
                      FROM ir_attachment
                     WHERE woow_unsent_by_id = %(person)s) AS kept
            """,
            {"person": person.id},
        )
        count, size = self.env.cr.fetchone()
        return (
            limits.get(self.env, "max_files_per_person") - count,
            limits.get(self.env, "max_file_megabytes_per_person") * MEGABYTE - size,
        )

    def _drop_unsent(self, size):
        """Make room for so many bytes among what the caller has attached anywhere and not sent."""
        # sudo: discuss.channel, ir.attachment - the caller's own conversations and files
        own = self.sudo().search([("woow_user_id", "=", self.env.uid)])
        attached = (
            self.env["ir.attachment"]
            .sudo()
            .search(
                [
                    ("res_model", "=", self._name),
                    ("res_id", "in", own.ids),
                    ("create_uid", "=", self.env.uid),
                ],
                order="id desc",
            )
        )
        attached |= self.env["ir.attachment"]._ai_unsent(self.env.user)
        for file in (attached - own.woow_turn_ids.attachment_ids).sorted("id", reverse=True):
            size += file.file_size
            if size > MAX_UNSENT_BYTES:
                file.unlink()


class DiscussChannelMember(models.Model):
    _inherit = "discuss.channel.member"

    # each person's own: neither other members nor RPC reach it
    woow_is_pinned = fields.Boolean("Pinned in the Chat", groups=fields.NO_ACCESS)
    woow_is_archived = fields.Boolean("Archived in the Chat", groups=fields.NO_ACCESS)
    woow_folder_id = fields.Many2one(
        FOLDER,
        "Folder in the Chat",
        ondelete="set null",
        index="btree_not_null",
        groups=fields.NO_ACCESS,
    )

    # few of a person's are pinned, and each list begins with them
    _woow_pinned = models.Index("(partner_id) WHERE woow_is_pinned IS TRUE")
    _woow_archived = models.Index("(partner_id) WHERE woow_is_archived IS TRUE")

    @api.constrains("partner_id", "guest_id", "channel_id")
    def _check_ai_conversation(self):
        self.channel_id._check_conversation_members()

    @api.model
    def _kept_by_caller(self, field, value=True):
        """Condition on conversations by a field of the caller's own membership."""
        mine = Domain("partner_id", "=", self.env.user.partner_id.id)
        return Domain("channel_member_ids", "any!", mine & Domain(field, "=", value))

    def _set_last_seen_message(self, message, notify=True):
        """Mark as read everywhere; other pages are not notified unless the person did it."""
        result = super()._set_last_seen_message(message, notify=notify)
        is_own = self.partner_id == self.env.user.partner_id
        if notify and is_own and self.channel_id.channel_type == CONVERSATION:
            self.env["woow_paas_platform.ai_turn"]._see(self.channel_id)
        return result

    @api.ondelete(at_uninstall=False)
    def _unlink_except_ai_conversation(self):
        if any(self.channel_id.mapped(lambda channel: channel.channel_type == CONVERSATION)):
            raise ValidationError(
                self.env._("The members of a conversation with an assistant cannot be changed.")
            )
