"""Servers with a command of cloud services, each workspace apart from the others."""

from dataclasses import replace
from unittest.mock import patch

from odoo.exceptions import AccessError, UserError
from odoo.tests import tagged
from odoo.tools import config, mute_logger

from ..models.mcp.mcp_server_source import SANDBOX_PARAMETER
from ..services.errors import ConfigError
from ..services.sandbox import bubblewrap
from ..tools import settings
from .common import AiCase
from .test_stdio_templates import SLACK, TEMPLATE, Released


@tagged("post_install", "-at_install")
class TestOwners(Released, AiCase):
    """Where the operator says so, cloud services have such servers, each workspace apart from the others."""

    def setUp(self):
        super().setUp()
        self._apply(self.filesystem + self.for_owners)
        self.their_service = self.env["woow_paas_platform.cloud_service"].create(
            {"name": "theirs", "workspace_id": self.other_workspace.id}
        )

    def _folder(self, server):
        return server._server_spec().command[-1]

    def test_each_workspace_has_a_folder_of_its_own(self):
        ours = self._add("filesystem", self.owner, self.service)
        theirs = self._add("filesystem", self.stranger, self.their_service)
        shared = self._add("filesystem")
        self.assertEqual(self._folder(ours), str(self.workspaces / self.workspace.folder))
        self.assertEqual(self._folder(theirs), str(self.workspaces / self.other_workspace.folder))
        self.assertEqual(self._folder(shared), str(self.root))
        for folder in (str(self.root), f"{self.workspaces}/{self.other_workspace.folder}"):
            with self.assertRaises(UserError):
                ours._change_template_values({"allowed_roots": folder})
        for user in (self.stranger, self.member, self.guest, self.internal):
            with self.subTest(user=user.login):
                self.assertFalse(ours.with_user(user).has_access("read"))
                with self.assertRaises(AccessError), self.env.cr.savepoint():
                    self._add("filesystem", user, self.service)

    def test_nobody_takes_the_folder_of_another_workspace(self):
        for values in ({"folder": self.other_workspace.folder}, {"folder": "../x"}):
            with self.assertRaises(AccessError):
                self.workspace.with_user(self.admin).write(values)
            with self.assertRaises(AccessError):
                self.workspace.with_user(self.admin).create({"name": "x", **values})
        self.assertNotEqual(self.workspace.copy().folder, self.workspace.folder)

    def test_a_person_alone_has_none(self):
        template = self.env[TEMPLATE].search([("code", "=", "filesystem")])
        vals = {"name": "x", "scope": "user", "owner_user_id": self.owner.id}
        with self.assertRaisesRegex(UserError, "belong to a cloud service"):
            self.Server.with_user(self.owner)._create_of_template(template, {}, vals)

    def test_what_owners_may_not_use_any_more_stops(self):
        ours, shared = self._add("filesystem", self.owner, self.service), self._add("filesystem")
        self._apply(self.filesystem)
        self.assertEqual((ours.active, ours.state, shared.active), (False, "disabled", True))
        self.assertIn("not enabled this template for cloud services", ours.state_sentence)
        with self.assertRaises(ConfigError):
            ours._server_spec()
        self._apply(self.filesystem + self.for_owners)
        self.assertTrue(ours.active)

    def test_a_service_that_moves_leaves_its_values_behind(self):
        self._apply(self.filesystem + self.for_owners + SLACK)
        files = self._add("filesystem", self.owner, self.service)
        slack = self._add("slack", self.owner, self.service, bot_token="xoxb-s3cret")
        self.service.workspace_id = self.other_workspace
        files, slack = files.with_env(self.env), slack.with_env(self.env)  # no longer the owner's
        for server in files | slack:
            self.assertEqual((server.active, server.state), (False, "disabled"))
            self.assertFalse(server.sudo().template_values_encrypted)
            with self.assertRaises(ConfigError):
                server._server_spec()
        files.with_user(self.stranger)._change_template_values({})
        files.with_user(self.stranger).active = True
        self.assertEqual(self._folder(files), str(self.workspaces / self.other_workspace.folder))

    @mute_logger("odoo.sql_db")
    def test_a_server_stays_where_it_was_made(self):
        files = self._add("filesystem", self.owner, self.service)
        for vals in (
            {"cloud_service_id": self.their_service.id},
            {"cloud_service_id": False, "owner_user_id": self.owner.id},
            {"scope": "system", "cloud_service_id": False},
        ):
            for user in (self.owner, self.admin):
                with self.subTest(vals=vals), self.assertRaises(UserError):
                    files.with_user(user).write(vals)

    # ------------------------------------------------------------ sandboxes

    def _operator_says(self, mode):
        said = replace(settings.get(), sandbox=mode)
        return patch.object(settings, "get", return_value=said)

    def test_a_workspace_has_its_folder_and_no_more_of_this_host(self):
        self._apply(self.filesystem + self.for_owners + SLACK)
        ours = self._add("filesystem", self.owner, self.service)
        slack = self._add("slack", self.owner, self.service, bot_token="xoxb-s3cret")
        shared = self._add("filesystem")
        with self._operator_says("required"):
            box = ours._server_spec().sandbox
            self.assertEqual(box.folders, (str(self.workspaces / self.workspace.folder),))
            self.assertEqual((box.required, box.network, box.readable), (True, False, ()))
            self.assertEqual(box.args, box.folders)
            self.assertIn(config["data_dir"], box.hidden)
            self.assertIn(str(self.workspaces), box.hidden)  # but for its own folder
            self.assertIn(str(self.workspaces), slack._server_spec().sandbox.hidden)
            self.assertTrue(slack._server_spec().sandbox.network)
            self.assertFalse(slack._server_spec().sandbox.folders)
            self.assertNotIn("xoxb-s3cret", repr(slack._server_spec()))
            self.assertIsNone(shared._server_spec().sandbox)
        with self._operator_says("preferred"):
            self.assertFalse(ours._server_spec().sandbox.required)
        with self._operator_says("off"):
            self.assertIsNone(ours._server_spec().sandbox)

    def test_a_database_that_is_older_than_sandboxes_prefers_them(self):
        parameter = self.env["ir.config_parameter"].sudo()
        with self._operator_says(""):
            self.assertEqual(self.Server._sandbox_mode(), "required")
            parameter.set_param(SANDBOX_PARAMETER, "preferred")  # as its update does
            self.assertEqual(self.Server._sandbox_mode(), "preferred")
        with self._operator_says("off"):
            self.assertEqual(self.Server._sandbox_mode(), "off")

    def test_health_counts_what_runs_without_a_sandbox(self):
        self._add("filesystem")
        with (
            self._operator_says("required"),
            patch.object(bubblewrap, "known_problem", side_effect=AssertionError),
        ):
            self.assertEqual(
                self.Server._sandbox_state(),
                {
                    "sandbox": "required",
                    "sandbox_possible": None,
                    "programs_without_sandbox": 0,
                },
                "no host is asked for what nobody has",
            )
        self._add("filesystem", self.owner, self.service)
        no, yes = "No permissions to create new namespace", ""
        for mode, problem, possible, bare in (
            ("off", yes, True, 1),
            ("off", None, None, 1),
            ("preferred", no, False, 1),
            ("preferred", yes, True, 0),
            ("preferred", None, None, None),
            ("required", no, False, 0),
            ("required", None, None, 0),
        ):
            with (
                self.subTest(mode=mode, problem=problem),
                self._operator_says(mode),
                patch.object(bubblewrap, "known_problem", return_value=problem),
            ):
                self.assertEqual(
                    self.Server._sandbox_state(),
                    {
                        "sandbox": mode,
                        "sandbox_possible": possible,
                        "programs_without_sandbox": bare,
                    },
                )
