"""The examples in the engine's docstrings say what it does."""

import doctest
import importlib
from pathlib import Path

import pytest

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
