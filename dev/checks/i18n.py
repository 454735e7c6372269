"""``make i18n``: every term of the addon in the template, and each language beside it in the same order.

Run by the Python of ``.dev/venv`` because polib, Odoo's own library for catalogues, is there.
"""

import subprocess
import tempfile
from pathlib import Path

import polib

from dev.paths import ADDON, ROOT
from dev.progress import say, step
from dev.servers import addon
from dev.servers.instance import Instance

LANGUAGES = ("zh_TW", "zh_CN")
CATALOGUES = ROOT / "i18n"


def main() -> None:
    """Export the terms from a database with demo data, merge them, and say what lacks a translation."""
    instance = Instance("i18n", "i18n", throw_away=True)
    instance.postgres.start()
    try:
        instance.write_config()
        addon.bring_up_to_date(instance, {})
        with step("Exporting the terms"), tempfile.TemporaryDirectory() as folder:
            template = Path(folder) / "terms.pot"
            command = instance.odoo(
                "i18n",
                "export",
                "--database",
                instance.database,
                "-l",
                "pot",
                "-o",
                template,
                ADDON,
            )
            subprocess.run([str(part) for part in command], check=True, capture_output=True)
            terms = polib.pofile(str(template))
    finally:
        instance.postgres.stop()
    for entry in terms:
        entry.msgstr = ""
    _save(terms, CATALOGUES / f"{ADDON}.pot", terms.metadata)
    for language in LANGUAGES:
        _merge(terms, CATALOGUES / f"{language}.po")


def _merge(terms: polib.POFile, path: Path) -> None:
    known = polib.pofile(str(path))
    translations = {entry.msgid: entry.msgstr for entry in known}
    for entry in terms:
        entry.msgstr = translations.get(entry.msgid, "")
    _save(terms, path, known.metadata)
    missing = [entry.msgid for entry in terms if not entry.msgstr]
    say(f"{path.name}: {len(terms)} terms, {len(missing)} without a translation.")
    for term in missing:
        say(f"  {term!r}")


def _save(terms: polib.POFile, path: Path, metadata: dict[str, str]) -> None:
    catalogue = polib.POFile(wrapwidth=78)
    catalogue.header = terms.header
    # The dates would make each export a change.
    catalogue.metadata = {
        key: value
        for key, value in metadata.items()
        if key not in ("POT-Creation-Date", "PO-Revision-Date")
    }
    catalogue.extend(terms)
    catalogue.save(str(path))


if __name__ == "__main__":
    main()
