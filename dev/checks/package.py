"""``make package``: the addon as an app store, OCA or an addons path takes it.

What is left out stands in ``.gitattributes``, so that an archive which GitHub or ``git archive`` makes is the same.
"""

import ast
from pathlib import Path

from dev.commands import run
from dev.paths import ADDON, DEV, ROOT
from dev.progress import say, warn

NAMED = 10  # files that a warning lists


def build(folder: Path = DEV / "dist") -> Path:
    """Write ``woow_paas_platform-<version>.zip`` into ``folder``.

    It holds what git knows, with changes that are not committed yet.
    """
    manifest = ast.literal_eval((ROOT / "__manifest__.py").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{ADDON}-{manifest['version']}.zip"
    command = ["git", "archive", "--format=zip", f"--prefix={ADDON}/", f"--output={archive}"]
    run([*command, _changed() or "HEAD"], what="Making the archive", cwd=ROOT)
    return archive


def main() -> None:
    if _changed():
        warn("The archive holds changes that are not committed.")
    if files := _untracked():
        names = ", ".join(files[:NAMED])
        warn(f"git does not know {len(files)} files, so the archive lacks them: {names}.")
    archive = build()
    say(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 1e6:.1f} MB")


def _changed() -> str:
    """A commit of what differs from HEAD, that no branch knows; nothing if nothing does."""
    return run(["git", "stash", "create"], what="Looking for changes", cwd=ROOT).strip()


def _untracked() -> list[str]:
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    return run(command, what="Looking for new files", cwd=ROOT).split("\n")[:-1]
