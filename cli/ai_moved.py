"""``ODOO_RC=odoo.conf odoo-bin ai_moved -d DB``: this database was moved here, and no longer runs where it was.

Run it before Odoo starts: otherwise what was under way is stopped, as in a copy, see `tools/copies.py`. With
``--restored`` the database is a backup of itself: what was under way in it has gone on since, so it is stopped in any
case. That also works in a database of a former version. Every import of the addon is inside `run`, see `ai_runner`.
"""

import sys

from odoo.cli.command import Command
from odoo.tools import config

RESTORED = "--restored"


class AiMoved(Command):
    """Let the AI assistants of a database that was moved go on with what was under way, or stop it in a restored one"""

    name = "ai_moved"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        config.parse_config([arg for arg in cmdargs if arg != RESTORED], setup_logging=True)
        names = config["db_name"]
        if not names:
            sys.exit("Name the databases: -d DB[,DB…] or db_name in the configuration file.")
        from odoo.addons.woow_paas_platform.tools import copies, db  # noqa: PLC0415

        is_restored = RESTORED in cmdargs
        for name in names:
            db.raw(name, copies.restored if is_restored else copies.moved)
            told = "has been stopped" if is_restored else "goes on here"
            sys.stdout.write(f"{name}: what was under way {told}.\n")
