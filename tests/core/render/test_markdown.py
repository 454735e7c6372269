import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import moments, within

from services import large
from services.render import markdown
from services.render.markdown import BlockStream, blocks, render

MATH = '<span class="o_ai_math">'


def test_render_is_safe():
    html = render(
        "<script>alert(1)</script> [x](javascript:alert(1)) [y](https://example.com) [z](/web/session/logout)\n\n"
        "![pixel](https://evil.example/p.png?q=secret) ![d](data:image/png;base64,AAAA)\n\n<img src=x onerror=y>"
    )
    assert "<script" not in html and "<img" not in html
    assert 'href="javascript' not in html and 'href="/web' not in html and 'href="data' not in html
    assert (
        '<a href="https://example.com" target="_blank" rel="noopener noreferrer nofollow">y</a>'
        in html
    )
    assert '<a href="https://evil.example/p.png?q=secret" target="_blank"' in html


def test_render_tables_code_and_chinese():
    html = render("| a | b |\n|---|---|\n| 一 | 二 |\n\n```python\nx < 1\n```\n\n**粗體** ~~刪~~")
    assert "<table>" in html and "<td>一</td>" in html
    assert '<code class="language-python">x &lt; 1' in html
    assert "<strong>粗體</strong> <s>刪</s>" in html


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("- [ ] open\n- [x] done", '<li class="o_ai_task">☐ open</li>'),
        ("- [ ] open\n- [x] done", '<li class="o_ai_task">☑ done</li>'),
        ("[x] is no list", "<p>[x] is no list</p>"),
        (
            "so $a_1 * b_2 * c$ and \\(x*y*z\\)",
            f"<p>so {MATH}$a_1 * b_2 * c$</span> and {MATH}\\(x*y*z\\)</span></p>",
        ),
        ("$$\na_1 + b_2\n$$", f"<p>{MATH}$$\na_1 + b_2\n$$</span></p>"),
        ("\\[\nT\n=\nm g\n\\]", f"<p>{MATH}\\[\nT\n=\nm g\n\\]</span></p>"),
        ("$$\nx = a\n+ b\n$$", f"<p>{MATH}$$\nx = a\n+ b\n$$</span></p>"),
        (
            "So\n$$ # a\n---\n> c $$, as\nb.",
            f"<p>So</p>\n<p>{MATH}$$ # a\n---\n&gt; c $$</span>, as\nb.</p>",
        ),
        (
            "so $$\nx\n$$\nand $$y$$",
            f"<p>so {MATH}$$\nx\n$$</span>\nand {MATH}$$y$$</span></p>",
        ),
        ("- so\n  $$\n  a\n  + b\n  $$", f"<li>so\n{MATH}$$\na\n+ b\n$$</span></li>"),
        ("- so\n$$\na\n- b\n$$", f"</ul>\n<p>{MATH}$$\na\n- b\n$$</span></p>"),
        ("> $$\n> a\n> + b\n> $$", f"<blockquote>\n<p>{MATH}$$\na\n+ b\n$$</span></p>"),
        ("    $$\n    +\n    $$", "<pre><code>$$\n+\n$$\n</code></pre>"),
        ("```\n$$\n+\n$$\n```", "<pre><code>$$\n+\n$$\n</code></pre>"),
        ("$$\na\n```\n$$", "<p>$$\na</p>\n<pre><code>$$</code></pre>"),
        ("$$\na\n\n+ b\n$$", "<p>$$\na</p>\n<ul>\n<li>b\n$$</li>\n</ul>"),
        ("\\[\nx\n- never closed", "<p>[\nx</p>\n<ul>\n<li>never closed</li>\n</ul>"),
        ("$$\n" + "a\n" * 1_001 + "- b\n$$", "<li>b\n$$</li>"),
        ("$5 *and* $10", "<p>$5 <em>and</em> $10</p>"),
        ("$<b>x</b>$", f"<p>{MATH}$&lt;b&gt;x&lt;/b&gt;$</span></p>"),
        (
            "see https://example.com/a_b_(c).",
            '<a href="https://example.com/a_b_(c)" target="_blank"',
        ),
        ("(https://example.com)", "https://example.com</a>)</p>"),
        ("`https://example.com`", "<p><code>https://example.com</code></p>"),
        ("[https://a.example](https://b.example)", ">https://a.example</a></p>"),
        ("[P1](/odoo/res.partner/5)", '<a href="/odoo/res.partner/5" target="_blank"'),
        ("[P1](/odoo/../web/session/logout)", "[P1](/odoo/../web/session/logout)"),
        ("[P1](/odoo/x?next=//evil.example)", "[P1]("),
    ],
)
def test_what_people_know_of_markdown(source, expected):
    assert expected in render(source)


LINES = st.sampled_from(["a", "=", "---", "+ b", "- c", "1. d", "# e", "> f", "|g|", "    h"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(LINES, min_size=1), st.booleans(), st.booleans()), max_size=5))
def test_a_formula_of_lines_is_one_and_no_block_of_a_stream_cuts_it(formulas):
    source = ""
    for lines, is_dollar, is_loose in formulas:
        marks = ("$$", "$$") if is_dollar else ("\\[", "\\]")
        source += "So" + "\n\n" * is_loose + "\n".join(("", marks[0], *lines, marks[1], "\n"))
    streamed = "".join(render(block) for block in blocks(source))
    assert streamed == render(source) and streamed.count(MATH) == len(formulas)
    assert streamed.count("<p>") == 2 * len(formulas)
    assert not any(f"<{name}" in streamed for name in ("h1", "h2", "hr", "ul", "ol", "table"))


@pytest.mark.parametrize(
    "source", ["$" * 20_000, "\\(" * 10_000, "$a " * 10_000, "http://" * 5_000]
)
def test_no_text_is_slow(source):
    with within(5.0):
        render(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one\n\ntwo", ["one\n", "two"]),
        ("# Head\ntext", ["# Head\n", "text"]),
        ("- a\n\n- b\n\n  more\n\nafter", ["- a\n\n- b\n\n  more\n", "after"]),
        ("1. a\n\n2. b", ["1. a\n\n2. b"]),
        ("```\na\n\nb\n```\nnext", ["```\na\n\nb\n```\n", "next"]),
        ("- x\n  ```\n  a\n\n  b\n  ```\n- y\n\nz", ["- x\n  ```\n  a\n\n  b\n  ```\n- y\n", "z"]),
        ("| a |\n|---|\n| 1 |\n\nend", ["| a |\n|---|\n| 1 |\n", "end"]),
        ("```\nnever closed\n\nstill", ["```\nnever closed\n\nstill"]),
        ("\n\n", []),
    ],
)
def test_blocks(source, expected):
    assert blocks(source) == expected


pieces = st.lists(
    st.sampled_from(["a", "\n", "\n\n", "- ", "```", "# ", "1. ", "  ", "| x |", "~~~~", "天"]),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(pieces)
def test_where_the_deltas_are_cut_makes_no_difference(parts):
    stream = BlockStream()
    found = []
    for part in parts:
        found += stream.feed(part)
    found += stream.close()
    assert found == blocks("".join(parts))


@settings(max_examples=150, deadline=None)
@given(pieces)
def test_the_text_is_cut_where_its_blocks_end(parts):
    stream = BlockStream()
    given = [piece for part in parts for piece in stream.pieces(part)]
    given += stream.last_pieces()
    assert "".join(text for text, _block in given) == "".join(parts)
    found, since = [], ""
    for text, block in given:
        since += text
        if block:
            assert since.strip() == block.strip()
            found.append(block)
            since = ""
    assert not since.strip() and found == blocks("".join(parts))


def test_a_delta_of_many_blocks_takes_moments():
    source = "# a\n" * 50_000
    assert moments(lambda: list(BlockStream().pieces(source)), 1.0)


def test_a_block_comes_out_as_soon_as_the_next_begins():
    stream = BlockStream()
    assert list(stream.feed("one\n\n")) == []
    assert list(stream.feed("t")) == ["one\n"]


def test_cost_is_linear():
    stream = BlockStream()
    for _ in range(20_000):
        assert not list(stream.feed("word "))


WORST = [
    "*a ",
    "[",
    "![](",
    "|a|b|\n|-|-|\n",
    "- a\n",
    "\\(",
    "[a](b",
    "a\n",
    "> ",
    "<",
    "`a",
    "_a",
    "# a\n",
    "](",
    "\\[\n",
    "\\[\na\n",
    "$$\n",
    "$$\n\n",
    "a $$\n$$\n",
    "- $$\n",
]


@pytest.mark.parametrize("part", WORST)
def test_what_is_rendered_on_the_spot_takes_moments(part):
    source = (part * markdown.INLINE_CHARS)[: markdown.INLINE_CHARS]
    assert moments(lambda: render(source), 0.05)


async def test_a_long_block_is_rendered_beside_the_loop(monkeypatch):
    beside = []

    async def apart(function, *args):
        beside.append(function)
        return function(*args)

    monkeypatch.setattr(large, "beside", apart)
    assert "<table>" in await markdown.rendered("|a|b|\n|-|-|\n" + "|1|2|\n" * 1_000)
    assert "<strong>" in await markdown.rendered("**short**")
    assert beside == [markdown.shown]


def test_a_block_without_end_stays_text():
    html = render("# Title\n\n" + "*a <b> " * 20_000)
    assert html.startswith("<h1>Title</h1>") and "<pre>*a &lt;b&gt; *a" in html
    assert "<em>" not in html
