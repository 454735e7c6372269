from odoo import api, fields, models
from odoo.exceptions import AccessError

from ...services import text
from ...tools.moments import utc
from ...tools.refusals import Locked

MAX_REASON = 500  # characters
LOCK = {"is_locked", "lock_reason", "locked_by_id", "locked_at"}


class LockMixin(models.AbstractModel):
    """An administrator's lock: the record is off, and its owner cannot switch it on.

    What an administrator switches off for somebody else is locked, and what an administrator switches on again
    is not any more. Odoo itself, such as for the operator's file, leaves locks as they are.
    """

    _name = "woow_paas_platform.lock.mixin"
    _description = "Lock Mixin"
    _inherit = ["woow_paas_platform.audited.mixin"]

    is_locked = fields.Boolean(
        "Locked",
        readonly=True,
        copy=False,
        help="An administrator has switched it off; only an administrator can switch it on again.",
    )
    lock_reason = fields.Char(readonly=True, copy=False)
    locked_by_id = fields.Many2one(
        "res.users", "Locked by", readonly=True, copy=False, ondelete="set null"
    )
    locked_at = fields.Datetime("Locked on", readonly=True, copy=False)

    lock_sentence = fields.Char("Lock Details", compute="_compute_lock_sentence", exportable=False)

    @api.depends("is_locked", "lock_reason", "locked_by_id")
    @api.depends_context("lang")
    def _compute_lock_sentence(self):
        for record in self:
            record.lock_sentence = record.is_locked and str(record._locked().args[0])

    def _is_run_by(self, user):
        """True if the person owns it, or only administrators do."""
        raise NotImplementedError

    def _may_lock(self):
        return not self.env.su and self.env.user.has_group("woow_paas_platform.group_admin")

    def _check_lock(self, vals):
        """Before a write. An administrator who switches on unlocks.

        :raises Locked: something locked would be switched on
        """
        # sudo: the columns of a lock, read to decide
        locked = self.sudo().filtered("is_locked") if vals.get("active") else self.browse()
        if not locked:
            return
        if not self._may_lock():
            raise locked[0]._locked()
        locked.write(dict.fromkeys(LOCK, False))
        locked._record_act("unlocked")

    def _lock_for_owners(self, vals):
        """After a write."""
        if "active" in vals and not vals["active"] and self._may_lock():
            self.filtered(lambda r: not r.is_locked and not r._is_run_by(self.env.user))._put_lock()

    def _lock_away(self, reason=""):
        """Switch it off for good.

        :raises AccessError: the caller is no administrator
        """
        self._check_may_lock()
        self._put_lock(reason)

    def _unlock(self):
        """It stays off; whose it is may switch it on.

        :raises AccessError: the caller is no administrator
        """
        self._check_may_lock()
        # sudo: columns that only Odoo writes; the caller is an administrator
        self.sudo().write(dict.fromkeys(LOCK, False))
        self._record_act("unlocked")

    def _check_may_lock(self):
        self.check_access("write")
        if not self._may_lock():
            raise AccessError(self.env._("Only an administrator can lock and unlock."))

    def _put_lock(self, reason=""):
        # sudo: columns that only Odoo writes; the caller is an administrator
        self.sudo().write(
            {
                "active": False,
                "is_locked": True,
                "lock_reason": text.storable((reason or "").strip()[:MAX_REASON]) or False,
                "locked_by_id": self.env.uid,
                "locked_at": fields.Datetime.now(),
            }
        )
        self._record_act("locked")

    def _locked(self):
        """The refusal, in one sentence wherever it is met."""
        self.ensure_one()
        # sudo: res.users - the name of the administrator whom the owner has to ask
        record = self.sudo()
        values = {"name": record.display_name, "admin": record.locked_by_id.name or "?"}
        if record.lock_reason:
            message = self.env._(
                "%(admin)s has locked “%(name)s”, and only an administrator can unlock it. Reason: %(reason)s",
                reason=record.lock_reason,
                **values,
            )
        else:
            message = self.env._(
                "%(admin)s has locked “%(name)s”, and only an administrator can unlock it.",
                **values,
            )
        return Locked(message, **record._lock_data())

    def _lock_data(self):
        """Data of the lock for the owner, None where nothing is locked."""
        self.ensure_one()
        # sudo: res.users - see `_locked`
        record = self.sudo()
        if not record.is_locked:
            return None
        return {
            "by": record.locked_by_id.name or "",
            "at": utc(record.locked_at),
            "reason": record.lock_reason or "",
        }

    def action_lock(self):
        """Ask for the reason, which may be left out."""
        self._check_may_lock()
        return self.env["woow_paas_platform.lock"]._open(self)

    def action_unlock(self):
        self._unlock()
        return True
