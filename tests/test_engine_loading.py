import asyncio
import threading
from unittest.mock import Mock, patch

from odoo.tests import tagged

from ..runtime import engine
from ..services.errors import PackageMissing
from .common import AiCase


@tagged("post_install", "-at_install")
class TestEngineLoading(AiCase):
    def test_the_loop_waits_for_what_another_thread_imports(self):
        importers = set()
        made = engine.Engine(None, 1, Mock(), None)

        def note(_name):
            importers.add(threading.current_thread())

        async def check():
            checking = asyncio.ensure_future(made.check([], None))
            given_up = asyncio.ensure_future(made.check([], None))
            await asyncio.sleep(0)
            given_up.cancel()
            self.assertFalse(checking.done())
            loader = threading.Thread(target=made.load)
            loader.start()
            await checking
            self.assertLessEqual(importers, {loader})

        with patch.object(engine.importlib, "import_module", note):
            asyncio.run(check())
        self.assertTrue(importers)

    def test_what_cannot_be_imported_is_told_to_who_waits(self):
        made = engine.Engine(None, 1, Mock(), None)
        broken = patch.object(
            engine.importlib, "import_module", side_effect=ImportError(name="mcp")
        )
        with self.assertLogs(engine._logger, "ERROR"), broken:
            made.load()
        with self.assertRaisesRegex(PackageMissing, "too new: mcp"):
            asyncio.run(made.check([], None))
