"""What the documentation promises is held by tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FOLDERS = "benchmarks|controllers|data|demo|docs|migrations|models|runtime|security|services|static|tests|tools|views"
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
