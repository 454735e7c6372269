"""Who manages a server: what `_is_managed_by` says, and what Odoo enforces by its rules, is the same for everybody."""

import json

from odoo import Command
from odoo.exceptions import AccessError
from odoo.tests import new_test_user, tagged

from .common import AiCase

ADMIN = {"admin"}
ADMINS = {"admin", "other_admin"}
OF_SERVICE = ADMINS | {"owner", "manager"}
MANAGED = {
    "system": ADMINS,
    "of_company": ADMIN,
    "of_service": OF_SERVICE,
    "switched_off": OF_SERVICE,
    "of_archived_service": OF_SERVICE,
    "of_archived_workspace": OF_SERVICE,
    "of_member": ADMINS | {"member"},
    "of_internal": ADMINS | {"internal"},
    "of_nobody": ADMINS,
}
SERVER = "woow_paas_platform.mcp_server"


@tagged("post_install", "-at_install")
class TestManagers(AiCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        env = cls.env(context=dict(cls.env.context, woow_no_sync=True))
        other = env["res.company"].create({"name": "Other"})
        cls.manager = new_test_user(env, "ai_manager", groups="base.group_portal")
        cls.other_admin = new_test_user(
            env,
            "ai_other_admin",
            groups="woow_paas_platform.group_admin",
            company_id=other.id,
            company_ids=[Command.set(other.ids)],
        )
        names = "admin other_admin internal owner manager member guest stranger public"
        cls.people = {name: getattr(cls, name) for name in names.split()}
        cls.workspace.access_ids = [Command.create({"user_id": cls.manager.id, "role": "admin"})]
        left = cls.workspace.copy({"name": "Left", "access_ids": False, "owner_id": cls.owner.id})
        left.access_ids = [Command.create({"user_id": cls.manager.id, "role": "admin"})]
        gone, alone = env["woow_paas_platform.cloud_service"].create(
            [
                {"name": "Gone", "workspace_id": cls.workspace.id},
                {"name": "Alone", "workspace_id": left.id},
            ]
        )
        cls.servers = {"system": cls.server, "of_service": cls.user_server}
        for name, whose in {
            "of_company": {"scope": "system", "company_id": cls.admin.company_id.id},
            "switched_off": {"cloud_service_id": cls.service.id, "active": False},
            "of_archived_service": {"cloud_service_id": gone.id},
            "of_archived_workspace": {"cloud_service_id": alone.id},
            "of_member": {"owner_user_id": cls.member.id},
            "of_internal": {"owner_user_id": cls.internal.id},
            "of_nobody": {"owner_user_id": cls.public.id},
        }.items():
            values = {"name": name, "url": f"https://{name}.example.com/mcp", "scope": "user"}
            cls.servers[name] = env[SERVER].create({**values, **whose})
        gone.active = left.active = False
        cls.rows = {name: cls._rows_of(server) for name, server in cls.servers.items()}
        env.flush_all()

    @classmethod
    def _rows_of(cls, server):
        """What who manages the server may do with what belongs to it: ``[(row, verb)]``."""
        env = server.with_context(woow_no_sync=True).env
        tool = env["woow_paas_platform.mcp_tool"].create(
            {"name": "managed", "server_id": server.id, "input_schema": "{}"}
        )
        review = env["woow_paas_platform.mcp_tool_review"].create(
            {
                "tool_id": tool.id,
                "server_id": server.id,
                "tool_name": "managed",
                "decision": "accepted",
                "definition": {"name": "managed"},
            }
        )
        server.description = "Managed"
        rows = [(server, "write"), (server, "read"), (server, "unlink"), (tool, "write")]
        rows += [(review, "read"), (server.version_ids[:1], "read")]
        if (
            server.scope == "user"
        ):  # the one of a system server is its administrators', whatever their company
            sign_in = env["woow_paas_platform.mcp_sign_in"]._of(server.id, 0, "a", make=True)
            rows += [(sign_in, "read"), (sign_in, "unlink")]
        return rows

    def test_the_rules_and_the_method_agree(self):
        self.assertEqual(self.servers.keys(), MANAGED.keys())
        for name, server in self.servers.items():
            for who, user in self.people.items():
                with self.subTest(server=name, who=who):
                    self.assertEqual(server._is_managed_by(user), who in MANAGED[name])
                    own = server.with_user(user).sudo(False)
                    self.assertEqual(own._is_managed_by(user), who in MANAGED[name])
                for row, verb in self.rows[name]:
                    with self.subTest(server=name, who=who, row=row._name, verb=verb):
                        self.assertTrue(row)
                        own = row.with_user(user).sudo(False)
                        self.assertEqual(own.has_access(verb), who in MANAGED[name])

    def test_who_manages_a_server_finds_it(self):
        for who, user in self.people.items():
            Server = self.env[SERVER].with_user(user).sudo(False).with_context(active_test=False)
            if not Server.has_access("read"):
                continue
            found = Server.search([])
            with self.subTest(who=who):
                names = {name for name, server in self.servers.items() if server in found}
                self.assertEqual(names, {name for name in MANAGED if who in MANAGED[name]})

    def test_who_may_add_a_server_manages_it(self):
        for name, server in self.servers.items():
            values = {
                "scope": server.scope,
                "cloud_service_id": server.cloud_service_id.id,
                "owner_user_id": server.owner_user_id.id,
            }
            if server.company_id:
                continue  # it gets its company later
            for who, user in self.people.items():
                with self.subTest(server=name, who=who):
                    self.assertEqual(self._may_add(user, values), who in MANAGED[name])

    def _may_add(self, user, values):
        Server = self.env[SERVER].with_user(user).sudo(False)
        try:
            Server._check_owner(values)
        except AccessError:
            return False
        return Server.has_access("create")

    def test_a_service_says_the_same_of_its_servers(self):
        """`is_manager` opens the pages on which they are managed."""
        Service = self.env["woow_paas_platform.cloud_service"].with_context(active_test=False)
        services = Service.browse({server.cloud_service_id.id for server in self.servers.values()})
        for service in services.filtered("id"):
            servers = [s for s in self.servers.values() if s.cloud_service_id == service]
            for who, user in self.people.items():
                with self.subTest(service=service.name, who=who):
                    manages = service.with_user(user).sudo(False).is_manager
                    self.assertEqual({user in s._managers() for s in servers}, {manages})
                    found = Service.with_user(user).sudo().search([("is_manager", "=", True)])
                    self.assertEqual(service in found, manages)

    def test_those_who_manage_a_server_are_told_of_it(self):
        """Administrators as a group, everybody else alone; who is not signed in never."""
        admins = self.env.ref("woow_paas_platform.group_admin")
        Bus = self.env["bus.bus"].sudo()
        for name, server in self.servers.items():
            self.env.cr.precommit.run()
            Bus.search([]).unlink()
            server._set_state("error", f"Down: {name}")
            self.env.cr.precommit.run()
            told = {
                tuple(json.loads(row.channel)[1:])
                for row in Bus.search([])
                if json.loads(row.message)["type"] == "woow_ai/mcp_server"
            }
            people = {self.people[who] for who in MANAGED[name] - ADMINS}
            expected = {("res.partner", user.partner_id.id) for user in people}
            with self.subTest(server=name):
                self.assertEqual(told, {("res.groups", admins.id), *expected})
