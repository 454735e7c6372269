"""``ODOO_RC=odoo.conf odoo-bin ai_runner -d DB`` or ``… --all``: a process that runs turns and serves no HTTP.

The configuration stands in the environment (or ``--addons-path=…`` before the command), because Odoo
looks for the command before it reads ``-c``. Odoo loads this file as ``odoo.cli.ai_runner``, so every
import of the addon is absolute and inside a function.
"""

import logging
import os
import signal
import sys
import threading

from odoo.cli.command import Command
from odoo.tools import config

_logger = logging.getLogger(__name__)

ALL = "--all"
CONNECT_TIMEOUT = "5"  # s; a database that refuses to answer holds a lock of Odoo's for so long


class AiRunner(Command):
    """Run the turns of AI assistants; any number of these processes share one queue"""

    name = "ai_runner"

    def run(self, cmdargs):
        config.parser.prog = self.prog
        config.parse_config([arg for arg in cmdargs if arg != ALL], setup_logging=True)
        if ALL not in cmdargs:
            return self._serve(config["db_name"])
        if any(arg.startswith(("-d", "--database")) for arg in cmdargs):
            sys.exit("Name databases with -d, or serve all of them with --all.")
        return self._serve_all()

    def _serve(self, names):
        if not names:
            sys.exit(
                "Name the databases to serve: -d DB[,DB…] or db_name in the configuration file, or serve all"
                " of them: --all."
            )
        from odoo.addons.woow_paas_platform.runtime.fleet.fleet import (  # noqa: PLC0415
            NamedDatabases,
        )
        from odoo.addons.woow_paas_platform.runtime.fleet.process_host import (  # noqa: PLC0415
            ProcessHost,
        )
        from odoo.addons.woow_paas_platform.runtime.turns import listeners  # noqa: PLC0415
        from odoo.modules.registry import Registry  # noqa: PLC0415

        stopped = threading.Event()
        self._on_signal(stopped.set)
        self._measure()
        for name in names:
            registry = Registry(name)
            if "woow_paas_platform.ai_turn" not in registry:
                sys.exit(f"The module woow_paas_platform is not installed in {name}.")
            listeners.serve(name)
        _logger.info("The AI runner serves %s.", ", ".join(names))
        NamedDatabases(ProcessHost(), names).run(stopped)
        self._end()

    def _serve_all(self):
        """Serve the databases that `dbfilter` lets anybody see; `db_name` says nothing here."""
        config["db_name"] = []
        os.environ.setdefault("PGCONNECT_TIMEOUT", CONNECT_TIMEOUT)
        from odoo.addons.woow_paas_platform.runtime import process  # noqa: PLC0415
        from odoo.addons.woow_paas_platform.runtime.fleet.fleet import Fleet  # noqa: PLC0415
        from odoo.addons.woow_paas_platform.runtime.fleet.process_host import (  # noqa: PLC0415
            ProcessHost,
        )
        from odoo.addons.woow_paas_platform.runtime.turns import listeners  # noqa: PLC0415

        stopped = threading.Event()
        fleet = Fleet(ProcessHost(), listeners.channel())
        self._on_signal(lambda: (stopped.set(), fleet.wake()))
        self._measure()
        process.dedicate()
        process.runner()
        _logger.info("The AI runner serves the databases that %r allows.", config["dbfilter"])
        fleet.run(stopped)
        self._end()

    def _measure(self):
        from odoo.addons.woow_paas_platform.runtime.metrics import server  # noqa: PLC0415

        server.start()

    def _on_signal(self, function):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: function())

    def _end(self):
        from odoo.addons.woow_paas_platform.runtime import process  # noqa: PLC0415

        _logger.info(
            "The AI runner is stopping: it claims no more turns and lets the running ones end."
        )
        process.shutdown()
