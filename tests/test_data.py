"""What the data files tell Odoo's updates, and what the addon takes of Odoo."""

import ast
from pathlib import Path

from odoo.modules.module import get_module_path
from odoo.tests import TransactionCase, new_test_user, tagged
from odoo.tools.convert import convert_file

MODULE = "woow_paas_platform"
# What administrators adapt, no update touches; what we say of other people's servers, an update corrects.
KEPT = {"ir.rule": True, "ir.cron": True, f"{MODULE}.mcp_template": False}
KEPT[f"{MODULE}.mcp_template_field"] = False
KEPT[f"{MODULE}.mcp_server"] = True
PRESETS = ("deepwiki", "context7", "huggingface")


@tagged("post_install", "-at_install")
class TestData(TransactionCase):
    def _own(self, *models):
        return self.env["ir.model.data"].search([("module", "=", MODULE), ("model", "in", models)])

    def test_an_update_corrects_what_is_ours_and_keeps_what_is_theirs(self):
        found = {(row.model, row.noupdate) for row in self._own(*KEPT)}
        self.assertEqual(found, set(KEPT.items()))

    def test_servers_to_begin_with_are_off_and_may_be_deleted(self):
        names = [("name", "in", [f"mcp_server_{name}" for name in PRESETS])]
        rows = self._own(f"{MODULE}.mcp_server").filtered_domain(names)
        self.assertEqual(len(rows), len(PRESETS))
        servers = self.env[f"{MODULE}.mcp_server"].browse(rows.mapped("res_id"))
        for server in servers:
            self.assertEqual(
                (server.active, server.state, server.scope, server.trust_level),
                (False, "disabled", "system", "none"),
            )
            self.assertFalse(server.has_api_key or server.header_names or server.last_attempt)
        admin = new_test_user(self.env, "preset_admin", groups=f"{MODULE}.group_admin")
        servers.with_user(admin).unlink()
        before = self._own(f"{MODULE}.mcp_server")
        convert_file(self.env, MODULE, "data/mcp_server.xml", {}, mode="update", noupdate=True)
        self.assertEqual(self._own(f"{MODULE}.mcp_server"), before)

    def test_each_page_has_an_address(self):
        menus = self.env["ir.ui.menu"].browse(self._own("ir.ui.menu").mapped("res_id"))
        pages = {menu.action for menu in menus if menu.action}
        rows = self._own("ir.actions.act_window")
        pages |= set(self.env["ir.actions.act_window"].browse(rows.mapped("res_id")))
        self.assertFalse([page.name for page in pages if not page.path])

    def test_nothing_is_taken_from_the_inside_of_odoos_orm(self):
        for path in Path(get_module_path(MODULE)).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [
                    alias.name
                    for alias in getattr(node, "names", ())
                    if isinstance(alias, ast.alias)
                ]
                inside = [getattr(node, "module", None) or "", *names]
                with self.subTest(path.name):
                    self.assertFalse([name for name in inside if name.startswith("odoo.orm")])
