import json
import logging
from datetime import timedelta

from odoo import api, fields, models
from odoo.tools import SQL

from ...services.audit import chain
from ...services.audit.check import Check
from ...services.errors import SecretKeyInvalid
from ...tools import limits, vault

_logger = logging.getLogger(__name__)

ENTRY = "woow_paas_platform.audit_entry"
LOCK = 7_352_019_447  # of PostgreSQL's advisory locks: one checkpoint at a time
PURPOSE = "audit"  # of the signature
AROUND = timedelta(days=2)  # a transaction ends within this time
PAGE = 5_000  # entries that a check reads at a time


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
