import pytest

from services.approval import approval, conditions
from services.approval.approval import Rule

READ = {"readOnlyHint": True}
DESTROY = {"destructiveHint": True}


@pytest.mark.parametrize(
    ("annotations", "trust", "policy"),
    [
        (READ, "none", "ask"),
        (READ, "annotations", "auto"),
        (READ, "full", "auto"),
        ({}, "annotations", "ask"),
        ({}, "full", "auto"),
        (DESTROY, "annotations", "ask"),
        (DESTROY, "full", "ask"),
        ({"openWorldHint": True, "readOnlyHint": False}, "annotations", "ask"),
        ({"readOnlyHint": "true"}, "annotations", "ask"),
    ],
)
def test_what_holds_when_nobody_has_decided(annotations, trust, policy):
    assert approval.default_policy(annotations, trust) == policy


def decide(arguments=None, **facts):
    facts = {"policy": "default", "annotations": {}, "trust": "full", **facts}
    return approval.decide(arguments or {}, **facts)


def test_never_cannot_be_lifted():
    assert decide(policy="never", rules=[Rule("auto")]).policy == "never"
    assert decide(policy="auto", rules=[Rule("never")]).policy == "never"


def test_the_first_rule_that_applies_wins_over_the_tools_policy():
    rules = [Rule("ask", "amount > 1000"), Rule("auto")]
    assert decide({"amount": 5}, policy="ask", rules=rules).policy == "auto"
    asked = decide({"amount": 5000}, policy="auto", rules=rules)
    assert asked.policy == "ask" and asked.choices == approval.ONCE


def test_what_cannot_be_decided_restricts_and_never_permits():
    for arguments in ({}, {"amount": "5000"}, {"amount": None}):
        assert decide(arguments, policy="auto", rules=[Rule("ask", "amount > 9")]).policy == "ask"
        assert decide(arguments, policy="ask", rules=[Rule("auto", "amount < 9")]).policy == "ask"


def test_after_an_untrusted_result_a_destructive_call_asks_whatever_was_granted():
    facts = {"annotations": DESTROY, "policy": "auto"}
    assert decide(**facts).policy == "auto"
    tainted = decide(**facts, is_tainted=True)
    assert tainted.policy == "ask" and not tainted.grantable
    assert decide(is_tainted=True).policy == "auto", "only destructive calls"
    assert decide(is_tainted=True, rules=[Rule("auto")], **facts).policy == "ask"


def test_of_several_assistants_the_strictest_decides():
    run, unknown = decide(), decide(trust="none")
    rule = decide(rules=[Rule("ask")])
    once = decide(rules=[Rule("ask", "amount > 1")])
    never = decide(rules=[Rule("never")])
    for decisions, wanted in (
        ([run, unknown], unknown),
        ([unknown, rule], rule),
        ([once, rule, unknown], once),
        ([never, once, run], never),
        ([run], run),
    ):
        assert approval.strictest(decisions) == wanted
        assert approval.strictest(decisions[::-1]) == wanted


def test_an_assistant_may_be_told_not_to_ask_by_default():
    assert decide(trust="none", asks_by_default=False).policy == "auto"
    assert decide(trust="none", asks_by_default=False, policy="ask").policy == "ask"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("amount > 1000", True),
        ("amount >= 1500 and currency == 'EUR'", True),
        ("not amount > 1000", False),
        ("currency in ('USD', 'TWD')", False),
        ("1000 < amount < 2000", True),
        ("to.country == 'TW'", True),
        ("to['country'] == 'TW'", True),
        ("lines[0] == -1", True),
        ("len(lines) > 1", True),
        ("'x' in note or amount == 1500", True),
    ],
)
def test_conditions(condition, holds):
    arguments = {
        "amount": 1500,
        "currency": "EUR",
        "to": {"country": "TW"},
        "lines": [-1, 2],
        "note": "plain",
    }
    assert conditions.holds(condition, arguments) is holds


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "amount >",
        "__import__('os').system('true')",
        "amount.__class__",
        "(lambda: 1)()",
        "[x for x in amount]",
        "amount ** 99 ** 99",
        "'a' * 999999999",
        "f'{amount}'",
        "amount := 1",
        "open('x')",
        "len(amount, amount)",
        "b'bytes' == amount",
        "not " * 60 + "amount",
        "amount == " + "1" * 600,
    ],
)
def test_nothing_else_is_a_condition(condition):
    with pytest.raises(conditions.ConditionError):
        conditions.check(condition)


@pytest.mark.parametrize(
    ("person", "facts", "wanted"),
    [
        (["auto"], {"trust": "none"}, "auto"),
        (["auto", "ask"], {"policy": "auto"}, "ask"),
        (["ask", "never"], {"policy": "auto"}, "never"),
        (["auto"], {"policy": "ask"}, "ask"),
        (["auto"], {"policy": "never"}, "never"),
        (["auto"], {"rules": [Rule("ask")]}, "ask"),
        (["ask"], {"rules": [Rule("auto")], "policy": "auto"}, "ask"),
        (["ask"], {"asks_by_default": False}, "ask"),
        ([], {"policy": "auto"}, "auto"),
    ],
)
def test_of_rules_for_a_person_and_for_all_the_strictest_wins(person, facts, wanted):
    decision = decide(person=person, **facts)
    assert decision.policy == wanted
    if person == ["ask"]:
        assert (decision.reason, decision.grantable) == ("person", False)


def test_a_rule_for_a_person_runs_no_destructive_call_after_a_strangers_word():
    facts = {"annotations": {"destructiveHint": True}, "person": ["auto"]}
    assert decide(**facts).policy == "auto"
    assert decide(**facts, is_tainted=True).reason == "tainted"
