"""What each way in does: a new route, or a new method that RPC reaches, has to say here what it waits for."""

import inspect
from unittest.mock import patch

from odoo.http import _generate_routing_rules
from odoo.tests import tagged
from odoo.tools import config

from ..runtime.web import slots
from ..services.testing.fake_tools import text
from .common import AiHttpCase, served_mcp
from .recall_data import PLAN, RETRIEVAL, RecallData

ADDON = "woow_paas_platform"
MODULES = [ADDON, "portal", "web"]  # with those whose controllers ours extend
CHAT = "/api/ai/conversations/<int:conversation_id>"
NEW = "/api/ai/assistants/<int:assistant_id>"
SERVER = "/api/mcp/servers/<int:server_id>"
TURN = "/api/ai/turns/<int:turn_id>"

# Asks a server or a model, or has a file read, and keeps its thread until that has answered: takes a slot, is 429
# without one. The ones that call a tool meet the one decision, see test_one_decision.
WAITS = {
    "/api/ai-reply",
    "/api/ai/attachments",
    "/api/ai/oauth/callback",  # see test_sign_in
    "/api/ai/oauth/callback/<string:issuer>",
    "/api/ai/oauth/start/<int:server_id>",  # see test_sign_in
    "/api/ai/providers/<int:provider_id>/test",
    "/api/ai/providers/models",
    "/api/mcp/execute-tool",
    "/api/mcp/execute-tools",
    "/api/mcp/tools/<int:tool_id>/try",
    "/mcp",  # tells it as the result of the call, see test_gateway
    "/mcp/<string:gateway>",
    "/v1/chat/completions",  # see test_openai_api
    "/v1/responses",
    f"{CHAT}/attachments",
    f"{CHAT}/command",
    f"{CHAT}/complete",
    f"{CHAT}/prompts",
    f"{CHAT}/prompts/get",
    f"{CHAT}/resources",
    f"{CHAT}/resources/attach",
    f"{CHAT}/resources/read",
    f"{NEW}/command",
    f"{NEW}/complete",
    f"{NEW}/prompts",
    f"{NEW}/prompts/get",
    f"{NEW}/resources",
    f"{SERVER}/sync",
    f"{SERVER}/test",
    f"{RETRIEVAL}/mcp/proxy/<string:mcp_id>/tools/<path:tool_name>/call",
    f"{RETRIEVAL}/tool/proxy/<string:box_id>/tools/<path:tool_name>/call",
}
STREAMS = {f"{TURN}/stream"}
# Answers from the database alone; what it starts runs in the background, after the commit.
IMMEDIATE = {
    # An id or a name that was left out is refused.
    f"{RETRIEVAL}/mcp/proxy//tools//call",
    f"{RETRIEVAL}/mcp/proxy//tools/<path:tool_name>/call",
    f"{RETRIEVAL}/mcp/proxy/<string:mcp_id>/tools//call",
    f"{RETRIEVAL}/tool/proxy//tools//call",
    f"{RETRIEVAL}/tool/proxy//tools/<path:tool_name>/call",
    f"{RETRIEVAL}/tool/proxy/<string:box_id>/tools//call",
    "/api/ai/assistants",
    "/api/ai/default-prompts/<int:prompt_id>/fill",
    "/api/ai/attachments/<int:attachment_id>",
    "/api/ai/calls/<string:call_id>/explanation",
    "/api/ai/cloud-services",
    "/api/ai/cloud-services/<int:service_id>/assistants",
    "/api/ai/decisions",
    "/api/ai/usage",
    "/api/ai/workspaces/<int:workspace_id>/usage",
    "/api/ai/decisions/<string:decision_id>",
    "/api/ai/conversations",
    "/api/ai/conversations/batch",
    "/api/ai/conversations/records",
    "/api/ai/folders",
    "/api/ai/folders/<int:folder_id>",
    "/api/ai/grants",
    "/api/ai/grants/<int:grant_id>",
    "/api/ai/health",
    "/api/ai/oauth/client.json",
    "/api/ai/preferences",
    "/api/ai/saved-prompts",
    "/api/ai/saved-prompts/<int:prompt_id>",
    "/api/ai/saved-prompts/<int:prompt_id>/fill",
    "/api/ai/sign-ins",
    "/api/ai/sign-ins/<int:sign_in_id>",
    "/.well-known/oauth-authorization-server/woow/oauth",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/<string:gateway>",
    "/api/mcp/batch",
    "/api/mcp/calls/<string:call_id>/decision",
    "/api/mcp/calls/waiting",
    "/api/mcp/clients/<int:grant_id>",
    "/api/mcp/connections",
    "/api/mcp/connections/<int:server_id>",
    "/api/mcp/export",
    "/api/mcp/import",
    "/api/mcp/keys",
    "/api/mcp/keys/<int:key_id>",
    "/api/mcp/openapi.json",
    "/api/mcp/servers",
    "/api/mcp/templates",
    "/api/mcp/templates/export",
    "/api/mcp/templates/import",
    "/api/mcp/tools/<int:tool_id>",
    "/api/mcp/tools/<int:tool_id>/lock",
    "/api/mcp/tools/<int:tool_id>/my-policy",
    "/api/sessions/<int:conversation_id>/mcp-config",
    "/metrics",
    CHAT,
    f"{CHAT}/export",
    f"{CHAT}/messages",
    f"{CHAT}/seen",
    NEW,
    f"{NEW}/default-prompts",
    f"{NEW}/ratings",
    f"{NEW}/versions",
    f"{NEW}/versions/<int:version_id>/restore",
    f"{NEW}/mcp-config",
    f"{NEW}/records",
    SERVER,
    f"{SERVER}/lock",
    f"{SERVER}/my-policy",
    f"{SERVER}/toggle",
    f"{SERVER}/tools",
    f"{SERVER}/versions",
    f"{SERVER}/versions/<int:version_id>/restore",
    TURN,
    f"{TURN}/continue",
    f"{TURN}/decision",
    f"{TURN}/rating",
    f"{TURN}/rehearsal",
    f"{TURN}/retry",
    f"{TURN}/show",
    f"{TURN}/stop",
    f"{RETRIEVAL}/kn/get_action_info",
    "/my/ai",
    "/my/ai/<int:conversation_id>",
    "/my/ai-servers",
    "/my/ai/connections",
    "/my/ai/data",
    "/my/ai/data/file",
    "/my/ai/decisions",
    "/my/ai/decisions/<string:token>",
    "/my/ai/memory",
    "/my/ai/memory/<int:memory_id>",
    "/my/ai/memory/<int:memory_id>/delete",
    "/my/ai/notifications",
    "/my/ai/prompts",
    "/my/ai/runs",
    "/my/ai/runs/<int:run_id>/retry",
    "/my/ai/runs/<int:run_id>/stop",
    "/my/ai/runs/page/<int:page>",
    "/my/ai/<int:conversation_id>/share",
    "/my/ai/shared/<string:token>",
    "/my/ai/shared/<string:token>/continue",
    "/my/ai/shares",
    "/my/ai/shares/<int:share_id>/revoke",
    "/my/ai/sign-ins",
    "/my/ai/sign-ins/forget",
    "/my/ai/usage",
    "/my/ai/translations",
    "/my/ai/translations/<string:lang>",
    "/my/services",
    "/my/services/page/<int:page>",
    "/my/services/<int:service_id>",
    "/my/services/<int:service_id>/assistants",
    "/my/services/<int:service_id>/budgets",
    "/my/services/<int:service_id>/budgets/<int:budget_id>",
    "/my/services/<int:service_id>/budgets/<int:budget_id>/archive",
    "/my/services/<int:service_id>/chat",
    "/my/services/<int:service_id>/chat/<int:conversation_id>",
    "/my/services/<int:service_id>/mcp",
    "/my/services/<int:service_id>/members",
    "/my/services/<int:service_id>/members/<int:access_id>/remove",
    "/my/services/<int:service_id>/usage",
    "/v1/models",
    "/v1/models/<string:model>",
    "/v1/responses/<string:response_id>",
    "/v1/responses/<string:response_id>/cancel",
    "/woow/oauth/authorize",
    "/woow/oauth/register",
    "/woow/oauth/revoke",
    "/woow/oauth/token",
}
# Methods that RPC reaches, beside Odoo's own create, write and unlink: these ask a server in the background …
IN_BACKGROUND = {
    ("assistant_test", "action_run"),
    ("assistant_test_run", "action_start"),
    ("mcp_server", "action_start"),
    ("mcp_server", "action_sync_tools"),
    ("discuss.channel", "execute_command_mcp"),
    ("toolbox", "action_import"),
}
# … and these ask none.
ORM = {
    "copy_data",
    "create",
    "default_get",
    "fields_get",
    "init",
    "name_search",
    "write",
    "unlink",
    "get_values",
    "set_param",
    "set_values",
    "message_post",
    "message_subscribe",
    "web_search_read",
    "web_read_group",
    "formatted_read_group",
}
ORM |= {"activity_schedule", "message_mail_with_source", "message_notify"}
ORM |= {"SELF_READABLE_FIELDS", "SELF_WRITEABLE_FIELDS", "get_mention_suggestions_from_channel"}
HERE = {
    ("action_type", "action_try"),
    ("ai_run", "action_open_chat"),
    ("ai_run", "action_retry"),
    ("ai_run", "action_stop"),
    ("ai_turn", "action_open_chat"),
    ("ai.assistant", "action_view_tests"),
    ("ai_turn", "action_add_to_tests"),
    ("answer_rating", "action_mark_read"),
    ("assistant_test_run", "action_stop"),
    ("assistant_test_run", "action_view_results"),
    ("ai_turn", "action_view_conversation"),
    ("discuss.channel", "execute_command_compact"),
    ("ai.assistant", "action_chat"),
    ("ai.assistant", "action_discard_draft"),
    ("ai.assistant", "action_edit_draft"),
    ("ai.assistant", "action_lock"),
    ("ai.assistant", "action_publish"),
    ("ai.assistant", "action_test_draft"),
    ("ai.assistant", "action_export_configuration"),
    ("ai.assistant", "action_suggest_starters"),
    ("ai.assistant", "action_unlock"),
    ("ai.assistant", "action_view_calls"),
    ("ai.assistant", "action_view_turns"),
    ("ai.assistant", "action_view_versions"),
    ("ai.config", "action_test"),
    ("cloud_service", "action_chat"),
    ("cloud_service", "action_view_conversations"),
    ("definition_review", "action_accept"),
    ("gateway", "action_view_calls"),
    ("gateway", "action_view_clients"),
    ("definition_review", "action_refuse"),
    ("ir.actions.report", "get_wkhtmltopdf_state"),
    ("lock", "action_lock"),
    ("personal_data_dialog", "action_download"),
    ("personal_data_dialog", "action_erase"),
    ("personal_data_dialog", "action_export"),
    ("res.users", "action_woow_personal_data"),
    ("lock.mixin", "action_lock"),
    ("lock.mixin", "action_unlock"),
    ("mcp_server", "action_change_template_values"),
    ("mcp_server", "action_disable"),
    ("mcp_server", "action_enable"),
    ("mcp_server", "action_export"),
    ("mcp_server", "action_lock"),
    ("mcp_server", "action_review"),
    ("mcp_server", "action_review_tools"),
    ("mcp_server", "action_save_as_template"),
    ("mcp_server", "action_sign_in"),
    ("mcp_server", "action_stop"),
    ("mcp_server", "action_test_connection"),
    ("mcp_server", "action_unlock"),
    ("mcp_server", "action_view_calls"),
    ("mcp_server", "action_view_credentials"),
    ("mcp_server", "action_view_statistics"),
    ("mcp_server", "action_view_tools"),
    ("mcp_server_version", "action_restore"),
    ("assistant_version", "action_restore"),
    ("assistant_version", "action_view_turns"),
    ("mcp_template", "action_export"),
    ("mcp_tool", "action_disable"),
    ("mcp_tool", "action_enable"),
    ("mcp_tool", "action_lock"),
    ("mcp_tool", "action_review"),
    ("mcp_tool", "action_preview"),
    ("ai.assistant", "action_preview"),
    ("mcp_tool", "action_try"),
    ("mcp_tool", "action_unlock"),
    ("mcp_tool", "action_view_statistics"),
    ("audit_entry", "export_data"),
    ("overview", "get_overview"),
    ("service_link", "action_chat_about"),
    ("template_import", "action_import"),
    ("configuration_transfer", "action_import"),
    ("configuration_transfer", "action_preview"),
    ("toolbox", "action_view_operations"),
    ("toolbox_operation", "action_disable"),
    ("toolbox_operation", "action_enable"),
    ("oauth_client", "action_new_secret"),
    ("webhook", "action_new_secret"),
    ("webhook", "action_test"),
    ("webhook", "action_view_deliveries"),
    ("webhook_delivery", "action_send_again"),
}


FORM = {"form": "a file"}  # the body of a route that takes no JSON


async def _done(_call):
    return text("Done.")


@tagged("post_install", "-at_install")
class TestEntrances(RecallData, AiHttpCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()
        cls.assistant.mcp_server_ids += cls.crm

    def test_each_route_says_whether_it_waits(self):
        ours = f"odoo.addons.{ADDON}."
        routes = {
            url
            for url, endpoint in _generate_routing_rules(MODULES, nodb_only=False)
            if inspect.unwrap(endpoint.func).__module__.startswith(ours)
        }
        self.assertEqual(routes, WAITS | STREAMS | IMMEDIATE)

    def test_a_stream_is_read_from_no_replica(self):
        """One that lags would not know the turn of a moment ago, and a browser takes 404 as final."""
        found = {
            url: endpoint.routing["readonly"]
            for url, endpoint in _generate_routing_rules([ADDON], nodb_only=False)
            if url in STREAMS
        }
        self.assertEqual(found, dict.fromkeys(STREAMS, False))

    def test_what_a_person_reads_is_read_from_no_replica(self):
        with patch.dict(config.options, {"db_replica_host": "replica"}):
            found = {
                url
                for url, endpoint in _generate_routing_rules(MODULES, nodb_only=False)
                if endpoint.routing["auth"] in ("user", "woow_ai")
                and inspect.unwrap(endpoint.func).__module__.startswith(f"odoo.addons.{ADDON}.")
                and (not callable(replica := endpoint.routing.get("readonly")) or replica(None))
                and replica
            }
        self.assertFalse(found)

    def test_each_method_of_rpc_says_what_it_asks(self):
        ours, found = f"odoo.addons.{ADDON}.", set()
        for name, model in self.env.registry.items():
            for cls in model.mro():
                if not cls.__module__.startswith(ours) or "tests" in cls.__module__:
                    continue
                found |= {
                    (name.removeprefix(f"{ADDON}."), method)
                    for method, value in vars(cls).items()
                    if inspect.isfunction(value)
                    and not method.startswith("_")
                    and not hasattr(value, "_api_private")
                }
        self.assertEqual({one for one in found if one[1] not in ORM}, IN_BACKGROUND | HERE)

    def test_what_waits_takes_a_slot(self):
        """Without one it is 429, and nobody was asked."""
        fake = self.enterContext(served_mcp())
        fake.tools |= {"forecast": (_done, {}), "make_plan": (_done, PLAN)}
        (self.server | self.crm).url = fake.url
        chat = self._conversation(self.admin)
        self.env.flush_all()
        self._sign_in(self.admin)
        server = {"server_id": self.server.id}
        note = {"uri": "note://one"}
        prompt = {"name": "greet"}
        complete = {"prompt": "greet", "argument": "name", "value": "A"}
        bodies = {
            "/api/ai-reply": {"aiMessage": "Hi", "assistant_id": self.assistant.id},
            "/api/ai/attachments": FORM,
            f"{CHAT}/attachments": {"name": "a.txt", "data": "YQ=="},
            "/api/mcp/execute-tool": {"toolName": "forecast"},
            "/api/mcp/execute-tools": {"calls": [{"name": "forecast"}]},
            "/api/mcp/tools/<int:tool_id>/try": {"arguments": {"city": "Taipei"}},
            "/api/ai/providers/<int:provider_id>/test": {},
            "/api/ai/providers/models": {"api_base_url": "http://127.0.0.1:9/v1"},
            f"{CHAT}/command": {"command": "/mcp reload"},
            f"{CHAT}/complete": server | complete,
            f"{CHAT}/prompts": None,
            f"{CHAT}/prompts/get": server | prompt,
            f"{CHAT}/resources": None,
            f"{CHAT}/resources/attach": server | note,
            f"{CHAT}/resources/read": server | note,
            f"{NEW}/command": {"command": "/mcp reload"},
            f"{NEW}/complete": server | complete,
            f"{NEW}/prompts": None,
            f"{NEW}/prompts/get": server | prompt,
            f"{NEW}/resources": None,
            f"{SERVER}/sync": {},
            f"{SERVER}/test": {},
            f"{RETRIEVAL}/mcp/proxy/<string:mcp_id>/tools/<path:tool_name>/call": {
                "partner_id": self.ada.id,
                "deep": "true",
                "items": [],
            },
            f"{RETRIEVAL}/tool/proxy/<string:box_id>/tools/<path:tool_name>/call": {},
        }
        elsewhere = {path for path in WAITS if "/oauth/" in path or path.startswith("/v1/")}
        elsewhere |= {"/mcp", "/mcp/<string:gateway>"}
        self.assertEqual(WAITS - bodies.keys(), elsewhere)
        self.plan.approval_policy = "auto"
        self.env.flush_all()
        names = {
            "<int:conversation_id>": chat.id,
            "<int:assistant_id>": self.assistant.id,
            "<int:server_id>": self.server.id,
            "<int:tool_id>": self.forecast.id,
            "<int:provider_id>": self.provider.id,
            "<string:mcp_id>": self.crm.mcp_id,
            "<string:box_id>": self.box.box_id,
        }
        with patch.object(slots, "per_person", lambda: 0):
            for path, body in bodies.items():
                tool = "make_plan" if "mcp_id" in path else "stock"
                url = path.replace("<path:tool_name>", tool)
                for name, value in names.items():
                    url = url.replace(name, str(value))
                with self.subTest(path):
                    if body is FORM:
                        status, answer = self._upload("a.txt", b"a")
                    else:
                        status, answer = self._call("GET" if body is None else "POST", url, body)
                    self.assertEqual(status, 429, answer)
                    self.assertEqual(answer["error"]["code"], "too_many_waits")
        self.assertFalse(fake.calls)
