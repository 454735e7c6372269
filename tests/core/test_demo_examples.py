"""What the demo's embedded model is shown: examples of tools that it has, not of what is measured, and the language."""

import jinja2
import pytest

from benchmarks.demo import judge
from benchmarks.demo.questions import LANGUAGES as ASKED_IN
from benchmarks.demo.questions import PLACES, WORDINGS
from dev.demo import languages
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
    answered = [example for example in asked if example.answer]
    assert said.count("<|im_start|>user") == len(TALK) + len(asked) + len(answered)


def test_without_tools_there_is_only_talk():
    assert shown().count("<|im_start|>user") == len(TALK)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.question)
def test_no_example_is_a_question_that_is_measured(example):
    names = {name for places, _zone in PLACES for name in places.values()}
    assert not names & {str(value) for value in example.arguments.values()}
    for language in ASKED_IN:
        assert example.question not in WORDINGS[language]["talk"]


CLOCK = [one for one in EXAMPLES if one.tool in ("get_current_time", "convert_time")]


@pytest.mark.parametrize("example", CLOCK, ids=lambda example: example.question)
def test_no_example_holds_a_time_that_an_answer_can_copy(example):
    asked = judge.invented(example.answer + example.result, [example.question])
    assert not asked


def hint(question, person="English (US)"):
    """The language that a template made of the two parts says after the question."""
    system = {"role": "system", "content": f"Be kind.{languages.LANGUAGE}{person}."}
    template = languages.BEGIN + languages.OF_MESSAGE + "{{ language.system }}|{{ language.hint }}"
    message = {"role": "user", "content": question}
    said = jinja2.Template(template).render(messages=[system, message], message=message)
    instructions, told = said.strip().split("|")
    assert instructions == "Be kind."
    return next((one for one in LANGUAGES if one.hint.strip() == told.strip()), None)


LANGUAGES = (languages.ENGLISH, languages.SIMPLIFIED, languages.TRADITIONAL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.question)
def test_an_example_says_the_language_of_its_question(example):
    person = example.language.name  # decides where the characters do not
    assert hint(example.question, person) == example.language


@pytest.mark.parametrize(
    ("question", "person", "language"),
    [
        ("你好", "Chinese, Traditional (TW) / 繁體中文 (台灣)", languages.TRADITIONAL),
        ("你好", "Chinese, Simplified (CN) / 简体中文", languages.SIMPLIFIED),
        ("你好", "English (US)", None),
        ("现在几点？", "Chinese, Traditional (TW) / 繁體中文 (台灣)", languages.SIMPLIFIED),
        ("請用 echo 工具說 hi", "English (US)", languages.TRADITIONAL),
        ("What time is it?", "Chinese, Traditional (TW) / 繁體中文 (台灣)", languages.ENGLISH),
        ("Hi", "English (US)", languages.ENGLISH),
        ("Bonjour", "French / Français", None),
    ],
)
def test_the_question_decides_and_then_the_person(question, person, language):
    assert hint(question, person) == language


def test_no_character_is_of_two_languages():
    assert not set(languages.TRADITIONAL.only) & set(languages.SIMPLIFIED.only)
