from odoo import models


class CallableMixin(models.AbstractModel):
    """What can be called: a tool of an MCP server, an operation of a toolbox."""

    _name = "woow_paas_platform.callable.mixin"
    _description = "Callable Mixin"

    def _annotations(self):
        """What is said about the effect of a call, as in MCP's `ToolAnnotations`."""
        raise NotImplementedError

    def _policy_facts(self):
        """:return: `policy`, `annotations` and `trust` of `services.turn.approval.decide`"""
        raise NotImplementedError

    def _rules(self, assistant):
        """:return: the `services.turn.approval.Rule` that may apply in a chat with this assistant, in order"""
        return []

    def _person_policies(self, user):
        """:return: the policies of the rules that are this person's"""
        return []

    def _switch_refusal(self):
        """:return: why no call can be made now, whoever asks; ``""`` if one can"""
        raise NotImplementedError

    def _is_allowed_for_good(self, user):
        """Whether this person has allowed each call, as it is now."""
        return False

    def _offered_by(self, assistants):
        """Those among these assistants that could call this in a chat with the current user."""
        return assistants
