"""A plugin for pytest-odoo: the lock of all registries is held while tests run, as it is in ``--test-enable``.

A test that lets another thread wait for this lock would never end there.
"""

import pytest


@pytest.fixture(scope="session", autouse=True)
def held_registry(load_registry):
    from odoo.modules.registry import Registry  # when pytest-odoo has read the configuration

    with Registry._lock:
        yield
