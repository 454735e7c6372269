"""Databases and real Odoo servers for tests; used by ``make test`` and by the fixtures of ``tests/e2e``."""

from dev.checks.testbed.expected_log import expected_patterns
from dev.checks.testbed.server import OdooServer
from dev.checks.testbed.sessions import REQUEST_TIMEOUT
from dev.checks.testbed.templates import (
    LOOPBACK,
    apart,
    clone,
    prepare_template,
    running_postgres,
    template,
    with_demo_servers,
    with_modules,
    without_addon,
)

__all__ = [
    "LOOPBACK",
    "REQUEST_TIMEOUT",
    "OdooServer",
    "apart",
    "clone",
    "expected_patterns",
    "prepare_template",
    "running_postgres",
    "template",
    "with_demo_servers",
    "with_modules",
    "without_addon",
]
