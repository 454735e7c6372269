from datetime import timedelta

from markupsafe import Markup
from odoo import api, fields, models
from odoo.addons.mail.tools.discuss import Store
from odoo.tools import (
    SQL,
    formatLang,
    hash_sign,
    html2plaintext,
    html_escape,
    verify_hash_signed,
)

from ...services import events, text
from ...services.errors import LlmError
from ...services.llm import files, thinking
from ...services.render import formulas, markdown
from ...services.sentence import load
from ...tools import db, labels, limits, sentences
from ...tools.moments import utc
from ...tools.refusals import Refusal, TooLate
from ..base.discuss_channel import LISTED, readable
from .ai_turn import DECISIONS, FINAL_STATES

SENTENCES_BY_CODE = {kind.code: kind.default_message for kind in LlmError.__subclasses__()}

SUMMARY_CLASS = "o_ai_call_summary"
CARD_FIELDS = (
    "call_id",
    "tool_name",
    "title",
    "server_name",
    "outcome",
    "duration_ms",
    "round",
    "turn_id",
)

ENDED = "woow_ai/turn_ended"
SEEN = "woow_ai/seen"
MAILS = 100  # of one run of the cron
STALE = 24  # hours after which an answer is no news
LINK = "woow_ai.decision_link"  # scope of signatures


class AiTurn(models.Model):
    """View of a turn: in the chat, over the API, in Discuss, by mail and in the backend."""

    _inherit = "woow_paas_platform.ai_turn"

    # ------------------------------------------------------------ API

    def _stream_url(self):
        return f"/api/ai/turns/{self.id}/stream"

    def _is_streamed_until(self, seq):
        """True if nothing follows `seq`: the turn ended and its last event was seen."""
        return self.state in FINAL_STATES and seq >= max(self._last_seq(), 1)

    def _running_data(self):
        return {
            "id": self.id,
            "state": self.state,
            # sudo: ai.assistant - name and image of who answers
            "assistant": self.assistant_id.sudo()._api_name(),
            "stream_url": self._stream_url(),
            "last_seq": self._last_seq(),
            # sudo: ai_turn - names and schemas of the tools that the person is asked about
            "waiting_for": self.sudo()._waiting_for(),
        }

    def _queued_data(self):
        return {
            "id": self.id,
            "message_id": self.message_id.id or None,
            "stream_url": self._stream_url(),
            "steers": self.steers,
        }

    def _ended_data(self):
        sentence = self._error_sentence(self.error_code, self.error_message or "")
        error = {"code": self.error_code, "message": sentence}
        return {
            "id": self.id,
            "state": self.state,
            "assistant_id": self.assistant_id.id or None,
            "tool_calls": [call._api_format() for call in self._calls_with_taken_over()],
            "usage": self.usage or None,
            "error": error if self.error_code else None,
            "rating": self._own_rating()._rating_data(),
        }

    def _own_rating(self):
        """The caller's rating of the answer; empty without one."""
        return self.rating_ids.filtered(lambda rating: rating.user_id == self.env.user)

    def _attached_records(self):
        """Odoo records that the person attached to the question, for the chat to show."""
        is_portal = not self.user_id._is_internal()

        def url(model, res_id):
            if is_portal:
                record = readable(self.user_id, model, res_id)
            else:
                record = model in self.env and self.env[model].browse(res_id)
            return labels.link(record, is_portal) if record else None

        return [{**one, "url": url(one["model"], one["id"])} for one in self.mentions or ()]

    @api.model
    def _context_of(self, channel):
        """Context use of the conversation's last request: ``{"used", "limit", …}`` in tokens, or None."""
        turns = self.search_fetch(
            [("channel_id", "=", channel.id), ("hidden", "=", 0), ("ended_at", "!=", False)],
            ["usage"],
            order="id desc",
            limit=5,
        )
        return next(
            (turn.usage["context"] for turn in turns if (turn.usage or {}).get("context")), None
        )

    def _error_sentence(self, code, fallback):
        """The error of a turn for its reader; `fallback` is the engine's sentence."""
        _ = self.env._
        by_code = {
            "internal_error": _(
                "Something went wrong. An administrator can find the details in the log."
            ),
            "turn_timeout": _("The answer took too long and was stopped. Try again."),
            "secret_unreadable": _(
                "A stored secret cannot be read. An administrator must enter it again."
            ),
        }
        if code in by_code:
            return by_code[code]
        # What the engine says where it knows more than the code does.
        sentence = fallback if sentences.knows(fallback) else SENTENCES_BY_CODE.get(code, fallback)
        return sentences.translated(self.env, sentence)

    def _summary_sentence(self):
        """Result of a compaction, for readers who have no divider."""
        made = self._own_summary()
        if not made:
            return self.env._("There is nothing to sum up yet.")
        event = made["event"]
        numbers = {
            "count": event["messages"],
            "before": formatLang(self.env, _about(event["tokens_before"]), digits=0),
            "after": formatLang(self.env, _about(event["tokens_after"]), digits=0),
        }
        if event["messages"] == 1:
            return self.env._(
                "1 earlier message summed up: about %(before)s → %(after)s tokens", **numbers
            )
        return self.env._(
            "%(count)s earlier messages summed up: about %(before)s → %(after)s tokens", **numbers
        )

    # ------------------------------------------------------------ responses, for programs

    @api.model
    def _of_response(self, turn_id):
        """The caller's turn that a program finds by its response; empty without one."""
        mine = [("id", "=", turn_id), ("user_id", "=", self.env.uid), ("is_response", "=", True)]
        return self.search(mine)

    def _response_before(self):
        """The response that this one goes on from; empty without one."""
        return self._earlier_turns()[:1].filtered("is_response")

    def _asked_about(self):
        """`tool_call` events, by id, of the calls that the person was asked about."""
        return {call.call_id: call._call_event() for call in self.call_ids if call.approval}

    def _waited_for(self, calls):
        """Place in the turn where it waited for decisions on these calls.

        :return: (step of the turn, number of the event that told of the wait, whether it still waits there),
            None where the events are gone
        """
        transcript = self._transcripts()[self.id]
        ids = set(calls.mapped("call_id"))
        said = [m for m in transcript.get("messages", ()) if m["role"] == "assistant"]
        asked = [{call["id"] for call in message.get("tool_calls") or ()} for message in said]
        step = next((number for number, found in enumerate(asked, 1) if ids & found), 0)
        ((seq, last),) = self.env.execute_query(
            SQL(
                """
                SELECT MIN(seq), MAX(seq) FROM woow_paas_platform_ai_turn_event
                 WHERE turn_id = %(turn)s
                   AND payload->>'type' = 'state' AND payload->>'state' = 'waiting'
                   AND seq > (
                        SELECT MAX(seq) FROM woow_paas_platform_ai_turn_event
                         WHERE turn_id = %(turn)s AND payload->>'type' = 'approval_required'
                           AND payload->>'id' = ANY(%(calls)s))
                """,
                turn=self.id,
                calls=[*ids],
            )
        )
        return seq and (step, seq, self.state == "waiting" and seq == last)

    def _events_from(self, step):
        """Texts and calls of the turn from this step on, as the events of a stream.

        They are made of what is kept after the log; calls of the step before belong to it if the person was asked.
        """
        calls = {call.call_id: call for call in self._calls_with_taken_over()}
        transcript, told = self._transcripts()[self.id], []
        said = [m for m in transcript.get("messages", ()) if m["role"] == "assistant"]
        for number, message in enumerate(said):
            if number >= step and message["content"]:
                told.append(events.text(message["content"], number))
            for asked in message.get("tool_calls") or ():
                call = calls.get(asked["id"])
                is_told = number >= step or (number == step - 1 and call and call.approval)
                if call and call.outcome and is_told:
                    told += [call._call_event(), call._result_event()]
        cut = {aside["step"] for aside in transcript.get("asides", ()) if _is_cut(aside)}
        if said and len(said) in cut:
            told.append(events.notice("answer_cut", ""))
        if self.usage:
            told.append(events.usage(self.usage))
        if self.state in FINAL_STATES:
            told.append(self._final_event())
        elif self.state == "waiting":
            told += [*self._waiting_for(), events.state("waiting")]
        return told

    # ------------------------------------------------------------ timeline

    def _timelines(self, answers):
        """The order of text, calls and remarks of these turns, for the history: that of the stream, without its events.

        :param answers: the HTML of each turn's answer by the turn's id
        :return: ``{turn id: [entry]}``; an entry is ``{"type": "text_block", "html", "text"}``,
            ``{"type": "tool_call", "id"}`` of a call in ``tool_calls``, or an event of the stream
        """
        transcripts = self._transcript_parts()
        return {
            turn.id: turn._timeline(*transcripts.get(turn.id, ((), ())), answers.get(turn.id, ""))
            for turn in self
        }

    def _transcript_parts(self):
        """``{turn id: (what was said, asides)}``; the results of tools stay in the database."""
        self.flush_recordset(["transcript"])
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id, jsonb_path_query_array(transcript, %s), transcript -> 'asides'
                  FROM woow_paas_platform_ai_turn WHERE id = ANY(%s)
                """,
                '$.messages[*] ? (@.role == "assistant" || @.role == "user")',
                self.ids,
            )
        )
        parts = {turn_id: (messages or (), asides or ()) for turn_id, messages, asides in rows}
        # A summary stands before all that the turn has said.
        for turn in self.filtered("summary_until"):
            messages, asides = parts[turn.id]
            aside = {"step": 0, "event": self._summary_event(turn._own_summary())}
            parts[turn.id] = (messages, [aside, *asides])
        return parts

    def _timeline(self, messages, asides, answer):
        self.ensure_one()
        calls = {call.call_id for call in self._calls_with_taken_over()}
        entries, is_answered = [], False
        last = max((n for n, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
        step = 0
        for number, message in enumerate(messages):
            if message["role"] == "user":
                entries.append({"type": "steered", "text": message["content"]})
                continue
            entries += [self._shown(aside) for aside in asides if aside["step"] == step]
            asked = [call["id"] for call in message.get("tool_calls") or () if call["id"] in calls]
            entries += _thinking(message.get(thinking.KEY), message.get(thinking.MS, 0))
            content = message.get("content") or ""
            is_last = number == last
            if is_last and (not asked or _is_same(content, answer)):
                is_answered = True
                entries += _block(answer, content)
            elif content.strip():
                entries += _block(markdown.render(content), content)
            entries += [{"type": "tool_call", "id": call_id} for call_id in asked]
            calls.difference_update(asked)
            step += 1
        entries += [{"type": "tool_call", "id": call_id} for call_id in sorted(calls)]
        entries += [self._shown(aside) for aside in asides if aside["step"] >= step]
        if not is_answered:
            entries += _block(answer, html2plaintext(answer).strip())
        return entries

    def _shown(self, aside):
        event = aside["event"]
        if event["type"] != "notice":
            return event
        return {**event, "message": sentences.translated(self.env, load(event["message"]))}

    # ------------------------------------------------------------ Discuss

    def _cards(self):
        """``{turn id: data}``: names and outcomes of the calls, no arguments and no results."""
        calls = {turn.id: turn._calls_with_taken_over() for turn in self}
        # not the results, which may be long
        self.env["woow_paas_platform.tool_call"].union(*calls.values()).fetch(CARD_FIELDS)
        return {
            turn.id: {
                "id": turn.id,
                "state": turn.state,
                "assistant": turn.assistant_id.name or "",
                "user_id": turn.user_id.id,
                "stream_url": turn._stream_url(),
                "tool_calls": [call._card() for call in calls[turn.id]],
            }
            for turn in self
        }

    def _show_in_discuss(self, message):
        """Discuss has heard of the message before it belonged to the turn."""
        # sudo: ai_turn - see `_turn_cards`
        turn = self.sudo()
        data = {"woow_ai_turn": turn._cards()[turn.id]}
        Store(bus_channel=turn.channel_id).add(message, data).bus_send()

    def _call_summary(self):
        """The turn's calls and how they ended, for readers who have no cards; escaped."""
        calls = self._calls_with_taken_over()
        if not calls:
            return ""
        outcomes = dict(calls._fields["outcome"]._description_selection(self.env))
        lines = Markup().join(
            Markup("<li><code>%s</code> · %s%s</li>")
            % (
                f"{call.server_name}.{call.tool_name}" if call.server_name else call.tool_name,
                outcomes.get(call.outcome or "unknown"),
                f" · {sentences.duration(self.env, call.duration_ms)}" if _has_run(call) else "",
            )
            for call in calls
        )
        return Markup('<div class="%s"><span>%s</span><ul>%s</ul></div>') % (
            SUMMARY_CLASS,
            self.env._("Tools used"),
            lines,
        )

    def _tell_of_unread_file(self, name, problem):
        """Discuss reads files after the question was asked; the chat refuses them before."""
        if not self.is_from_discuss:
            return
        sentence = self.env._(
            "“%(file)s” cannot be read. %(reason)s",
            file=text.one_line(name or "", files.NAME_CHARS),
            reason=problem,
        )
        self.channel_id._post_ending(self.assistant_id, sentence)

    def _tell_discuss_to_decide(self):
        if not self.is_from_discuss:
            return
        self.channel_id._show_typing(self.assistant_id, False)
        link = Markup('<a href="/my/ai/%s">%s</a>') % (
            self.channel_id.id,
            self.env._("Decide in the chat"),
        )
        sentence = Markup("%s %s") % (
            self.env._("The assistant is waiting for your decision."),
            link,
        )
        self.channel_id._post_ending(self.assistant_id, sentence)

    def _tell_discuss(self, message):
        """After the end: who asked in Discuss hears of it there, who asked in a chat has read it there."""
        channel = self.channel_id
        if not self.is_from_discuss:
            if message:
                channel._mark_read_by(self.user_id, message)
            return
        channel._show_typing(self.assistant_id, False)
        if self.state == "stopped":
            channel._post_ending(self.assistant_id, self.env._("The answer was stopped."))
        elif self.state == "failed":
            fallback = self.env._("The assistant could not answer.")
            said = self._error_sentence(self.error_code, self.error_message or "")
            channel._post_ending(self.assistant_id, said or fallback)
        elif self.is_compact:
            channel._post_ending(self.assistant_id, self._summary_sentence())

    # ------------------------------------------------------------ notifications

    # An answer, or a question that waits, is told to open pages at once, to the browsers of internal users who are
    # away, and by mail to people who have left.

    def _tell_person(self):
        """Only names of the person's own conversation are sent; what was said is not."""
        channel = self.channel_id
        is_listed = bool(channel.filtered_domain(LISTED))
        if not self._is_private() or not (is_listed or self.state == "waiting"):
            return
        self.user_id._bus_send(
            ENDED,
            {
                "conversation_id": channel.id,
                "name": channel.name,
                "assistant": self.assistant_id.name or "",
                "state": self.state,
                "at": utc(fields.Datetime.now()),
            },
        )
        if is_listed and not self.is_from_discuss:  # what is said in Discuss, Odoo tells
            self._push_to_person()

    def _push_to_person(self):
        """Queue a notification for the browsers that Odoo knows of an internal user who is away; its cron sends it."""
        user = self.user_id
        if (
            not (self.is_unseen or self.state == "waiting")
            or not (user.woow_ai_notify and user._is_internal())
            or user.manual_im_status == "busy"
            or "online" in user.presence_ids.mapped("status")
        ):
            return
        thread = self.env["mail.thread"].with_context(**db.SEND_LATER)
        devices, *keys = thread._web_push_get_partners_parameters(user.partner_id.ids)
        if not devices:
            return
        options = {
            "body": self.channel_id.name,
            "icon": f"/web/image/res.partner/{self.assistant_id.partner_id.id}/avatar_128",
            "data": {
                "model": self.channel_id._name,
                "res_id": self.channel_id.id,
                "action": "mail.action_discuss",
            },
        }
        payload = {"title": self._news_in_words(user), "options": options}
        thread._web_push_send_notification(
            devices, *keys, payload=thread._web_push_truncate_payload(payload)
        )

    def _news_in_words(self, user):
        """Title of a notification or mail, without what was said."""
        _ = self.with_context(lang=user.lang).env._
        assistant = self.assistant_id.name or ""
        if self.state == "waiting":
            return _("%(assistant)s is waiting for your decision", assistant=assistant)
        if self.state == "failed":
            return _("%(assistant)s could not answer", assistant=assistant)
        return _("%(assistant)s has answered", assistant=assistant)

    def _tell_decisions(self):
        """Let the person's open pages ask anew what waits for a decision; nothing is said of it here."""
        self.user_id._bus_send(DECISIONS, {})

    @api.model
    def _see(self, channel):
        """The person has this conversation in view."""
        # sudo: ai_turn - people have no write access; a mark at the caller's own turns
        self.sudo().search(self._unseen_domain(channel)).is_unseen = False
        self.env.user._bus_send(SEEN, {"conversation_id": channel.id})

    @api.model
    def _has_unseen(self, channel):
        # sudo: ai_turn - whether there is one among the caller's own
        return bool(self.sudo().search_count(self._unseen_domain(channel), limit=1))

    @api.model
    def _unseen_in(self, channels):
        """Conversations among these with an answer that the caller has not seen."""
        # sudo: ai_turn - see `_has_unseen`
        return self.sudo().search(self._unseen_domain(channels)).channel_id.sudo(False)

    @api.model
    def _unseen_domain(self, channels=None):
        """:param channels: None for all of the caller's"""
        return [
            *([] if channels is None else [("channel_id", "in", channels.ids)]),
            ("user_id", "=", self.env.uid),
            ("is_unseen", "=", True),
            ("state", "in", FINAL_STATES),
            ("entered_id", "=", False),
        ]

    @api.model
    def _cron_mail_waiting(self):
        db.transaction(self.env.cr.dbname, lambda env: env[self._name]._mail_waiting())
        db.transaction(self.env.cr.dbname, lambda env: env[self._name]._mail_unseen())

    @api.model
    def _mail_waiting(self):
        """Write to people who have left: one mail for each turn that has waited long enough for a word."""
        minutes = limits.get(self.env, "mail_after_minutes")
        if not minutes:
            return
        before = fields.Datetime.now() - timedelta(minutes=minutes)
        waiting = self.search(
            [
                ("state", "=", "waiting"),
                ("waiting_since", "<=", before),
                ("is_mailed", "=", False),
                ("channel_id.woow_temporary_until", "=", False),
            ],
            order="id",
            limit=MAILS,
        )
        waiting.is_mailed = True
        for turn in waiting.filtered(lambda turn: turn._is_private()):
            turn._mail_question(turn._deciders())

    @api.model
    def _mail_unseen(self):
        """Write to people who have left: one mail for each conversation with answers that nobody has looked at."""
        minutes = limits.get(self.env, "answer_mail_after_minutes")
        if not minutes:
            return
        now = fields.Datetime.now()
        unseen = self.search(
            [
                ("is_unseen", "=", True),
                ("ended_at", "<=", now - timedelta(minutes=minutes)),
                ("ended_at", ">", now - timedelta(hours=STALE)),
                ("is_mailed", "=", False),
                ("entered_id", "=", False),
                ("channel_id.woow_temporary_until", "=", False),
            ],
            order="id desc",
            limit=MAILS,
        )
        unseen.is_mailed = True
        for turns in unseen.grouped("channel_id").values():
            last = turns[0]
            if last._is_private() and last.user_id.woow_ai_notify:
                last._mail_answer()

    def _mail_answer(self):
        _ = self.with_context(lang=self.user_id.lang).env._
        name = self.channel_id.name
        if self.state == "failed":
            sentence = _("There is no answer in the conversation “%(name)s”.", name=name)
        else:
            sentence = _("The answer in the conversation “%(name)s” is ready.", name=name)
        subject = self._news_in_words(self.user_id)
        self.user_id._woow_ai_mail(subject, html_escape(sentence), f"/my/ai/{self.channel_id.id}")

    def _mail_question(self, users, is_reminder=False):
        for user in users.filtered("woow_ai_notify"):
            turn = self.with_context(lang=user.lang)
            _ = turn.env._
            assistant = self.assistant_id.name or ""
            if is_reminder:
                subject = _(
                    "Reminder: %(assistant)s is waiting for your decision", assistant=assistant
                )
            else:
                subject = self._news_in_words(user)
            path = self._signed_path(user) if self.is_unattended else self._question_path(user)
            user._woow_ai_mail(subject, turn._question_in_words(user), path)

    def _signed_path(self, user):
        """Path of a link for a mail, by which this user finds the open question after signing in, while it waits, or
        what is left of that wait.

        It gives no rights: nobody is signed in, and nothing is decided by it.
        """
        expires_at = self.waiting_until or fields.Datetime.now()
        link = [self.id, self._asked_ids()[0], user.id, fields.Datetime.to_string(expires_at)]
        # sudo: ir.config_parameter - the secret of the database, which signs
        return f"/my/ai/decisions/{hash_sign(self.sudo().env, LINK, link)}"

    @api.model
    def _path_of_link(self, token):
        """
        :param token: last part of a `_signed_path`
        :return: path of the page with the question, for the current user
        :raises Refusal: the link is none, or another user's
        :raises TooLate: nothing waits there for the user any more
        """
        _ = self.env._
        try:
            # sudo: ir.config_parameter - the secret of the database, which has signed
            link = verify_hash_signed(self.sudo().env, LINK, token)
        except ValueError:
            link = None
        if not link:
            raise Refusal(_("This link is not valid. Copy all of it from the mail."))
        turn_id, asked, user_id, expires_at = link
        if user_id != self.env.uid:
            raise Refusal(_("This link was sent to another user. Sign in as that user."))
        # sudo: ai_turn - whether the user may decide it is asked next
        turn = self.sudo().browse(turn_id).exists()
        until, user = fields.Datetime.to_datetime(expires_at), self.env.user
        if (
            fields.Datetime.now() < until
            and turn._right_to_decide(user)
            and turn._waiting_for(user)
        ):
            left = turn._asked_ids()
            if asked in left or turn.waiting_until == until:
                return turn._question_path(user, asked if asked in left else left[0])
        raise TooLate(_("This has already been decided or has expired."))

    def _question_in_words(self, reader):
        """Open question of the turn as HTML, for a mail; of a run with what its calls would change."""
        sentence = html_escape(
            self.env._(
                "In the conversation “%(name)s” a tool may only be called when you allow it.",
                name=self.channel_id.name,
            )
        )
        if not self.is_unattended:
            return sentence
        lines = self.channel_id._lines_of_calls(self._pending_calls(), reader)
        return Markup("<br/>").join([sentence, *lines])

    # ------------------------------------------------------------ backend

    def action_view_conversation(self):
        """The turns of its conversation: what people said stays in their chats."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {**action, "domain": [("channel_id", "=", self.channel_id.id)], "context": {}}

    def action_open_chat(self):
        """The conversation itself, for the person who has it."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_chat_action")
        return {**action, "params": {"conversation_id": self.channel_id.id}}

    @api.model
    def _fields_to_filter(self):
        return super()._fields_to_filter() | {
            "assistant_id",
            "call_ids",
            "channel_id",
            "cloud_service_id",
            "config_id",
            "create_date",
            "duration_ms",
            "ended_at",
            "error_message",
            "is_from_discuss",
            "prompt",
            "started_at",
            "state",
            "tokens",
            "user_id",
        }


def without_summary(body):
    """The HTML of a message for readers who see the calls as cards."""
    return str(body).partition(f'<div class="{SUMMARY_CLASS}">')[0]


def _has_run(call):
    """True if its duration says something, as in the client's card."""
    return bool(call.duration_ms) or call.outcome not in ("cancelled", "denied")


def _is_cut(aside):
    """True if the answer of the step before has reached the maximum of the provider."""
    return aside["event"].get("code") == "answer_cut"


def _thinking(text, ms):
    return [{"type": "thinking", "text": text, "ms": ms}] if text else []


def _block(html, text):
    return [{"type": "text_block", "html": formulas.drawn(html), "text": text}] if html else []


def _is_same(content, html):
    """True if the answer repeats the text before the last calls: it was stopped during them."""
    return html2plaintext(markdown.render(content)).strip() == html2plaintext(html).strip()


def _about(tokens):
    """Two digits of an estimate say as much as all of them.

    >>> _about(9432), _about(612), _about(7)
    (9400, 610, 7)
    """
    return round(tokens, 2 - len(str(tokens))) if tokens > 99 else tokens
