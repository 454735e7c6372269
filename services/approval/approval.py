"""Approval policy: whether a call runs, waits for a person or is refused. Pure rules; the host brings the facts."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..specs import CallResult, TrustLevel
from . import conditions, hints
from .hints import Hints
from .taint import Need, need_of

Policy = Literal["auto", "ask", "never"]
CHANGED = "The user changed the arguments of this call to {} and allowed it."
Mode = Literal["effects", "policy", "auto"]
Reason = Literal[
    "",
    "never",
    "foreign",
    "person",
    "rule",
    "tool",
    "assistant",
    "tainted",
    "destructive",
    "unknown",
]
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
    :ivar grantable: whether an earlier “always” of the person is enough
    :ivar trace: each check with its answer, in order, up to the one that decided; see `CHECKS`
    """

    policy: Policy
    reason: Reason = ""
    grantable: bool = True
    trace: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def choices(self) -> tuple[str, ...]:
        """Answers that the person may give when `policy` is "ask"."""
        return ALL if self.grantable else ONCE


@dataclass(frozen=True, slots=True)
class Taint:
    """Taint of a call: the facts about what the model has read before it asked for it.

    :ivar is_foreign: foreign words are in the conversation
    :ivar is_said: every value of the call was said by the person or the operator, see `taint.is_said`
    :ivar is_allowed: the person has allowed this very call in this turn, and it only reads
    :ivar is_exempt: an administrator lets this tool run all the same
    """

    is_foreign: bool = False
    is_said: bool = False
    is_allowed: bool = False
    is_exempt: bool = False


CLEAN = Taint()
Answer = tuple[
    str, Decision | None
]  # of one check: what it found, and the decision if that settles it


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about one call, see `decide`."""

    arguments: Mapping[str, Any]
    policy: Policy | Literal["default"]
    annotations: Mapping[str, Any]
    trust: TrustLevel
    rules: Iterable[Rule] = ()
    person: Iterable[Policy] = ()
    mode: Mode = "policy"
    taint: Taint = CLEAN
    need: Need | None = None

    @property
    def hints(self) -> Hints:
        return hints.read(self.annotations)

    @property
    def rule(self) -> Rule | None:
        return next((rule for rule in self.rules if rule.applies(self.arguments)), None)

    @property
    def of_person(self) -> Policy | None:
        return max(self.person, key=ORDER.index, default=None)


def is_repeatable(annotations: Mapping[str, Any], trust: TrustLevel) -> bool:
    """True if an interrupted call may be made again: only where a trusted server calls it harmless.

    MCP: "clients MUST consider tool annotations to be untrusted unless they come from trusted servers".

    >>> is_repeatable({"readOnlyHint": "false"}, "full"), is_repeatable({"idempotentHint": True}, "full")
    (False, True)
    """
    said = hints.read(annotations)
    return trust != "none" and (said.read_only or said.idempotent)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """The strictest of several decisions: never before ask before auto; of two that ask, what is harder to answer.

    :param decisions: at least one
    """
    return max(
        decisions,
        key=lambda one: (ORDER.index(one.policy), not one.grantable, one.reason != "unknown"),
    )


def _check_never(facts: Facts) -> Answer:
    if facts.policy == "never":
        return "tool", Decision("never", "never")
    if facts.rule and facts.rule.policy == "never":
        return "rule", Decision("never", "never")
    return "no", None


def _check_never_of_person(facts: Facts) -> Answer:
    if facts.of_person == "never":
        return "never", Decision("never", "person")
    return "no", None


def _check_taint(facts: Facts) -> Answer:
    """After foreign words a call that needs something asks, whatever was set or granted; nothing is remembered."""
    found = facts.taint
    need = facts.need or need_of(facts.hints, facts.trust)
    if not found.is_foreign:
        return "clean", None
    if need == "nothing":
        return "harmless", None
    if need == "memory":
        return "memory", Decision("never", "foreign")
    if need == "way_out" and found.is_said:
        return "said", None
    if found.is_allowed:
        return "allowed", None
    if found.is_exempt:
        return "exempt", None
    return need, Decision("ask", "tainted", grantable=False)


def _check_asks_of_person(facts: Facts) -> Answer:
    if facts.of_person == "ask":
        return "ask", Decision("ask", "person", grantable=False)
    return "no", None


def _check_rule(facts: Facts) -> Answer:
    if rule := facts.rule:
        return rule.policy, Decision(rule.policy, "rule", grantable=not rule.condition)
    return "no", None


def _check_tool(facts: Facts) -> Answer:
    if facts.policy == "default":
        return "default", None
    return facts.policy, Decision(facts.policy, "tool")


def _check_runs_of_person(facts: Facts) -> Answer:
    if facts.of_person == "auto":
        return "auto", Decision("auto")
    return "no", None


def _check_assistant(facts: Facts) -> Answer:
    if facts.mode == "auto":
        return ("untrusted", None) if facts.trust == "none" else ("auto", Decision("auto"))
    if facts.mode == "effects":
        if facts.hints.read_only and facts.trust != "none":
            return "reads", None
        is_said = facts.hints.says_destructive
        return "effects", Decision("ask", "destructive" if is_said else "assistant")
    return "policy", None


def _check_hints(facts: Facts) -> Answer:
    """Hints decide where nobody has: only as far as the server is trusted."""
    said = facts.hints
    reason: Reason = "destructive" if said.says_destructive else "unknown"
    if facts.trust == "none":
        return "untrusted", Decision("ask", reason)
    if said.read_only:
        return "read_only", Decision("auto")
    if facts.trust == "full" and not said.destructive:
        return "not_destructive", Decision("auto")
    return ("destructive" if said.says_destructive else "unknown"), Decision("ask", reason)


CHECKS: tuple[tuple[str, Callable[[Facts], Answer]], ...] = (
    ("never", _check_never),
    ("never_of_person", _check_never_of_person),
    ("taint", _check_taint),
    ("asks_of_person", _check_asks_of_person),
    ("rule", _check_rule),
    ("tool", _check_tool),
    ("runs_of_person", _check_runs_of_person),
    ("assistant", _check_assistant),
    ("hints", _check_hints),
)


def decide(
    arguments: Mapping[str, Any],
    *,
    policy: Policy | Literal["default"],
    annotations: Mapping[str, Any],
    trust: TrustLevel,
    rules: Iterable[Rule] = (),
    person: Iterable[Policy] = (),
    mode: Mode = "policy",
    taint: Taint = CLEAN,
    need: Need | None = None,
) -> Decision:
    """The policy of one call: `CHECKS` in order, the first that decides wins.

    :param policy: the tool's own: auto, ask, never or default
    :param rules: in order, the first that applies wins over the tool's own policy; none can lift a `never`
    :param person: of the rules for the person whose call it is; the strictest counts. It asks each time, and what it
        runs is only what nobody else has decided about
    :param mode: the assistant's, for tools without a policy: ask before every effect, ask where hints call for it, or
        ask only for servers that are not trusted
    :param taint: what the model has read
    :param need: what the call needs where annotations do not say it, see `taint.need_of`
    """
    facts = Facts(
        arguments=arguments,
        policy=policy,
        annotations=annotations,
        trust=trust,
        rules=tuple(rules),
        person=tuple(person),
        mode=mode,
        taint=taint,
        need=need,
    )
    trace = []
    for name, check in CHECKS:
        answer, decision = check(facts)
        trace.append((name, answer))
        if decision:
            return replace(decision, trace=tuple(trace))
    raise AssertionError("The last check always decides.")


def told_of_change(result: CallResult, arguments: Mapping[str, Any]) -> CallResult:
    """The result of a call that a person has changed: the model reads that, too.

    :param arguments: with which it was made
    """
    note = CHANGED.format(json.dumps(arguments, ensure_ascii=False))
    return replace(result, text=f"{note}\n{result.text}")
