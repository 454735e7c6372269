from odoo.http import Request
from odoo.tests import tagged

from .common import AiHttpCase

SETTINGS = (
    "/my/ai-servers",
    "/my/ai/prompts",
    "/my/ai/connections",
    "/my/ai/sign-ins",
    "/my/ai/memory",
    "/my/ai/notifications",
    "/my/ai/usage",
    "/my/ai/data",
)


@tagged("post_install", "-at_install")
class TestPortalPages(AiHttpCase):
    """What a person finds in the portal, and what is said where there is nothing to find."""

    def test_the_home_has_three_tiles(self):
        self._sign_in(self.member)
        page = self.url_open("/my/home").text
        for path in ("/my/ai", "/my/ai/decisions", "/my/services"):
            self.assertIn(f'href="{path}"', page)
        for path in SETTINGS:
            self.assertNotIn(path, page)

    def test_the_settings_are_one_page_with_tabs(self):
        self._sign_in(self.member)
        for path in SETTINGS:
            with self.subTest(path=path):
                page = self.url_open(path).text
                tabs = page.partition("o_woow_settings")[2].partition("</ul>")[0]
                for other in SETTINGS:
                    self.assertIn(f'href="{other}"', tabs)
                current = tabs.partition('aria-current="page"')[0].rpartition("<a")[2]
                self.assertIn(f'href="{path}"', current)
                self.assertIn('href="/my/ai"', page)

    def test_an_address_that_leads_nowhere_says_so(self):
        """Whether it is somebody else's or nobody's is not told."""
        theirs = self._conversation(self.stranger).id
        self._sign_in(self.member)
        service = f"/my/services/{self.service.id}"
        for path, lands in {
            f"/my/ai/{theirs}": "/my/ai",
            "/my/ai/99999999": "/my/ai",
            f"{service}/chat/{theirs}": f"{service}/chat",
            "/my/services/99999999": "/my/services",
            "/my/services/99999999/mcp": "/my/services",
        }.items():
            with self.subTest(path=path):
                answer = self.url_open(path)
                self.assertEqual(answer.url.partition("?")[0], self.base_url() + lands)
                self.assertIn("o_woow_gone", answer.text)
                self.assertNotIn("o_woow_gone", self.url_open(lands).text)

    def test_who_only_uses_a_service_reads_that_its_servers_are_not_theirs(self):
        self._sign_in(self.member)
        service = f"/my/services/{self.service.id}"
        answer = self.url_open(f"{service}/mcp")
        self.assertEqual(answer.url.partition("?")[0], self.base_url() + service)
        self.assertIn("o_woow_gone", answer.text)

    def test_who_has_a_workspace_is_not_sent_to_its_owner(self):
        self._sign_in(self.stranger)  # who owns a workspace without services
        page = self.url_open("/my/services").text
        self.assertIn("There are none in your workspace.", page)
        self.assertNotIn("Ask the owner of a workspace", page)
        self._sign_in(self.internal)
        self.assertIn("Ask the owner of a workspace", self.url_open("/my/services").text)

    def test_runs_are_listed_stopped_and_tried_again(self):
        """Only the caller's own, whoever may read others elsewhere."""
        mine, theirs = self.env["woow_paas_platform.ai_run"].create(
            [
                {"name": name, "user_id": user.id, "event": name}
                for name, user in (("Check mine", self.member), ("Check theirs", self.stranger))
            ]
        )
        self.env.flush_all()
        self._sign_in(self.member)
        self.assertIn('href="/my/ai/runs"', self.url_open("/my/home").text)
        page = self.url_open("/my/ai/runs").text
        self.assertIn("Check mine", page)
        self.assertNotIn("Check theirs", page)
        token = {"csrf_token": Request.csrf_token(self)}
        for verb, status, state in (
            ("retry", 422, "scheduled"),
            ("stop", 200, "stopped"),
            ("retry", 200, "scheduled"),
            ("stop", 200, "stopped"),
        ):
            with self.subTest(verb=verb, state=state):
                answer = self.url_open(f"/my/ai/runs/{mine.id}/{verb}", token)
                self.env.invalidate_all()
                self.assertEqual((answer.status_code, mine.state), (status, state))
                if verb == "retry" and status == 200:
                    mine.state = "started"  # by a turn that was deleted since
                    self.env.flush_all()
        for who in (self.member, self.admin):
            self._sign_in(who)
            page = self.url_open("/my/ai/runs").text
            self.assertNotIn("Check theirs", page)
            token = {"csrf_token": Request.csrf_token(self)}
            answer = self.url_open(f"/my/ai/runs/{theirs.id}/stop", token)
            self.assertIn("o_woow_gone", answer.text)
            self.assertEqual(theirs.state, "scheduled")
