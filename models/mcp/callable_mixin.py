import hashlib

from odoo import api, fields, models

from ...services.approval import approval
from ...services.sentence import _lt
from ...tools import sentences

DENIED, APPROVAL_REQUIRED = "denied", "approval_required"  # codes of a refusal without a chat
# Assistants that answer whatever the chat is about: those of no cloud service.
EVERYWHERE = [("active", "=", True), ("cloud_service_id", "=", False)]
BLOCKED = {
    "never": _lt("An administrator has blocked this call."),
    "person": _lt("A rule for this user blocks calls of this tool."),
    "foreign": _lt(
        "Nothing is remembered from a conversation with text that others may have written. "
        "Tell the user to ask for it in a new conversation."
    ),
}


class CallableMixin(models.AbstractModel):
    """A callable: a tool of an MCP server, an operation of a toolbox."""

    _name = "woow_paas_platform.callable.mixin"
    _description = "Callable Mixin"

    def _pinned_source(self):
        """The text that changes with the definition, and with the address that is called."""
        raise NotImplementedError

    def _annotations(self):
        """Annotations about the effect of a call, as in MCP's `ToolAnnotations`."""
        raise NotImplementedError

    def _policy_facts(self):
        """:return: `policy`, `annotations` and `trust` of `services.approval.approval.decide`"""
        raise NotImplementedError

    def _rules(self, assistant):
        """:return: the `services.approval.approval.Rule` that may apply in a chat with this assistant, in order"""
        return []

    def _person_policies(self, user):
        """:return: the policies of the rules that are this person's"""
        return []

    def _switch_refusal(self):
        """:return: why no call can be made now, whoever asks; ``""`` if one can"""
        raise NotImplementedError

    def _is_allowed_for_good(self, user):
        """True if this person has allowed every call of it, as it is now."""
        return False

    def _offered_by(self, assistants):
        """Assistants among these that could call this in a chat with the current user."""
        return assistants

    # ------------------------------------------------------------ the decision on a call

    # The decision on a call is the same everywhere; entrances differ in who may answer a question. In a chat
    # that is its person. A program has nobody to ask: there only what was allowed for good before counts.

    def _definition(self, action=None):
        """The pin of a call: definition, address and the action that offers the tool."""
        self.ensure_one()
        pinned = self._pinned()
        return f"{pinned} by {action.id}" if action else pinned

    def _pinned(self):
        """Hash of the definition and the address."""
        return hashlib.sha256(self._pinned_source().encode()).hexdigest()

    def _grant_subject(self):
        """Subject and definition of a permission: two dictionaries of columns of `tool_grant`."""
        return {"tool_id": self.id}, {"name": self.display_name, "definition": self._pinned()}

    def _decision(self, arguments, assistants, user, *, taint=approval.CLEAN):
        """The decision on one call, the strictest that one of these assistants would meet.

        :param user: whose call it is
        :param assistants: without one, what holds for every assistant
        :param taint: `services.approval.approval.Taint`; only a turn knows what its model has read
        """
        self.ensure_one()
        # sudo: mcp_tool, approval_rule, ai.assistant - policies, read to decide and not shown
        source = self.sudo()
        person = source._person_policies(user)
        return approval.strictest(
            approval.decide(
                arguments,
                **source._policy_facts(),
                rules=source._rules(assistant),
                person=person,
                mode=assistant.approval_mode or "policy",
                taint=taint,
            )
            for assistant in assistants.sudo() or [assistants.browse()]
        )

    def _direct_call_decision(self, arguments, action=None, assistants=None):
        """The decision on a call without a chat for the current user, see `_direct_call_refusal`."""
        if assistants is None:
            assistants = self.env["ai.assistant"].sudo(False)._everywhere()
        if not action:  # which every assistant is offered in a chat about its record
            assistants = self._offered_by(assistants)
        return self._decision(arguments, assistants, self.env.user)

    def _direct_call_refusal(self, arguments, action=None, *, assistants=None, is_confirmed=False):
        """The reason that forbids a call without a chat for the current user.

        An action type is an administrator's word for a call that holds its fixed values. It answers the
        question that is asked only because nobody has decided about the tool, and no other.

        :param action: the `action_type` by which the caller may make this very call, if there is one
        :param assistants: `ApprovalMixin._everywhere`, where they are known already
        :param is_confirmed: the person has this very call in front of them and wants it: what asks, asked them
        :return: code and sentence, None if the call may be made
        """
        if reason := self._switch_refusal():
            return DENIED, sentences.translated(self.env, reason)
        decision = self._direct_call_decision(arguments, action, assistants)
        if decision.policy == "never":
            return DENIED, sentences.translated(self.env, BLOCKED[decision.reason])
        if decision.policy == "auto" or is_confirmed or (action and decision.reason == "unknown"):
            return None
        if decision.grantable and self._is_allowed_for_good(self.env.user):
            return None
        return APPROVAL_REQUIRED, self.env._(
            "This call requires approval. Allow the tool “always” in a chat, or make the call there."
        )


class ApprovalMixin(models.AbstractModel):
    """Approval settings: what holds in chats with an assistant where nothing else decides about a call."""

    _name = "woow_paas_platform.approval.mixin"
    _description = "Approval Mixin"

    approval_mode = fields.Selection(
        [
            ("effects", "Ask before every call with an effect"),
            ("policy", "Ask where it is risky"),
            ("auto", "Do not ask for tools of trusted servers"),
        ],
        "When to Ask",
        required=True,
        default="policy",
        help="Risky are calls that delete, overwrite or send data, and all calls of servers that are not trusted. "
        "Once the assistant has read text that others may have written, every call that could do harm asks.",
    )

    @api.model
    def _everywhere(self):
        """The assistants that the current user may chat with, whatever the chat is about."""
        # sudo: res.company - all that the record rule needs of them, in place of every column
        self.env.companies.sudo().fetch(["parent_path"])
        return self.search_fetch(EVERYWHERE, ["approval_mode"])  # which decisions read
