import re

import polib
from odoo.exceptions import ValidationError
from odoo.modules.module import get_module_path
from odoo.tests import tagged
from odoo.tools.translate import TranslationModuleReader

from ..services import errors
from ..services.sentence import _lt
from ..tools import sentences
from .common import AiCase, AiHttpCase

MODULE = "woow_paas_platform"
LANGUAGES = ("zh_TW", "zh_CN")
PAUSED = _lt(
    "Calls to the MCP server are paused after %(count)s failures in a row. %(reason)s",
    count=5,
    reason=_lt("The connection failed: no service is listening at this address and port."),
)
PAUSED_SAID = "連續失敗 5 次後，已暫停呼叫此 MCP 伺服器。連線失敗：此位址與連接埠沒有服務。"
PLACEHOLDER = re.compile(r"%\(\w+\)s|%s|</?\w+")


def catalogue(name):
    return polib.pofile(f"{get_module_path(MODULE)}/i18n/{name}")


@tagged("post_install", "-at_install")
class TestTranslations(AiCase):
    """When one fails: `odoo-bin i18n export -l pot zh_TW zh_CN`, then translate what is empty."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reader = TranslationModuleReader(cls.env.cr, modules=[MODULE])
        theirs = cls._fields_of_others()
        cls.terms = {row[4] for row in reader if row[3] not in theirs}

    @classmethod
    def _fields_of_others(cls):
        """External ids of fields that modules which happen to be installed add to our models."""
        own = cls.env["ir.module.module"].search([("name", "=", MODULE)])
        ours = {
            *own.upstream_dependencies(exclude_states=("uninstallable",)).mapped("name"),
            MODULE,
        }
        return {
            f"{MODULE}.field_{model._name.replace('.', '_')}__{field.name}"
            for model in cls.env.values()
            for field in model._fields.values()
            if not ours & {*field._modules}
        }

    def test_the_template_has_every_term(self):
        self.assertGreater(len(self.terms), 400)
        known = {entry.msgid for entry in catalogue(f"{MODULE}.pot")}
        self.assertEqual(self.terms - known, set())

    def test_no_term_lacks_a_translation(self):
        for lang in LANGUAGES:
            with self.subTest(lang=lang):
                translated = {entry.msgid for entry in catalogue(f"{lang}.po") if entry.msgstr}
                self.assertEqual(self.terms - translated, set())

    def test_placeholders_and_tags_survive(self):
        for lang in LANGUAGES:
            for entry in catalogue(f"{lang}.po"):
                with self.subTest(lang=lang, term=entry.msgid):
                    self.assertEqual(
                        sorted(PLACEHOLDER.findall(entry.msgid)),
                        sorted(PLACEHOLDER.findall(entry.msgstr)),
                    )

    def test_the_files_load(self):
        for lang, name in (("zh_TW", "MCP 伺服器"), ("zh_CN", "MCP 服务器")):
            with self.subTest(lang=lang):
                self.env["res.lang"]._activate_lang(lang)
                self.env["ir.module.module"].search([("name", "=", MODULE)])._update_translations(
                    lang
                )
                action = self.env.ref(f"{MODULE}.mcp_server_action").with_context(lang=lang)
                self.assertEqual(action.name, name)
                assistant = self.assistant.with_context(lang=lang)
                self.assertIn(
                    "MCP",
                    assistant.env._("An assistant can use at most %(limit)s MCP servers.", limit=1),
                )
                self.assertNotIn("assistant", assistant.env._("This assistant is not available."))


@tagged("post_install", "-at_install")
class TestSentencesOfTheEngine(AiCase):
    """What the engine says reaches people in their language."""

    def test_a_failure_is_told_in_the_readers_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.server._record_failure(errors.ServerTimeout())
        server = self.server.with_context(lang="zh_TW")
        self.assertEqual(server.state_sentence, "MCP 伺服器未在時限內回應。")
        self.assertIn("in time", self.server.with_context(lang="en_US").state_sentence)
        failure = errors.ConnectFailed(
            _lt("The program of this MCP server exited before it answered.")
        )
        failure.last_output = "no licence"
        self.server._record_failure(failure)
        self.assertEqual(
            server.state_sentence,
            "此 MCP 伺服器的程式在回應之前就結束了。最後的輸出：no licence",
        )
        self.assertEqual(sentences.in_language("zh_TW", PAUSED), PAUSED_SAID)

    def test_a_stored_sentence_keeps_its_source(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.server._record_failure(errors.ConnectFailed(PAUSED))
        self.env.invalidate_all()
        server = self.server.with_context(lang="zh_TW")
        self.assertEqual(server.state_sentence, PAUSED_SAID)
        self.assertEqual(server.state_message, PAUSED, "English for code")
        self.assertEqual(server.read(["state_message"])[0]["state_message"], PAUSED_SAID)
        self.assertEqual(self.server.read(["state_message"])[0]["state_message"], PAUSED)
        copied = server.copy({"name": "Copied", "state_message": server.state_message})
        self.assertEqual(copied.state_message.values, PAUSED.values)

    def test_what_former_versions_have_stored_is_read(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        server = self.server.with_context(lang="zh_TW")
        for stored, shown in (
            ("The MCP server did not answer in time.", "MCP 伺服器未在時限內回應。"),
            (str.__str__(PAUSED), str.__str__(PAUSED)),
            ("10.0.0.1:80 is not a public address.", "10.0.0.1:80 is not a public address."),
        ):
            with self.subTest(stored=stored):
                self.env.cr.execute(
                    "UPDATE woow_paas_platform_mcp_server SET state_message = %s WHERE id = %s",
                    [stored, server.id],
                )
                self.env.invalidate_all()
                self.assertEqual(server.state_sentence, shown)

    def test_what_a_person_enters_is_refused_in_their_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        server = self.server.with_context(lang="zh_TW")
        for values, sentence in (
            ({"url": "https://me:secret@example.com/mcp"}, "位址不可包含使用者名稱或密碼"),
            ({"headers_json": '{"Host": "example.com"}'}, "標頭「Host」會自動設定。"),
        ):
            with self.subTest(**values), self.assertRaisesRegex(ValidationError, sentence):
                server.write(values)

    def test_durations_are_written_as_the_language_does(self):
        self.env["res.lang"]._activate_lang("fr_FR")
        written = [
            sentences.duration(self.env(context={"lang": lang}), ms)
            for lang in ("en_US", "fr_FR")
            for ms in (312, 1_240, 125_000)
        ]
        self.assertEqual(written, ["312 ms", "1.2 s", "2 min 5 s", "312 ms", "1,2 s", "2 min 5 s"])


@tagged("post_install", "-at_install")
class TestTranslationsOfThePortal(AiHttpCase):
    def test_the_portal_loads_the_chats_words(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self._sign_in(self.member)
        data = self._call("GET", "/my/ai/translations?lang=zh_TW")[1]
        messages = data["modules"][MODULE]["messages"]
        words = {message["id"]: message["string"] for message in messages}
        self.assertEqual(words["Write a message"], "寫訊息")
        self.assertIn("web", data["modules"])  # the page reads nothing else

    def test_browsers_keep_the_words_of_each_language_apart(self):
        self._sign_in(self.member)
        page = self.url_open("/my/ai").text
        self.assertIn('translationURL = "/my/ai/translations/en_US"', page)
        self.env["res.lang"]._activate_lang("zh_TW")
        data = self._call("GET", "/my/ai/translations/zh_TW")[1]
        self.assertEqual(data["lang"], "zh_TW")

    def test_each_person_picks_one_of_the_installed_languages(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self._sign_in(self.member)
        told = self._call("GET", "/api/ai/preferences")[1]
        self.assertEqual(told["language"], "en_US")
        self.assertIn("zh_TW", [one["code"] for one in told["languages"]])
        status, refused = self._call("PATCH", "/api/ai/preferences", {"language": "xx_XX"})
        self.assertEqual((status, refused["error"]["code"]), (400, "invalid_field"))
        self.assertEqual(self.member.lang, "en_US")
        self._call("PATCH", "/api/ai/preferences", {"language": "zh_TW"})
        self.env.invalidate_all()
        self.assertEqual(self.member.lang, "zh_TW")
        told = self._call("GET", "/api/ai/conversations/999999999")[1]
        self.assertEqual(
            told["error"]["message"], "此對話不存在。", "from now on, without signing in"
        )
