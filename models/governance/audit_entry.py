import hashlib
import hmac
import json
import logging
import secrets
from datetime import date, datetime, timedelta

from odoo import api, fields, models
from odoo.models import BaseModel
from odoo.tools import SQL

from ...services.audit import chain
from ...services.audit.check import Check
from ...services.errors import SecretKeyInvalid
from ...tools import limits, vault

_logger = logging.getLogger(__name__)

ACTS = [
    ("created", "Created"),
    ("changed", "Changed"),
    ("deleted", "Deleted"),
    ("locked", "Locked"),
    ("unlocked", "Unlocked"),
    ("setting_changed", "Setting changed"),
    ("secret_entered", "Secret entered"),
    ("secret_removed", "Secret removed"),
    ("call_decided", "Tool call decided"),
    ("round_decided", "Tool rounds decided"),
    ("question_answered", "Question answered"),
    ("permission_given", "Permission given"),
    ("permission_revoked", "Permission revoked"),
    ("tool_decided", "Tool decided"),
    ("version_published", "Version published"),
    ("configuration_exported", "Configuration exported"),
    ("configuration_imported", "Configuration imported"),
    ("client_allowed", "MCP client allowed"),
    ("tokens_issued", "Tokens issued"),
    ("client_ended", "MCP client disconnected"),
    ("key_made", "Key created"),
    ("key_revoked", "Key revoked"),
    ("signed_in", "Signed in to a server"),
    ("signed_out", "Signed out of a server"),
    ("ran_as", "Ran with another user's rights"),
    ("data_exported", "Personal data exported"),
    ("data_erased", "Personal data erased"),
    ("audit_exported", "Audit log exported"),
]
SHARED = 20  # ids of one list in the codes; longer ones are told by their number and digest
PERSON = "woow_paas_platform.audit_person"
PEOPLE = ("res.users", "res.partner")  # whose ids are never told
# The chain that this transaction extends is that of its session of PostgreSQL, as `%c` of its log names it. No other
# transaction extends it meanwhile, and this one sees all of it: neither a lock nor another try is needed.
HEAD = """
    SELECT shard, entry.seq, entry.fingerprint,
           (SELECT fingerprint FROM woow_paas_platform_audit_checkpoint ORDER BY number DESC LIMIT 1),
           (SELECT pseudonym FROM woow_paas_platform_audit_person WHERE user_id = %s ORDER BY id LIMIT 1)
      FROM (SELECT to_hex(trunc(extract(epoch FROM backend_start))::bigint) || '.' || to_hex(pid) AS shard
              FROM pg_stat_get_activity(pg_backend_pid())) session
      LEFT JOIN LATERAL (
           SELECT seq, fingerprint FROM woow_paas_platform_audit_entry e
            WHERE e.day = %s AND e.shard = session.shard ORDER BY seq DESC LIMIT 1) entry ON TRUE
"""
INSERT = """
    INSERT INTO woow_paas_platform_audit_entry
                (day, shard, seq, at, act, model, res_id, person, codes, previous, fingerprint)
         VALUES (%(day)s, %(shard)s, %(seq)s, %(at)s, %(act)s, %(model)s, %(res_id)s, %(person)s, %(codes)s,
                 %(previous)s, %(fingerprint)s)
"""

ENTRY = "woow_paas_platform.audit_entry"
LOCK = 7_352_019_447  # of PostgreSQL's advisory locks: one checkpoint at a time
PURPOSE = "audit"  # of the signature
AROUND = timedelta(days=2)  # a transaction ends within this time
PAGE = 5_000  # entries that a check reads at a time


class AuditEntry(models.Model):
    """Audit entry: an act that matters, in the transaction of the act. Nobody changes or deletes one.

    It holds ids, codes and digests, never words. Its person is a pseudonym, for as long as an `AuditPerson` says whose.
    """

    _name = "woow_paas_platform.audit_entry"
    _description = "Audit Entry"
    _inherit = ["woow_paas_platform.append_only.mixin"]
    _order = "id desc"
    _log_access = False

    day = fields.Date(required=True, readonly=True, help="Day of the chain, in UTC.")
    shard = fields.Char(
        required=True, readonly=True, help="Session of PostgreSQL, which has a chain of its own."
    )
    seq = fields.Integer("Number", required=True, readonly=True, aggregator=None)
    at = fields.Datetime("Date", required=True, readonly=True)
    act = fields.Selection(ACTS, required=True, readonly=True)
    model = fields.Char(readonly=True)
    res_id = fields.Integer("Record ID", readonly=True, aggregator=None)
    person = fields.Char("Pseudonym", required=True, readonly=True, index=True)
    codes = fields.Char("Details", required=True, readonly=True)
    previous = fields.Char("Fingerprint Before", readonly=True)
    fingerprint = fields.Char(required=True, readonly=True)

    user_id = fields.Many2one(
        "res.users",
        compute="_compute_user_id",
        search="_search_user_id",
        help="Empty once the data of the user was erased.",
    )
    record = fields.Char(compute="_compute_record")
    kind = fields.Char("Type", compute="_compute_kind")

    _chain = models.UniqueIndex("(day, shard, seq)")
    _of_record = models.Index("(model, res_id)")

    # ------------------------------------------------------------ adding

    @api.model
    def _record_act(self, act, records, /, **codes):
        """Add an entry for each record, or one without a record if they have no table.

        :param act: a key of `ACTS`
        :param codes: JSON without words; users become pseudonyms, other records ids
        """
        if act not in self._fields["act"].get_values(self.env):
            raise ValueError(f"The audit log knows no act {act!r}.")
        if records._name in PEOPLE:
            codes["of"], records = records, records.env[self._name]
        is_alone = records._abstract or records._name == self._name
        if not is_alone and not records:
            return
        now = fields.Datetime.now()
        common = {
            "day": fields.Date.to_string(now.date()),
            "at": fields.Datetime.to_string(now),
            "act": act,
            "model": "" if is_alone else records._name,
            "codes": chain.canonical({name: self._code(value) for name, value in codes.items()}),
        }
        self.env.cr.execute(HEAD, [self.env.uid, common["day"]])
        shard, seq, last, origin, person = self.env.cr.fetchone()
        # sudo: audit_person - pseudonyms
        common["person"] = person or self.env[PERSON].sudo()._pseudonym(self.env.uid)
        entries = [
            {**common, "shard": shard, "res_id": res_id}
            for res_id in ([0] if is_alone else records.ids)
        ]
        for entry in chain.extend((seq or 0, last or ""), origin or "", entries):
            self.env.cr.execute(INSERT, entry)

    @api.model
    def _code(self, value):
        """A value of the codes as JSON."""
        if isinstance(value, BaseModel):
            if value._name == "res.users":
                # sudo: audit_person - pseudonyms
                People = self.env[PERSON].sudo()
                told = [People._pseudonym(user_id) for user_id in value.ids]
            elif value._name == "res.partner":
                told = [
                    value.env["woow_paas_platform.audit.mixin"]._audit_digest(i) for i in value.ids
                ]
            else:
                told = value.ids
            return told if len(told) <= SHARED else [len(told), chain.digest({"ids": told})]
        if isinstance(value, dict):
            return {name: self._code(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._code(inner) for inner in value]
        return str(value) if isinstance(value, (date, datetime)) else value

    # ------------------------------------------------------------ reading

    def export_data(self, fields_to_export):
        """Exporting is an act, too."""
        self.env["woow_paas_platform.audit.mixin"]._record_act("audit_exported", entries=len(self))
        return super().export_data(fields_to_export)

    @api.depends("act")
    @api.depends_context("lang")
    def _compute_display_name(self):
        labels = dict(self._fields["act"]._description_selection(self.env))
        for entry in self:
            entry.display_name = labels.get(entry.act, entry.act)

    @api.depends("person")
    def _compute_user_id(self):
        # sudo: audit_person - administrators may see whose a pseudonym is
        known = self.env[PERSON].sudo().search([("pseudonym", "in", self.mapped("person"))])
        users = {one.pseudonym: one.user_id for one in known}
        for entry in self:
            entry.user_id = users.get(entry.person, False)

    @api.model
    def _search_user_id(self, operator, value):
        if operator not in ("in", "any"):
            return NotImplemented
        # sudo: audit_person - see `_compute_user_id`
        known = self.env[PERSON].sudo().search([("user_id", operator, value)])
        return [("person", "in", known.mapped("pseudonym"))]

    @api.depends("model", "res_id")
    def _compute_record(self):
        for entry in self:
            entry.record = entry._named() if entry.res_id else False

    def _named(self):
        """Name of the record, of one that is gone or hidden its id."""
        if self.model in self.env:
            record = self.env[self.model].with_context(active_test=False)
            record = record.search([("id", "=", self.res_id)])
            if record:
                return record.display_name
        return f"#{self.res_id}"

    @api.depends("model")
    @api.depends_context("lang")
    def _compute_kind(self):
        for entry in self:
            names = self.env["ir.model"]._get(entry.model).name if entry.model else False
            entry.kind = names or entry.model


class AuditPerson(models.Model):
    """Key of a pseudonym. Without it nobody can tell whose the entries are; deleting it erases the person."""

    _name = "woow_paas_platform.audit_person"
    _description = "Audit Pseudonym"
    _log_access = False

    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    key = fields.Char(required=True, groups=fields.NO_ACCESS)
    pseudonym = fields.Char(required=True, readonly=True, index=True)

    @api.model
    def _pseudonym(self, user_id):
        """Pseudonym of a user. Two first acts at a time give two, so that neither waits for the other."""
        self.env.cr.execute(
            SQL(
                "SELECT pseudonym FROM %s WHERE user_id = %s ORDER BY id LIMIT 1",
                SQL.identifier(self._table),
                user_id,
            )
        )
        if row := self.env.cr.fetchone():
            return row[0]
        key = secrets.token_hex(16)
        digest = hmac.new(key.encode(), f"res.users,{user_id}".encode(), hashlib.sha256).hexdigest()
        made = {"user_id": user_id, "key": key, "pseudonym": digest[:32]}
        return self.create(made).pseudonym

    @api.model
    def _forget(self, users):
        """Erase whose the entries of these users are."""
        self.search([("user_id", "in", users.ids)]).unlink()


class AuditCheckpoint(models.Model):
    """Signed checkpoint of the audit log: where each chain ended that has grown since the one before.

    An entry that a checkpoint knows cannot be cut off unnoticed. Retention deletes whole days behind one.
    """

    _name = "woow_paas_platform.audit_checkpoint"
    _description = "Audit Checkpoint"
    _inherit = ["woow_paas_platform.append_only.mixin"]
    _order = "number desc"
    _rec_name = "number"
    _log_access = False

    number = fields.Integer(required=True, readonly=True, aggregator=None)
    at = fields.Datetime("Date", required=True, readonly=True)
    content = fields.Text(required=True, readonly=True, help="Canonical JSON.")
    fingerprint = fields.Char(required=True, readonly=True)
    signature = fields.Char(readonly=True, help="Made with the operator's secret key.")

    _number_unique = models.UniqueIndex("(number)")

    # ------------------------------------------------------------ adding

    @api.model
    def _cron_seal(self):
        """Add a checkpoint if there are new entries, and delete the days whose time is over."""
        if not self._is_alone():
            return
        last = self.search([], limit=1)
        heads = self._new_heads(last)
        cut = self._due_cut(last)
        if heads or cut:
            self._add(last, heads, cut)

    @api.model
    def _is_alone(self):
        self.env.cr.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return self.env.cr.fetchone()[0]

    def _data(self):
        return json.loads(self.content)

    @api.model
    def _new_heads(self, last):
        """``{day: {shard: [number, digest]}}`` of the chains that have grown since the last checkpoint."""
        since = last.at - AROUND if last else fields.Datetime.to_datetime("1970-01-01")
        known = {}
        for checkpoint in self.search([("at", ">=", since - AROUND)]).sorted("number"):
            for day, shards in checkpoint._data()["heads"].items():
                known.setdefault(day, {}).update(shards)
        heads = {}
        for day, shard, seq, digest in self.env.execute_query(
            SQL(
                "SELECT DISTINCT ON (day, shard) day::text, shard, seq, fingerprint FROM %s WHERE day >= %s"
                " ORDER BY day, shard, seq DESC",
                SQL.identifier(self.env[ENTRY]._table),
                since.date(),
            )
        ):
            if known.get(day, {}).get(shard) != [seq, digest]:
                heads.setdefault(day, {})[shard] = [seq, digest]
        return heads

    @api.model
    def _due_cut(self, last):
        """Last day whose entries are to go, or an empty text."""
        days = limits.get(self.env, "audit_retention_days")
        if not days or not last:
            return ""
        until = fields.Date.to_string(fields.Date.today() - timedelta(days=days))
        oldest = self.env[ENTRY].search([], order="day, shard, seq", limit=1).day
        return until if oldest and fields.Date.to_string(oldest) <= until else ""

    @api.model
    def _count_due(self):
        """Number of entries that would go now."""
        cut = self._due_cut(self.search([], limit=1))
        return self.env[ENTRY].search_count([("day", "<=", cut)]) if cut else 0

    @api.model
    def _add(self, last, heads, cut=""):
        before = last._data() if last else {"cut": "", "first": 1}
        now = fields.Datetime.to_string(fields.Datetime.now())
        number = last.number + 1
        first = before["first"]
        if cut:
            # Later entries name the latest checkpoint that their transactions have seen, so one before that day stays.
            kept = self.search([("at", "<", f"{cut} 00:00:00")], limit=1)
            first = kept.number or first
        content = {
            "number": number,
            "at": now,
            "previous": last.fingerprint or "",
            "heads": heads,
            "cut": cut or before["cut"],
            "first": first,
        }
        digest = chain.digest(content)
        try:
            signature = vault.sign(PURPOSE, digest)
        except SecretKeyInvalid:
            signature = ""
            _logger.warning("The audit log's checkpoint is not signed: there is no secret key.")
        self.env.cr.execute(
            SQL(
                "INSERT INTO %s (number, at, content, fingerprint, signature) VALUES (%s, %s, %s, %s, %s)",
                SQL.identifier(self._table),
                number,
                now,
                chain.canonical(content),
                digest,
                signature,
            )
        )
        if cut:
            self._delete_until(cut, first)
        _logger.info("Audit log: checkpoint %s, digest %s.", number, digest)

    @api.model
    def _sign_again(self):
        """Sign with the newest key each checkpoint that an older one has signed.

        :return: number of the checkpoints
        """
        old = [one for one in self._all() if one._is_signed()]
        for one in old:
            self.env.cr.execute(
                SQL(
                    "UPDATE %s SET signature = %s WHERE id = %s",
                    SQL.identifier(self._table),
                    vault.sign(PURPOSE, one.fingerprint),
                    one.id,
                )
            )
        self.env.invalidate_all()
        return len(old)

    @api.model
    def _all(self):
        return self.search([("number", ">", 0)])

    def _is_signed(self):
        return vault.is_signed(PURPOSE, self.fingerprint, self.signature or "")

    @api.model
    def _delete_until(self, cut, first):
        """The only place that deletes entries: whole days, behind a checkpoint that says so."""
        entries, own = SQL.identifier(self.env[ENTRY]._table), SQL.identifier(self._table)
        self.env.cr.execute(SQL("DELETE FROM %s WHERE day <= %s", entries, cut))
        self.env.cr.execute(SQL("DELETE FROM %s WHERE number < %s", own, first))

    # ------------------------------------------------------------ reading

    @api.model
    def _checkpoints(self):
        """Checkpoints as `Check` and an export take them, by number."""
        for one in self._all().sorted("number"):
            yield {**one._data(), "fingerprint": one.fingerprint, "signature": one.signature or ""}

    @api.model
    def _entries(self):
        """Entries as `Check` and an export take them, by day, shard and number."""
        names = SQL(", ").join(
            SQL("%s::text", SQL.identifier(name)) if name in ("day", "at") else SQL.identifier(name)
            for name in (*chain.ENTRY, "fingerprint")
        )
        place = ("", "", 0)
        while place:
            rows = self.env.execute_query_dict(
                SQL(
                    "SELECT %s FROM %s WHERE (day, shard, seq) > (%s, %s, %s) ORDER BY day, shard, seq LIMIT %s",
                    names,
                    SQL.identifier(self.env[ENTRY]._table),
                    place[0] or "0001-01-01",
                    place[1],
                    place[2],
                    PAGE,
                )
            )
            yield from rows
            place = rows and (rows[-1]["day"], rows[-1]["shard"], rows[-1]["seq"])

    @api.model
    def _check(self, known=None):
        """A `Check` of this log, and its findings as they come.

        :param known: number and digest of a checkpoint that was written down elsewhere
        """
        check = Check(lambda digest, signature: vault.is_signed(PURPOSE, digest, signature), known)
        return check, check.problems(self._checkpoints(), self._entries())
