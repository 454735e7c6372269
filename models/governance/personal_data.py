import hashlib
import logging
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

from odoo import api, fields, models
from odoo.exceptions import AccessError
from odoo.fields import Domain
from odoo.tools import SQL

from ...services.catalog import address
from ...services.personal_data import (
    ANONYMISE,
    CASCADE,
    INVENTORY,
    KEEP,
    Archive,
    archive,
    of_people,
    transcript,
)
from ...services.render import html_text
from ...tools import sentences
from ...tools.moments import utc
from ...tools.refusals import Refusal
from ..base.res_users import MCP_SCOPE
from ..conversation.conversation_folder import FOLDER

_logger = logging.getLogger(__name__)

TURNS = "woow_paas_platform.ai_turn"
CALLS = "woow_paas_platform.tool_call"
EVENTS = "woow_paas_platform.ai_turn_event"
LINK_DAYS = 3  # that an export can be downloaded
TRIES = 3  # of an export or an erasure, before it is given up
STOPPING_TRIES = 12  # looks at answers that are being stopped, before they are deleted all the same
PAUSE = timedelta(seconds=5)  # between two of them
BATCH = 50  # rows that one transaction of an erasure deletes
EMPTIED = 1_000  # rows of which one transaction empties a column
PAGE = 100  # turns of a conversation that are read at once
ADMINISTRATOR = "base.group_system"
PAGES_OF_MAILS = ("/my/ai", "/my/services/", "/odoo/ai", "/odoo/woow_paas_platform.")
# Columns that an export leaves out: secrets, and what the machinery keeps for itself.
INTERNAL = [
    "encrypted",
    "digest",
    "hash",
    "pseudonym",
    "challenge",
    "token",
    "ask_state",
    "task",
    "rehearsal",
    "made",
    "trace",
    "renewed_by",
    "env_config",
    "stderr",
    "payload",
    "reading",
    "technical_cause",
    "transcript",
    "mcp_config",
    "header_names",
    "mail_answer_id",
]


def _without(value, words):
    """JSON in whose strings some words are others; its keys and numbers stay.

    :param words: ``[(what ends a line, what stands in its place)]``
    """
    if isinstance(value, dict):
        return {key: _without(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, words) for inner in value]
    if isinstance(value, str):
        for said, other in words:
            value = f"{value}\n".replace(f"{said}\n", f"{other}\n")[:-1]
    return value


def _rewrite(row, name, words):
    """Write a field of text or JSON anew if it holds the words."""
    value = row[name]
    if value and (other := _without(value, words)) != value:
        row[name] = other


class PersonalData(models.Model):
    """Export or erasure of a person's data, carried out by a cron; a lost process is followed by another try.

    Columns and their fate stand in `services/personal_data/inventory.py`.
    """

    _name = "woow_paas_platform.personal_data"
    _description = "Export or Erasure of Personal Data"
    _order = "id desc"
    _rec_name = "user_id"

    kind = fields.Selection([("export", "Export"), ("erasure", "Erasure")], required=True)
    user_id = fields.Many2one("res.users", required=True, ondelete="cascade", index=True)
    asked_by_id = fields.Many2one("res.users", "Requested By", ondelete="set null")
    state = fields.Selection(
        [("queued", "In Progress"), ("done", "Done"), ("failed", "Failed")],
        required=True,
        default="queued",
    )
    tries = fields.Integer()
    looks = fields.Integer(
        help="How often it was checked whether the person's answers have stopped."
    )
    erased = fields.Integer("Erased Rows")
    ended_at = fields.Datetime()
    expires_at = fields.Datetime(help="Until then, the export can be downloaded.")

    _open = models.Index("(id) WHERE state = 'queued'")
    _one_open = models.UniqueIndex(
        "(user_id, kind, asked_by_id) WHERE state = 'queued'", "This is already in progress."
    )

    # ------------------------------------------------------------ requests

    @api.model
    def _request(self, kind, user):
        """Queue an export or an erasure, for the current user; one that is under way is enough.

        :raises AccessError: it is not the caller's to ask
        :raises Refusal: the user is one of the system
        """
        if not self._may_ask(self.env.user, kind, user):
            raise AccessError(self.env._("Only administrators can do this for others."))
        if user._is_superuser() or user._is_public():
            raise Refusal(self.env._("This user belongs to the system and is no person."))
        # sudo: personal_data - people have no access; the request is theirs, see above
        Request = self.sudo()
        mine = [("kind", "=", kind), ("user_id", "=", user.id), ("asked_by_id", "=", self.env.uid)]
        found = Request.search([*mine, ("state", "=", "queued")], limit=1)
        if not found:
            if kind == "export":
                Request.search([*mine, ("state", "!=", "queued")]).unlink()
            found = Request.create({"kind": kind, "user_id": user.id, "asked_by_id": self.env.uid})
            act = "data_exported" if kind == "export" else "data_erased"
            self.env["woow_paas_platform.audit_entry"]._record_act(act, user)
        Request.env.ref("woow_paas_platform.ir_cron_personal_data")._trigger()
        return found

    @api.model
    def _may_ask(self, asker, kind, user):
        """True for administrators of Odoo, and for the export of a person's own data."""
        if kind == "export" and asker == user:
            return True
        is_there = asker and (asker.active or asker._is_superuser())
        return bool(is_there and asker.has_group(ADMINISTRATOR))

    @api.model
    def _last(self, kind, user):
        """The latest request of the current user about this person, with sudo; none where they may not ask now."""
        if not self._may_ask(self.env.user, kind, user):
            return self.sudo().browse()
        # sudo: personal_data - people have no access; the caller's own requests
        own = [("kind", "=", kind), ("user_id", "=", user.id), ("asked_by_id", "=", self.env.uid)]
        return self.sudo().search(own, limit=1)

    def _is_downloadable(self):
        return bool(
            self
            and self.state == "done"
            and self.expires_at
            and self.expires_at > fields.Datetime.now()
        )

    def _file(self):
        """Attachment with the archive of an export that has not expired."""
        self.ensure_one()
        if not self._is_downloadable():
            return self.env["ir.attachment"]
        return self.env["ir.attachment"].search(
            [("res_model", "=", self._name), ("res_id", "=", self.id)], limit=1
        )

    @api.autovacuum
    def _gc_expired(self):
        """Delete exports with their files; erasures stay, as ids without words."""
        past = [("kind", "=", "export"), ("expires_at", "<", fields.Datetime.now())]
        self.search(past, limit=1000).unlink()

    # ------------------------------------------------------------ the cron

    @api.model
    def _cron_carry_out(self):
        """Carry out requests one by one; each is first marked as tried, so that a deadly one ends some day."""
        commit = self.env["ir.cron"]._commit_progress
        queued = self.search([("state", "=", "queued")], order="id")
        commit(remaining=len(queued))
        for request in queued:
            if not request._carry_out():
                self.env.ref("woow_paas_platform.ir_cron_personal_data")._trigger(
                    fields.Datetime.now() + PAUSE
                )
            if not commit(1):
                break

    def _carry_out(self):
        """:return: False if answers of the person have to stop first"""
        commit = self.env.cr.commit
        # What has begun goes on: the erasure of an administrator takes away who asked for it.
        if not self.tries and not self._may_ask(self.asked_by_id, self.kind, self.user_id):
            self._end("failed")
            return True
        # Its process was killed each time, as one beyond Odoo's limits is; an erasure goes on where it was.
        if self.kind == "export" and self.tries >= TRIES:
            _logger.error("The %s of personal data %s has failed.", self.kind, self.id)
            self._end("failed")
            return True
        if self.kind == "erasure" and not self._has_stopped(self.user_id):
            self.looks += 1
            if self.looks < STOPPING_TRIES:
                return False
        self.tries += 1
        commit()
        try:
            if self.kind == "export":
                self._make_archive()
            else:
                self.erased += self._erase(self.user_id, commit)
        except Exception:
            self.env.cr.rollback()
            _logger.exception("The %s of personal data %s has failed.", self.kind, self.id)
            if self.tries >= TRIES:
                self._end("failed")
            return self.state != "queued"
        self._end("done")
        if self.kind == "erasure":
            commit()
            self.env[
                "ir.attachment"
            ]._gc_file_store()  # the files themselves, which Odoo deletes once a day
        return True

    def _end(self, state):
        now = fields.Datetime.now()
        self.write({"state": state, "ended_at": now})
        if self.kind == "export":
            self.expires_at = now + timedelta(days=LINK_DAYS)

    # ------------------------------------------------------------ export

    def _make_archive(self):
        """Write the archive beside the memory, where a killed process leaves nothing, then keep it as the file of this
        request.
        """
        with tempfile.TemporaryFile() as target:
            with Archive(target) as zipped:
                self._write_archive(zipped)
            target.seek(0)
            self._keep_archive(target)

    def _write_archive(self, zipped):
        user = self.user_id
        zipped.add_json(
            "person.json",
            [{"name": user.name, "login": user.login, "exported_at": utc(fields.Datetime.now())}],
        )
        chats = self._chats(user)
        zipped.add_json("conversations.json", map(self._chat_data, chats))
        for chat in chats:
            # By itself: all that stand beside it would be read again with each.
            self._write_chat(zipped, chat.with_prefetch())
            self.env.invalidate_all()
        for file in self.env[FOLDER].search([("user_id", "=", user.id)])._files():
            self._write_file(zipped, f"folders/{file.res_id}", file)
        for entry in INVENTORY:
            for column in entry.people:
                rows = self._rows(entry, column, user)
                if (
                    entry.model_name in ("discuss.channel", TURNS, "ir.attachment", self._name)
                    or not rows
                ):
                    continue
                zipped.add_json(
                    f"{entry.model.replace('.', '_')}-{column}.json", self._row_data(entry, rows)
                )

    def _chats(self, user):
        """Conversations of the person, and channels in which the person has asked an assistant."""
        turns = self.env[TURNS].search_fetch(
            [("user_id", "=", user.id)], ["channel_id"], order="id"
        )
        own = self.env["discuss.channel"].search([("woow_user_id", "=", user.id)])
        return (own | turns.channel_id).sorted("id")

    def _chat_data(self, chat):
        return {
            "id": chat.id,
            "name": chat.name,
            "assistant": chat.woow_assistant_id.name or None,
            "created_at": utc(chat.create_date),
            "continues": (chat.woow_beginning or {}).get("text"),
        }

    def _write_chat(self, zipped, chat):
        folder = f"conversations/{chat.id} {archive.file_name(chat.name or '')}"
        zipped.add_json(f"{folder}/turns.json", self._turn_data(chat))
        zipped.add_text(
            f"{folder}/conversation.md",
            transcript(chat.name or "", self._turn_data(chat, calls=False)),
        )
        for file in self._files_of(chat):
            self._write_file(zipped, f"{folder}/files", file)

    def _write_file(self, zipped, folder, file):
        on_disk = Path(file._full_path(file.store_fname)) if file.store_fname else None
        name = f"{folder}/{file.id} {archive.file_name(file.name or '')}"
        zipped.add_file(name, on_disk, b"" if on_disk else file.raw or b"")
        file.invalidate_recordset()

    def _turn_data(self, chat, calls=True):
        """The person's own turns in a conversation, also those of other branches; what others asked is left out."""
        last = 0
        while turns := self.env[TURNS].search(
            [("channel_id", "=", chat.id), ("user_id", "=", self.user_id.id), ("id", ">", last)],
            order="id",
            limit=PAGE,
        ):
            for turn in turns:
                data = {
                    "id": turn.id,
                    "asked_at": utc(turn.create_date),
                    "assistant": turn.assistant_id.name or "",
                    "state": turn.state,
                    "question": turn.prompt or "",
                    "answer": html_text.markdown(turn.answer_message_id.body or ""),
                    "files": turn.attachment_ids.mapped("name"),
                }
                if calls:
                    data["records"] = turn.mentions or []
                    data["calls"] = [
                        {
                            "tool": call.tool_name,
                            "server": call.server_name or None,
                            "arguments": call.arguments,
                            "outcome": call.outcome or None,
                            "result": call.llm_text or None,
                            "decision_reason": call.decision_reason or None,
                        }
                        for call in turn.call_ids
                    ]
                yield data
            last = turns[-1].id
            self.env.invalidate_all()

    def _files_of(self, chat):
        own = self.env[TURNS].search(
            [("channel_id", "=", chat.id), ("user_id", "=", self.user_id.id)]
        )
        files = own.attachment_ids | own.call_ids.attachment_ids
        if chat.woow_user_id == self.user_id:
            kept = [("res_model", "=", chat._name), ("res_id", "=", chat.id)]
            files |= self.env["ir.attachment"].search(kept)
        return files

    def _row_data(self, entry, rows):
        names = [
            name
            for name in (*entry.people, *entry.words)
            if not any(word in name for word in INTERNAL)
        ]
        for start in range(0, len(rows), PAGE):
            for row in rows[start : start + PAGE].with_prefetch():
                yield self._one_row(row, names)
            rows.invalidate_recordset(flush=False)

    def _one_row(self, row, names):
        data = {"id": row.id, "created_at": utc(row.create_date) if row._log_access else None}
        for name in names:
            value = row[name]
            if isinstance(value, models.BaseModel):
                value = self.user_id.name if self.user_id.id in value.ids else value.ids
            elif isinstance(value, str) and "://" in value:
                value = address.without_secrets(value, lambda secret: f"<{secret}>")
            data[name] = value or None
        return data

    def _keep_archive(self, source):
        """Keep the archive as an attachment; in the file store without reading it into the memory."""
        File = self.env["ir.attachment"]
        values = {"name": "personal-data.zip", "mimetype": "application/zip", "type": "binary"}
        values |= {"res_model": self._name, "res_id": self.id}
        if File._storage() != "file":
            File.create({**values, "raw": source.read()})
            return
        checksum = hashlib.file_digest(source, "sha1").hexdigest()
        size, stored = source.tell(), f"{checksum[:2]}/{checksum}"
        source.seek(0)
        full = Path(File._full_path(stored))
        full.parent.mkdir(parents=True, exist_ok=True)
        File._mark_for_gc(stored)  # deletes it if this transaction fails
        full.touch(0o600)
        with full.open("wb") as target:
            shutil.copyfileobj(source, target)
        file = File.create(values)
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE ir_attachment SET store_fname = %s, checksum = %s, file_size = %s, mimetype = %s WHERE id = %s",
            [stored, checksum, size, "application/zip", file.id],
        )
        file.invalidate_recordset()

    # ------------------------------------------------------------ erasure

    @api.model
    def _preview(self, user):
        """Rows of a person and their fate.

        :return: ``[{"fate", "what", "count", "reason"}]``, in the order of the inventory
        """
        found = []
        for fate in (CASCADE, ANONYMISE, KEEP):
            for entry in of_people(fate):
                model = self._model(entry)
                rows = sum(
                    model.search_count(self._domain(entry, column, user)) for column in entry.people
                )
                if rows and model._auto:
                    what = self.env["ir.model"]._get(entry.model_name).name
                    reason = sentences.translated(self.env, entry.reason)
                    found.append({"fate": fate, "what": what, "count": rows, "reason": reason})
        return found

    @api.model
    def _model(self, entry):
        # sudo: all models - only for the person or an administrator, see `_request`
        return self.env[entry.model_name].sudo().with_context(active_test=False)

    @api.model
    def _domain(self, entry, column, users):
        return Domain(column, "in", users.ids) & Domain(list(entry.only))

    @api.model
    def _rows(self, entry, column, users, limit=None):
        """Rows of an entry whose column names one of the people, with sudo."""
        domain = self._domain(entry, column, users)
        return self._model(entry).search(domain, order="id", limit=limit)

    @api.model
    def _has_stopped(self, user):
        """Stop the person's answers; True when none is being written any more."""
        Turn = self.env[TURNS].sudo()
        Turn._stop_all_of(user)
        return not Turn.search_count(
            [("user_id", "in", user.ids), ("state", "=", "running")], limit=1
        )

    @api.model
    def _erase(self, users, commit=lambda: None):
        """Erase what these people have written here, in the order of the inventory. Safe to repeat.

        :param commit: called between batches
        :return: the number of rows
        """
        self.env["woow_paas_platform.tool_call_sum"]._fold(SQL("user_id = ANY(%s)", users.ids))
        count = self._erase_decisions(users)
        count += self._erase_mails(users)
        # sudo: res.users.apikeys - keys for the person's own programs
        self.env["res.users.apikeys"].sudo().search(
            [("user_id", "in", users.ids), ("scope", "=", MCP_SCOPE)]
        ).unlink()
        # sudo: ai.assistant - unpublished changes that the person has begun
        drafts = self.env["ai.assistant"].sudo().with_context(active_test=False)
        drafts.search([("draft_of_id", "!=", False), ("create_uid", "in", users.ids)]).unlink()
        # sudo: person_rule - rules that would be left without anybody they are about, which none may be
        rules = self.env["woow_paas_platform.person_rule"].sudo().with_context(active_test=False)
        about = [("user_ids", "in", users.ids), ("group_ids", "=", False)]
        rules.search(about).filtered(lambda rule: rule.user_ids <= users).unlink()
        for entry in of_people(CASCADE):
            for column in entry.people:
                while rows := self._rows(entry, column, users, BATCH):
                    count += len(rows)
                    self._delete(rows)
                    if rows.exists():  # it would go on for ever
                        raise RuntimeError(f"Rows of {rows._name} cannot be deleted.")
                    self.env.flush_all()
                    commit()
        for entry in of_people(ANONYMISE):
            for column in entry.people:
                count += self._anonymise(entry, column, users, commit)
        return count

    @api.model
    def _delete(self, rows):
        """Delete rows with what they leave elsewhere."""
        if rows._name == TURNS:
            self._delete_turns_among_others(rows)
            return
        if (
            "channel_id" in rows._fields and "mail_from" in rows._fields
        ):  # runs, with their conversations
            rows.channel_id.unlink()
            rows = rows.exists()
        rows.with_context(woow_no_sync=True).unlink()

    @api.model
    def _delete_turns_among_others(self, turns):
        """Delete turns in channels that others read, with question and answer; summaries that hold them, too."""
        channels = turns.channel_id
        messages = turns.message_id | turns.answer_message_id
        files = turns.attachment_ids | turns.call_ids.attachment_ids
        said = tuple(filter(None, turns.mapped("prompt")))
        turns._leave_runs()
        turns.unlink()
        messages.exists().unlink()
        files.exists().unlink()
        for turn in self.env[TURNS].sudo().search([("channel_id", "in", channels.ids)]):
            if (turn.transcript or {}).get("summary"):
                turn.transcript = {**turn.transcript, "summary": None}
        for channel in channels.filtered("parent_channel_id"):
            if any(channel.name and channel.name[:20] in prompt for prompt in said):
                channel.name = self.env._("Thread")

    @api.model
    def _anonymise(self, entry, column, users, commit):
        """Empty a column of people, and the words that belong to it.

        :return: the number of rows
        """
        count, field = 0, self.env[entry.model_name]._fields[column]
        is_list = field.type == "many2many"
        values = {column: [fields.Command.unlink(i) for i in users.ids] if is_list else False}
        if entry.of == column:
            values |= dict.fromkeys(entry.words, False)
        while rows := self._rows(entry, column, users, EMPTIED):
            rows.write(values)
            self.env.flush_all()
            commit()
            count += len(rows)
        return count

    @api.model
    def _erase_decisions(self, users):
        """Take the reasons that these people gave for decisions out of what others' answers keep of them."""
        # sudo: tool_call - see `_request`
        calls = (
            self.env[CALLS]
            .sudo()
            .search([("decided_by_id", "in", users.ids), ("decision_reason", "!=", False)])
        )
        for turn, of_turn in calls.grouped("turn_id").items():
            reasons = {call.call_id: call.decision_reason for call in of_turn}
            said = [call._denial() for call in of_turn]
            of_turn.decision_reason = False
            words = [
                (
                    sentences.in_language(lang, whole),
                    sentences.in_language(lang, call._denial()),
                )
                for call, whole in zip(of_turn, said, strict=True)
                for lang in (None, *sentences.LANGUAGES)
            ]
            for call in of_turn:
                _rewrite(call, "llm_text", words)
                _rewrite(call, "result", words)
            if not turn:
                continue
            _rewrite(turn, "transcript", words)
            for event in turn.env[EVENTS].search([("turn_id", "=", turn.id)]):
                _rewrite(event, "payload", words)
                payload = event.payload
                if payload["type"] == "decided" and reasons.get(payload.get("id")):
                    event.payload = {**payload, "reason": ""}
        return len(calls)

    @api.model
    def _erase_mails(self, users):
        """Delete the mails that told these people of their conversations, whose names they hold."""
        to_them = Domain("partner_ids", "in", users.partner_id.ids)
        # sudo: mail.message - notifications to these people alone
        told = self.env["mail.message"].sudo().search(self._told_by_mail() & to_them)
        told.unlink()
        return len(told)

    @api.model
    def _told_by_mail(self):
        """Domain of the addon's mails to single people, which are found by the pages that they lead to."""
        return Domain(
            [
                ("message_type", "=", "user_notification"),
                ("author_id", "=", self.env.ref("base.partner_root").id),
            ]
        ) & Domain.OR(Domain("body", "ilike", page) for page in PAGES_OF_MAILS)


class ResUsers(models.Model):
    _inherit = "res.users"

    def write(self, vals):
        """The answers of a person who is archived end."""
        result = super().write(vals)
        if vals.get("active") is False:
            self.env[TURNS]._stop_all_of(self)
        return result

    def unlink(self):
        """A person's data goes with the person, also when Odoo's privacy look-up deletes the user."""
        # sudo: personal_data - who may delete a person may erase the person's data
        Data = self.env["woow_paas_platform.personal_data"].sudo()
        Data._has_stopped(self)
        Data._erase(self)
        return super().unlink()

    def action_woow_personal_data(self):
        """Open the export and erasure of this person's data."""
        self.ensure_one()
        return self.env["woow_paas_platform.personal_data_dialog"]._open(self)
