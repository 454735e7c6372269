"""What the documentation promises is held by tests that are there."""

import ast
import hashlib
import re
from pathlib import Path

import pytest

from services import const

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FOLDERS = (
    "benchmarks|controllers|data|demo|dev|docs|migrations|models|runtime|security|services|static"
    "|tests|tools|views"
)
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*(?:\.\w+|/))`")
TABLE = re.compile(r"^## What holds, and where it is tested\n\n(.+?)\n\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (\S+) \(\d{4}-\d\d-\d\d", re.MULTILINE)
# Odoo runs what is in the folder of a version once: what comes later needs a version of its own.
RELEASED = {"19.0.1.1.0": "271b3a9d42fc45e109d7b3cda0eab4ce3689d74b8b6c830bd03fbceeb5ca7ac9"}
# Of docs/requirements.md: a test and its file, or a file of the client's tests and a title.
HELD = re.compile(r"(tests/[\w/.]+)::(test_\w+)`|(static/tests/[\w/.]+)`: “(.+)”")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_a_page_names_is_there(page):
    named = PATH.findall((ROOT / page).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_version_is_the_first_one_of_the_changelog():
    manifest = ast.literal_eval((ROOT / "__manifest__.py").read_text())
    released = HEADING.findall((ROOT / "CHANGELOG.md").read_text())
    assert manifest["version"] == released[0]
    assert len(released) == len(set(released))
    assert {path.name for path in (ROOT / "migrations").iterdir()} <= {*released}


@pytest.mark.parametrize("version", RELEASED)
def test_migrations_of_a_former_version_stay_as_they_are(version):
    digest = hashlib.sha256()
    for path in sorted((ROOT / "migrations" / version).glob("*.py")):
        digest.update(path.read_bytes())
    assert digest.hexdigest() == RELEASED[version]


def test_each_picture_can_be_taken_again():
    pictures = {*(ROOT / "docs/images").iterdir(), *(ROOT / "static/description").glob("*.png")}
    taken = (ROOT / "tests/e2e/pictures.py").read_text()
    names = {picture.stem for picture in pictures} - {"icon"}
    assert names == {name for name in names if f'"{name}"' in taken}


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


def test_settings_are_called_what_they_are_and_begin_as_is_said():
    source = (ROOT / "models/assistant/res_config_settings.py").read_text()
    labels = dict(re.findall(r'_limit\(\s*"(\w+)",\s*"([^"]+)"', source))
    defaults = dict(
        re.findall(r'"(\w+)": (?:const\.)?(\w+),', (ROOT / "tools/limits.py").read_text())
    )
    page = (ROOT / "docs/administration.md").read_text()
    table = page.partition("| setting | default | means |")[2].partition("\n\n")[0]
    said = {row.split(" | ")[0].strip("| "): row.split(" | ")[1] for row in table.splitlines()[2:]}
    assert len(labels) > 10
    for name, label in labels.items():
        default = getattr(const, defaults[name], defaults[name])
        assert said[label].partition(",")[0] == str(default), label


def test_keys_of_the_operator_are_those_that_are_read():
    source = (ROOT / "tools/settings.py").read_text()
    read = dict(re.findall(r"^    (\w+): .* = _key\((.*)\)(?:  #.*)?$", source, re.M))
    read |= dict.fromkeys(re.findall(r"^    (\w+): .* = _key\((?:  #.*)?$", source, re.M), "")
    page = (ROOT / "docs/architecture.md").read_text().partition("## Settings of the operator")[2]
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.M))
    assert said.keys() == read.keys()
    for key, default in said.items():
        if number := re.search(r"_number\(.*\), ([\w.]+)$", read[key]):
            value = number[1].removeprefix("const.")
            known = getattr(const, value, value)
            assert float(known) == float(default.replace("none", "0")), key
        elif "_switch" in read[key]:
            assert default == f"`{read[key].rpartition(' ')[2]}`", key


NAME = re.compile(r"`([A-Za-z_.]+)`")
DEFINED = re.compile(r"(?:def|class|function) (\w+)|^    (?:async )?(\w+)\(.*\) \{", re.M)


@pytest.fixture(scope="module")
def defined():
    """Each function and class: its name, and that after the name of its file and of each class there."""
    found = set()
    files = [
        path
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
    for path in files:
        source = path.read_text()
        names = {name for pair in DEFINED.findall(source) for name in pair if name}
        owners = {path.stem, *re.findall(r"^(?:export )?class (\w+)", source, re.M)}
        found |= names | {f"{owner}.{name}" for owner in owners for name in names}
    return found


def section(title):
    page = (ROOT / "docs/architecture.md").read_text()
    return page.partition(f"### {title}\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("title", ["Where it is decided", "Three walks"])
def test_each_function_that_the_house_names_is_there(title, defined):
    named = NAME.findall(section(title))
    assert len(named) > 10
    assert [name for name in named if name not in defined] == []


def test_each_file_of_a_decision_holds_what_is_said_of_it():
    for what, where in re.findall(
        r"`([A-Za-z_.]+)` \(`([\w/]+\.py)`\)", section("Where it is decided")
    ):
        assert re.search(rf"(def|class) {what.rpartition('.')[2]}\b", (ROOT / where).read_text()), (
            what
        )


def test_a_walk_is_short_enough_to_be_followed():
    walks = [part for part in section("Three walks").strip().split("\n\n") if part.startswith("**")]
    assert len(walks) == 3
    for walk in walks:
        steps = NAME.findall(re.sub(r"\(.*?\)", "", walk, flags=re.S))
        assert 10 < len(steps) <= 20, walk[:40]


def test_each_requirement_names_where_it_is_and_what_holds_it():
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in (ROOT / "docs/requirements.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| section")
    ]
    assert len(rows) > 100
    for part, wanted, where, held in rows:
        assert part and wanted and where, held
        if held.startswith("Not tested: "):
            assert len(held) > 30, "a word why"
            continue
        for one in held.split(", `"):
            file, test, client, title = HELD.fullmatch(one.lstrip("`")).groups()
            name, path = (f"def {test}(", file) if test else (f'"{title}"', client)
            assert name in (ROOT / path).read_text(), held
