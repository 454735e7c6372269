"""Places of the checkout, its ``.dev`` folder, and the per-user cache that all clones share."""

import os
from pathlib import Path

ADDON = "woow_paas_platform"
ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "dev/requirements"
DEV = ROOT / ".dev"
LOGS = DEV / "logs"
REPORTS = DEV / "reports"
ADDONS = DEV / "addons"
VENV = DEV / "venv"


def cache_home() -> Path:
    """The per-user cache; ``WOOW_DEV_CACHE`` moves it."""
    explicit = os.environ.get("WOOW_DEV_CACHE")
    if explicit:
        return Path(explicit).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "woow-paas-platform"


def link(target: Path, name: Path) -> None:
    """Make ``name`` a symbolic link to ``target``, replacing an older link in one step."""
    name.parent.mkdir(parents=True, exist_ok=True)
    if name.is_symlink() and os.readlink(name) == str(target):
        return
    fresh = name.with_name(f".{name.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    os.replace(fresh, name)
