"""Approval policy: whether a call runs, waits for a person or is refused. Pure rules; the host brings the facts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..specs import CallResult, TrustLevel
from . import conditions

Policy = Literal["auto", "ask", "never"]
CHANGED = "The user changed the arguments of this call to {} and allowed it."
Reason = Literal["", "never", "person", "rule", "tool", "tainted", "destructive", "unknown"]
ORDER: tuple[Policy, ...] = ("auto", "ask", "never")
ONCE = ("approve_once", "deny")
ALL = ("approve_once", "approve_conversation", "approve_always", "deny")


@dataclass(frozen=True, slots=True)
class Rule:
    """`policy` holds for calls whose arguments meet `condition`; an empty one is always met."""

    policy: Policy
    condition: str = ""

    def applies(self, arguments: Mapping[str, Any]) -> bool:
        """A condition that cannot be decided restricts and never permits.

        :param arguments: of the call
        """
        if not self.condition:
            return True
        try:
            return conditions.holds(self.condition, arguments)
        except (conditions.ConditionError, conditions.Undecided):
            return self.policy != "auto"


@dataclass(frozen=True, slots=True)
class Decision:
    """:ivar reason: why, for the host to say in the person's language
    :ivar choices: what the person may answer when `policy` is "ask"
    :ivar grantable: whether an earlier “always” of the person is enough
    """

    policy: Policy
    reason: Reason = ""
    grantable: bool = True

    @property
    def choices(self) -> tuple[str, ...]:
        return ALL if self.grantable else ONCE


def is_destructive(annotations: Mapping[str, Any]) -> bool:
    """A server's word against its own tool is believed whatever the server is trusted with.

    :param annotations: of the tool, see MCP's ``ToolAnnotations``
    """
    return (
        annotations.get("destructiveHint") is True and annotations.get("readOnlyHint") is not True
    )


def is_untrusted(annotations: Mapping[str, Any], trust: TrustLevel) -> bool:
    """True if the tool's results are untrusted content.

    :param annotations: of the tool, see MCP's ``ToolAnnotations``
    """
    return trust == "none" or annotations.get("openWorldHint") is True


def is_repeatable(annotations: Mapping[str, Any], trust: TrustLevel) -> bool:
    """True if an interrupted call may be made again: only where a trusted server calls it harmless.

    MCP: "clients MUST consider tool annotations to be untrusted unless they come from trusted servers".

    >>> is_repeatable({"readOnlyHint": "false"}, "full"), is_repeatable({"idempotentHint": True}, "full")
    (False, True)
    """
    return trust != "none" and (
        annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True
    )


def default_policy(annotations: Mapping[str, Any], trust: TrustLevel) -> Policy:
    """Default policy of a tool without a decision; `annotations` count only where `trust` says so."""
    if trust == "none":
        return "ask"
    if annotations.get("readOnlyHint") is True:
        return "auto"
    if trust == "full" and not is_destructive(annotations):
        return "auto"
    return "ask"


def strictest(decisions: Iterable[Decision]) -> Decision:
    """The strictest of several decisions: never before ask before auto; of two that ask, what is harder to answer.

    :param decisions: at least one
    """
    return max(
        decisions,
        key=lambda one: (ORDER.index(one.policy), not one.grantable, one.reason != "unknown"),
    )


def decide(
    arguments: Mapping[str, Any],
    *,
    policy: Policy | Literal["default"],
    rules: Iterable[Rule] = (),
    person: Iterable[Policy] = (),
    annotations: Mapping[str, Any],
    trust: TrustLevel,
    asks_by_default: bool = True,
    is_tainted: bool = False,
) -> Decision:
    """The policy of one call.

    :param policy: the tool's own: auto, ask, never or default
    :param rules: in order, the first that applies wins over the tool's own policy; none can lift a `never`
    :param person: of the rules for the person whose call it is; the strictest counts. It asks each time, and what it
        runs is only what nobody else has decided about
    :param asks_by_default: the assistant's switch; without it a tool without a policy just runs
    :param is_tainted: the model has read an untrusted result
    """
    rule = next((rule for rule in rules if rule.applies(arguments)), None)
    if policy == "never" or (rule and rule.policy == "never"):
        return Decision("never", "never")
    of_person = max(person, key=ORDER.index, default=None)
    if of_person == "never":
        return Decision("never", "person")
    if is_tainted and is_destructive(annotations):
        return Decision("ask", "tainted", grantable=False)
    if of_person == "ask":
        return Decision("ask", "person", grantable=False)
    if rule:
        return Decision(rule.policy, "rule", grantable=not rule.condition)
    if policy != "default":
        return Decision(policy, "tool")
    if of_person == "auto":
        return Decision("auto")
    if asks_by_default and default_policy(annotations, trust) == "ask":
        return Decision("ask", "destructive" if is_destructive(annotations) else "unknown")
    return Decision("auto")


def told_of_change(result: CallResult, arguments: Mapping[str, Any]) -> CallResult:
    """The result of a call that a person has changed: the model reads that, too.

    :param arguments: with which it was made
    """
    note = CHANGED.format(json.dumps(arguments, ensure_ascii=False))
    return replace(result, text=f"{note}\n{result.text}")
