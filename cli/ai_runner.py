"""``ODOO_RC=odoo.conf odoo-bin ai_runner -d DB``: a process that runs turns and serves no HTTP.

The configuration stands in the environment (or ``--addons-path=…`` before the command), because Odoo
looks for the command before it reads ``-c``. Odoo loads this file as ``odoo.cli.ai_runner``, so every
import of the addon is absolute and inside `run`.
"""

import logging
import signal
import sys
import threading

from odoo.cli.command import Command
from odoo.tools import config

_logger = logging.getLogger(__name__)


class AiRunner(Command):
    """Run the turns of AI assistants; any number of these processes share one queue"""

    name = "ai_runner"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        config.parse_config(cmdargs, setup_logging=True)
        names = config["db_name"]
        if not names:
            sys.exit(
                "Name the databases to serve: -d DB[,DB…] or db_name in the configuration file."
            )
        from odoo.addons.woow_paas_platform.runtime import process  # noqa: PLC0415
        from odoo.addons.woow_paas_platform.runtime.turns import listeners  # noqa: PLC0415
        from odoo.modules.registry import Registry  # noqa: PLC0415

        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        for name in names:
            registry = Registry(name)
            if "woow_paas_platform.ai_turn" not in registry:
                sys.exit(f"The module woow_paas_platform is not installed in {name}.")
            listeners.serve(name)
        _logger.info("The AI runner serves %s.", ", ".join(names))
        stopped.wait()
        _logger.info(
            "The AI runner is stopping: it claims no more turns and lets the running ones end."
        )
        process.shutdown()
