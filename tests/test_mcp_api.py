"""The REST API of servers and tools from the outside."""

import re
from dataclasses import replace
from unittest.mock import patch

from odoo.tests import tagged

from ..controllers.openapi_document import WORDS
from ..models.turn.ai_turn import Question
from ..tools import settings
from .common import AiHttpCase, served_mcp
from .test_mcp_server import discovery, tool

SERVERS = "/api/mcp/servers"


class McpApiCase(AiHttpCase):
    def _json(self, method, path, body=None, expect=None, headers=None):
        """Ask, check status and form, return the body."""
        status, data = self._call(method, path, body, headers)
        if expect is not None:
            self.assertEqual(status, expect, data)
        self.assertNotIn("Traceback", str(data))
        return data

    def _error(self, method, path, status, code, body=None, headers=None):
        data = self._json(method, path, body, status, headers)
        self.assertEqual(data["error"]["code"], code, data)
        self.assertTrue(data["error"]["message"].endswith("."), data)
        return data["error"]

    def _add(self, **values):
        return self._json("POST", SERVERS, {"url": "https://new.example.com/mcp", **values}, 201)


@tagged("post_install", "-at_install")
class TestMcpApi(McpApiCase):
    def test_two_lists(self):
        self._sign_in(self.owner)
        listed = self._json("GET", SERVERS, expect=200)
        (system,) = [s for s in listed["system_servers"] if s["id"] == self.server.id]
        self.assertEqual((system["name"], system["tool_count"]), ("weather", 2))
        self.assertFalse(system["can_edit"])
        self.assertNotIn("example.com", str(listed["system_servers"]))
        (own,) = listed["user_servers"]
        self.assertEqual((own["name"], own["url"]), ("flows", "https://flows.example.com/mcp"))

    def test_pages(self):
        self._sign_in(self.owner)
        seen, after = [], 0
        while after is not None:
            page = self._json("GET", f"{SERVERS}?limit=1&after={after}", expect=200)
            seen += [s["id"] for s in page["system_servers"] + page["user_servers"]]
            after = page["next"]
        everything = self._json("GET", SERVERS)
        self.assertEqual(
            sorted(seen),
            sorted(s["id"] for s in everything["system_servers"] + everything["user_servers"]),
        )
        self._error("GET", f"{SERVERS}?limit=0", 400, "invalid_parameter")

    def test_a_url_and_a_key_are_enough(self):
        self._sign_in(self.owner)
        added = self._add(
            url="https://mcp.stripes.example.com/mcp",
            api_key="sk-very-secret",
            headers={"X-Team": "blue-secret"},
            cloud_service_id=self.service.id,
        )
        self.assertEqual((added["name"], added["scope"]), ("stripes", "user"))
        self.assertEqual((added["has_api_key"], added["header_names"]), (True, ["X-Team"]))
        path = f"{SERVERS}/{added['id']}"
        whole = str(self._json("GET", path, expect=200))
        self.assertNotIn("very-secret", whole)
        self.assertNotIn("blue-secret", whole)
        again = self._add(
            url="https://mcp.stripes.example.com/mcp", cloud_service_id=self.service.id
        )
        self.assertEqual(again["name"], "stripes 2")

    def test_change_and_delete(self):
        self._sign_in(self.owner)
        path = f"{SERVERS}/{self.user_server.id}"
        self.user_server.api_key = "sk-old"
        changed = self._json("PUT", path, {"description": "Flows", "call_timeout": 12}, 200)
        self.assertEqual((changed["description"], changed["call_timeout"]), ("Flows", 12))
        self.assertTrue(changed["has_api_key"])
        self.assertFalse(self._json("PUT", path, {"remove_api_key": True}, 200)["has_api_key"])
        off = self._json("PATCH", f"{path}/toggle", {"active": False}, 200)
        self.assertFalse(off["active"])
        self.assertEqual([s["active"] for s in self._json("GET", SERVERS)["user_servers"]], [False])
        self._json("DELETE", path, expect=204)
        self._error("GET", path, 404, "not_found")

    def test_oauth(self):
        """A client's secret goes in and never out; tokens and secret outlive whatever leaves them as they are."""
        self._sign_in(self.owner)
        body = {"url": "https://o.example.com/mcp", "authorization": "oauth_server"}
        place = {"cloud_service_id": self.service.id}
        added = self._json("POST", SERVERS, {**body, **place}, 201)
        path = f"{SERVERS}/{added['id']}"
        self.assertEqual(added["sign_in_url"], f"/api/ai/oauth/start/{added['id']}")
        self.assertIsNone(added["sign_in_id"])
        client = {"oauth_client_id": "odoo", "oauth_client_secret": "cl1ent-secret"}
        self._error("PUT", path, 422, "invalid", client)
        client["oauth_issuer"] = "https://login.example.com"
        changed = self._json("PUT", path, client, 200)
        self.assertTrue(changed["has_oauth_client_secret"])
        self.assertNotIn("cl1ent-secret", str(changed))
        server = self.env["woow_paas_platform.mcp_server"].browse(added["id"])
        server.with_user(self.owner).sudo()._sign_in(make=True)._keep({"access_token": "t"})
        same = {**body, "oauth_client_id": "odoo", "description": "Ours"}
        kept = self._json("PUT", path, same, 200)
        self.assertTrue(kept["sign_in_id"])
        self.assertTrue(kept["has_oauth_client_secret"])
        moved = self._json("PUT", path, {"oauth_client_id": "another"}, 200)
        self.assertIsNone(moved["sign_in_id"])
        self.assertFalse(moved["has_oauth_client_secret"])
        back = self._json("PUT", path, {"authorization": "key"}, 200)
        self.assertIsNone(back["sign_in_url"])
        self._error("PUT", path, 400, "invalid_field", {"authorization": "sometimes"})
        self._sign_in(self.member)
        told = self._json("GET", SERVERS, expect=200)["system_servers"]
        self.assertFalse([server for server in told if "sign_in_url" in server])

    def test_tools(self):
        self._sign_in(self.owner)
        path = f"{SERVERS}/{self.user_server.id}/tools"
        (tool,) = self._json("GET", path, expect=200)["tools"]
        self.assertEqual(tool["name"], "run_flow")
        one = f"/api/mcp/tools/{tool['id']}"
        self.assertFalse(self._json("PATCH", one, {"active": False}, 200)["active"])
        self.assertFalse(self.run_flow.active)
        self.assertEqual(
            self._json("PATCH", one, {"approval_policy": "never"}, 200)["approval_policy"], "never"
        )
        self._error("PATCH", one, 400, "invalid_field", {"approval_policy": "sometimes"})
        names = [t["name"] for t in self._json("GET", f"{SERVERS}/{self.server.id}/tools")["tools"]]
        self.assertEqual(names, ["forecast", "alerts"])

    def test_bad_input(self):
        self._sign_in(self.owner)
        for status, code, body in (
            (400, "invalid_field", {}),
            (400, "invalid_field", {"url": 7}),
            (400, "unknown_field", {"url": "https://x.org", "command": "rm"}),
            (400, "invalid_field", {"url": "https://x.org", "transport": "stdio"}),
            (400, "invalid_field", {"url": "https://x.org", "call_timeout": True}),
            (422, "invalid", {"url": "ftp://x.org"}),
            (422, "invalid", {"url": "https://x.org", "headers": {"Host": "y"}}),
            (422, "invalid", {"url": "https://x.org", "call_timeout": -1}),
            (400, "invalid_field", {"url": "https://x.org", "name": " "}),
            (400, "invalid_field", {"url": "https://x.org", "name": "x" * 101}),
            (403, "forbidden", {"url": "https://x.org", "scope": "system"}),
            (404, "not_found", {"url": "https://x.org", "cloud_service_id": 2**30}),
        ):
            with self.subTest(body=body):
                self._error("POST", SERVERS, status, code, body)
        with self.subTest("the same name again"):
            values = {"name": "flows", "cloud_service_id": self.service.id, "url": "https://x.org"}
            self._error("POST", SERVERS, 422, "invalid", values)

    def test_templates(self):
        self._sign_in(self.owner)
        templates = self._json("GET", "/api/mcp/templates", expect=200)["templates"]
        github = next(template for template in templates if template["id"] == "github")
        self.assertEqual([f["name"] for f in github["fields"] if f["required"]], ["api_token"])
        place = {"cloud_service_id": self.service.id}
        values = {"api_token": " ghp_secret ", "toolsets": "repos", "repositories": ""}
        body = {"template": "github", "values": values, **place}
        added = self._json("POST", SERVERS, body, 201)
        self.assertEqual(added["url"], "https://api.githubcopilot.com/mcp/")
        self.assertEqual((added["name"], added["scope"]), ("GitHub", "user"))
        self.assertEqual((added["has_api_key"], added["header_names"]), (True, ["X-MCP-Toolsets"]))
        spec = self.env["woow_paas_platform.mcp_server"].browse(added["id"])._server_spec()
        self.assertEqual(
            spec.request_headers,
            {"X-MCP-Toolsets": "repos", "Authorization": "Bearer ghp_secret"},
        )
        self._error("POST", SERVERS, 404, "not_found", {"template": "no such", "values": {}})
        for values in ({}, {"api_token": " "}, {"api_token": "x", "command": "rm"}):
            self._error("POST", SERVERS, 422, "refused", {"template": "github", "values": values})
        self._error(
            "POST",
            SERVERS,
            400,
            "invalid_field",
            {"template": "github", "values": {"api_token": 1}},
        )

    def test_every_template_makes_a_server(self):
        self._sign_in(self.admin)
        self.env["ir.config_parameter"].sudo().set_param(
            "woow_paas_platform.max_servers_per_assistant", "50"
        )
        for template in self._json("GET", "/api/mcp/templates")["templates"]:
            if template["is_command"]:
                continue  # see test_stdio_templates
            with self.subTest(template=template["id"]):
                values = {
                    field["name"]: "https://x.example.com/mcp" if field["name"] == "url" else "abc"
                    for field in template["fields"]
                }
                body = {"template": template["id"], "values": values, "scope": "system"}
                self.assertEqual(self._json("POST", SERVERS, body, 201)["scope"], "system")

    def test_import_and_export(self):
        self.user_server.write({"api_key": "sk-export", "headers_json": '{"X-Key": "also-secret"}'})
        self._sign_in(self.owner)
        path = f"/api/mcp/export?cloud_service_id={self.service.id}"
        document = self._json("GET", path, expect=200)
        self.assertEqual(list(document["mcpServers"]), ["flows"])
        self.assertNotIn("secret", str(document))
        self.assertNotIn("sk-export", str(document))
        document["mcpServers"] |= {
            "local": {"command": "npx", "args": ["x"]},
            "more": {"url": "https://more.example.com/mcp", "headers": {"X-Key": "${X}"}},
        }
        body = {**document, "cloud_service_id": self.service.id}
        imported = self._json("POST", "/api/mcp/import", body, 201)
        self.assertEqual([server["name"] for server in imported["servers"]], ["more"])
        self.assertEqual({note["name"] for note in imported["notes"]}, {"local", "flows", "more"})
        error = self._error("POST", "/api/mcp/import", 422, "nothing_imported", body)
        self.assertEqual(len(error["details"]["notes"]), 3)
        self._error("POST", "/api/mcp/import", 422, "config_error", {"mcpServers": {}})

    def test_what_is_exported_is_imported_as_it_was(self):
        kept = {
            "title": "Flows of ours",
            "active": False,
            "trust_level": "full",
            "review_new_tools": True,
            "auto_start": True,
            "authorization": "oauth_user",
            "oauth_scope": "read write",
            "connect_timeout": 7.0,
            "call_timeout": 77.0,
        }
        self.user_server.write(kept)
        self.run_flow.active = False
        other = {"name": "other", "server_id": self.user_server.id, "input_schema": "{}"}
        self.env["woow_paas_platform.mcp_tool"].create({**other, "approval_policy": "never"})
        self._sign_in(self.owner)
        path = f"/api/mcp/export?cloud_service_id={self.service.id}"
        document = self._json("GET", path, expect=200)
        self.user_server.unlink()
        self.env.flush_all()
        body = {**document, "cloud_service_id": self.service.id}
        error = self._error("POST", "/api/mcp/import", 422, "confirmation_required", body)
        asks = [note["message"] for note in error["details"]["notes"]]
        self.assertIn("Fully trusted", asks[0])
        self.assertEqual(asks[1:], ["These of its tools always run: run_flow."])
        self.assertEqual(self._json("GET", path, expect=200)["mcpServers"], {})
        body["confirmed"] = True
        made = self._json("POST", "/api/mcp/import", body, 201)
        server = self.user_server.browse(made["servers"][0]["id"])
        self.assertEqual({key: server[key] for key in kept}, kept)
        self.assertFalse(made["notes"])
        self.assertEqual(self._json("GET", path, expect=200), document, "before its tools are read")
        server.sudo()._apply_discovery(discovery(tool("run_flow"), tool("other"), tool("new")))
        tools = server.sudo().with_context(active_test=False).tool_ids
        self.assertEqual(
            {tool.name: (tool.active, tool.approval_policy) for tool in tools},
            {"run_flow": (False, "auto"), "other": (True, "never"), "new": (True, "default")},
        )
        self.env.flush_all()
        self.assertEqual(self._json("GET", path, expect=200), document)

    def test_an_import_takes_no_key_of_the_operator_unasked(self):
        options = replace(settings.get(), released_env=frozenset({"WOOW_TEST_KEY"}))
        self.enterContext(patch.object(settings, "get", lambda: options))
        own = {"api_key_env": "WOOW_TEST_KEY"}
        entry = {"url": "https://evil.example.com/mcp", "woow_paas_platform": own}
        keys = {"url": "https://k.example.com", "woow_paas_platform": {"wants_own_keys": True}}
        body = {"mcpServers": {"evil": entry, "keys": keys}, "scope": "system"}
        self._sign_in(self.admin)
        error = self._error("POST", "/api/mcp/import", 422, "confirmation_required", body)
        (ask,) = error["details"]["notes"]
        self.assertIn("evil.example.com", ask["message"])
        self.assertIn("WOOW_TEST_KEY", ask["message"])
        made = self._json("POST", "/api/mcp/import", {**body, "confirmed": True}, 201)
        servers = self.user_server.browse([one["id"] for one in made["servers"]])
        self.assertEqual(servers.mapped("api_key_env"), ["WOOW_TEST_KEY", False])
        self.assertEqual(servers.mapped("wants_own_keys"), [False, True])
        exported = servers._export_servers()["mcpServers"]
        self.assertEqual(exported["evil"]["woow_paas_platform"], own)
        # Where there is no such thing, a person enters a key.
        own["api_key_env"] = "WOOW_OTHER_KEY"
        body = {**body, "mcpServers": {"evil2": entry}}
        made = self._json("POST", "/api/mcp/import", body, 201)
        self.assertIn("Authorization", made["notes"][0]["message"])
        self._sign_in(self.owner)
        body = {"mcpServers": {"evil": entry, "keys": keys}, "cloud_service_id": self.service.id}
        own["api_key_env"] = "WOOW_TEST_KEY"
        made = self._json("POST", "/api/mcp/import", body, 201)
        self.assertEqual([note["name"] for note in made["notes"]], ["evil", "keys"])
        servers = self.user_server.browse([one["id"] for one in made["servers"]])
        self.assertFalse(any(servers.mapped("api_key_env") + servers.mapped("wants_own_keys")))

    def test_the_names_of_document_004_are_taken(self):
        self._sign_in(self.owner)
        body = {"url": "https://x.example.com", "display_name": "Mine", "enabled": False}
        made = self._json("POST", SERVERS, body, 201)
        self.assertEqual((made["title"], made["display_name"]), ("Mine", "Mine"))
        self.assertEqual((made["active"], made["enabled"]), (False, False))
        self.assertEqual(made["user_id"], self.owner.id)
        changed = self._json("PUT", f"{SERVERS}/{made['id']}", {"enabled": True}, 200)
        self.assertTrue(changed["active"])

    def test_a_conversation_chooses(self):
        channel = self._conversation(self.member, self.service)
        self._sign_in(self.member)
        path = f"/api/sessions/{channel.id}/mcp-config"
        config = self._json("GET", path, expect=200)
        self.assertEqual(set(config["enabled_servers"]), {"weather", "flows"})
        self.assertEqual([one["review_count"] for one in config["servers"]], [0, 0])
        config = self._json("PUT", path, {"enabled_servers": ["flows"]}, 200)
        self.assertEqual(config["enabled_servers"], ["flows"])
        turn = channel._ask(Question("Hello")).sudo()
        self.assertEqual(turn._tools(), self.run_flow)
        self._json("PUT", path, {"enabled_servers": []}, 200)
        self.assertFalse(turn._tools())
        self._json("PUT", path, {"enabled_servers": None}, 200)
        self.assertEqual(len(turn._tools()), 3)
        self._error("PUT", path, 422, "refused", {"enabled_servers": ["nobody"]})
        self._error("PUT", path, 400, "invalid_field", {"enabled_servers": [1]})
        body = {"active": False, "conversation_id": channel.id}
        config = self._json("PATCH", f"{SERVERS}/{self.server.id}/toggle", body, 200)
        self.assertEqual(config["enabled_servers"], ["flows"])
        self.assertTrue(self.server.active)
        self._sign_in(self.stranger)
        self._error("GET", path, 404, "not_found")

    def test_servers_of_one_name_are_told_apart(self):
        channel = self._conversation(self.member, self.service)
        self._sign_in(self.member)
        vals = {"name": "weather", "url": "https://own.example.com", "scope": "user"}
        Server = self.env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True)
        own = Server.create({**vals, "cloud_service_id": self.service.id})
        self.env.flush_all()
        path = f"/api/sessions/{channel.id}/mcp-config"
        config = self._json("GET", path, expect=200)
        called = f"weather#{own.id}"
        self.assertEqual(
            {one["id"]: one["name"] for one in config["servers"]}[own.id], called, config
        )
        for names in (["weather"], [called]):
            config = self._json("PUT", path, {"enabled_servers": names}, 200)
            self.assertEqual(config["enabled_servers"], names)
            on = {one["id"] for one in config["servers"] if one["enabled"]}
            self.assertEqual(on, {own.id if names == [called] else self.server.id})

    def test_a_chat_chooses_before_it_begins(self):
        self._sign_in(self.member)
        path = f"/api/ai/assistants/{self.assistant.id}/mcp-config"
        config = self._json("GET", f"{path}?cloud_service_id={self.service.id}", expect=200)
        self.assertEqual(set(config["enabled_servers"]), {"weather", "flows"})
        self.assertEqual({server["tool_count"] for server in config["servers"]}, {1, 2})
        new = {"assistant_id": self.assistant.id, "cloud_service_id": self.service.id}
        conversations = "/api/ai/conversations"
        made = self._call("POST", conversations, {**new, "enabled_servers": ["flows"]})[1]
        channel = self.env["discuss.channel"].browse(made["id"]).with_user(self.member)
        self.assertEqual(channel._ask(Question("Hello")).sudo()._tools(), self.run_flow)
        before = self.env["discuss.channel"].search_count([])
        for names, status, code in ((["no"], 422, "refused"), ([1], 400, "invalid_field")):
            answer = self._call("POST", conversations, {**new, "enabled_servers": names})
            self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code))
        self.assertEqual(self.env["discuss.channel"].search_count([]), before)

    def test_test_and_sync(self):
        self._sign_in(self.owner)
        path = f"{SERVERS}/{self.user_server.id}"
        with served_mcp() as fake:
            self.user_server.write({"url": fake.url, "api_key": "k"})
            self.env.flush_all()
            told = self._json("POST", f"{path}/test", expect=200)
            self.assertTrue(told["ok"], told)
            self.assertEqual(told["server"]["state"], "connected")
            self.assertEqual([step["state"] for step in told["steps"]].count("ok"), 7)
            synced = self._json("POST", f"{path}/sync", expect=200)
            self.assertIn("echo", [tool["name"] for tool in synced["tools"]])
            fake.guard = lambda headers: (401, {})
            told = self._json("POST", f"{path}/test", expect=200)
            self.assertFalse(told["ok"])
            failed = [step for step in told["steps"] if step["state"] == "failed"]
            self.assertEqual([step["name"] for step in failed], ["authorization"])
            self.assertEqual(told["server"]["state_message"], failed[0]["message"])
            self._error("POST", f"{path}/sync", 502, "auth_required")
        self._error("POST", f"{SERVERS}/{self.server.id}/test", 403, "forbidden")

    def test_a_refusal_is_told_in_the_persons_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.owner.lang = "zh_TW"
        self._sign_in(self.owner)
        answer = self._call("POST", f"{SERVERS}/{self.server.id}/test")
        self.assertEqual(answer[1]["error"]["message"], "您沒有權限執行此操作。")

    def test_rate_limit(self):
        self.env["woow_paas_platform.mcp_check"].create([{"user_id": self.owner.id}] * 20)
        self._sign_in(self.owner)
        path = f"{SERVERS}/{self.user_server.id}/sync"
        self._error("POST", path, 429, "too_many_checks")

    def test_cross_site_and_nobody(self):
        self._error("GET", SERVERS, 401, "unauthenticated")
        self._sign_in(self.owner)
        self._error(
            "DELETE",
            f"{SERVERS}/{self.user_server.id}",
            403,
            "cross_site",
            headers={"Sec-Fetch-Site": "cross-site"},
        )

    def test_document(self):
        status, document = self._call("GET", "/api/mcp/openapi.json")
        self.assertEqual((status, document["openapi"]), (200, "3.1.0"))
        routes = {
            (rule.rule, method.lower())
            for rule in self.env["ir.http"].routing_map().iter_rules()
            if rule.rule.startswith(("/api/mcp/", "/api/ai", "/api/sessions/"))
            and not rule.rule.startswith("/api/ai/oauth/")
            and not rule.rule.endswith("openapi.json")
            for method in rule.methods - {"HEAD", "OPTIONS"}
        }
        told = {
            (
                re.sub(
                    r"{(\w+)}",
                    lambda m: f"<{'string' if m[1] in WORDS else 'int'}:{m[1]}>",
                    path,
                ),
                method,
            )
            for path, methods in document["paths"].items()
            for method in methods
        }
        self.assertEqual(routes, told)
