import asyncio
import contextlib
import importlib
import threading
from types import SimpleNamespace
from unittest.mock import Mock, patch

from odoo.tests import tagged

from ..runtime import engine
from ..services.errors import PackageMissing
from .common import AiCase


@contextlib.contextmanager
def importing(instead, *threads):
    """The engine imports with ``instead`` in these threads and the test's own. Whatever else is imported meanwhile, by
    the engine of this process too, is imported as ever.
    """
    ours = {threading.current_thread(), *threads}

    def import_module(name):
        is_ours = threading.current_thread() in ours
        return (instead if is_ours else importlib.import_module)(name)

    with patch.object(engine, "importlib", SimpleNamespace(import_module=import_module)):
        yield


@tagged("post_install", "-at_install")
class TestEngineLoading(AiCase):
    def test_the_loop_waits_for_what_another_thread_imports(self):
        importers = set()
        made = engine.Engine(None, 1, Mock(), None, None)
        loader = threading.Thread(target=made.load)

        async def check():
            checking = asyncio.ensure_future(made.check([], None))
            given_up = asyncio.ensure_future(made.check([], None))
            await asyncio.sleep(0)
            given_up.cancel()
            self.assertFalse(checking.done())
            loader.start()
            await checking
            self.assertLessEqual(importers, {loader})

        with importing(lambda _name: importers.add(threading.current_thread()), loader):
            asyncio.run(check())
            loader.join()
        self.assertEqual(importers, {loader})

    def test_what_cannot_be_imported_is_told_to_who_waits(self):
        made = engine.Engine(None, 1, Mock(), None, None)
        broken = Mock(side_effect=ImportError(name="mcp"))
        with self.assertLogs(engine._logger, "ERROR"), importing(broken):
            made.load()
        with self.assertRaisesRegex(PackageMissing, "too new: mcp"):
            asyncio.run(made.check([], None))
