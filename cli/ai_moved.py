"""``ODOO_RC=odoo.conf odoo-bin ai_moved -d DB``: this database was moved here, and no longer runs where it was.

Run it before Odoo starts: otherwise what was under way is stopped, as in a copy, see `tools/copies.py`. Every
import of the addon is inside `run`, see `ai_runner`.
"""

import sys

from odoo.cli.command import Command
from odoo.tools import config


class AiMoved(Command):
    """Let the AI assistants of a database that was moved go on with what was under way"""

    name = "ai_moved"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        config.parse_config(cmdargs, setup_logging=True)
        names = config["db_name"]
        if not names:
            sys.exit("Name the databases: -d DB[,DB…] or db_name in the configuration file.")
        from odoo.addons.woow_paas_platform.tools import copies, db  # noqa: PLC0415

        for name in names:
            db.raw(name, copies.moved)
            sys.stdout.write(f"{name}: what was under way goes on here.\n")
