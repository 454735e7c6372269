"""Who may use which route: a table of routes × kind of person. A new route fails here until it is in it."""

import inspect
import re
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import patch
from urllib.parse import urlsplit

from odoo import fields
from odoo.http import _generate_routing_rules
from odoo.tests import tagged

from ..models.base.res_users import MCP_SCOPE
from ..services.llm import client
from ..services.mcp.discovery import health
from .common import AiHttpCase
from .doubles.sampling import some
from .test_permissions import (
    ADDON,
    ADMIN,
    EVERYBODY,
    MANAGERS,
    OWN,
    OWN_OR_ADMIN,
    RIGHTS,
    SEERS,
    SIGNED_IN,
    People,
)

SERVERS = "/api/mcp/servers"
CHAT = "/api/ai/conversations/{conversation}"
NEW_CHAT = "/api/ai/assistants/{assistant}"
SERVICE = "/my/services/{service}"
NEW_KEY = {"name": "Editor", "days": 90, "password": "secret-of-a-test"}
NEW = {"url": "http://127.0.0.1:9/mcp"}
DOCUMENT = {"mcpServers": {"a": NEW}}
TEMPLATES = {"mcpTemplates": [{"id": "a", "name": "A", "category": "data", **NEW}]}
OF_SERVICE = {"cloud_service_id": "{service}"}
OF_SYSTEM = {"scope": "system"}
SWITCH = {"active": True}
FOR_ME = {"for_me": True}
POLICY = {"policy": "ask"}
BATCH = {"action": "disable", "server_ids": [0]}
TOOLS = {"command": "/mcp tools"}
TRY = {"arguments": {}}
PROVIDER = {"api_base_url": "http://127.0.0.1:9/v1"}
TEXT = {"description": "x"}
IN_SERVICE = {403: {"member", "guest"}, "in": MANAGERS}
PROMPT = {"server_id": "{system_server}", "name": "greet"}
NOTE = {"server_id": "{system_server}", "uri": "note://one"}
ARGUMENT = {"server_id": "{system_server}", "prompt": "greet", "argument": "a", "value": "b"}

# Method, path, body, who meets which outcome, and the outcome of everybody else who signs in. An outcome is "in", the
# status of a refusal, or where a page redirects to. The public is asked to sign in. Nothing listens at the servers'
# address: a route that asks one lets people in, and then says so.
FORM = {"files": {"file": ("a.txt", b"a")}, "headers": {"X-Woow-Language": "en_US"}}
ROUTES = [
    ("GET", SERVERS, None, {"in": SIGNED_IN}, None),
    ("GET", f"{SERVERS}?cloud_service_id={{service}}", None, {"in": SEERS}, 404),
    ("GET", "/api/mcp/templates", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/mcp/templates/export", None, {"in": ADMIN}, 403),
    ("POST", "/api/mcp/templates/import", TEMPLATES, {"in": ADMIN}, 403),
    ("GET", "/api/mcp/export", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/mcp/export?cloud_service_id={service}", None, {"in": SEERS}, 404),
    ("POST", SERVERS, NEW, {"in": SIGNED_IN}, None),
    ("POST", SERVERS, NEW | OF_SYSTEM, {"in": ADMIN}, 403),
    ("POST", SERVERS, NEW | OF_SERVICE, IN_SERVICE, 404),
    ("POST", "/api/mcp/import", DOCUMENT, {"in": SIGNED_IN}, None),
    ("POST", "/api/mcp/import", DOCUMENT | OF_SYSTEM, {"in": ADMIN}, 403),
    ("POST", "/api/mcp/import", DOCUMENT | OF_SERVICE, IN_SERVICE, 404),
    ("GET", f"{SERVERS}/{{system_server}}", None, {"in": SIGNED_IN}, None),
    ("GET", f"{SERVERS}/{{system_server}}/tools", None, {"in": SIGNED_IN}, None),
    *(
        row
        for server, may, otherwise in (
            ("system_server", ADMIN, 403),
            ("service_server", MANAGERS, 404),
            ("personal_server", OWN_OR_ADMIN, 404),
        )
        for row in (
            ("PUT", f"{SERVERS}/{{{server}}}", TEXT, {"in": may}, otherwise),
            ("DELETE", f"{SERVERS}/{{{server}}}", None, {"in": may}, otherwise),
            ("POST", f"{SERVERS}/{{{server}}}/test", None, {"in": may}, otherwise),
            ("POST", f"{SERVERS}/{{{server}}}/sync", None, {"in": may}, otherwise),
            ("GET", f"{SERVERS}/{{{server}}}/versions", None, {"in": may}, otherwise),
            (
                "POST",
                f"{SERVERS}/{{{server}}}/versions/{{{server.replace('server', 'version')}}}/restore",
                None,
                {"in": may},
                otherwise,
            ),
        )
    ),
    *(  # what everybody says for themselves of what they use
        row
        for server, may in (
            ("system_server", SIGNED_IN),
            ("service_server", SEERS),
            ("personal_server", OWN_OR_ADMIN),
        )
        for row in (
            ("PATCH", f"{SERVERS}/{{{server}}}/toggle", SWITCH, {"in": may}, 404),
            ("PATCH", f"{SERVERS}/{{{server}}}/toggle", SWITCH | FOR_ME, {"in": may}, 404),
            ("PUT", f"{SERVERS}/{{{server}}}/my-policy", POLICY, {"in": may}, 404),
        )
    ),
    *(
        (method, f"{path}/lock", body, {"in": ADMIN, 403: sees - ADMIN}, 404)
        for path, sees in (
            (f"{SERVERS}/{{system_server}}", SIGNED_IN),
            (f"{SERVERS}/{{service_server}}", MANAGERS),
            (f"{SERVERS}/{{personal_server}}", OWN_OR_ADMIN),
            ("/api/mcp/tools/{system_tool}", SIGNED_IN),
            ("/api/mcp/tools/{service_tool}", MANAGERS),
            ("/api/mcp/tools/{personal_tool}", OWN_OR_ADMIN),
        )
        for method, body in (("PUT", {"reason": "x"}), ("DELETE", None))
    ),
    ("POST", "/api/mcp/batch", BATCH, {"in": SIGNED_IN}, None),
    ("GET", f"{SERVERS}/{{service_server}}", None, {"in": MANAGERS}, 404),
    ("GET", f"{SERVERS}/{{service_server}}/tools", None, {"in": MANAGERS}, 404),
    ("GET", f"{SERVERS}/{{personal_server}}", None, {"in": OWN_OR_ADMIN}, 404),
    ("GET", f"{SERVERS}/{{personal_server}}/tools", None, {"in": OWN_OR_ADMIN}, 404),
    ("PATCH", "/api/mcp/tools/{system_tool}", SWITCH, {"in": ADMIN}, 403),
    ("PATCH", "/api/mcp/tools/{service_tool}", SWITCH, {"in": MANAGERS}, 404),
    ("PATCH", "/api/mcp/tools/{personal_tool}", SWITCH, {"in": OWN_OR_ADMIN}, 404),
    ("POST", "/api/mcp/tools/{system_tool}/try", TRY, {"in": ADMIN}, 403),
    ("POST", "/api/mcp/tools/{service_tool}/try", TRY, {"in": MANAGERS}, 404),
    ("POST", "/api/mcp/tools/{personal_tool}/try", TRY, {"in": OWN_OR_ADMIN}, 404),
    ("PUT", "/api/mcp/tools/{system_tool}/my-policy", POLICY, {"in": SIGNED_IN}, 404),
    ("PUT", "/api/mcp/tools/{service_tool}/my-policy", POLICY, {"in": SEERS}, 404),
    ("PUT", "/api/mcp/tools/{personal_tool}/my-policy", POLICY, {"in": OWN_OR_ADMIN}, 404),
    (
        "PATCH",
        f"{SERVERS}/{{system_server}}/toggle",
        SWITCH | {"conversation_id": "{conversation}"},
        {"in": OWN},
        404,
    ),
    ("GET", "/api/sessions/{conversation}/mcp-config", None, {"in": OWN}, 404),
    ("PUT", "/api/sessions/{conversation}/mcp-config", {"enabled_servers": None}, {"in": OWN}, 404),
    ("GET", "/api/mcp/connections", None, {"in": SIGNED_IN}, None),
    ("PUT", "/api/mcp/connections/{system_server}", {"api_key": "k"}, {"in": SIGNED_IN}, None),
    ("DELETE", "/api/mcp/connections/{system_server}", None, {"in": OWN}, 404),
    ("GET", "/api/mcp/keys", None, {"in": SIGNED_IN}, None),
    ("POST", "/api/mcp/keys", NEW_KEY, {"in": SIGNED_IN}, None),
    ("DELETE", "/api/mcp/keys/{client_key}", None, {"in": OWN}, 404),
    ("DELETE", "/api/mcp/clients/{oauth_grant}", None, {"in": OWN}, 404),
    ("GET", "/api/mcp/calls/waiting", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/decisions", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/usage", None, {"in": SIGNED_IN}, None),
    ("POST", "/api/mcp/calls/{client_call}/decision", {"decision": "deny"}, {"in": OWN}, 404),
    ("POST", "/api/mcp/execute-tool", {"toolName": "forecast"}, {"in": SIGNED_IN}, None),
    (
        "POST",
        "/api/mcp/execute-tools",
        {"calls": [{"name": "forecast"}]},
        {"in": SIGNED_IN},
        None,
    ),
    (
        "POST",
        "/api/ai-reply",
        {"aiMessage": "Hi", "assistant_id": "{assistant}"},
        {"in": SIGNED_IN},
        None,
    ),
    ("GET", "/api/mcp/openapi.json", None, {"in": EVERYBODY}, None),
    ("GET", "/api/ai/health", None, {"in": EVERYBODY}, None),
    ("GET", "/api/ai/oauth/client.json", None, {"in": EVERYBODY}, None),
    ("GET", "/.well-known/oauth-protected-resource/mcp", None, {"in": EVERYBODY}, None),
    ("GET", "/.well-known/oauth-protected-resource/mcp/sales", None, {"in": EVERYBODY}, None),
    ("GET", "/.well-known/oauth-authorization-server/woow/oauth", None, {"in": EVERYBODY}, None),
    ("POST", "/api/ai/providers/{provider}/test", None, {"in": ADMIN}, 404),
    ("POST", "/api/ai/providers/models", PROVIDER, {"in": ADMIN}, 403),
    ("GET", "/api/ai/assistants", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/assistants?cloud_service_id={service}", None, {"in": SEERS}, 404),
    ("GET", "/api/ai/cloud-services", None, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/mcp-config", None, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/mcp-config?cloud_service_id={{service}}", None, {"in": SEERS}, 404),
    ("GET", f"{NEW_CHAT}/records?q=a", None, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/default-prompts?model=a", None, {"in": SIGNED_IN}, None),
    ("POST", f"{NEW_CHAT}/command", TOOLS, {"in": SIGNED_IN}, None),
    ("POST", f"{NEW_CHAT}/command?cloud_service_id={{service}}", TOOLS, {"in": SEERS}, 404),
    ("GET", f"{NEW_CHAT}/prompts", None, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/prompts?cloud_service_id={{service}}", None, {"in": SEERS}, 404),
    ("POST", f"{NEW_CHAT}/prompts/get", PROMPT, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/resources", None, {"in": SIGNED_IN}, None),
    ("GET", f"{NEW_CHAT}/resources?cloud_service_id={{service}}", None, {"in": SEERS}, 404),
    ("POST", f"{NEW_CHAT}/complete", ARGUMENT, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/conversations", None, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/conversations/records", None, {"in": SIGNED_IN}, None),
    (
        "POST",
        "/api/ai/conversations",
        {"assistant_id": "{assistant}"},
        {"in": SIGNED_IN},
        None,
    ),
    (
        "POST",
        "/api/ai/conversations",
        {"assistant_id": "{assistant}"} | OF_SERVICE,
        {"in": SEERS},
        404,
    ),
    (
        "POST",
        "/api/ai/conversations/batch",
        {"action": "pin", "conversation_ids": [0]},
        {"in": SIGNED_IN},
        None,
    ),
    ("GET", "/api/ai/folders", None, {"in": SIGNED_IN}, None),
    ("POST", "/api/ai/folders", {"name": "Cities"}, {"in": SIGNED_IN}, None),
    ("PATCH", "/api/ai/folders/{folder}", {"name": "Journeys"}, {"in": OWN}, 404),
    ("DELETE", "/api/ai/folders/{folder}", None, {"in": OWN}, 404),
    ("GET", "/api/ai/saved-prompts", None, {"in": SIGNED_IN}, None),
    ("POST", "/api/ai/saved-prompts", {"name": "tea", "content": "Tea?"}, {"in": SIGNED_IN}, None),
    (
        "PATCH",
        "/api/ai/saved-prompts/{saved_prompt}",
        {"name": "coffee", "content": "Tea?"},
        {"in": OWN},
        404,
    ),
    ("POST", "/api/ai/saved-prompts/{saved_prompt}/fill", {}, {"in": OWN}, 404),
    ("DELETE", "/api/ai/saved-prompts/{saved_prompt}", None, {"in": OWN}, 404),
    ("GET", "/api/ai/conversations?folder_id={folder}", None, {"in": OWN}, 404),
    (
        "POST",
        "/api/ai/conversations/batch",
        {"action": "move", "conversation_ids": [0], "folder_id": "{folder}"},
        {"in": OWN},
        404,
    ),
    (
        "POST",
        "/api/ai/conversations",
        {"assistant_id": "{assistant}", "folder_id": "{folder}"},
        {"in": OWN},
        404,
    ),
    *(
        (method, CHAT + path, body, {"in": OWN}, 404)
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/export", None),
            ("GET", "/export?format=json", None),
            ("PATCH", "", {"name": "x"}),
            ("DELETE", "", None),
            ("POST", "/messages", {"content": "Hi"}),
            ("POST", "/seen", None),
            ("POST", "/attachments", {"name": "a.txt", "data": "YQ=="}),
            ("POST", "/command", TOOLS),
            ("GET", "/prompts", None),
            ("POST", "/prompts/get", PROMPT),
            ("GET", "/resources", None),
            ("POST", "/resources/read", NOTE),
            ("POST", "/resources/attach", NOTE),
            ("POST", "/complete", ARGUMENT),
        )
    ),
    ("POST", "/api/ai/attachments", FORM, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/attachments/{attachment}", None, {"in": OWN}, 404),
    ("GET", "/api/ai/attachments/{unsent}", None, {"in": OWN}, 404),
    ("DELETE", "/api/ai/attachments/{attachment}", None, {}, 404),
    ("DELETE", "/api/ai/attachments/{unsent}", None, {"in": OWN}, 404),
    ("GET", "/api/ai/turns/{turn}", None, {"in": OWN_OR_ADMIN}, 404),
    ("POST", "/api/ai/turns/{turn}/show", None, {"in": OWN}, 404),
    ("POST", "/api/ai/turns/{turn}/retry", None, {"in": OWN}, 404),
    ("PUT", "/api/ai/turns/{turn}/rating", {"value": "bad"}, {"in": OWN}, 404),
    ("DELETE", "/api/ai/turns/{turn}/rating", None, {"in": OWN}, 404),
    ("POST", "/api/ai/turns/{turn}/stop", None, {"in": OWN_OR_ADMIN}, 404),
    ("GET", "/api/ai/preferences", None, {"in": SIGNED_IN}, None),
    ("PATCH", "/api/ai/preferences", {"show_tool_calls": True}, {"in": SIGNED_IN}, None),
    ("GET", "/api/ai/grants", None, {"in": SIGNED_IN}, None),
    ("DELETE", "/api/ai/grants/{grant}", None, {"in": OWN_OR_ADMIN}, 404),
    ("GET", "/api/ai/sign-ins", None, {"in": SIGNED_IN}, None),
    ("DELETE", "/api/ai/sign-ins/{sign_in}", None, {"in": OWN_OR_ADMIN}, 404),
    ("DELETE", "/api/ai/sign-ins/{shared_sign_in}", None, {"in": MANAGERS}, 404),
    # pages
    *(
        ("GET", path, None, {"in": SIGNED_IN}, None)
        for path in (
            "/my/ai",
            "/my/ai-servers",
            "/my/ai/connections",
            "/my/ai/decisions",
            "/my/ai/memory",
            "/my/ai/notifications",
            "/my/ai/prompts",
            "/my/ai/runs",
            "/my/ai/runs/page/1",
            "/my/ai/shares",
            "/my/ai/sign-ins",
            "/my/ai/usage",
            "/my/ai/translations",
            "/my/ai/translations/en_US",
            "/my/services",
            "/my/services/page/1",
        )
    ),
    ("GET", "/my/ai/data/file", None, {}, "/my/ai/data"),  # nothing is prepared
    ("GET", "/my/ai/{conversation}", None, {"in": OWN}, "/my/ai"),
    ("GET", SERVICE, None, {"in": SEERS}, "/my/services"),
    (
        "GET",
        f"{SERVICE}/mcp",
        None,
        {"in": MANAGERS - ADMIN, SERVICE: {"admin", "member", "guest"}},
        "/my/services",
    ),
    (
        "GET",
        f"{SERVICE}/usage",
        None,
        {"in": MANAGERS - ADMIN, SERVICE: {"admin", "member", "guest"}},
        "/my/services",
    ),
    ("GET", f"{SERVICE}/chat", None, {"in": SEERS}, "/my/services"),
    (
        "GET",
        f"{SERVICE}/chat/{{conversation}}",
        None,
        {"in": OWN, f"{SERVICE}/chat": SEERS - OWN},
        "/my/services",
    ),
    ("GET", f"{SERVICE}/chat/{{general}}", None, {f"{SERVICE}/chat": SEERS}, "/my/services"),
    ("GET", f"{SERVICE}/chat/99999999", None, {f"{SERVICE}/chat": SEERS}, "/my/services"),
]
# Who may use these shows only beside what they do.
ELSEWHERE = {
    "/api/ai/assistants/<int:assistant_id>": "test_service_assistants",
    "/api/ai/assistants/<int:assistant_id>/ratings": "test_service_assistants",
    "/api/ai/assistants/<int:assistant_id>/versions": "test_service_assistants",
    "/api/ai/assistants/<int:assistant_id>/versions/<int:version_id>/restore": (
        "test_service_assistants"
    ),
    "/api/ai/cloud-services/<int:service_id>/assistants": "test_service_assistants",
    "/my/services/<int:service_id>/assistants": "test_service_assistants",
    "/api/agent-retrieval/in/v1/kn/get_action_info": "test_recall_api",
    "/api/agent-retrieval/in/v1/mcp/proxy/<string:mcp_id>/tools/<path:tool_name>/call": (
        "test_recall_proxy"
    ),
    "/api/agent-retrieval/in/v1/tool/proxy/<string:box_id>/tools/<path:tool_name>/call": (
        "test_recall_proxy"
    ),
    "/api/ai/calls/<string:call_id>/explanation": "test_taint",
    "/api/ai/decisions/<string:decision_id>": "test_decisions",
    "/api/ai/default-prompts/<int:prompt_id>/fill": "test_default_prompts",
    "/api/ai/oauth/callback": "test_sign_in",
    "/api/ai/oauth/callback/<string:issuer>": "test_sign_in",
    "/api/ai/oauth/start/<int:server_id>": "test_sign_in",
    "/api/ai/turns/<int:turn_id>/continue": "test_shares",
    "/api/ai/turns/<int:turn_id>/decision": "test_approval",
    "/api/ai/turns/<int:turn_id>/rehearsal": "test_records_cards",
    "/api/ai/turns/<int:turn_id>/stream": "e2e/test_stream",
    "/api/ai/workspaces/<int:workspace_id>/usage": "test_budgets",
    "/my/services/<int:service_id>/budgets": "test_budgets",
    "/my/services/<int:service_id>/budgets/<int:budget_id>": "test_budgets",
    "/my/services/<int:service_id>/budgets/<int:budget_id>/archive": "test_budgets",
    "/mcp": "test_gateway",
    "/mcp/<string:gateway>": "test_gateways",
    "/metrics": "test_metrics",
    "/my/ai/decisions/<string:token>": "test_deciders",
    "/my/ai/data": "test_personal_data",
    "/my/ai/memory": "test_memory",
    "/my/ai/memory/<int:memory_id>": "test_memory",
    "/my/ai/memory/<int:memory_id>/delete": "test_memory",
    "/my/ai/notifications": "test_digest",
    "/my/ai/runs/<int:run_id>/retry": "test_portal_pages",
    "/my/ai/runs/<int:run_id>/stop": "test_portal_pages",
    "/my/ai/<int:conversation_id>/share": "test_shares",
    "/my/ai/shared/<string:token>": "test_shares",
    "/my/ai/shared/<string:token>/continue": "test_shares",
    "/my/ai/shares/<int:share_id>/revoke": "test_shares",
    "/my/ai/sign-ins/forget": "test_sign_in",
    "/my/services/<int:service_id>/members": "test_members",
    "/my/services/<int:service_id>/members/<int:access_id>/remove": "test_members",
    "/v1/chat/completions": "test_openai_api",
    "/v1/models": "test_openai_api",
    "/v1/models/<string:model>": "test_openai_api",
    "/v1/responses": "test_openai_responses",
    "/v1/responses/<string:response_id>": "test_openai_responses",
    "/v1/responses/<string:response_id>/cancel": "test_openai_responses",
    "/woow/oauth/authorize": "test_oauth_server",
    "/woow/oauth/register": "test_oauth_server",
    "/woow/oauth/revoke": "test_oauth_server",
    "/woow/oauth/token": "test_oauth_server",
}


@tagged("post_install", "-at_install")
class TestPermissionsOnRoutes(People, AiHttpCase):
    """Each route × kind of person; what one person changes, the next does not find."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Nothing listens there; that it is asked again after a pause says nothing of who may ask.
        cls.startClassPatcher(patch.object(health, "CONNECT_PAUSE", 0.0))
        cls.startClassPatcher(patch.object(client, "RETRY_DELAY", 0.0))
        cls.turn.write({"state": "failed", "ended_at": fields.Datetime.now()})
        attachment = cls.env["ir.attachment"].create(
            {
                "name": "a.txt",
                "raw": b"a",
                "res_model": "discuss.channel",
                "res_id": cls.conversation.id,
            }
        )
        channels = cls.env["discuss.channel"].with_user(cls.member)
        unsent = channels._attach_unsent("b.txt", b"b")
        keys = cls.env["res.users.apikeys"].with_user(cls.member)
        keys.sudo()._generate(MCP_SCOPE, "Editor", fields.Datetime.now() + timedelta(days=1))
        cls.ids = {
            name: str(getattr(cls, name).id)
            for name in (
                "assistant",
                "conversation",
                "folder",
                "grant",
                "oauth_grant",
                "personal_server",
                "personal_tool",
                "personal_version",
                "provider",
                "saved_prompt",
                "service",
                "service_server",
                "service_version",
                "shared_sign_in",
                "sign_in",
                "system_server",
                "system_version",
                "turn",
            )
        } | {
            "attachment": str(attachment.id),
            "client_call": cls._model("tool_call")
            .create(
                {
                    "user_id": cls.member.id,
                    "call_id": "direct_client",
                    "tool_name": "forecast",
                    "approval": "pending",
                    "approval_choices": ["approve_once", "deny"],
                }
            )
            .call_id,
            "client_key": str(keys.search([], limit=1).id),
            "unsent": str(unsent.id),
            "general": str(cls._conversation(cls.member).id),
            "service_tool": str(cls.run_flow.id),
            "system_tool": str(cls.forecast.id),
        }

    def test_each_route_is_in_the_table(self):
        ours = f"odoo.addons.{ADDON}."
        rules = {
            (method, url)
            for url, endpoint in _generate_routing_rules([ADDON, "portal", "web"], nodb_only=False)
            if inspect.unwrap(endpoint.func).__module__.startswith(ours)
            for method in endpoint.routing["methods"]
            if url not in ELSEWHERE and "//" not in url  # an id is missing: always refused
        }
        rows = {f"{method} {self._filled(path)}".partition("?")[0] for method, path, *_ in ROUTES}
        missing = {
            (method, url)
            for method, url in rules
            if not any(
                re.fullmatch(re.sub("<(int|string):[^>]+>", r"\\w+", f"{method} {url}"), row)
                for row in rows
            )
        }
        self.assertEqual(missing, set())

    def test_who_gets_where(self):
        for who in sorted(EVERYBODY):
            if who == "public":
                self.opener.cookies.clear()
            else:
                self._sign_in(getattr(self, who))
            for method, path, body, outcomes, otherwise in some(ROUTES, 3, who):
                for_public = "/web/login" if path.startswith("/my/") else 401
                others = for_public if who == "public" else otherwise
                expected = next((key for key, people in outcomes.items() if who in people), others)
                with self.subTest(who=who, method=method, path=path, body=body):
                    found = self._where(method, self._filled(path), self._filled(body))
                    self.assertEqual(found, self._filled(expected))

    def test_who_does_what_with_several_servers(self):
        """`RIGHTS` of each server holds for a batch of them."""
        names = ("system_server", "service_server", "personal_server")
        ids = [int(self.ids[name]) for name in names]
        for who in sorted(SIGNED_IN):
            self._sign_in(getattr(self, who))
            with self.subTest(who=who), self._undone():
                _status, told = self._call("POST", "/api/mcp/batch", BATCH | {"server_ids": ids})
                done = {name for name, one in zip(names, told["results"], strict=True) if one["ok"]}
                self.assertEqual(done, {name for name in names if who in RIGHTS[name][1]})

    def _filled(self, template):
        """With ids instead of names in braces; in a body they are numbers."""
        if isinstance(template, dict):
            return {name: self._filled(value) for name, value in template.items()} | {
                name: int(self._filled(value))
                for name, value in template.items()
                if str(value).startswith("{") and isinstance(value, str)
            }
        return template.format(**self.ids) if isinstance(template, str) else template

    @contextmanager
    def _undone(self):
        self.env.flush_all()
        with self.env.cr.savepoint() as savepoint:
            yield
            savepoint.rollback()
        self.env.invalidate_all()

    def _where(self, method, path, body):
        """See `ROUTES`; what the request has changed is undone."""
        with self._undone():
            sent = FORM if body == FORM else {"json": body}
            answer = self.opener.request(
                method, self.base_url() + path, **sent, timeout=60, allow_redirects=False
            )
        status = answer.status_code
        if status == 303:
            return urlsplit(answer.headers["Location"]).path
        # 422: the server wants a key that this person has not entered
        is_in = status < 300 or status in (409, 422, 502, 503)
        return "in" if is_in else status
