"""Approvals of tool calls: whether the person is asked, and what the decision does."""

from odoo import fields, models

from ...services import events, text
from ...services.errors import EngineError
from ...services.schemas import schema
from ...services.specs import Verdict
from ...services.toolset import lookup
from ...services.turn import approval
from ...tools.moments import utc
from ..mixins.callable_mixin import BLOCKED
from .ai_turn_event import OrderedJson

NOBODY_TO_ASK = (
    "This call needs the user's permission, and nobody can be asked here. "
    "Tell the user to ask for it in a conversation with the assistant."
)

DESCRIPTION_CHARS = 300  # of a server's own, beside the question


def _dig(data, path):
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    approval = fields.Selection(
        [
            ("pending", "Waiting for a decision"),
            ("granted", "Allowed before"),
            ("approved", "Allowed"),
            ("denied", "Denied"),
            ("expired", "Not decided in time"),
            ("cancelled", "Not decided"),
        ],
        readonly=True,
        help="Empty if no approval was required.",
    )
    approval_reason = fields.Char(readonly=True, help="Why the user was asked.")
    approval_choices = fields.Json(readonly=True)
    decision = fields.Selection(
        [
            ("approve_once", "Allow once"),
            ("approve_conversation", "Allow in this conversation"),
            ("approve_always", "Allow always"),
            ("deny", "Deny"),
        ],
        readonly=True,
    )
    decision_reason = fields.Char(readonly=True)
    decided_by_id = fields.Many2one("res.users", "Decided by", readonly=True, ondelete="set null")
    decided_at = fields.Datetime(readonly=True)
    is_changed = fields.Boolean("Arguments Changed", readonly=True)
    asked_arguments = OrderedJson(
        "Original Arguments",
        readonly=True,
        help="Arguments requested by the model, if the user changed them.",
    )

    def _approval_verdict(self):
        """Whether the call may start now, read again each time.

        :return: a `Verdict` that denies or asks, None when nothing is in the way
        """
        self.ensure_one()
        decision = self._policy_decision()
        if decision is None:
            return None
        if decision.policy == "never":
            return Verdict(kind="deny", reason=BLOCKED[decision.reason])
        if self.approval in ("denied", "expired"):
            return Verdict(kind="deny", reason=self._denial())
        if decision.policy == "auto":
            return None
        if self.approval == "approved":
            return None
        is_grantable = decision.grantable and bool(self._grantable())
        if is_grantable and self._is_granted():
            self.approval = "granted"
            return None
        if not self.turn_id._is_private():
            return Verdict(kind="deny", reason=NOBODY_TO_ASK)
        self.write(
            {
                "approval": "pending",
                "approval_reason": decision.reason,
                "approval_choices": list(decision.choices if is_grantable else approval.ONCE),
            }
        )
        return Verdict(kind="ask")

    def _grantable(self):
        """What an “always” of the person is about; empty where each call is decided by itself. A hook."""
        return self.tool_id

    def _is_granted(self):
        return self.env["woow_paas_platform.tool_grant"]._is_granted(
            self.turn_id, self._grantable()
        )

    def _policy_decision(self):
        source = self.tool_id or self.operation_id
        if not source:
            return None
        return source._decision(
            self.arguments or {},
            self.turn_id.assistant_id,
            self.turn_id.user_id,
            is_tainted=approval.is_destructive(self._annotations())
            and self._comes_after_untrusted_result(),
        )

    def _annotations(self):
        """What is said about the effect of what is called."""
        source = self.tool_id or self.operation_id
        return source._annotations() if source else {}

    def _comes_after_untrusted_result(self):
        """Whether the model has read untrusted content, in this turn or an earlier one."""
        turn = self.turn_id
        earlier_turns = turn._earlier_turns()
        if (turn | earlier_turns)._has_untrusted_attachments():
            return True
        read = turn._calls_with_taken_over().filtered(lambda call: call.round < self.round)
        for earlier in earlier_turns:
            read |= earlier._calls_with_taken_over()
        read.fetch(
            ["outcome", "tool_name", "tool_id", "operation_id", "server_name"]
        )  # not the results, which may be long
        return any(call._is_untrusted_result() for call in read)

    def _is_untrusted_result(self):
        tool = self.tool_id
        return (
            self.outcome in ("ok", "error")
            and not self.operation_id
            and not self._is_look_up()
            and approval.is_untrusted(tool._annotations(), tool.server_id.trust_level or "none")
        )

    def _is_look_up(self):
        """Definitions, which were reviewed as they would be for being offered, are nobody's result.

        A server's tool of the same name, which may be gone by now, has left the server's name.
        """
        return not self.server_name and self.tool_name in lookup.NAMES

    def _keeps_fixed(self, arguments):
        """Whether these arguments leave alone what the conversation's record has filled in."""
        before = self.arguments or {}
        for name in self.fixed or []:
            part, _dot, inner = name.partition(".")
            path = [name] if name in before else [part, inner]
            if _dig(before, path) != _dig(arguments, path):
                return False
        return True

    def _changed_arguments(self):
        """What the person made of the arguments, None if they are the model's own."""
        return self.arguments or {} if self.is_changed else None

    def _denial(self):
        """What the model is told."""
        if self.approval == "expired":
            return "The user did not decide on this call in time, so it was not made."
        if self.decision_reason:
            return f"The user denied this call. The user's reason: {self.decision_reason}"
        return "The user denied this call."

    def _decide(self, decision, arguments=None, reason=None):
        """Record the person's decision; the caller has checked the person and the arguments."""
        for call in self:
            changed = arguments is not None and arguments != (call.arguments or {})
            call.write(
                {
                    "approval": "denied" if decision == "deny" else "approved",
                    "decision": decision,
                    "decision_reason": reason or False,
                    "decided_by_id": self.env.uid,
                    "decided_at": fields.Datetime.now(),
                }
            )
            if changed:
                call.write(
                    {
                        "is_changed": True,
                        "asked_arguments": call.arguments,
                        "arguments": arguments,
                    }
                )
            scope = {"approve_conversation": "conversation", "approve_always": "always"}
            if decision in scope:
                # sudo: tool_grant - people have no create access; made for who decides
                self.env["woow_paas_platform.tool_grant"].sudo()._grant(
                    call.turn_id, call._grantable(), scope[decision]
                )
            call.turn_id._append_events([call._decided_event()])

    def _decided_event(self):
        return events.decided(
            self.call_id,
            self.decision or "expired",
            by=self.decided_by_id.name or "",
            reason=self.decision_reason or "",
            arguments=self._changed_arguments(),
        )

    def _approval_event(self):
        self.ensure_one()
        try:
            form = schema.clean(self._input_schema())
        except EngineError:
            form = {"type": "object"}
        source = self.tool_id or self.operation_id
        return events.approval_required(
            self.call_id,
            tool=self.tool_name,
            title=self.title or self.tool_name,
            server=self.server_name or "",
            arguments=self.arguments or {},
            fixed=self.fixed or (),
            schema=form,
            choices=self.approval_choices,
            reason=self._approval_sentence(),
            description=text.one_line(source.description or "", DESCRIPTION_CHARS),
            is_destructive=approval.is_destructive(self._annotations()),
            expires_at=utc(self.turn_id.waiting_until),
            manage_path=self._manage_path(),
            rehearsal=self._rehearsal_shown(),
        )

    def _manage_path(self):
        """The page on which the person of the turn changes what is asked, None for who may not."""
        return self.tool_id._manage_path(self.turn_id.user_id) if self.tool_id else None

    def _rehearsal_shown(self):
        """What the call would change in records of this database, None of any other call."""
        return None

    def _approval_sentence(self):
        _ = self.env._
        return {
            "person": _("A rule requires your decision on every call of this tool by you."),
            "rule": _("An approval rule requires your decision on calls like this one."),
            "tool": _("This tool is set to ask before it runs."),
            "tainted": _(
                "This tool can delete or overwrite data, and the assistant has read content from an untrusted source."
            ),
            "destructive": _("This tool can delete or overwrite data."),
            "open": _("What this does cannot be known in advance."),
        }.get(self.approval_reason, _("This tool has not been marked as safe yet."))

    def _api_format(self):
        data = super()._api_format()
        if self.approval:
            data["approval"] = {
                "state": self.approval,
                "decision": self.decision or None,
                "reason": self.decision_reason or "",
                "by": self.decided_by_id.name or "",
                "at": utc(self.decided_at),
            }
        return data
