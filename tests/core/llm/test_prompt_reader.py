import json

import pytest
from answers import CORPUS, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from services.llm.prompt_reader import PromptReader
from services.llm.tool_protocol import PromptAnswer

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "arguments": st.dictionaries(st.text(max_size=6), JSON, max_size=3),
        }
    ),
    min_size=1,
    max_size=3,
)
PIECES = ["{", "}", "[", "]", '"', "'", ",", ":", "\\", "```", "```json\n", "\n", " ", "1", "null"]
PIECES += [
    "tool_calls",
    "message",
    "name",
    "arguments",
    "time__now",
    "<tool_call>",
    "Hello",
    "\\ud83d",
    "é",
]
NOISE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def read(raw, size=None, *, is_last=False):
    """The answer, fed in pieces of `size` characters, and the pieces that were shown."""
    answer = PromptAnswer(reader=PromptReader(NAMES), is_last=is_last)
    size = size or max(len(raw), 1)
    shown = [answer.add(AIMessageChunk(raw[at : at + size])) for at in range(0, len(raw), size)]
    shown.append(answer.close())
    assert "".join(shown) == answer.text
    return answer, [piece for piece in shown if piece]


def calls_of(answer):
    return [(call.name, answer.arguments_of(call)[0]) for call in answer.calls]


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
@pytest.mark.parametrize("size", [1, 3, 7, None])
def test_corpus(case, size):
    answer, _ = read(case.raw, size)
    assert (answer.text, calls_of(answer)) == (case.text, case.calls)
    assert bool(answer.repair) == case.is_unreadable


@pytest.mark.parametrize("case", [c for c in CORPUS if c.is_unreadable], ids=lambda c: c.name)
def test_what_nobody_can_read_is_shown_in_the_end(case):
    answer, _ = read(case.raw, 5, is_last=True)
    assert not answer.repair and answer.text.endswith(case.raw.removeprefix(case.text))


def test_the_message_streams_and_the_json_never_flashes_up():
    raw = (
        '{"tool_calls": [{"name": "time__now", "arguments": {}}], "message": "One moment, please."}'
    )
    _, shown = read(raw, 4)
    assert len(shown) >= 4 and "".join(shown) == "One moment, please."
    assert not any(mark in piece for piece in shown for mark in '{}[]"')


def test_prose_streams_at_once():
    _, shown = read("It is noon, and the sun shines on {everybody}.", 4)
    assert len(shown) >= 10


def test_cut_number_is_never_believed():
    raw = '{"tool_calls": [{"name": "shop__order", "arguments": {"amount": 1000}}]}'
    end = raw.index("1000}") + 5
    for length in range(raw.index("shop__order") + 12, len(raw)):
        (call,) = calls_of(read(raw[:length])[0])
        assert call == ("shop__order", {"amount": 1000} if length >= end else None)


@given(CALLS, st.text(max_size=20), st.booleans(), st.booleans(), st.integers(1, 9))
def test_what_is_written_right_is_read_right(calls, message, is_fenced, is_compact, size):
    separators = (",", ":") if is_compact else None
    raw = json.dumps({"tool_calls": calls, "message": message}, separators=separators)
    raw = f"```json\n{raw}\n```" if is_fenced else raw
    answer, _ = read(raw, size)
    assert calls_of(answer) == [(call["name"], call["arguments"]) for call in calls]
    assert answer.text == _without_lone_surrogates(message)


@given(CALLS, st.data())
def test_a_cut_answer_runs_only_whole_calls(calls, data):
    raw = json.dumps({"tool_calls": calls, "message": "m"})
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    answer, _ = read(cut)
    whole = [(call["name"], call["arguments"]) for call in calls]
    read_calls = [
        (name, arguments) for name, arguments in calls_of(answer) if arguments is not None
    ]
    assert read_calls == whole[: len(read_calls)]
    assert "tool_calls" not in answer.text


@settings(max_examples=400)
@given(NOISE, st.integers(1, 7))
def test_noise_reads_the_same_in_any_pieces(raw, size):
    whole, _ = read(raw)
    pieces, _ = read(raw, size)
    assert (whole.text, calls_of(whole)) == (pieces.text, calls_of(pieces))
    assert bool(whole.repair) == bool(pieces.repair)


PROSE = st.characters(exclude_characters="{[`<", exclude_categories=["Cs"])


@given(st.text(alphabet=PROSE, max_size=200), st.integers(1, 9))
def test_prose_is_left_alone(raw, size):
    assert read(raw, size)[0].text == raw


def test_a_long_answer_is_read_in_time_that_grows_with_its_length():
    raw = json.dumps({"tool_calls": [{"name": "time__now", "arguments": {"a": "x" * 200_000}}]})
    answer, _ = read(raw, 4)
    assert len(calls_of(answer)[0][1]["a"]) == 200_000


def _without_lone_surrogates(message):
    return message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
