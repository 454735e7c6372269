"""The examples in the engine's docstrings say what it does."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import services

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "services").rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name):
    tried = doctest.testmod(importlib.import_module(name))
    assert tried.attempted and not tried.failed


LISTED = re.findall(r"`([a-z][\w.]*)`: ((?:(?! `[a-z][\w.]*`: ).)*)", services.__doc__)


@pytest.mark.parametrize(("name", "text"), LISTED, ids=[name for name, _ in LISTED])
def test_the_public_api_has_what_it_lists(name, text):
    module = importlib.import_module(f"services.{name}")
    assert [one for one in re.findall(r"`(\w+)`", text) if not hasattr(module, one)] == []
