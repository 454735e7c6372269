"""Formulas of TeX: drawn as MathML that can do nothing else, and never slower than their length."""

import html
import re

import pytest

from services.render import formulas, markdown

TAG = re.compile(r"</?([\w:-]+)([^<>]*)>")


def math(source):
    return formulas.mathml(source)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"$x^2$", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"\(\frac{1}{2}\)", "<mfrac>"),
        (r"$$\sqrt{a}$$", 'display="block"'),
        (r"\[\sum_{i=1}^n i\]", "<munderover>"),
        (r"$\text{台北}=1$", "<mtext>台北</mtext>"),
        (r"\(a < b\)", "<mo>&lt;</mo>"),
    ],
)
def test_a_formula_is_drawn(source, shown):
    assert shown in math(source)
    assert shown in markdown.shown(f"It is {source}.")
    stored = markdown.render(f"It is {source}.")
    assert "<math" not in stored and formulas.drawn(stored) == markdown.shown(f"It is {source}.")


def test_a_formula_of_several_lines_is_drawn():
    assert "<mi>T</mi><mo>=</mo><mi>m</mi>" in markdown.shown("It is\n\\[\nT\n=\nm g\n\\]")


@pytest.mark.parametrize(
    "source",
    [
        r"\(\frac\)",
        "$100/US$",
        "$x y z$",
        r"\(" + "{" * 1_900 + r"\)",
        r"\(\newcommand{\a}{xx}\a\)",
        r"\(\def\a{\a\a}\a\)",
        r"\(" + "&" * 1_900 + r"\)",
        "$$$$",
    ],
)
def test_what_cannot_be_drawn_stays_as_it_was(source):
    assert math(source) == ""
    assert markdown.shown(source).count("<math") == 0
    assert source[:40] in html.unescape(markdown.shown(source))


@pytest.mark.parametrize(
    "source",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(//evil.example.com)}{x}",
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;img src=x onerror=alert(1)&gt;}",
        r"\class{evil}{x}",
        r"\color{red;background:url(x)}{x}",
        r"\textcolor{\"><script>}{x}",
        r"\hspace{1em\" onclick=\"alert(1)}x",
        r"\unicode{x3c}img src=x onerror=alert(1)\unicode{x3e}",
        r"\mbox{</math><script>alert(1)</script>}",
        r"\begin{array}{c\" onload=\"alert(1)}x\end{array}",
        r"\cssId{a}{x}\htmlData{a=b}{x}\includegraphics{//evil.example.com/x.png}",
    ],
)
def test_a_formula_can_do_nothing_but_be_shown(source):
    found = math(f"\\({source}\\)")
    for tag, given in TAG.findall(found):
        assert tag in formulas._TAGS
        for name in re.findall(r"([\w:-]+)=", given):
            assert name in formulas._ATTRIBUTES
        assert "url" not in given and "javascript" not in given
    assert "<script" not in found and "<img" not in found


@pytest.mark.parametrize(
    "source", [r"a\hspace{-50em}b", r"\raise 5em x", r"\raisebox{-9em}{x}", r"\lower 5em x"]
)
def test_a_formula_stays_in_its_place(source):
    found = math(f"\\({source}\\)")
    given = "".join(attributes for _tag, attributes in TAG.findall(found))
    assert "offset" not in given and "-" not in given and "em" not in given


def test_only_so_many_of_one_text_are_drawn():
    many = " ".join(f"$x^{{{number}}}$" for number in range(formulas.MAX_FORMULAS + 50))
    assert markdown.shown(many).count("<math") == formulas.MAX_FORMULAS


def test_marked_html_of_others_becomes_nothing_else():
    evil = '<span class="o_ai_math">$x^2$<img src=x></span>'
    assert formulas.drawn(evil) == evil
