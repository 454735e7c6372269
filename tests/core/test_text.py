import json

import pytest

from dev.paths import ROOT
from services import text


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07link\x1b]8;;\x07", "link"),
        ("a\u200bb\u2060c\ufeffd", "abcd"),
        ("a\u200cb", "ab"),
        ("pay\u202egnp.exe", "paygnp.exe"),
        ("hi\U000e0069\U000e0067", "hi"),
        ("line\r\nnext\rlast\tx", "line\nnext\nlast\tx"),
        ("null\x00 bell\x07", "null bell"),
        ("天氣：晴 👍", "天氣：晴 👍"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("lone \ud800 surrogate", "lone  surrogate"),
    ],
)
def test_clean(dirty, clean):
    assert text.clean(dirty) == clean


def test_what_does_not_show_is_told_as_what_it_is():
    """The same texts as the client's own `visible` is tried with."""
    for given, shown in shared("questions/visible_texts.js"):
        assert text.visible(given) == shown


def test_a_cell_of_a_csv_file_is_guarded_as_the_client_does():
    for given, kept in shared("core/csv_cells.js"):
        assert text.csv_cell(given) == kept


def shared(name):
    """Texts of a table that the client's tests use, too."""
    source = (ROOT / "static/tests" / name).read_text()
    texts = json.loads(source[source.index("= [") + 2 : source.rindex(";")])
    assert len(texts) > 20
    return texts


def test_cap_keeps_head_and_tail_within_the_limit():
    source = "".join(f"line {i}\n" for i in range(3000))
    capped = text.cap(source, 1000)
    assert len(capped) <= 1000
    assert capped.startswith("line 0\n") and capped.endswith("line 2999\n")
    assert "left out" in capped


def test_one_line():
    assert text.one_line("a\n  b\x1b[1m c", 10) == "a b c"
    assert len(text.one_line("x" * 1000, 20)) == 20
    # What nobody has looked at is told, however much fits before it.
    assert text.one_line("x" * 20 + " " * text.READ + "y", 20) == "x" * 19 + "…"


def test_what_postgresql_cannot_store_is_left_out():
    deep = []
    for _ in range(5_000):
        deep = [deep]
    stored = text.storable(
        {"n\0": "a\0b", "s": "\ud83d", "x": [float("nan"), -float("inf")], "d": deep}
    )
    assert stored["n"] == "ab"
    assert stored["s"] == ""
    assert stored["x"] == [None, None]
    json.dumps(stored, allow_nan=False).encode()
