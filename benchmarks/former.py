"""The addon as it was at the first release, in an Odoo of its own, to be measured beside today's."""

import contextlib
import io
import subprocess
import tarfile

from dev.checks import testbed
from dev.paths import ADDON, ADDONS, DEV, ROOT

RELEASE = "336fffa56a1a77e03a7827f4cfe781de8f1e7e50"  # 19.0.1.0.0
FOLDER = DEV / "former"


def unpacked():
    """The addons path with that release's files."""
    folder = FOLDER / ADDON
    if not folder.exists():
        archive = subprocess.run(
            ["git", "archive", RELEASE], cwd=ROOT, check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
    return FOLDER


@contextlib.contextmanager
def odoo(**options):
    """A running Odoo with that release and its demo data.

    :param options: those of :class:`dev.checks.testbed.OdooServer`
    """
    base = testbed.without_addon(testbed.template())
    server = testbed.OdooServer(base, "former", **options)
    config = server.instance.config
    config.write_text(config.read_text().replace(str(ADDONS), str(unpacked())))
    server.install()
    server.start()
    try:
        yield server
    finally:
        server.stop()
