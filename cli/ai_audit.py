"""``ODOO_RC=odoo.conf odoo-bin ai_audit verify -d DB``: look for entries of the audit log that were changed or removed.

``--head=NUMBER:DIGEST`` names a checkpoint as the log file told of it: it must be there. ``ai_audit export -d DB``
writes the whole log as lines of JSON. Every import of the addon is inside `run`, see `ai_runner`.
"""

import itertools
import json
import sys

from odoo.cli.command import Command
from odoo.tools import config

HEAD = "--head="
USAGE = "Say what to do: ai_audit verify -d DB [--head=NUMBER:DIGEST], or ai_audit export -d DB."


class AiAudit(Command):
    """Verify or export the audit log of AI assistants"""

    name = "ai_audit"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        works = {"verify": self._verify, "export": self._export}
        if not cmdargs or cmdargs[0] not in works:
            sys.exit(USAGE)
        work, known = works[cmdargs[0]], _known(cmdargs)
        rest = [arg for arg in cmdargs[1:] if not arg.startswith(HEAD)]
        config.parse_config(rest, setup_logging=True)
        names = config["db_name"]
        if len(names) != 1:
            sys.exit("Name one database: -d DB or db_name in the configuration file.")
        from odoo.addons.woow_paas_platform.tools import db  # noqa: PLC0415

        is_right = db.read_only(
            names[0],
            lambda env: work(names[0], env["woow_paas_platform.audit_checkpoint"], known),
        )
        sys.exit(0 if is_right else 1)

    def _verify(self, name, log, known):
        from odoo.addons.woow_paas_platform.services.audit.check import (  # noqa: PLC0415
            MAX_PROBLEMS,
        )

        check, problems = log._check(known)
        found = 0
        for problem in problems:
            found += 1
            if found <= MAX_PROBLEMS:
                sys.stdout.write(f"{name}: {problem.sentence}\n")
        number, digest = check.head
        sys.stdout.write(
            f"{name}: {check.entries} entries, {check.checkpoints} checkpoints, the last is {number}:{digest}; "
            f"{check.unsealed} entries are newer. Problems: {found}.\n"
        )
        return not found

    def _export(self, _name, log, _known):
        for kind, row in itertools.chain(
            (("checkpoint", row) for row in log._checkpoints()),
            (("entry", row) for row in log._entries()),
        ):
            sys.stdout.write(json.dumps({"kind": kind, **row}, sort_keys=True) + "\n")
        return True


def _known(cmdargs):
    """Number and digest of the checkpoint that the arguments name, or None."""
    told = next((arg.removeprefix(HEAD) for arg in cmdargs if arg.startswith(HEAD)), "")
    number, _colon, digest = told.partition(":")
    if told and not (number.isdecimal() and digest):
        sys.exit(USAGE)
    return (int(number), digest) if told else None
