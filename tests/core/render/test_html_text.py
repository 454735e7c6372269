"""HTML of records as Markdown: what can be written back, and what would be lost."""

import pytest
from processor_time import within

from services.render import html_text, markdown

KEPT = [
    "One paragraph\n\nand another",
    "Line\nafter line",
    "# A\n\n## B",
    "- a\n- b\n   - c\n- d",
    "1. a\n1. b",
    "**bold** and *light* and ~~gone~~ and `code`",
    "[site](https://azure.example/a?b=c) and https://azure.example",
    "> said\n\nafter",
    "```\nif a:\n    b\n```",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "a & b < c",
]


@pytest.mark.parametrize("said", KEPT)
def test_what_markdown_writes_is_read_as_it_was(said):
    written = markdown.render(said, breaks=True)
    assert html_text.markdown(written) == said
    assert html_text.losses(written) == []


@pytest.mark.parametrize(
    "source, lost",
    [
        ("<p>x <img src='a.png'></p>", ["pictures"]),
        ("<iframe src='a'></iframe>", ["pictures"]),
        ("<p style='color: red'>x</p>", ["formatting"]),
        ("<ul class='o_checklist'><li>x</li></ul>", ["formatting"]),
        ("<p><u>x</u></p>", ["formatting"]),
        ("<div data-oe-version='2.0'><p>x<br></p></div>", []),
        ("", []),
    ],
)
def test_what_markdown_cannot_hold_is_known(source, lost):
    assert html_text.losses(source) == lost


def test_what_is_no_text_is_not_read():
    said = html_text.markdown(
        "<style>a{}</style><p>a<script>b</script> <a href='javascript:c'>d</a></p>"
    )
    assert said == "a d"


@pytest.mark.parametrize(
    "source",
    [
        *("<ul>" * 50_000, "<b>" * 60_000 + "x", "<b>x</b>" * 20_000, "<td>" * 50_000),
        *("<" * 200_000, "<a " * 66_000, "</a " * 50_000, "<!--" * 50_000, "<!" * 100_000),
        *("<![x>" * 40_000, "<?" * 100_000, "<a b='>" * 28_000 + '"', "<a b=\"'>" * 25_000),
        *(
            "<a " + "b " * 90_000,
            "<a " + "b=' " * 49_999,
            "<script>" + "</" * 90_000,
            "&" * 200_000,
        ),
        *('<a b="' + ">" * 190_000, "&#" * 100_000, "<a/" * 66_000 + ">", "<a b=" * 40_000 + ">"),
    ],
)
def test_no_text_takes_long(source):
    with within(3.0):
        html_text.markdown(source)
        html_text.losses(source)
