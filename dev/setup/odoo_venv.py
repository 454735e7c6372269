"""The environment with Odoo, the addon's requirements and the developers' tools."""

from pathlib import Path

from dev.cache import build_once
from dev.commands import run
from dev.paths import REQUIREMENTS, ROOT, VENV, link
from dev.progress import step
from dev.setup import odoo_tree, venvs


def main() -> Path:
    """The environment with Odoo, the addon's requirements and the developers' tools, as ``.dev/venv``."""
    odoo = odoo_tree.odoo_path()
    files = [
        ROOT / "requirements.txt",
        REQUIREMENTS / "odoo.txt",
        REQUIREMENTS / "dev.txt",
        REQUIREMENTS / "constraints.txt",
    ]

    def build(entry: Path) -> None:
        requirements = [flag for name in files[:-1] for flag in ("-r", name)]
        venvs.create(entry)
        run(
            [entry / "bin/python", *venvs.PIP, *requirements, "-c", files[-1]],
            what="Installing Python packages",
        )
        run([entry / "bin/python", "-m", "pip", "check"], what="Checking the Python packages")
        site = next((entry / "lib").glob("python3*/site-packages"))
        (site / "odoo-19.pth").write_text(f"{odoo}\n")

    with step("Installing Python packages for Odoo, the addon and the tests"):
        entry = build_once(venvs.name_of("venv", files, str(odoo)), build)
    link(entry, VENV)
    return VENV
