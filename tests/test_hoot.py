import re

from odoo.addons.web.tests.test_js import unit_test_error_checker
from odoo.tests import HttpCase, tagged

ADDRESS = "/web/tests?headless&loglevel=2&preset=desktop&timeout=15000"


def suite_id(name):
    """The id that Odoo's JavaScript test runner gives a suite."""
    number = 0
    for character in name:
        number = ((number << 5) - number + ord(character)) & 0xFFFFFFFF
    return f"{number:08x}"


@tagged("post_install", "-at_install")
class TestHoot(HttpCase):
    def test_the_components_and_the_reducer(self):
        """All of static/tests, in a real browser."""
        self._compile_assets()
        self.browser_js(
            f"{ADDRESS}&id={suite_id('@woow_paas_platform')}",
            "",
            "",
            login="admin",
            timeout=900,
            success_signal="[HOOT] Test suite succeeded",
            error_checker=unit_test_error_checker,
        )

    def _compile_assets(self):
        """One after the other: of requests at once the test's cursor lets one wait no longer than 20 s."""
        self.authenticate("admin", "admin")
        page = self.url_open(ADDRESS, timeout=120)
        addresses = re.findall(r'"(/web/assets/[^"]+)"', page.text)
        self.assertTrue(addresses)
        for address in addresses:
            self.assertEqual(self.url_open(address, timeout=120).status_code, 200, address)
