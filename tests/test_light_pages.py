from odoo.tests import tagged

from .common import AiHttpCase

MODULE = "woow_paas_platform"
CHAT = f"{MODULE}.assets_chat_portal"
DECISIONS = f"{MODULE}.assets_decisions"
QUESTIONS = f"{MODULE}.assets_questions"
FORMS = f"{MODULE}.assets_servers"
# Of every page of a website or of the portal; the backend's chat is no part of its first load.
COMMON = ("web.assets_frontend", "web.assets_frontend_minimal", "web.assets_frontend_lazy")


@tagged("post_install", "-at_install")
class TestLightPages(AiHttpCase):
    """A page carries the chat, the forms and their words where it shows them, and nowhere else."""

    def _files(self, bundle):
        paths = self.env["ir.asset"]._get_asset_paths(bundle, assets_params={})
        return {path for path, *_rest in paths if path.startswith(f"/{MODULE}/")}

    def test_the_common_bundles_hold_nothing_of_ours(self):
        for bundle in COMMON:
            with self.subTest(bundle=bundle):
                self.assertEqual(self._files(bundle), set())

    def test_the_backend_loads_the_chat_when_it_is_shown(self):
        places = {path.split("/src/")[1] for path in self._files("web.assets_backend")}
        self.assertEqual(
            {place.partition("/")[0] for place in places - {"core/keys.js"}},
            {"backend", "providers"},
        )

    def test_a_page_of_somebody_else_names_nothing_of_ours(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        page = self.url_open("/web/login").text
        self.assertNotIn("woow", page)
        words = self.url_open("/website/translations?lang=zh_TW").json()["modules"]
        self.assertIn("portal", words)
        self.assertNotIn(MODULE, words)

    def test_our_pages_ask_for_what_they_show(self):
        self._sign_in(self.member)
        for path, bundles in {
            "/my": set(),
            "/my/services": set(),
            "/my/ai": {CHAT},
            "/my/ai/decisions": {CHAT, QUESTIONS, DECISIONS},
            "/my/ai-servers": {FORMS},
            "/my/ai/connections": {FORMS},
        }.items():
            with self.subTest(path=path):
                page = self.url_open(path).text
                found = {
                    name for name in (CHAT, QUESTIONS, DECISIONS, FORMS) if f"{name}.min.js" in page
                }
                self.assertEqual(found, bundles)

    def test_the_chat_brings_what_a_click_opens_only_then(self):
        """Dialogs, questions and the page of decisions are no part of what a chat loads first."""
        for chat in (CHAT, f"{MODULE}.assets_chat_backend"):
            for later in (QUESTIONS, DECISIONS, f"{MODULE}.assets_chat_dialogs"):
                with self.subTest(chat=chat, later=later):
                    self.assertTrue(self._files(later))
                    self.assertFalse(self._files(chat) & self._files(later))
