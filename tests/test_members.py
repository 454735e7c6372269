from odoo.exceptions import AccessError, UserError
from odoo.http import Request
from odoo.service import model as service_model
from odoo.tests import new_test_user, tagged

from .common import AiHttpCase
from .race_data import RaceCase

UNKNOWN = "No user of your company has this email address."


@tagged("post_install", "-at_install")
class TestMembers(AiHttpCase):
    """The owner of a workspace lets people of the same company in, and takes them out again."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        company, other = cls.env["res.partner"].create(
            [{"name": name, "is_company": True} for name in ("Acme", "Other")]
        )
        cls.owner.partner_id.parent_id = company
        cls.stranger.partner_id.parent_id = other
        cls.ada = cls._person("ada", company)
        cls.internal.write({"email": "in@acme.example.com"})
        cls.internal.partner_id.parent_id = company
        cls.eve = cls._person("eve", other)
        cls.path = f"/my/services/{cls.service.id}"

    @classmethod
    def _person(cls, name, company):
        user = new_test_user(
            cls.env,
            f"ai_{name}",
            groups="base.group_portal",
            email=f"{name}@acme.example.com",
            password="secret-of-a-test",
            lang="en_US",
            context={"no_reset_password": True, "tracking_disable": True},
        )
        user.partner_id.parent_id = company
        return user

    def _post(self, path="", token=True, **form):
        """:return: the page after it"""
        if token:
            form["csrf_token"] = Request.csrf_token(self)
        answer = self.url_open(f"{self.path}/members{path}", data=form)
        self.env.invalidate_all()
        return answer

    def _refused(self, path="", **form):
        """:return: the page that says why"""
        answer = self._post(path, **form)
        self.assertEqual(answer.status_code, 422)
        return answer.text

    def _role(self, user):
        return self.workspace._role_of(user)

    def test_the_address_of_a_refused_form_opens_its_page(self):
        self._sign_in(self.owner)
        self._refused(email="nobody@acme.example.com")
        page = self.url_open(f"{self.path}/members")
        self.assertEqual(
            (page.status_code, page.url), (200, f"{self.base_url()}{self.path}#members")
        )

    def test_the_owner_adds_and_removes(self):
        self._sign_in(self.owner)
        for user, address in (
            (self.ada, "Ada@Acme.example.com "),
            (self.internal, "in@acme.example.com"),
        ):
            page = self._post(email=address)
            self.assertEqual(page.url, f"{self.base_url()}{self.path}#members")
            self.assertEqual(self._role(user), "user")
            self.assertIn(user.name, page.text.partition("o_woow_members")[2])
        access = self.workspace.access_ids.filtered(lambda a: a.user_id == self.ada)
        page = self._post(f"/{access.id}/remove").text
        self.assertFalse(self._role(self.ada))
        self.assertNotIn(self.ada.email, page)
        self.assertIn("o_woow_removed", page)
        self.assertNotIn("o_woow_removed", self.url_open(self.path).text, "it is said once")
        self.assertEqual(self._post(f"/{access.id}/remove").status_code, 200, "it is gone already")

    def test_who_was_added_sees_the_service_and_its_owner(self):
        self._sign_in(self.owner)
        self._post(email=self.ada.email)
        self._sign_in(self.ada)
        page = self.url_open(self.path).text
        members = page.partition("o_woow_members")[2]
        self.assertIn(self.owner.name, members.partition("Owner")[0])
        self.assertNotIn("o_woow_add_member", page)
        self.assertNotIn("/remove", page)

    def test_whoever_is_not_of_the_company_is_told_of_in_one_way(self):
        double = self._person("double", self.ada.partner_id.parent_id)
        double.email = self.ada.email
        before = self.workspace.access_ids
        self._sign_in(self.owner)
        for address in (
            self.eve.email,
            "nobody@example.com",
            self.ada.email,  # of two people
            "no address",
            "%@acme.example.com",
            "a" * 9_000 + "@example.com",
            "",
        ):
            with self.subTest(address=address[:20]):
                self.assertIn(UNKNOWN, self._refused(email=address))
        self.assertEqual(self.workspace.access_ids, before)

    def test_a_login_counts_before_an_address_that_somebody_has_entered(self):
        company = self.ada.partner_id.parent_id
        real = self._person("real", company)
        real.login = "boss@acme.example.com"
        self.ada.email = "boss@acme.example.com"
        self._sign_in(self.owner)
        self._post(email="boss@acme.example.com")
        self.assertEqual((self._role(real), self._role(self.ada)), ("user", False))

    def test_who_has_no_company_has_no_colleagues(self):
        self.owner.partner_id.parent_id = False
        self._sign_in(self.owner)
        self.assertIn(UNKNOWN, self._refused(email=self.ada.email))

    def test_a_member_is_not_added_twice_and_the_owner_stays(self):
        self._sign_in(self.owner)
        self._post(email=self.ada.email)
        self.assertIn("is already a member.", self._refused(email=self.ada.email))
        own = self.workspace.access_ids.filtered(lambda a: a.user_id == self.owner)
        self.assertIn("The owner cannot be removed.", self._refused(f"/{own.id}/remove"))
        self.assertEqual(self._role(self.owner), "owner")

    def test_nobody_else_changes_members(self):
        guest = self.workspace.access_ids.filtered(lambda a: a.user_id == self.guest)
        manager = self._person("manager", self.owner.partner_id.parent_id)
        self.workspace.sudo().access_ids.create(
            {"workspace_id": self.workspace.id, "user_id": manager.id, "role": "admin"}
        )
        before = self.workspace.access_ids
        for user in (manager, self.member, self.guest, self.stranger, self.internal, self.admin):
            with self.subTest(user=user.login):
                self._sign_in(user)
                for path, form in (("", {"email": self.ada.email}), (f"/{guest.id}/remove", {})):
                    self.assertIn("o_woow_gone", self._post(path, **form).text)
                own = self.workspace.with_user(user).sudo(False)
                with self.assertRaises(AccessError):
                    own._add_member(self.ada.email)
                with self.assertRaises(AccessError):
                    own._remove_member(guest.id)
        self.assertEqual(self.workspace.access_ids, before)

    def test_an_owner_reaches_no_other_workspace(self):
        theirs = self.other_workspace.access_ids
        self._sign_in(self.owner)
        self._post(f"/{theirs.id}/remove")
        self.assertTrue(theirs.exists())

    def test_a_form_of_another_site_changes_nothing(self):
        self._sign_in(self.owner)
        self.assertEqual(self._post(token=False, email=self.ada.email).status_code, 400)
        self.assertFalse(self._role(self.ada))


@tagged("post_install", "-at_install")
class TestMembersAtOnce(RaceCase):
    @classmethod
    def _make(cls, env):
        super()._make(env)
        company = env["res.partner"].create({"name": "Racers", "is_company": True})
        owner = env["res.users"].browse(cls.uid)
        ada = new_test_user(
            env, "ai_racing_ada", groups="base.group_portal", email="ada@racers.example.com"
        )
        (owner | ada).partner_id.parent_id = company
        workspace = env["woow_paas_platform.workspace"].create({"name": "R", "owner_id": cls.uid})
        cls.made = [workspace, *cls.made, ada, ada.partner_id, company]
        cls.workspace_id, cls.address = workspace.id, ada.email

    def _add(self, env):
        env["woow_paas_platform.workspace"].browse(self.workspace_id)._add_member(self.address)

    def test_who_is_added_twice_at_once_is_a_member_already(self):
        """The request that comes second meets the row of the first, and is repeated by Odoo."""

        def second():
            env["woow_paas_platform.workspace"].browse(self.workspace_id).name  # noqa: B018
            if not tries:
                with self._transaction(self.uid) as first:
                    self._add(first)
            tries.append(1)
            self._add(env)

        tries = []
        with (
            self.assertNoLogs("odoo.sql_db", "ERROR"),
            self.assertRaisesRegex(UserError, "is already a member"),
            self._transaction(self.uid) as env,
        ):
            service_model.retrying(second, env)
        self.assertEqual(len(tries), 2)
        with self._transaction() as env:
            workspace = env["woow_paas_platform.workspace"].browse(self.workspace_id)
            self.assertEqual(sorted(workspace.access_ids.mapped("role")), ["owner", "user"])
