"""``ODOO_RC=odoo.conf odoo-bin ai_secrets -d DB``: encrypt every stored secret again with the newest key.

Put the new key first in ``secret_key`` (``NEW,OLD``), restart, run this, then take the old key out. Every
import of the addon is inside `run`, see `ai_runner`.
"""

import sys

from odoo.cli.command import Command
from odoo.tools import config


class AiSecrets(Command):
    """Encrypt the stored secrets of AI assistants again, with the newest key"""

    name = "ai_secrets"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        config.parse_config(cmdargs, setup_logging=True)
        names = config["db_name"]
        if not names:
            sys.exit("Name the databases: -d DB[,DB…] or db_name in the configuration file.")
        from odoo.addons.woow_paas_platform.tools import db  # noqa: PLC0415

        unreadable = 0
        for name in names:
            done, failed = db.transaction(name, self._renewed)
            unreadable += len(failed)
            sys.stdout.write(f"{name}: {done} secrets are encrypted with the newest key.\n")
            for secret in failed:
                sys.stdout.write(
                    f"{name}: {secret} cannot be decrypted with any key and was not changed.\n"
                )
        sys.exit(1 if unreadable else 0)

    def _renewed(self, env):
        env["woow_paas_platform.audit_checkpoint"]._sign_again()
        return env["woow_paas_platform.secret.mixin"]._rotate_secrets()
