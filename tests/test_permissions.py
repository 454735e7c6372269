"""Who may do what: a table of records × kind of person × verb; of routes: test_permissions_of_routes.

A new model or hidden field fails here until it is in it.
"""

from odoo import Command, fields
from odoo.exceptions import AccessError
from odoo.tests import new_test_user, tagged

from .common import AiCase
from .test_mcp_server import discovery, tool

ADDON = "woow_paas_platform"
VERBS = ("read", "write", "create", "unlink")

NOBODY = set()
ADMIN = {"admin"}
INTERNAL = {"admin", "internal"}
OWN = {"member"}  # of what the member has made
OWN_OR_ADMIN = OWN | ADMIN
MANAGERS = {"admin", "owner", "manager"}  # of the workspace's services
SEERS = MANAGERS | {"member", "guest"}
SIGNED_IN = SEERS | {"internal", "stranger"}
EVERYBODY = SIGNED_IN | {"public"}

# Who reads, writes, creates and deletes a record.
RIGHTS = {
    "provider": (ADMIN, ADMIN, ADMIN, ADMIN),
    "assistant": (SIGNED_IN, ADMIN, ADMIN, ADMIN),
    "service_assistant": (
        SEERS,
        ADMIN,
        ADMIN,
        ADMIN,
    ),  # its managers write over routes: test_service_assistants
    "workspace": (SEERS, ADMIN, ADMIN, ADMIN),
    "access": (SEERS, ADMIN, ADMIN, ADMIN),
    "service": (SEERS, ADMIN, ADMIN, ADMIN),
    "link": (ADMIN, ADMIN, ADMIN, ADMIN),  # of internal members: test_cloud_service
    "system_server": (ADMIN, ADMIN, ADMIN, ADMIN),
    "service_server": (MANAGERS, MANAGERS, MANAGERS, MANAGERS),
    "personal_server": (OWN_OR_ADMIN, OWN_OR_ADMIN, OWN_OR_ADMIN, OWN_OR_ADMIN),
    "system_tool": (SIGNED_IN, ADMIN, NOBODY, ADMIN),
    "service_tool": (MANAGERS, MANAGERS, NOBODY, ADMIN),
    "personal_tool": (OWN_OR_ADMIN, OWN_OR_ADMIN, NOBODY, ADMIN),
    "system_version": (ADMIN, NOBODY, NOBODY, NOBODY),
    "service_version": (MANAGERS, NOBODY, NOBODY, NOBODY),
    "personal_version": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "assistant_version": (ADMIN, NOBODY, NOBODY, NOBODY),
    "assistant_test": (ADMIN, ADMIN, ADMIN, ADMIN),
    "test_expectation": (ADMIN, ADMIN, ADMIN, ADMIN),
    "test_run": (ADMIN, ADMIN, ADMIN, ADMIN),
    "test_result": (ADMIN, NOBODY, NOBODY, NOBODY),
    "test_result_of_records": (NOBODY, NOBODY, NOBODY, NOBODY),  # its own user's
    "lock": (ADMIN, ADMIN, ADMIN, NOBODY),  # the admin's own
    "call_preview": (ADMIN, ADMIN, ADMIN, NOBODY),
    "opt_out": (OWN, NOBODY, NOBODY, NOBODY),
    "tool_review": (MANAGERS, NOBODY, NOBODY, NOBODY),
    "open_review": (ADMIN, NOBODY, NOBODY, NOBODY),  # the admin's own
    "audit_entry": (ADMIN, NOBODY, NOBODY, NOBODY),
    "audit_checkpoint": (ADMIN, NOBODY, NOBODY, NOBODY),
    "audit_person": (NOBODY, NOBODY, NOBODY, NOBODY),
    "check": (ADMIN, NOBODY, NOBODY, NOBODY),
    "request_slot": (ADMIN, NOBODY, NOBODY, NOBODY),
    "delivered_prompt": (NOBODY, NOBODY, NOBODY, NOBODY),
    "process": (ADMIN, NOBODY, NOBODY, NOBODY),
    "template": (SIGNED_IN, ADMIN, ADMIN, ADMIN),
    "template_field": (SIGNED_IN, ADMIN, ADMIN, ADMIN),
    "hidden_template": (ADMIN, ADMIN, ADMIN, ADMIN),
    "hidden_template_field": (ADMIN, ADMIN, ADMIN, ADMIN),
    "template_import": (ADMIN, ADMIN, ADMIN, ADMIN),  # the admin's own
    "configuration_transfer": (ADMIN, ADMIN, ADMIN, ADMIN),  # the admin's own
    "sign_in": (OWN_OR_ADMIN, NOBODY, NOBODY, OWN_OR_ADMIN),
    "shared_sign_in": (MANAGERS, NOBODY, NOBODY, MANAGERS),
    "gateway": (ADMIN, ADMIN, ADMIN, ADMIN),
    "oauth_client": (ADMIN, ADMIN, ADMIN, ADMIN),
    "oauth_grant": (OWN_OR_ADMIN, NOBODY, NOBODY, OWN_OR_ADMIN),
    "client_session": (NOBODY, NOBODY, NOBODY, NOBODY),
    "oauth_assertion": (NOBODY, NOBODY, NOBODY, NOBODY),
    "sign_in_request": (NOBODY, NOBODY, NOBODY, NOBODY),
    "credential": (OWN_OR_ADMIN, NOBODY, NOBODY, OWN_OR_ADMIN),
    "conversation": (OWN, NOBODY, NOBODY, NOBODY),
    "turn": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "rating": (OWN_OR_ADMIN, ADMIN, NOBODY, NOBODY),
    "price": (ADMIN, ADMIN, ADMIN, ADMIN),
    "cost": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "budget": (ADMIN, ADMIN, ADMIN, ADMIN),
    "budget_period": (ADMIN, NOBODY, NOBODY, NOBODY),
    "run": (INTERNAL, NOBODY, NOBODY, NOBODY),  # the internal user's own
    "mail_address": (NOBODY, NOBODY, NOBODY, NOBODY),  # administrators of Odoo
    "webhook": (ADMIN, ADMIN, ADMIN, ADMIN),
    "webhook_delivery": (ADMIN, NOBODY, NOBODY, NOBODY),
    "default_prompt": (INTERNAL, ADMIN, ADMIN, ADMIN),
    "event": (OWN, NOBODY, NOBODY, NOBODY),
    "stop": (ADMIN, NOBODY, NOBODY, NOBODY),
    "call": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "direct_call": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "question": (OWN_OR_ADMIN, NOBODY, NOBODY, NOBODY),
    "folder": (OWN, NOBODY, NOBODY, NOBODY),
    "share": (OWN, NOBODY, NOBODY, NOBODY),  # readers have the link
    "saved_prompt": (OWN, NOBODY, NOBODY, NOBODY),
    "workspace_prompt": (SEERS - ADMIN, NOBODY, NOBODY, NOBODY),
    "memory": (OWN, NOBODY, NOBODY, NOBODY),
    "grant": (OWN_OR_ADMIN, NOBODY, NOBODY, OWN_OR_ADMIN),
    "rule": (ADMIN, ADMIN, ADMIN, ADMIN),
    "person_rule": (ADMIN, ADMIN, ADMIN, ADMIN),
    "own_rule": (ADMIN, ADMIN, ADMIN, ADMIN),  # the member's is used over a route only
    "record_access": (ADMIN, ADMIN, ADMIN, ADMIN),
    "personal_data": (NOBODY, NOBODY, NOBODY, NOBODY),  # administrators of Odoo
    "personal_data_dialog": (NOBODY, NOBODY, NOBODY, NOBODY),
    "retention": (NOBODY, NOBODY, NOBODY, NOBODY),  # administrators of Odoo
    "sum": (ADMIN, NOBODY, NOBODY, NOBODY),
    "report": (ADMIN, NOBODY, NOBODY, NOBODY),
    "cost_of_tool": (ADMIN, NOBODY, NOBODY, NOBODY),
    "network": (SIGNED_IN, ADMIN, ADMIN, ADMIN),
    "group_network": (INTERNAL, ADMIN, ADMIN, ADMIN),
    "action": (SIGNED_IN, ADMIN, ADMIN, ADMIN),
    "group_action": (INTERNAL, ADMIN, ADMIN, ADMIN),
    "parameter": (ADMIN, ADMIN, ADMIN, ADMIN),
    "toolbox": (ADMIN, ADMIN, ADMIN, ADMIN),
    "operation": (ADMIN, ADMIN, NOBODY, ADMIN),
    "try": (ADMIN, ADMIN, ADMIN, ADMIN),  # the admin's own
}


class People:
    """Beside the people of `AiData` an admin of the workspace, and one record of whatever the member can have."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.manager = new_test_user(
            cls.env,
            "ai_manager",
            groups="base.group_portal",
            password="secret-of-a-test",
            lang="en_US",
        )
        cls.workspace.access_ids = [Command.create({"user_id": cls.manager.id, "role": "admin"})]
        cls.quiet = cls.env(context={**cls.env.context, "woow_no_sync": True})
        down = {"url": "http://127.0.0.1:9/mcp"}
        (cls.server | cls.user_server).with_env(cls.quiet).write(down)
        cls.server.wants_own_keys = True
        cls.system_server, cls.service_server = cls.server, cls.user_server
        values = {"name": "mine", **down, "scope": "user", "owner_user_id": cls.member.id}
        cls.personal_server = cls._make("mcp_server", **values)
        cls.personal_tool = cls._make(
            "mcp_tool", name="own", server_id=cls.personal_server.id, approval_policy="auto"
        )
        cls.conversation = cls._conversation(cls.member, cls.service)
        cls.turn = cls._ask(cls.member, service=cls.service).sudo()
        for name in ("system", "service", "personal"):
            server = getattr(cls, f"{name}_server")
            setattr(cls, f"{name}_version", server.version_ids[:1])
        cls.folder = cls._make("conversation_folder", name="Trips", user_id=cls.member.id)
        cls.saved_prompt = cls._make(
            "saved_prompt", name="sea", content="Of {sea}.", user_id=cls.member.id
        )
        cls.memory = cls._make("memory", user_id=cls.member.id, text="I live in Taipei.")
        cls.grant = cls._model("tool_grant")._grant(cls.turn, cls.forecast, "always")
        cls.credential = cls._model("server_credential")._keep(cls.server, cls.member, "sk-member")
        cls.oauth_client = cls._make(
            "oauth_client", name="Editor", kind="administrator", redirect_uris="http://localhost/cb"
        )
        cls.oauth_grant = cls._make(
            "oauth_grant",
            client_id=cls.oauth_client.id,
            user_id=cls.member.id,
            scope="tools:read",
            redirect_uri="http://localhost/cb",
            resource="http://localhost/mcp",
            family_digest="x",
            last_used_at=fields.Datetime.now(),
            expires_at=fields.Datetime.add(fields.Datetime.now(), days=1),
        )
        SignIn = cls._model("mcp_sign_in")
        cls.sign_in = SignIn._of(cls.server.id, cls.member.id, "a", make=True)
        cls.shared_sign_in = SignIn._of(cls.user_server.id, 0, "a", make=True)
        for sign_in in cls.sign_in | cls.shared_sign_in:
            sign_in._keep({"access_token": "t0ken", "issuer": "https://login.example.com"})

    @classmethod
    def _model(cls, name):
        return cls.quiet[f"{ADDON}.{name}"]

    @classmethod
    def _make(cls, name, /, **values):
        return cls._model(name).create(values)


@tagged("post_install", "-at_install")
class TestPermissionsOnRecords(People, AiCase):
    """Each record × kind of person × verb, by access rights and record rules alone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.people = {who: getattr(cls, who) for who in sorted(EVERYBODY)}
        call = cls._make(
            "tool_call",
            turn_id=cls.turn.id,
            user_id=cls.member.id,
            call_id="call_1",
            tool_name="forecast",
        )
        template = cls.env.ref(f"{ADDON}.mcp_template_github")
        hidden = cls._model("mcp_template").search([("code", "=", "filesystem")])
        hidden.for_owners = False
        partner = cls.internal.partner_id
        cls.records = {
            "provider": cls.provider,
            "assistant": cls.assistant,
            "service_assistant": cls.quiet["ai.assistant"].create(
                {
                    "name": "Flows",
                    "config_id": cls.provider.id,
                    "group_ids": False,
                    "cloud_service_id": cls.service.id,
                }
            ),
            "workspace": cls.workspace,
            "access": cls.workspace.access_ids[0],
            "service": cls.service,
            "link": cls._make(
                "service_link",
                cloud_service_id=cls.service.id,
                record=f"{partner._name},{partner.id}",
            ),
            "system_server": cls.system_server,
            "service_server": cls.service_server,
            "personal_server": cls.personal_server,
            "system_tool": cls.forecast,
            "service_tool": cls.run_flow,
            "personal_tool": cls.personal_tool,
            "system_version": cls.system_version,
            "service_version": cls.service_version,
            "personal_version": cls.personal_version,
            "check": cls._make("mcp_check", user_id=cls.member.id),
            "request_slot": cls._make(
                "request_slot",
                uid=cls.member.id,
                number=1,
                holder="test",
                until=fields.Datetime.now(),
            ),
            "delivered_prompt": cls._make(
                "delivered_prompt", user_id=cls.member.id, server_name="weather", content="Greet."
            ),
            "process": cls._make("mcp_server_process", server_id=cls.server.id, name="one"),
            "template": template,
            "template_field": template.field_ids[0],
            "hidden_template": hidden,
            "hidden_template_field": hidden.field_ids[0],
            "sign_in": cls.sign_in,
            "shared_sign_in": cls.shared_sign_in,
            "sign_in_request": cls._model("mcp_sign_in_request")._put(
                cls.sign_in, cls.member.id, "state", {}
            ),
            "gateway": cls._make("gateway", name="Sales"),
            "oauth_client": cls.oauth_client,
            "oauth_grant": cls.oauth_grant,
            "oauth_assertion": cls._make(
                "oauth_assertion", digest="x", expires_at=fields.Datetime.now()
            ),
            "client_session": cls._make("client_session", user_id=cls.member.id, key="x"),
            "credential": cls.credential,
            "conversation": cls.conversation,
            "turn": cls.turn,
            "rating": cls._make(
                "answer_rating", turn_id=cls.turn.id, user_id=cls.member.id, value="good"
            ),
            "price": cls._make("price", model="acme"),
            "cost": cls._make(
                "cost",
                key="c",
                date=fields.Datetime.now(),
                kind="answer",
                state="settled",
                user_id=cls.member.id,
            ),
            "event": cls._model("ai_turn_event").search([("turn_id", "=", cls.turn.id)], limit=1),
            "run": cls._make("ai_run", user_id=cls.internal.id, event="test"),
            "mail_address": cls._make(
                "mail_address", assistant_id=cls.assistant.id, alias_name="ask.me"
            ),
            **cls._webhooks(),
            **cls._budgets(),
            **cls._tests(),
            "default_prompt": cls._make(
                "default_prompt",
                name="Sum up",
                prompt_text="Sum it up.",
                model_id=cls.env["ir.model"]._get_id("res.partner"),
            ),
            "stop": cls._make("ai_turn_stop", turn_id=cls.turn.id),
            "call": call,
            "direct_call": call.copy({"turn_id": False, "call_id": "direct_1"}),
            "question": cls._make("call_question", call_id=call.id, kind="form", message="Who?"),
            "folder": cls.folder,
            "share": cls._make(
                "conversation_share",
                name="Trips",
                user_id=cls.member.id,
                channel_id=cls.conversation.id,
                company_id=cls.env.company.id,
                workspace_id=cls.workspace.id,
                expires_at=fields.Datetime.now(),
                token_digest="x",
            ),
            "saved_prompt": cls.saved_prompt,
            "workspace_prompt": cls._make(
                "saved_prompt", name="sea", content="Sea?", workspace_id=cls.workspace.id
            ),
            "memory": cls.memory,
            "grant": cls.grant,
            "rule": cls._make("approval_rule", tool_id=cls.forecast.id),
            "assistant_version": cls._make(
                "assistant_version",
                assistant_id=cls.assistant.id,
                number=100,
                content={"max_rounds": 1},
                content_digest="x",
            ),
            "record_access": cls._make(
                "record_access", assistant_id=cls.assistant.id, model="res.partner"
            ),
            "sum": cls._make(
                "tool_call_sum", key="k", day=fields.Date.today(), tool_name="forecast", calls=1
            ),
            "personal_data": cls._make("personal_data", kind="export", user_id=cls.member.id),
            "personal_data_dialog": cls._make("personal_data_dialog", user_id=cls.member.id),
            "retention": cls._make("retention"),
            "report": cls._model("tool_call_report"),
            "cost_of_tool": cls._model("cost_of_tool"),
            **cls._audit(),
            **cls._control(),
            **cls._reviews(),
            **cls._recall(),
        }

    @classmethod
    def _budgets(cls):
        budget = cls._make("budget", name="All", limit=10)
        now = fields.Datetime.now()
        period = cls._make("budget_period", budget_id=budget.id, starts_at=now, ends_at=now)
        return {"budget": budget, "budget_period": period}

    @classmethod
    def _webhooks(cls):
        webhook = cls._make("webhook", name="Operations", url="http://127.0.0.1:9/hook")
        values = {"event": "turn.ended", "message_id": "msg_1", "payload": "{}"}
        delivery = cls._make("webhook_delivery", webhook_id=webhook.id, **values)
        return {"webhook": webhook, "webhook_delivery": delivery}

    @classmethod
    def _audit(cls):
        cls.env["woow_paas_platform.audit.mixin"]._record_act("created")
        cls._model("audit_checkpoint")._cron_seal()
        names = ("audit_entry", "audit_checkpoint", "audit_person")
        return {name: cls._model(name).search([], limit=1) for name in names}

    @classmethod
    def _tests(cls):
        cls.env.cr.flush()  # the assistant's version
        values = {"assistant_id": cls.assistant.id, "name": "Weather", "questions": "Rain?"}
        test = cls._make("assistant_test", **values, user_id=cls.internal.id)
        line = cls._make("test_expectation", test_id=test.id, kind="contains", text="no")
        run = cls._make("assistant_test_run", assistant_id=cls.assistant.id)
        version = cls.assistant.version_id
        values = {"run_id": run.id, "test_id": test.id, "version_id": version.id}
        result = cls._make("assistant_test_result", **values, user_id=cls.internal.id)
        return {
            "assistant_test": test,
            "test_expectation": line,
            "test_run": run,
            "test_result": result,
            "test_result_of_records": result.copy({"uses_records": True}),
        }

    @classmethod
    def _control(cls):
        own = cls.server.with_user(cls.member)
        own._switch_for_me(False)
        own._set_my_policy("ask")
        Rule, OptOut = cls._model("person_rule"), cls._model("server_opt_out")
        opened = cls.server.with_user(cls.admin).action_lock()
        Import = cls._model("template_import").with_user(cls.admin)
        return {
            "opt_out": OptOut.search([("user_id", "=", cls.member.id)]),
            "own_rule": Rule.search([("owner_id", "=", cls.member.id)]),
            "person_rule": Rule.create(
                {"server_id": cls.server.id, "user_ids": [Command.link(cls.member.id)]}
            ),
            "lock": cls.env[opened["res_model"]].browse(opened["res_id"]),
            "call_preview": cls._model("call_preview")
            .with_user(cls.admin)
            .create({"tool_id": cls.forecast.id}),
            "template_import": Import.create({"file": "e30="}),
            "configuration_transfer": cls._model("configuration_transfer")
            .with_user(cls.admin)
            .create({"file": "e30="}),
        }

    @classmethod
    def _reviews(cls):
        server = cls.user_server
        for description in ("Runs a flow.", "Runs another flow."):
            server._apply_discovery(discovery(tool("run_flow", description)))
        opened = cls.run_flow.with_user(cls.admin).action_review()
        return {
            "open_review": cls.env[opened["res_model"]].browse(opened["res_id"]),
            "tool_review": cls._make(
                "mcp_tool_review",
                tool_id=cls.run_flow.id,
                server_id=server.id,
                tool_name="run_flow",
                decision="accepted",
                definition={"name": "run_flow"},
            ),
        }

    @classmethod
    def _recall(cls):
        box = cls._make("toolbox", name="orders")
        operation = cls._make(
            "toolbox_operation", name="stock", method="GET", path="/stock", toolbox_id=box.id
        )
        network = cls._make("knowledge_network", name="All")
        groups = cls.env.ref("base.group_user").ids
        group_network = cls._make("knowledge_network", name="Some", group_ids=groups)
        action, group_action = (
            cls._make(
                "action_type",
                name="Stock",
                network_id=of.id,
                model_id=cls.env["ir.model"]._get("res.partner").id,
                source="tool",
                operation_id=operation.id,
            )
            for of in (network, group_network)
        )
        Try = cls._model("action_try").with_user(cls.admin)
        return {
            "network": network,
            "group_network": group_network,
            "action": action,
            "group_action": group_action,
            "parameter": cls._make(
                "action_parameter", action_id=action.id, name="limit", location="query"
            ),
            "toolbox": box,
            "operation": operation,
            "try": Try.create({"action_id": action.id}),
        }

    def test_each_model_is_in_the_table(self):
        ours = {
            name
            for name, model in self.env.registry.items()
            if name.startswith(f"{ADDON}.") and not model._abstract
        }
        self.assertEqual(self.records.keys(), RIGHTS.keys())
        covered = {record._name for record in self.records.values()}
        self.assertEqual(ours | {"ai.config", "ai.assistant", "discuss.channel"}, covered)

    def test_who_does_what(self):
        for name, record in self.records.items():
            for verb, allowed in zip(VERBS, RIGHTS[name], strict=True):
                with self.subTest(record=name, verb=verb):
                    found = {
                        who
                        for who, user in self.people.items()
                        if record.with_user(user).sudo(False).has_access(verb)
                    }
                    self.assertEqual(found, allowed)

    def test_who_finds_what(self):
        for name, record in self.records.items():
            if not record:  # the report is a view
                continue
            with self.subTest(record=name):
                found = set()
                for who, user in self.people.items():
                    own = record.browse().with_user(user).sudo(False)
                    if own.has_access("read") and own.search([("id", "=", record.id)]):
                        found.add(who)
                self.assertEqual(found, RIGHTS[name][0])

    def test_nobody_reads_a_secret(self):
        hidden = 0
        for name, record in self.records.items():
            for field, spec in record._fields.items():
                if spec.groups != fields.NO_ACCESS:
                    continue
                hidden += 1
                for who, user in self.people.items():
                    with (
                        self.subTest(record=name, field=field, who=who),
                        self.assertRaises(AccessError),
                    ):
                        record.with_user(user).sudo(False).read([field])
        self.assertGreater(hidden, 10)
