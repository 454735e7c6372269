from unittest.mock import patch

from odoo.exceptions import UserError
from odoo.tests import TransactionCase, tagged

from .. import hooks

OLD = (3, 10, 13, "final", 0)


@tagged("post_install", "-at_install")
class TestOldPython(TransactionCase):
    """Odoo 19 runs on Python 3.10, the addon does not: it says so, and the database lives on."""

    def setUp(self):
        super().setUp()
        self.enterContext(patch.object(hooks, "sys")).version_info = OLD

    def test_the_installation_is_refused_in_one_sentence(self):
        with self.assertRaises(UserError) as caught:
            hooks.pre_init_hook(self.env)
        said = str(caught.exception)
        self.assertEqual(
            said, "This app needs Python 3.11 or newer, and Odoo runs on Python 3.10 here."
        )

    def test_nothing_more_of_the_addon_is_imported(self):
        with self.assertNoLogs(hooks._logger):
            self.assertFalse(hooks.can_be_imported())
