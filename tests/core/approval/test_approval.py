import itertools
import re
from pathlib import Path

import pytest

from services.approval import approval, conditions, explanation
from services.approval.approval import Rule, Taint

READ = {"readOnlyHint": True}
CLOSED_READ = {"readOnlyHint": True, "openWorldHint": False}
ADD = {"readOnlyHint": False, "destructiveHint": False}
DESTROY = {"destructiveHint": True}


@pytest.mark.parametrize(
    ("annotations", "trust", "policy"),
    [
        (READ, "none", "ask"),
        (READ, "annotations", "auto"),
        (READ, "full", "auto"),
        ({}, "annotations", "ask"),
        ({}, "full", "ask"),
        (ADD, "annotations", "ask"),
        (ADD, "full", "auto"),
        (DESTROY, "annotations", "ask"),
        (DESTROY, "full", "ask"),
        ({"openWorldHint": True, "readOnlyHint": False}, "annotations", "ask"),
        ({"readOnlyHint": "true"}, "annotations", "ask"),
        ({"destructiveHint": "false"}, "full", "ask"),
    ],
)
def test_what_holds_when_nobody_has_decided(annotations, trust, policy):
    """A hint that is missing, or is no boolean, has the default of MCP's schema: a tool may destroy."""
    assert decide(annotations=annotations, trust=trust).policy == policy


def test_only_a_servers_own_word_is_called_destructive():
    assert decide(annotations=DESTROY).reason == "destructive"
    assert decide(annotations={}).reason == "unknown"


def decide(arguments=None, **facts):
    facts = {"policy": "default", "annotations": ADD, "trust": "full", **facts}
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


def test_every_combination_of_facts_has_one_answer_and_a_reason():
    """The whole table, against the rules as sentences."""
    run = {"auto": Rule("auto"), "ask": Rule("ask"), "never": Rule("never"), "": None}
    count = 0
    for policy, rule, person, mode, trust, hint, seen in itertools.product(
        ("default", "auto", "ask", "never"),
        run,
        ("", "auto", "ask", "never"),
        ("effects", "policy", "auto"),
        ("none", "annotations", "full"),
        (
            CLOSED_READ,
            READ,
            ADD,
            DESTROY,
            {},
        ),
        (
            approval.CLEAN,
            Taint(is_foreign=True),
            Taint(is_foreign=True, is_said=True),
            Taint(is_foreign=True, is_allowed=True),
            Taint(is_foreign=True, is_exempt=True),
        ),
    ):
        count += 1
        found = approval.decide(
            {},
            policy=policy,
            rules=[run[rule]] if rule else [],
            person=[person] if person else [],
            mode=mode,
            trust=trust,
            annotations=hint,
            taint=seen,
        )
        reads = hint in (READ, CLOSED_READ) and trust != "none"
        way_out = reads and hint == READ
        lifted = (
            seen.is_allowed
            or seen.is_exempt
            or (reads and not way_out)
            or (way_out and seen.is_said)
        )
        if "never" in (policy, rule):
            wanted = ("never", "never")
        elif person == "never":
            wanted = ("never", "person")
        elif seen.is_foreign and not lifted:
            wanted = ("ask", "tainted")
        elif person == "ask":
            wanted = ("ask", "person")
        elif rule:
            wanted = (rule, "rule")
        elif policy != "default":
            wanted = (policy, "tool")
        elif person == "auto" or reads or (mode == "auto" and trust != "none"):
            wanted = ("auto", "")
        elif mode == "effects" and hint != DESTROY:
            wanted = ("ask", "assistant")
        elif mode == "policy" and trust == "full" and hint == ADD:
            wanted = ("auto", "")
        else:
            wanted = ("ask", "destructive" if hint == DESTROY else "unknown")
        assert (found.policy, found.reason) == wanted, (policy, rule, person, mode, trust, hint)
        if found.policy == "ask":
            assert found.grantable is (found.reason not in ("tainted", "person"))
        names = [name for name, _answer in found.trace]
        assert names == [name for name, _check in approval.CHECKS][: len(names)]
    assert count == 4 * 4 * 4 * 3 * 3 * 5 * 5


def test_after_foreign_words_nothing_lifts_the_question():
    seen = Taint(is_foreign=True)
    for facts in (
        {"policy": "auto"},
        {"rules": [Rule("auto")]},
        {"person": ["auto"]},
        {"mode": "auto"},
        {},
    ):
        assert decide(**facts).policy == "auto"
        asked = decide(**facts, taint=seen)
        assert (asked.policy, asked.reason, asked.choices) == ("ask", "tainted", approval.ONCE)
    assert decide(policy="never", taint=seen).policy == "never"


def test_the_trace_tells_every_check_up_to_the_one_that_decided():
    assert decide(policy="auto", taint=Taint(is_foreign=True, is_exempt=True)).trace == (
        ("never", "no"),
        ("never_of_person", "no"),
        ("taint", "exempt"),
        ("asks_of_person", "no"),
        ("rule", "no"),
        ("tool", "auto"),
    )


def test_every_answer_of_every_check_has_words():
    assert {name.split(".")[0] for name in explanation.ANSWERS} == set(explanation.TITLES)
    source = Path(approval.__file__).read_text()
    for name, _check in approval.CHECKS:
        assert name in explanation.TITLES
    answers = set(re.findall(r'return \(?"([a-z_]+)"', source))
    assert answers <= {name.split(".")[1] for name in explanation.ANSWERS}


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
    assert decide(trust="annotations", mode="auto").policy == "auto"
    assert decide(trust="annotations", mode="auto", policy="ask").policy == "ask"
    assert decide(trust="none", mode="auto").policy == "ask"


def test_an_assistant_may_be_told_to_ask_before_every_effect():
    asked = decide(trust="full", mode="effects", annotations=ADD)
    assert (asked.policy, asked.reason, asked.grantable) == ("ask", "assistant", True)
    assert decide(trust="full", mode="effects", annotations=READ).policy == "auto"
    assert decide(trust="none", mode="effects", annotations=READ).policy == "ask"
    assert decide(trust="full", mode="effects", policy="auto").policy == "auto"


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
        (["ask"], {"mode": "auto"}, "ask"),
        ([], {"policy": "auto"}, "auto"),
    ],
)
def test_of_rules_for_a_person_and_for_all_the_strictest_wins(person, facts, wanted):
    decision = decide(person=person, **facts)
    assert decision.policy == wanted
    if person == ["ask"]:
        assert (decision.reason, decision.grantable) == ("person", False)
