"""The examples that the demo's embedded model is shown: only of tools that it has, and none of what is measured."""

import jinja2
import pytest

from benchmarks.demo_questions import QUESTIONS
from dev.demo.examples import EXAMPLES, as_jinja

TALK = [example for example in EXAMPLES if not example.tool]


def shown(*tools):
    functions = [{"type": "function", "function": {"name": name}} for name in tools]
    template = jinja2.Template(as_jinja())
    return template.render(tools=functions)


def test_an_example_is_shown_where_its_tool_is_offered_and_by_that_name():
    said = shown("clock__convert_time", "clock__other")
    assert "clock__convert_time" in said
    assert "get_current_time" not in said
    assert "aggregate_records" not in said
    asked = [example for example in EXAMPLES if example.tool == "convert_time"]
    assert said.count("<|im_start|>user") == len(TALK) + 2 * len(asked)


def test_without_tools_there_is_only_talk():
    assert shown().count("<|im_start|>user") == len(TALK)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.question)
def test_no_example_is_a_question_that_is_measured(example):
    for of_language in QUESTIONS.values():
        for _kind, question, right in of_language:
            assert example.question != question
            places = {right.get("now"), *right.get("at", ())[1:]} - {None}
            assert not places & set(map(str, example.arguments.values()))
