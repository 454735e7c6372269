"""``make lint`` and ``make format``: every hook of ``.pre-commit-config.yaml`` over all files, new ones too."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dev.checks import api_table
from dev.paths import ADDON, ADDONS, DEV, ROOT, VENV, link
from dev.progress import say
from dev.servers.instance import prepare_links
from dev.setup import node, odoo_venv, venvs

# Checks of pylint-odoo that do not fit this addon.
NOT_OURS = (
    "except-pass",  # narrow exceptions that mean "not there" or "gone": what follows is the handling
    "manifest-deprecated-key",  # without a description Odoo renders all of README.md, as reST, in Apps
    "manifest-required-author",  # the author is not the OCA
    "prefer-env-translation",  # `_ = self.env._` is that, which it takes for the import of before 18.0
    "missing-readme",  # README.md at the repository's root is what the check looks for as README.rst
)
# The same of OCA's hooks. Those that rewrite Python take a minute and say what pylint-odoo says.
NOT_OURS_OF_OCA = (
    "po-pretty-format",  # empties what reads the same in both languages; here a term without a translation is forgotten
    "prefer-readme-rst",  # ours is README.md, at the repository's root
    "xml-header-wrong",  # utf-8 and UTF-8 are the same to every parser
)


def run_lint() -> int:
    """The exit code of pre-commit."""
    _set_up()
    command = [
        VENV / "bin/pre-commit",
        "run",
        "--color=never",
        "--files",
        *_files(),
    ]
    return _call(command)


def run_format() -> int:
    """Let ruff, eslint and prettier write what they can fix, and the client's tests have the API's table."""
    _set_up()
    api_table.write()
    scripts = _files("*.js", "*.cjs", "*.mjs")
    commands = [
        [VENV / "bin/ruff", "check", "--fix", "."],
        [VENV / "bin/ruff", "format", "."],
        node.command("eslint", "--fix", "--no-warn-ignored", *scripts),
        node.command("prettier", "--write", *scripts, *_files("*.scss", "*.css")),
    ]
    return max(_call(command) for command in commands)


def pylint() -> int:
    """pylint-odoo over the addon under its technical name, without the folders that Odoo does not load."""
    # pylint wants the addon as a folder of its own name, and follows a link only where it begins.
    link(Path("../.."), DEV / "lint" / ADDON)
    return subprocess.call(
        [
            VENV / "bin/pylint",
            f"--rcfile={ROOT / 'pyproject.toml'}",
            f"--disable={','.join(NOT_OURS)}",
            ADDON,
        ],
        cwd=DEV / "lint",
        env={**os.environ, "PYTHONPATH": str(DEV / "lint")},
    )


def oca() -> int:
    """OCA's checks of data, catalogues and files over the addon as Odoo finds it."""
    programs = venvs.extra("oca") / "bin"
    disabled = f"--disable={','.join(NOT_OURS_OF_OCA)}"
    catalogues = _files("i18n/*.po", "i18n/*.pot")
    commands = (
        (["oca-checks-odoo-module", disabled, "."], ADDONS / ADDON),
        (["oca-checks-po", disabled, *catalogues], ROOT),
    )
    return max(
        subprocess.call([programs / name, *arguments], cwd=folder)
        for (name, *arguments), folder in commands
    )


def _set_up() -> None:
    node.node_modules()
    odoo_venv.main()
    prepare_links()


def _files(*patterns: str) -> list[str]:
    """New files too, which git does not know yet."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in done.stdout.splitlines() if (ROOT / name).exists()]


def _call(command: Sequence[object]) -> int:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(DEV / "pre-commit")}
    code = subprocess.call([str(part) for part in command], cwd=ROOT, env=environment)
    if code:
        say(f"failed: {command[0]}")
    return code


if __name__ == "__main__":
    raise SystemExit(oca() if sys.argv[1:] == ["oca"] else pylint())
