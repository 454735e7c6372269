"""What the documentation promises is held by tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FOLDERS = (
    "benchmarks|controllers|data|demo|dev|docs|migrations|models|runtime|security|services|static"
    "|tests|tools|views"
)
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*(?:\.\w+|/))`")
TABLE = re.compile(r"^## What holds, and where it is tested\n\n(.+?)\n\n", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_a_page_names_is_there(page):
    named = PATH.findall((ROOT / page).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", ["architecture", "security"])
def test_each_promise_names_its_tests(name):
    (table,) = TABLE.findall((ROOT / f"docs/{name}.md").read_text())
    rows = [row.strip("|").split(" | ") for row in table.splitlines()[2:]]
    assert len(rows) > 10
    for row in rows:
        assert len(row) == 3, row
        assert PATH.search(row[2]) and PATH.findall(row[2])[0].startswith("tests/"), row


def test_each_fault_names_its_modules_and_its_tests():
    table = (ROOT / "docs/protocol.md").read_text().partition("| fault |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)\.py`", table)) | set(re.findall(r"`(test_\w+)`", table))
    there = {path.stem for top in ("services", "tests") for path in (ROOT / top).rglob("*.py")}
    assert len(named) > 30
    assert named <= there


@pytest.mark.parametrize("title", ["Where it is decided", "Three walks"])
def test_each_function_that_the_house_names_is_there(title):
    page = (ROOT / "docs/architecture.md").read_text()
    part = page.partition(f"### {title}\n")[2].partition("\n#")[0]
    sources = [
        path.read_text()
        for folder, suffix in (
            ("services", "py"),
            ("tools", "py"),
            ("models", "py"),
            ("runtime", "py"),
            ("controllers", "py"),
            ("static/src", "js"),
        )
        for path in (ROOT / folder).rglob(f"*.{suffix}")
    ]
    known = re.compile(r"(?:def|class|function) (\w+)|^    (?:async )?(\w+)\(.*\) \{", re.M)
    defined = {name for source in sources for pair in known.findall(source) for name in pair}
    named = [name for name in re.findall(r"`([A-Za-z_.]+)`", part) if "/" not in name]
    assert len(named) > 10
    assert [name for name in named if name.rpartition(".")[2] not in defined] == []
