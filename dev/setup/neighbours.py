"""Modules of others that the addon has to live beside: apps of Odoo, and OCA's queue_job, which PyPI has."""

from pathlib import Path

from dev.cache import build_once, digest
from dev.commands import run
from dev.paths import ADDONS, VENV
from dev.progress import step
from dev.setup import odoo_tree, venvs

APPS = (
    "website",
    "sale_management",
    "crm",
    "project",
    "hr",
    "account",
    "im_livechat",
    "base_automation",
)
PACKAGES = ("odoo-addon-queue_job==19.0.2.4.0.1", "openupgradelib==3.13.7")


def folder() -> Path:
    """Folder for Python's path: what the modules import is there, too."""

    def build(entry: Path) -> None:
        # Without dependencies: one of them is "odoo", which on PyPI is something else.
        command = [VENV / "bin/python", *venvs.PIP, "--no-deps", "--target", entry, *PACKAGES]
        run(command, what="Installing OCA's modules")

    with step("Fetching OCA's modules"):
        return build_once(f"neighbours-{digest(*PACKAGES)}", build)


def addons_path() -> str:
    """Odoo's own addons, ours and theirs."""
    folders = [*odoo_tree.addons_paths(odoo_tree.odoo_path()), ADDONS, folder() / "odoo/addons"]
    return ",".join(map(str, folders))
