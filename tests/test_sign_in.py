import asyncio
from contextlib import contextmanager
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from odoo.tests import tagged
from odoo.tests.common import release_test_lock

from ..models.mcp.mcp_check import MAX_CHECKS
from ..runtime import process
from ..runtime.web import slots
from ..services.errors import SignInRequired
from ..services.oauth import flow, registration
from ..services.specs import CallResult
from ..services.testing.fake_oauth import FakeOAuth
from .common import TAIPEI, TurnByHandCase, served_mcp

CALLBACK = "/api/ai/oauth/callback"
SIGN_IN = "woow_paas_platform.mcp_sign_in"


class SignInCase(TurnByHandCase):
    """A turn of the member whose server wants each person to sign in."""

    def setUp(self):
        super().setUp()
        self.tools.approval_policy = "auto"
        self.fake = self.enterContext(served_mcp())
        self.authority = self.enterContext(self._authority())
        self.server.write({"url": self.fake.url, "authorization": "oauth_user"})

    @contextmanager
    def _authority(self):
        loop = self.fake._server.get_loop()
        authority = FakeOAuth(self.fake)
        asyncio.run_coroutine_threadsafe(authority.__aenter__(), loop).result(5)
        try:
            yield authority
        finally:
            asyncio.run_coroutine_threadsafe(authority.__aexit__(), loop).result(5)

    def _spec(self, user):
        self.env.flush_all()
        return self.server.with_user(user).sudo()._server_spec()

    def _discover(self, user):
        spec = self._spec(user)
        try:
            with release_test_lock():  # the runner's threads read and write tokens
                return process.wait_for(lambda engine: engine.discover(spec), 10)
        finally:
            self.env.invalidate_all()

    def _wanted(self, user):
        try:  # Odoo's assertRaises would roll back what is kept of the sign-in
            self._discover(user)
        except SignInRequired as wanted:
            return wanted
        raise self.failureException("no sign-in was asked for")

    def _asked(self, user=None):
        """The call of the turn wants a sign-in: the event that says so."""
        self._begin((self.forecast, TAIPEI))
        wanted = self._wanted(user or self.member)
        self.assertEqual(self.store.suspend_call(self.claim, "call_1_1", wanted, []), "")
        self._wait()
        self._sign_in(self.member)
        return self._events("input_required")[-1]

    def _get(self, path, **params):
        answer = self.opener.get(
            self.base_url() + path, params=params, allow_redirects=False, timeout=20
        )
        self.env.invalidate_all()
        return answer

    def _start(self):
        """Where the person is led to."""
        answer = self._get(f"/api/ai/oauth/start/{self.server.id}")
        self.assertEqual(answer.status_code, 303)
        return answer.headers["Location"]

    def _get_callback(self, answer):
        """To the address that the authorization server was given."""
        answer = dict(answer)
        return self._get(f"{CALLBACK}/{answer.pop('callback')}", **answer)

    def _come_back(self, answer):
        """The page that tells what became of it."""
        back = self._get_callback(answer)
        self.assertEqual(back.status_code, 303)
        return self._get(back.headers["Location"].removeprefix(self.base_url())).text


@tagged("post_install", "-at_install")
class TestSignIn(SignInCase):
    """A call that needs a sign-in waits for it, and nobody else's answer counts."""

    def test_the_person_signs_in_and_the_call_goes_on(self):
        event = self._asked()
        self.assertEqual((event["kind"], event["choices"]), ("sign_in", ["decline"]))
        self.assertEqual(event["host"], urlsplit(self.authority.issuer).netloc)
        self._assert_error(self._decide("accept", event["id"]), 422, "refused")
        url = self._start()
        self.assertTrue(url.startswith(self.authority.issuer))
        self.assertEqual(parse_qs(urlsplit(url).query)["code_challenge_method"], ["S256"])
        page = self._come_back(self.authority.sign_in(url))
        self.assertIn("You are signed in to weather", page)
        (verdict,) = self._resume("call_1_1")
        self.assertEqual((verdict.kind, verdict.resume), ("run", None))
        decided = self._events("decided")[0]
        self.assertEqual((decided["decision"], decided["by"]), ("accept", self.member.name))
        self.store.end_call(self.claim, "call_1_1", CallResult(outcome="ok", text="Fine."), [])
        self.assertTrue(self._discover(self.member).tools)
        self._wanted(self.internal)  # one person's token is nobody else's

    def test_declined(self):
        event = self._asked()
        self.assertEqual(self._decide("decline", event["id"])[1]["state"], "queued")
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "deny")

    def test_the_state_of_another_person_is_refused(self):
        self._asked()
        answer = self.authority.sign_in(self._start())
        for other in (self.stranger, self.admin):
            self._sign_in(other)
            self.assertEqual(self._get_callback(answer).status_code, 400)
        self.assertEqual(self.turn.state, "waiting")
        self._sign_in(self.member)
        self.assertIn("You are signed in", self._come_back(answer))

    def test_an_answer_counts_once(self):
        self._asked()
        answer = self.authority.sign_in(self._start())
        self._come_back(answer)
        self.assertEqual(self._get_callback(answer).status_code, 400)
        self.assertEqual(len(self.authority.grants), 1)

    def test_answers_that_are_not_believed(self):
        self._asked()
        late = self.authority.sign_in(self._start())
        with patch.object(flow, "PENDING", -1):
            self.assertIn("unknown or has expired", self._come_back(late))
        mixed = self.authority.sign_in(self._start(), iss="https://evil.example.com")
        self.assertIn("came from a different issuer", self._come_back(mixed))
        shared = self.authority.sign_in(self._start())
        shared.pop("callback")
        back = self._get(CALLBACK, **shared)  # not where this authorization server leads back to
        self.assertIn("came from a different issuer", self._get(back.headers["Location"]).text)
        self.assertIn("not completed", self._come_back({**self._answer(), "error": "no"}))
        self.assertEqual(self._get(CALLBACK, state="made-up", code="x").status_code, 400)
        self.assertEqual(self._get(CALLBACK).status_code, 400)
        self.assertFalse(self.authority.grants)
        self.assertEqual(self.turn.state, "waiting")
        self.assertIn("signed in to", self._come_back(self.authority.sign_in(self._start())))
        self.assertEqual(self.turn.state, "queued")

    def test_one_person_lets_only_so_many_sign_ins_wait(self):
        self._asked()
        answer = self.authority.sign_in(self._start())
        own = {"name": "own", "scope": "user", "owner_user_id": self.member.id}
        fresh = self.server.copy(own)
        self.env.flush_all()
        with patch.object(slots, "per_person", lambda: 0):
            for refused in (
                self._get_callback(answer),
                self._get(f"/api/ai/oauth/start/{fresh.id}"),
            ):
                self.assertEqual(refused.status_code, 429)
                self.assertIn("Too many of your requests", refused.text)
                self.assertEqual(refused.headers["Retry-After"], "5")
        self.assertFalse(self.authority.grants)
        self.assertIn("You are signed in", self._come_back(answer))

    def test_sign_ins_count_like_tests(self):
        self._asked()
        for _time in range(MAX_CHECKS):
            answer = self.authority.sign_in(self._start())
        for refused in (
            self._get(f"/api/ai/oauth/start/{self.server.id}"),
            self._get_callback(answer),
        ):
            self.assertEqual(refused.status_code, 429)
            self.assertIn("many tests", refused.text)
        self.assertFalse(self.authority.grants)

    def _answer(self):
        """Without a code."""
        asked = {n: v[0] for n, v in parse_qs(urlsplit(self._start()).query).items()}
        return {"state": asked["state"], "callback": asked["redirect_uri"].rpartition("/")[2]}

    def test_who_may_start(self):
        path = f"/api/ai/oauth/start/{self.server.id}"
        self._sign_in(self.member)
        self.assertEqual(self._get(path).status_code, 404, "nobody asked")
        self._asked()
        self._sign_in(self.stranger)
        self.assertEqual(self._get(path).status_code, 404)
        self._sign_in(self.member)
        foreign = self.opener.get(
            self.base_url() + path, headers={"Sec-Fetch-Site": "cross-site"}, allow_redirects=False
        )
        self.assertEqual(foreign.status_code, 403)
        self.authenticate(None, None)
        for guarded in (path, CALLBACK, "/my/ai/sign-ins"):
            self.assertIn("/web/login", self._get(guarded).headers["Location"])

    def test_a_sign_in_for_everybody_is_a_managers(self):
        self.server.authorization = "oauth_server"
        self._begin((self.forecast, TAIPEI))
        wanted = self._wanted(self.member)
        refused = self.store.suspend_call(self.claim, "call_1_1", wanted, [])
        self.assertIn("only its managers can complete", refused)
        self._sign_in(self.member)
        path = f"/api/ai/oauth/start/{self.server.id}"
        self.assertEqual(self._get(path).status_code, 404)
        self._sign_in(self.admin)
        self.assertEqual(self.server.with_user(self.admin).action_sign_in()["url"], path)
        self._come_back(self.authority.sign_in(self._start()))
        for person in (self.member, self.internal):
            self.assertTrue(self._discover(person).tools)
        self.assertEqual(len(self.authority.grants), 1)

    def test_where_others_read_along_nobody_acts_by_their_own_sign_in(self):
        self._asked()
        self._come_back(self.authority.sign_in(self._start()))
        self.turn.channel_id = self.env["discuss.channel"].create({"name": "General"})
        request = self.turn._turn_request()
        self.assertFalse(request.servers)
        self.assertIn("Your own key or sign-in", request.tools[0].problem)
        # The one of everybody serves everybody.
        self.server.authorization = "oauth_server"
        self.assertEqual(self.turn._turn_request().servers[0].id, self.server.id)

    def test_a_call_that_waited_is_denied_when_others_came_to_read_along(self):
        self._asked()
        self._come_back(self.authority.sign_in(self._start()))
        self.turn.channel_id = self.env["discuss.channel"].create(
            {"name": "General", "group_public_id": False}
        )
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "deny")
        self.assertIn("Your own key or sign-in", verdict.reason)

    def test_by_client_credentials(self):
        self.server.write(
            {
                "authorization": "oauth_client",
                "oauth_client_id": "odoo",
                "oauth_client_secret": "cl1ent-secret",
                "oauth_issuer": self.authority.issuer,
            }
        )
        self.assertTrue(self._discover(self.member).tools)
        self.assertTrue(self._discover(self.internal).tools)
        self.assertEqual([g["grant_type"] for g in self.authority.grants], ["client_credentials"])

    def test_the_person_takes_it_back(self):
        self._asked()
        self._come_back(self.authority.sign_in(self._start()))
        (entry,) = self._call("GET", "/api/ai/sign-ins")[1]["sign_ins"]
        self.assertEqual((entry["server"], entry["issuer"]), ("weather", self.authority.issuer))
        path = f"/api/ai/sign-ins/{entry['id']}"
        self._sign_in(self.stranger)
        self._assert_error(self._call("DELETE", path), 404, "not_found")
        self.assertEqual(self._call("GET", "/api/ai/sign-ins")[1], {"sign_ins": []})
        self._sign_in(self.member)
        self.assertEqual(self._call("DELETE", path)[0], 204)
        self.env.invalidate_all()
        self._wanted(self.member)

    def test_no_token_in_clear_and_none_after_a_change(self):
        self._asked()
        self._come_back(self.authority.sign_in(self._start()))
        self.env.flush_all()
        own = [("server_id", "=", self.server.id)]
        (kept,) = filter(None, self.env[SIGN_IN].search(own).mapped("grant_encrypted"))
        self.assertFalse([t for t in self.authority.tokens if t in kept])
        self.server.url = "https://elsewhere.example.com/mcp"
        self.assertFalse(self.env[SIGN_IN].search(own))

    def test_a_cron_begins_no_sign_in(self):
        self.server.authorization = "oauth_server"
        self._wanted(self.env.ref("base.user_root"))
        own = [("sign_in_id.server_id", "=", self.server.id)]
        self.assertFalse(self.env[f"{SIGN_IN}_request"].search(own))

    def test_a_client_is_registered_once(self):
        for _ in range(3):
            self._wanted(self.member)
        (client,) = {self._client_of(self._wanted(self.member).url) for _ in range(2)}
        self.assertEqual(client, "client1")

    def test_a_link_of_a_client_that_may_be_forgotten_is_made_anew(self):
        with patch.object(registration, "UNUSED", -1):
            self._asked()
        self.assertEqual(self._client_of(self._start()), "client2")
        self.assertEqual(self._client_of(self._start()), "client2")

    def _client_of(self, url):
        return parse_qs(urlsplit(url).query)["client_id"][0]

    def test_who_this_odoo_is(self):
        self.authenticate(None, None)
        status, document = self._call("GET", "/api/ai/oauth/client.json")
        self.assertEqual(status, 200)
        self.assertTrue(document["client_id"].endswith("/api/ai/oauth/client.json"))
        self.assertTrue(document["redirect_uris"][0].endswith(CALLBACK))
