"""Decisions: all that waits for the current user, in one list."""

import json
import logging
from datetime import datetime

from markupsafe import Markup
from odoo import api, models
from odoo.tools import SQL, format_date, format_datetime, formatLang, html_escape

from ...services import text
from ...services.approval import hints
from ...services.records import render
from ...tools import db, labels
from ...tools.moments import utc
from ..turn.ai_turn import PENDING
from ..turn.tool_call import CLIENT_WAIT

_logger = logging.getLogger(__name__)

TURN = "woow_paas_platform.ai_turn"
CALL = "woow_paas_platform.tool_call"
QUESTION = "woow_paas_platform.call_question"

MAX_TURNS = 1_000  # that are looked through; unattended ones are not limited otherwise
NAME_CHARS = 120
SUMMARY_CHARS = 300
MAX_LINES = 20  # of each kind that a digest names
VALUE_CHARS = 120  # of a changed field
MAX_MAILED = 5  # calls of one question that a mail shows
RECORDS, FIELDS = 3, 3  # changed ones that a row shows
# Of a rehearsal, beside records.
REST = ("messages", "outward", "hidden", "partial", "cut", "impossible")
SMALL = (
    20_000  # characters of the JSON that a row is made of; what has more is read when it is opened
)
PACKED = 200_000  # bytes that PostgreSQL may unpack to find out

# The rest of a row may be long, so Odoo must not read it along.
TURN_FIELDS = ("state", "waiting_round", "waiting_since", "waiting_until", "channel_id", "user_id")
CALL_FIELDS = ("call_id", "turn_id", "approval", "outcome", "create_date")
QUESTION_FIELDS = ("call_id", "kind", "action", "is_held", "create_date", "expires_at")
SHOWN_OF_CALL = (
    "action_id",
    "client_name",
    "operation_id",
    "records",
    "server_name",
    "title",
    "tool_id",
    "tool_name",
)


class Decision(models.AbstractModel):
    """List of what waits for the current user: rows of turns, calls and questions, none of its own.

    A decision is made by `AiTurn._decide`, on a call of an MCP client by `ToolCall._decide_for_client`.
    """

    _name = "woow_paas_platform.decision"
    _description = "Decision"

    @api.model
    def _list(self, limit):
        """:return: ``{"decisions": [row], "total"}``, the newest first; see docs/api.md"""
        found = self._found()
        page = found[:limit]
        # sudo: tool_call - found for the caller
        calls = self.env[CALL].sudo().union(*(self._call_of(record) for _kind, record in page))
        calls.fetch(SHOWN_OF_CALL)
        small = self._small(calls)
        return {
            "decisions": [self._row(kind, record, small) for kind, record in page],
            "total": len(found),
        }

    @api.model
    def _count(self):
        return len(self._found())

    @api.model
    def _details(self, decision_id):
        """All that is to be read before a decision.

        :param decision_id: of a row of the list
        :return: the row with its ``question``: an event of the turn, or a call of an MCP client; None if it is not
            the current user's, or waits no more
        """
        for kind, record in self._found():
            if _id_of(kind, record) == decision_id:
                row = self._row(kind, record, self._small(self._call_of(record)))
                return {**row, "question": self._question(kind, record)}
        return None

    # ------------------------------------------------------------ the daily digest

    @api.model
    def _cron_mail_digest(self):
        """Write to users whose morning it is, each in a transaction that marks the day as done."""
        users = self.env["res.users"].search([("woow_ai_digest", "=", True)])
        due = users.filtered(lambda user: user._woow_digest_day()).ids
        dbname, commit = self.env.cr.dbname, self.env["ir.cron"]._commit_progress
        commit(remaining=len(due))
        for user_id in due:
            try:
                db.transaction(
                    dbname, lambda env, user_id=user_id: env[self._name]._mail_digest(user_id)
                )
            except Exception:
                _logger.exception("The digest of user %s could not be written", user_id)
            if not commit(1):
                break

    @api.model
    def _mail_digest(self, user_id):
        """Write to a user what waits, once a day; nothing if nothing does."""
        user = self.env["res.users"].browse(user_id)
        day = user._woow_digest_day()
        if not day:
            return
        user.woow_ai_digest_on = day
        own = self.with_user(user).with_context(lang=user.lang)
        found, answers = own._list(MAX_LINES), own.env["discuss.channel"]._ai_unseen()
        if not (found["total"] or answers):
            return
        _ = own.env._
        parts = []
        if found["total"]:
            parts.append(_("Decisions that wait for you: %(count)s", count=found["total"]))
            parts.append(_as_list(map(_line_of_decision, found["decisions"])))
        if answers:
            parts.append(_("Unread answers: %(count)s", count=len(answers)))
            lines = ((f"/my/ai/{one.id}", one.name or "") for one in answers[:MAX_LINES])
            parts.append(_as_list(lines))
        path = "/my/ai/decisions" if found["total"] else "/my/ai"
        subject = _("What waits for you at your assistants")
        user._woow_ai_mail(subject, Markup("<br/>").join(parts), path)

    # ------------------------------------------------------------ what waits

    @api.model
    def _found(self):
        """:return: ``[(kind, record)]`` of the current user, the newest first; those of others' turns with sudo"""
        turns = self.env[TURN].search_fetch(
            [("user_id", "=", self.env.uid), ("state", "in", ("running", "waiting"))],
            TURN_FIELDS,
            limit=MAX_TURNS,
        )
        of_others = turns._waiting_for_decider()
        questions = self.env[QUESTION].search_fetch(
            [("call_id.turn_id", "in", turns.ids), ("action", "=", False)], QUESTION_FIELDS
        )
        questions.call_id.fetch(CALL_FIELDS)
        of_clients = self.env[CALL]._waiting_for_client()
        found = [
            *self._calls_and_rounds(turns),
            *self._calls_and_rounds(of_others),
            *(
                ("sign_in" if question.kind == "sign_in" else "question", question)
                for question in questions
                if question._is_open()
            ),
            *(("client_call", call) for call in of_clients),
        ]
        # sudo: discuss.channel - whether it is one that nothing lists
        found = [
            (kind, record)
            for kind, record in found
            if not self._turn_of(record).channel_id.sudo().woow_temporary_until
        ]
        found.sort(key=lambda one: one[1].id)  # those of one answer stay in its order
        return sorted(found, key=lambda one: self._asked_at(*one), reverse=True)

    def _calls_and_rounds(self, turns):
        waiting = turns.filtered(lambda turn: turn.state == "waiting")
        rounds = waiting.filtered("waiting_round")
        pending = [*PENDING, ("turn_id", "in", (waiting - rounds).ids)]
        calls = turns.env[CALL].search_fetch(pending, CALL_FIELDS)
        return [*(("round", turn) for turn in rounds), *(("call", call) for call in calls)]

    def _asked_at(self, kind, record):
        if kind == "client_call" or (kind in ("question", "sign_in") and record.is_held):
            return record.create_date
        turn = self._turn_of(record)
        return turn.waiting_since or turn.create_date

    def _expires_at(self, kind, record):
        if kind == "client_call":
            return record.create_date + CLIENT_WAIT
        is_held = kind in ("question", "sign_in") and record.expires_at
        return record.expires_at if is_held else self._turn_of(record).waiting_until

    def _call_of(self, record):
        if record._name == QUESTION:
            return record.call_id
        return record if record._name == CALL else self.env[CALL]

    def _turn_of(self, record):
        return record if record._name == TURN else self._call_of(record).turn_id

    # ------------------------------------------------------------ rows

    def _row(self, kind, record, small):
        """:param small: calls whose arguments and changes a row has room for"""
        call, turn = self._call_of(record), self._turn_of(record)
        # sudo: ai.assistant - the name of the one that the caller has asked
        assistant = turn.sudo().assistant_id
        return {
            "id": _id_of(kind, record),
            "kind": kind,
            "turn_id": turn.id or None,
            "title": text.one_line(call.title or call.tool_name or "", NAME_CHARS),
            "server": text.one_line(call.server_name or "", NAME_CHARS),
            "client": text.one_line(call.client_name or "", NAME_CHARS),
            "round": turn.waiting_round if kind == "round" else None,
            "assistant": {"id": assistant.id, "name": assistant.name} if assistant else None,
            **self._place(turn),
            "summary": self._summary(kind, record, call in small),
            **self._effect(call if kind == "call" else call.browse(), call in small, self.env.user),
            # sudo: mcp_tool - what the tool says of itself, told its caller
            "destructive": bool(call)
            and hints.read(call.sudo()._annotations()).says_destructive
            and kind in ("call", "client_call"),
            "asked_at": utc(self._asked_at(kind, record)),
            "expires_at": utc(self._expires_at(kind, record)),
        }

    def _place(self, turn):
        """Conversation of a decision and the record that it is about, as far as the caller may see them."""
        channel = turn.channel_id.sudo(False)
        own, is_internal = channel._own_conversation(), self.env.user._is_internal()
        url = None
        if own:
            url = f"/odoo/ai-chat/{own.id}" if is_internal else f"/my/ai/{own.id}"
        elif channel and is_internal:
            url = f"/odoo/discuss?active_id=discuss.channel_{channel.id}"
        is_of_other = turn.user_id != self.env.user
        record = channel._about(self.env.user) if own or is_of_other else None
        is_seen = own or (channel and channel.has_access("read"))
        return {
            "conversation": {"id": channel.id, "name": channel.name or "", "url": url}
            if is_seen
            else None,
            "record": {
                "model": record._name,
                "id": record.id,
                "name": record.display_name or "",
                "url": labels.link(record, not is_internal),
            }
            if record
            else None,
        }

    def _summary(self, kind, record, is_small):
        """Arguments of a call, or the words of a server, in one line; empty where there is no room for them."""
        if kind == "round":
            return ""
        if kind in ("question", "sign_in"):
            return _cut(record.message or record.host or "", SUMMARY_CHARS)
        if not is_small:
            return ""
        pairs = (f"{name}: {_plain(value)}" for name, value in (record.arguments or {}).items())
        return _cut(" · ".join(pairs), SUMMARY_CHARS)

    def _effect(self, call, is_small, reader):
        """Beginning of what a call on Odoo's records would change.

        :return: ``changes`` as in a rehearsal, each with its `kind`, those ``before``, and whether ``has_more`` is to
            be read
        """
        # sudo: tool_call - told to the person who is asked, as the event is
        shown = call.sudo()._rehearsal_shown(reader) if is_small and call.records else None
        if not shown:
            return {"changes": [], "before": [], "has_more": bool(call) and not is_small}
        changes, is_more = self._beginnings(call, shown)
        before, was_more = self._beginnings(call, shown.get("before") or {})
        return {"changes": changes, "before": before, "has_more": is_more or was_more}

    def _beginnings(self, call, shown):
        """:return: the first records of a rehearsal, and whether it says more"""
        of_kind = (("created", "created"), ("changes", "changed"), ("deleted", "deleted"))
        model = (call.arguments or {}).get("model")
        records = [{**one, "kind": kind} for name, kind in of_kind for one in shown.get(name) or ()]
        records.sort(key=lambda one: one["model"] != model)  # first the one that the call is about
        is_rest = any(shown.get(name) for name in REST)
        is_more = is_rest or len(records) > RECORDS
        return [_beginning(one) for one in records[:RECORDS]], is_more or any(
            one.get("more") or len(one.get("fields") or ()) > FIELDS for one in records
        )

    @api.model
    def _lines(self, calls, reader):
        """Calls and the beginning of what they would change, as lines of HTML.

        :param calls: with sudo
        :param reader: `res.users` who may decide them
        """
        lines = [line for call in calls[:MAX_MAILED] for line in self._lines_of(call, reader)]
        if more := len(calls[MAX_MAILED:]):
            lines.append(html_escape(self.env._("and %(count)s more", count=more)))
        return lines

    def _lines_of(self, call, reader):
        _ = self.env._
        is_small = bool(self._small(call))
        effect = self._effect(call, is_small, reader)
        title = text.one_line(call.title or call.tool_name, NAME_CHARS)
        lines = [Markup("<b>%s</b>") % title]
        if not effect["changes"] and (summary := self._summary("call", call, is_small)):
            lines.append(html_escape(summary))
        if effect["before"]:
            lines.append(Markup("<i>%s</i>") % _("What was allowed"))
            lines += self._lines_of_changes(effect["before"])
            lines.append(Markup("<i>%s</i>") % _("What would happen now"))
        lines += self._lines_of_changes(effect["changes"])
        if effect["has_more"]:
            lines.append(html_escape(_("Open it to see all that it does.")))
        return lines

    def _lines_of_changes(self, changes):
        _ = self.env._
        kinds = {
            "changed": _("Changes"),
            "created": _("Creates"),
            "deleted": _("Deletes for good"),
        }
        lines = []
        for change in changes:
            lines.append(
                html_escape(f"{kinds[change['kind']]}: {change['label']} {change['name']}")
            )
            for field in change["fields"]:
                old, new = (self._said(field[key], field["type"]) for key in ("old", "new"))
                said = f"{old} → {new}" if change["kind"] == "changed" else new
                lines.append(html_escape(f"{field['label']}: {said}"))
        return lines

    def _said(self, value, kind):
        """A value of a rehearsal as people read it, and as the card shows it.

        :param kind: type of the field
        """
        _ = self.env._
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        if isinstance(value, list):
            return ", ".join(self._said(one, kind) for one in value) or _("nothing")
        if isinstance(value, dict) and "amount" in value:
            digits = len(value["name"].partition(" ")[0].partition(".")[2])
            value = f"{self._number(value['amount'], digits)} {value['currency']}".strip()
        elif isinstance(value, dict):
            value = value.get("name")
        elif isinstance(value, int | float):
            value = self._number(value)
        elif value and kind in ("date", "datetime"):
            value = self._moment(value, kind)
        return _cut(str(value), VALUE_CHARS) if value not in (None, "") else _("nothing")

    def _number(self, value, digits=0):
        """All of a number, with at least so many digits after the point."""
        exact = render.number(value, digits)
        return formatLang(self.env, value, digits=len(exact.partition(".")[2]))

    def _moment(self, value, kind):
        """A day, or a moment, which a rehearsal tells by the clock of who asked; one of several values stays."""
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        if kind == "date":
            return format_date(self.env, moment.date())
        return format_datetime(self.env, moment, tz="UTC")

    def _small(self, calls):
        """Calls whose arguments and changes a row has room for; only these are read."""
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id FROM woow_paas_platform_tool_call
                 WHERE id = ANY(%(ids)s)
                   AND pg_column_size(arguments) <= %(packed)s
                   AND length(arguments::text) <= %(small)s
                   AND (rehearsal IS NULL
                        OR (pg_column_size(rehearsal) <= %(packed)s
                            AND COALESCE(length((rehearsal -> 'shown')::text), 0)
                            + COALESCE(length((rehearsal -> 'before')::text), 0) <= %(small)s))
                """,
                ids=calls.ids,
                packed=PACKED,
                small=SMALL,
            )
        )
        small = calls.browse(row[0] for row in rows)
        small.fetch(["arguments"])
        return small

    def _question(self, kind, record):
        if kind == "client_call":
            return record._client_data()[0]
        # sudo: ai_turn, tool_call, call_question - the caller's own; names and schemas of what the caller is asked
        record = record.sudo()
        if kind == "round":
            return record._confirm_event(self.env.user)
        return record._approval_event(self.env.user) if kind == "call" else record._event()


def _id_of(kind, record):
    if kind == "round":
        return record._round_public_id()
    return record._public_id() if kind in ("question", "sign_in") else record.call_id


def _plain(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(words, chars):
    """One line in which what does not show is told, and of which so much is left."""
    return text.one_line(text.visible(words[: 4 * chars]), chars)


def _beginning(record):
    """A record of a rehearsal with the first of its fields, long values cut."""
    return {
        "kind": record["kind"],
        "model": record["model"],
        "label": record["label"],
        "name": _cut(record["name"] or "", NAME_CHARS),
        "sensitive": bool(record.get("sensitive")),
        "fields": [
            {
                "name": field["name"],
                "label": field["label"],
                "type": field["type"],
                "old": _short(field.get("old")),
                "new": _short(field.get("new")),
            }
            for field in (record.get("fields") or ())[:FIELDS]
        ],
    }


def _short(value):
    """A value of a field, or the beginning of its text."""
    if isinstance(value, str):
        return _cut(value, VALUE_CHARS)
    written = json.dumps(value, ensure_ascii=False)
    return value if len(written) <= 2 * VALUE_CHARS else _cut(written, VALUE_CHARS)


def _line_of_decision(row):
    """``(path, label)`` of a decision in a digest."""
    where = (row["conversation"] or {}).get("name") or row["client"]
    return f"/my/ai/decisions?open={row['id']}", " · ".join(filter(None, (row["title"], where)))


def _as_list(lines):
    """:param lines: ``(path, label)``, escaped here"""
    items = (Markup('<li><a href="%s">%s</a></li>') % line for line in lines)
    return Markup("<ul>%s</ul>") % Markup("").join(items)
