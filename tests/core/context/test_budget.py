"""How much of a conversation a request holds: pure functions."""

import itertools

import pytest

from services.context import budget


def rounds(sizes, room, summary=100, question=50, turns=400):
    """What becomes of a conversation turn by turn: when it is summed up, and how full each request is."""
    kept, former, made, held = [], 0, [], []
    for number in range(turns):
        plan = budget.plan(kept, former + question, room, summary)
        if plan.summed_up:
            kept, former = kept[plan.summed_up :], summary
            made.append(number)
        held.append(sum(kept) + former + question)
        kept.append(sizes(number))
    return made, held


@pytest.mark.parametrize("size", [20, 100, 180])
def test_it_is_seldom_and_always_fits(size):
    room = 10_000
    made, held = rounds(lambda _number: size, room)
    assert max(held) <= room * budget.FULL
    assert made, "a long conversation is summed up"
    pauses = [later - earlier for earlier, later in itertools.pairwise(made)]
    least = min(room * (budget.FULL - budget.LOW) / size, budget.MOST_TURNS // 2)
    assert all(pause >= least * 0.9 for pause in pauses), (pauses, least)


def test_a_turn_that_does_not_fit_is_summed_up_with_what_came_before():
    plan = budget.plan([100, 9_000], 50, 4_000, 100)
    assert plan == budget.Plan(shown=0, summed_up=2)


def test_a_question_that_fills_all_leaves_nothing_to_sum_up_at_the_beginning():
    assert budget.plan([], 9_000, 4_000, 100) == budget.Plan(shown=0)


def test_without_a_summary_the_latest_turns_that_fit_are_shown():
    assert budget.plan([100] * 50, 50, 2_050, 100).shown == 20


def test_what_a_message_holds_counts():
    plain = {"role": "assistant", "content": "Hi", "tool_calls": []}
    call = {"id": "a", "alias": "find", "arguments": {"query": "x" * 400}}
    assert budget.tokens_of([{**plain, "tool_calls": [call]}]) > budget.tokens_of([plain]) + 100
    shown = {"role": "user", "content": "Hi", "pictures": [{"data": "x" * 9_000_000}]}
    assert budget.PICTURE < budget.tokens_of([shown]) < 2 * budget.PICTURE


def test_no_limit_is_so_small_that_nothing_is_left():
    for length in (2_048, 4_096, 8_192, 262_144):
        for rest in (0, 8_000, 1_000_000):
            for answer in (0, 500, 100_000):
                left = budget.for_messages(length, rest, answer)
                assert length // budget.LEAST_SHARE <= left <= length
