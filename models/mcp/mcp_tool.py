import contextlib
import hashlib
import json

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessError, MissingError, UserError, ValidationError
from odoo.fields import Domain
from odoo.tools import ormcache
from odoo.tools.sql import column_exists

from ...services import text
from ...services.approval import approval, hints
from ...services.errors import EngineError, McpOff
from ...services.mcp.discovery import definition_diff
from ...services.sentence import _lt
from ...services.specs import ToolSpec
from ...services.toolset import definition
from ...services.turn import names
from ...tools import limits, mcp_switch
from ...tools.moments import utc

HOSTILE = {"instruction", "invisible"}  # no honest tool needs them in its definition
PINNED = ("title", "description", "input_schema", "output_schema", "annotations")
JSON_FIELDS = ("input_schema", "output_schema", "annotations")
SETTINGS = ("on", "off", "default", "auto", "ask", "never")  # decisions that name no definition


class McpTool(models.Model):
    """A tool as its server described it. `active` is the people's switch, `available` the server's word.

    Its definition is pinned: a changed one waits for a review.
    """

    _name = "woow_paas_platform.mcp_tool"
    _description = "MCP Tool"
    _inherit = ["woow_paas_platform.callable.mixin", "woow_paas_platform.lock.mixin"]
    _audited_acts = {}  # see `_audit`
    _order = "server_id, name, id"

    name = fields.Char(required=True, readonly=True)
    title = fields.Char(readonly=True)
    description = fields.Text(readonly=True)
    input_schema = fields.Text(readonly=True, help="JSON Schema as sent by the server.")
    input_schema_text = fields.Text("Arguments as JSON", compute="_compute_input_schema_text")
    output_schema = fields.Text(readonly=True)
    annotations = fields.Text(readonly=True)
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, ondelete="cascade", index=True
    )
    active = fields.Boolean(
        default=True, help="Switching it off takes effect immediately, even for running turns."
    )
    available = fields.Boolean(
        default=True, readonly=True, help="The server had the tool when its tools were last loaded."
    )
    is_usable = fields.Boolean(compute="_compute_is_usable")
    alias = fields.Char(compute="_compute_alias", help="Name shown to the model.")
    definition_hash = fields.Char(readonly=True)

    review_state = fields.Selection(
        [
            ("approved", "In Use"),
            ("new", "New"),
            ("changed", "Changed"),
            ("refused", "Refused"),
        ],
        "Definition",
        required=True,
        default="approved",
        readonly=True,
        copy=False,
        index=True,
        help="Only tools whose definition is in use are offered to a model.",
    )
    is_accepted = fields.Boolean(
        "Accepted",
        readonly=True,
        copy=False,
        help="A manager of the server has accepted the approved definition in a review.",
    )
    is_unreviewed = fields.Boolean(
        "Not Reviewed",
        compute="_compute_is_unreviewed",
        search="_search_is_unreviewed",
        help="Nobody has accepted the definition of this tool, which is in use, although its server is not trusted.",
    )
    pending_definition = fields.Json(
        readonly=True,
        copy=False,
        help="Current definition from the server, compared with the approved one.",
    )
    review_hash = fields.Char(
        compute="_compute_review_hash",
        help="Hash of the definition that is waiting for a decision, empty if there is none.",
    )
    warning_codes = fields.Json(readonly=True, copy=False, help="Problems found in the definition.")
    warnings = fields.Text(compute="_compute_warnings")
    definition_diff = fields.Html("Changes", compute="_compute_definition_diff", sanitize=False)
    review_ids = fields.One2many(
        "woow_paas_platform.mcp_tool_review", "tool_id", "Decisions", readonly=True
    )

    approval_policy = fields.Selection(
        [
            ("default", "By annotations and trust level"),
            ("auto", "Always run"),
            ("ask", "Ask first"),
            ("never", "Never run"),
        ],
        required=True,
        default="default",
    )
    exempt_definition = fields.Char(
        readonly=True,
        help="Definition and address with which the tool runs after untrusted content.",
    )
    is_exempt = fields.Boolean(
        "Run After Untrusted Content",
        compute="_compute_is_exempt",
        inverse="_inverse_is_exempt",
        help="Let calls run although the assistant has read text that strangers may have written, as far as nothing "
        "else asks. A change of the definition or of the address ends this.",
    )
    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "tool_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )
    disabled_assistant_ids = fields.Many2many(
        "ai.assistant",
        "ai_assistant_mcp_tool_disabled_rel",
        "tool_id",
        "assistant_id",
        string="Assistants without This Tool",
        copy=False,
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )
    my_policy = fields.Char("My Own Rule", compute="_compute_my_policy", exportable=False)
    policy_now = fields.Selection(
        [("auto", "Runs directly"), ("ask", "Asks first"), ("never", "Never runs")],
        "When Called",
        compute="_compute_policy_now",
        help="What becomes of a call where no rule of an assistant or a user says otherwise.",
    )
    effect = fields.Selection(
        [("read", "Read-only"), ("destroy", "Destructive")],
        compute="_compute_effect",
        help="What the server says of its effect. Empty if it says neither.",
    )

    token_estimate = fields.Integer(
        "Tokens",
        readonly=True,
        help="Estimated number of tokens the definition adds to each request.",
    )
    total_call_count = fields.Integer(
        "Total Calls",
        compute="_compute_total_call_count",
        groups="woow_paas_platform.group_admin",
    )

    _server_name_unique = models.Constraint(
        "UNIQUE (server_id, name)", "The server already has a tool with this name."
    )
    _locked_is_off = models.Constraint(
        "CHECK (is_locked IS NOT TRUE OR active IS NOT TRUE)", "A locked tool is switched off."
    )

    def _auto_init(self):
        """Definitions that were accepted in versions without the column stay accepted."""
        is_new = not column_exists(self.env.cr, self._table, "is_accepted")
        result = super()._auto_init()
        if is_new and column_exists(self.env.cr, "woow_paas_platform_mcp_tool_review", "decision"):
            self.env.cr.execute(
                """
                UPDATE woow_paas_platform_mcp_tool tool
                   SET is_accepted = TRUE
                 WHERE 'accepted' = (
                    SELECT decision
                      FROM woow_paas_platform_mcp_tool_review review
                     WHERE review.tool_id = tool.id
                       AND review.definition_hash = tool.definition_hash
                       AND review.decision IN ('accepted', 'refused')
                  ORDER BY review.id DESC
                     LIMIT 1
                 )
                """
            )
        return result

    @api.depends("name", "title", "server_id.name")
    def _compute_display_name(self):
        for tool in self:
            # sudo: mcp_server - only its name, which every caller of the tool sees anyway
            tool.display_name = f"{tool.sudo().server_id.name}.{tool.name}"

    @api.depends("active", "available", "review_state", "server_id.active")
    def _compute_is_usable(self):
        is_mcp_on = mcp_switch.is_on(self.env)
        for tool in self:
            is_on = is_mcp_on and tool.active and tool.available and tool.server_id.active
            tool.is_usable = is_on and tool.review_state == "approved"

    @api.depends("input_schema")
    def _compute_input_schema_text(self):
        for tool in self:
            said = json.loads(tool.input_schema or "{}")
            tool.input_schema_text = json.dumps(said, indent=2, ensure_ascii=False)

    @api.depends("name", "server_id.name")
    @api.depends_context("uid")
    def _compute_alias(self):
        aliases = self._origin._aliases()
        for tool in self:
            tool.alias = aliases.get(tool._origin)

    def _compute_total_call_count(self):
        counts = dict(
            self.env["woow_paas_platform.tool_call_report"]._read_group(
                [("tool_id", "in", self.ids)], ["tool_id"], ["__count"]
            )
        )
        for tool in self:
            tool.total_call_count = counts.get(tool, 0)

    @api.constrains("active")
    def _check_number(self):
        """A model that is shown too many tools chooses badly, and each one costs tokens."""
        limit = limits.get(self.env, "max_tools_per_server")
        # sudo: mcp_tool - a number, nothing is shown
        counts = self.sudo()._read_group(
            [("server_id", "in", self.filtered("active").server_id.ids), ("active", "=", True)],
            ["server_id"],
            ["__count"],
        )
        for server, count in counts:
            if count > limit:
                raise ValidationError(
                    self.env._(
                        "“%(server)s” can have at most %(limit)s tools switched on."
                        " Switch others off first.",
                        server=server.display_name,
                        limit=limit,
                    )
                )

    @api.model_create_multi
    def create(self, vals_list):
        tools = super().create(vals_list)
        if tools.server_id._has_system():
            self.env.registry.clear_cache()
        return tools

    def unlink(self):
        with self.server_id._renaming():
            return super().unlink()

    def write(self, vals):
        if not self.env.su and vals.keys() - {"active", "approval_policy", "is_exempt"}:
            raise AccessError(
                self.env._("The definition of a tool comes from its server and cannot be changed.")
            )
        if "is_exempt" in vals and not (
            self.env.su or self.env.user.has_group("woow_paas_platform.group_admin")
        ):
            raise AccessError(
                self.env._("Only administrators may let a tool run after untrusted content.")
            )
        self._check_lock(vals)
        changed = self._changed_settings(vals)
        is_renamed = "name" in vals and any(tool.name != vals["name"] for tool in self)
        with self.server_id._renaming() if is_renamed else contextlib.nullcontext():
            result = super().write(vals)
        for tool, decision in changed:
            tool._audit(decision)
        self._lock_for_owners(vals)
        if "is_locked" in vals:
            # sudo: mcp_server - only to tell those who show it
            self.sudo().server_id._tell_managers()
        return result

    def _changed_settings(self, vals):
        """Pairs of a tool and the decision that writing these values is; Odoo's own writes are none."""
        if self.env.su:
            return []
        return [
            (tool, decision)
            for tool in self
            for name, decision in (
                ("active", "on" if vals.get("active") else "off"),
                ("approval_policy", vals.get("approval_policy")),
            )
            if name in vals and tool[name] != vals[name]
        ]

    # ------------------------------------------------------------ buttons

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    def action_preview(self):
        """Open a dialog that shows what a call would meet."""
        self.ensure_one()
        return self.env["woow_paas_platform.call_preview"]._open(tool_id=self.id)

    def action_try(self):
        """Show the form of `POST /api/mcp/tools/<id>/try`."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_tool_trial",
            "params": {"tool_id": self.id},
        }

    def action_review(self):
        """Show what waits for a decision."""
        if not any(self.mapped("review_hash")):
            raise UserError(self.env._("None of these tools is waiting for a decision."))
        return self.env["woow_paas_platform.definition_review"]._open(self)

    def action_view_statistics(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.tool_call_report_action"
        )
        return {**action, "domain": [("tool_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ names

    def _aliases(self, called=()):
        """``{tool: alias}``: what models call these tools, unique among all that the current user could be told of.

        :param called: `McpServer._unambiguous_names`, where they are known already
        """
        if not self:
            return {}
        if not all(server in called for server in self.server_id):
            called = self.server_id._unambiguous_names()
        found = self._aliases_of(self.server_id, called)
        return {tool: alias for tool, alias in found.items() if tool in self}

    @api.model
    def _with_alias(self, alias):
        """The tool that models call so; whether it is offered to anybody is up to the caller.

        :return: with sudo
        """
        if tool := self._system_tool(alias):
            return tool
        called = self.env["woow_paas_platform.mcp_server"]._unambiguous_names()
        near = [server for server, name in called.items() if names.may_be_of(alias, name)]
        found = self._aliases_of(near, called)
        # sudo: mcp_tool - found by its name, what is not offered is not shown
        return self.sudo().browse([tool.id for tool, one in found.items() if one == alias])

    @api.model
    def _system_tool(self, alias):
        """The tool of a system server that models call so, with sudo; empty where `_with_alias` has to look."""
        tool_id, *kept = self._system_names()[0].get(alias) or (False,)
        # sudo: mcp_tool - see `_with_alias`
        tool = self.sudo().browse(tool_id)
        try:  # another thread may have kept what was so before a change
            server = tool.server_id
            is_so = server.scope == "system" and kept == [tool.name, server.name]
        except MissingError:
            is_so = False
        return tool if is_so else tool.browse()

    @api.model
    @ormcache()
    def _system_names(self):
        """Aliases of the tools of system servers, and names of these, of which those of others change none.

        :return: ``{alias: (tool's id, its name, its server's)}``, ``{server's id: `McpServer._unambiguous_names`}``
        """
        called = self.env["woow_paas_platform.mcp_server"]._names_of_system()
        aliases = self._aliases_of(list(called), called)
        return (
            {alias: (tool.id, tool.name, tool.server_id.name) for tool, alias in aliases.items()},
            {server.id: name for server, name in called.items()},
        )

    @api.model
    def _aliases_of(self, servers, called):
        """``{tool: alias}`` of all tools of these servers, and of those of others that could have the same."""
        own = {called[server] for server in servers}
        near = [
            server.id
            for server, name in called.items()
            if any(names.may_collide(name, one) for one in own)
        ]
        domain = Domain("server_id", "in", near)
        # Own names that look like aliases: programs call tools of system servers by these, too.
        domain |= Domain("server_id.scope", "=", "system") & Domain("name", "like", r"\_\_")
        # sudo: mcp_tool - names, to tell tools apart
        Tool = self.sudo().with_context(active_test=False)
        known = self.sudo() | Tool.search_fetch(domain, ["name", "server_id"], order="id")
        tools = known.sorted(lambda tool: (tool.server_id.id, tool.name))
        found, taken = {}, set()
        for whose, some in sorted(tools.grouped(lambda tool: tool.server_id._whose()).items()):
            pairs = [(called[tool.server_id], tool.name) for tool in some]
            aliases = names.make_aliases(pairs, taken)
            found |= zip(some, aliases, strict=True)
            taken |= {alias.lower() for alias in aliases}
            if whose == names.SYSTEM:
                taken |= {tool.name.lower() for tool in some}
        return found

    def _called(self, name):
        """Find what a program means by this name: ``server.tool``, the one that models see, or the tool's own.

        It means a tool of a system server, else of the user, else of others, who add servers as they like; among equals
        the one that it names in full. What is switched off or not offered keeps its names: no other is meant instead.

        :return: tools, also such as are not among these, which are offered; several where the name does not say which
        """
        called = self.server_id._unambiguous_names()
        near = [server.id for server, full in called.items() if names.may_be_of(name, full)]
        known = Domain("server_id", "in", [server.id for server in called])
        known &= Domain("name", "=", name) | Domain("server_id", "in", near)
        # sudo: mcp_tool - found by names, what is not offered is not shown
        tools = self.sudo().with_context(active_test=False).search(known)
        aliases = tools._aliases()
        in_full = tools.filtered(
            lambda tool: name in (f"{called[tool.server_id]}.{tool.name}", aliases[tool])
        )
        own = tools.filtered(lambda tool: tool.name == name)
        if names.is_in_full(name):  # as people could call theirs to be taken for another
            own = own.filtered(lambda tool: tool.server_id.scope == "system")
        meant = in_full | own
        whose = {tool: tool.server_id._whose() for tool in meant}
        first = meant.filtered(lambda tool: whose[tool] == min(whose.values()))
        return (first & in_full) or (first & self) or first | (meant & self)

    # ------------------------------------------------------------ copies for the engine, and JSON

    def _tool_spec(self):
        self.ensure_one()
        return self._tool_specs()[0]

    def _tool_specs(self, problems=None, blocked=()):
        """Frozen copies with their aliases, in a stable order.

        :param problems: why servers cannot be used now, by their ids
        :param blocked: tools that no call gets through to
        """
        problems = problems or {}
        return tuple(
            tool._tool_spec_as(alias, problems.get(tool.server_id.id), is_blocked=tool in blocked)
            for tool, alias in self._aliases().items()
        )

    def _tool_spec_as(self, alias, problem=None, *, is_blocked=False):
        """A frozen copy under an alias that is known.

        :param problem: why the server cannot be used now
        """
        self.ensure_one()
        return ToolSpec(
            id=self.id,
            server_id=self.server_id.id,
            name=self.name,
            alias=alias,
            title=self.title or "",
            description=self.description or "",
            input_schema=json.loads(self.input_schema or "{}"),
            output_schema=json.loads(self.output_schema or "{}"),
            annotations=self._annotations(),
            definition=self._definition(),
            tokens=self.token_estimate,
            is_blocked=is_blocked,
            problem=problem.public_message if problem else "",
        )

    def _api_data(self):
        self.ensure_one()
        tells_lock = self.is_locked and self.has_access("write")
        return {
            "id": self.id,
            "name": self.name,
            "title": self.title or "",
            "description": self.description or "",
            "input_schema": json.loads(self.input_schema or "{}"),
            "annotations": json.loads(self.annotations or "{}"),
            "active": self.active,
            "available": self.available,
            "approval_policy": self.approval_policy,
            "token_estimate": self.token_estimate,
            "review_state": self.review_state,
            "review_hash": self.review_hash or "",
            "warnings": self.warnings or "",
            "definition_diff": self.definition_diff or "",
            "lock": self._lock_data() if tells_lock else None,
            "my_policy": self.my_policy,
        }

    # ------------------------------------------------------------ switches

    def _is_run_by(self, user):
        # sudo: mcp_server - who owns it, read to decide
        return self.sudo().server_id._is_run_by(user)

    def _switch_refusal(self):
        self.ensure_one()
        # sudo: mcp_tool - the switches of a tool that the caller may use
        tool = self.sudo()
        return "" if tool.is_usable else tool._reason_of_switch()

    def _reason_of_switch(self):
        """The reason that a tool is not usable, also where it is gone."""
        if not mcp_switch.is_on(self.env):
            return McpOff.default_message
        return self._quarantine_reason() or _lt("This tool is switched off.")

    def _quarantine_reason(self):
        """:return: why the definition keeps the tool out of use, ``""`` if it does not"""
        return {
            "new": _lt("This tool is new. A manager of its server must review it first."),
            "changed": _lt(
                "The tool's definition has changed. A manager of its server must accept it first."
            ),
            "refused": _lt("The tool's definition was refused."),
        }.get(self.review_state, "")

    # ------------------------------------------------------------ policy of calls

    def _annotations(self):
        annotations = json.loads(self.annotations or "{}")
        return annotations if isinstance(annotations, dict) else {}

    def _policy_facts(self):
        return {
            "policy": self.approval_policy,
            "annotations": self._annotations(),
            "trust": self.server_id.trust_level,
        }

    @api.depends("exempt_definition", "definition_hash", "server_id.url")
    def _compute_is_exempt(self):
        for tool in self:
            # sudo: mcp_server - its address, to compare
            tool.is_exempt = bool(tool.exempt_definition) and (
                tool.exempt_definition == tool.sudo()._pinned()
            )

    def _inverse_is_exempt(self):
        """`write` lets administrators do this only."""
        for tool in self:
            tool.sudo().exempt_definition = tool.is_exempt and tool._pinned()
            tool._audit("exempt" if tool.is_exempt else "not_exempt")

    def _rules(self, assistant):
        return self.env["woow_paas_platform.approval_rule"]._rules_of(self, assistant)

    def _person_policies(self, user):
        return self.env["woow_paas_platform.person_rule"]._policies(self, user)

    def _is_allowed_for_good(self, user):
        return self.env["woow_paas_platform.tool_grant"]._is_always_granted(user, self)

    def _blocked_for(self, assistant, user):
        """Tools among these that never run in this person's chats with the assistant, whatever the arguments."""
        by_rule = self.env["woow_paas_platform.approval_rule"]._blocked(self, assistant)
        by_person = self.env["woow_paas_platform.person_rule"]._blocked(self, user)
        by_tool = self.filtered(lambda tool: tool.approval_policy == "never")
        return by_tool | by_rule | by_person

    def _pinned_source(self):
        return f"{self.definition_hash or ''} {self.server_id.url or ''}"

    def _may_repeat(self):
        """True if an interrupted call may run again; never for a tool that is gone."""
        return bool(self) and approval.is_repeatable(
            self._annotations(), self.server_id.trust_level
        )

    @api.depends("approval_policy", "annotations", "server_id.trust_level")
    def _compute_policy_now(self):
        for tool in self:
            # sudo: mcp_server - how far it is trusted, which says why a call asks
            tool.policy_now = approval.decide({}, **tool.sudo()._policy_facts()).policy

    @api.depends("annotations")
    def _compute_effect(self):
        for tool in self:
            said = hints.read(tool._annotations())
            tool.effect = "destroy" if said.says_destructive else said.read_only and "read"

    @api.depends_context("uid")
    def _compute_my_policy(self):
        own = self.env["woow_paas_platform.person_rule"]._own(tools=self)
        for tool in self:
            tool.my_policy = own.get(tool.id, "default")

    def _set_my_policy(self, policy):
        self.ensure_one()
        # sudo: mcp_server - which one the tool is of; the caller may use the tool
        server = self.sudo().server_id.sudo(False)
        self.env["woow_paas_platform.person_rule"]._set_own(server, self, policy)
        self.invalidate_recordset(["my_policy"])

    def _manage_path(self, user):
        """The page on which this person changes what is asked about the tool, None for who may not."""
        # sudo: mcp_server - who manages it, read to decide
        if not self.sudo().server_id._is_managed_by(user):
            return None
        if user.has_group("woow_paas_platform.group_admin"):
            return f"/odoo/mcp-tools/{self.id}"
        return self.server_id._portal_path()

    def _harmless(self):
        """Tools that may be suggested to people: they only read, their server answers, and their definition is not
        suspicious. A server that nobody trusts may call anything read-only.
        """
        return self.filtered(
            lambda tool: (
                tool.server_id.state in ("draft", "connected", "degraded")
                and not tool.warning_codes
                and tool.effect == "read"
                and tool.server_id.trust_level != "none"
            )
        )

    # ------------------------------------------------------------ offer, without a conversation (document 001), too

    def _is_offered_to(self, user):
        """True if this person may use the tool at all, whatever its switches say.

        Tools come with an assistant that the person may chat with, with a server of the person or of a
        cloud service that the person is a member of, or with the right to manage them.
        """
        self.ensure_one()
        if self.with_user(user).sudo(False).has_access("write"):
            return True
        # sudo: mcp_tool, ai.assistant - reads servers and switches to decide, shows nothing of them
        tool = self.sudo()
        server = tool.server_id
        if server.scope == "user":
            return server in server.with_context(active_test=False)._of_person_anywhere(user)
        return bool(self._offered_by(self.env["ai.assistant"].with_user(user)._everywhere()))

    def _never_run_for_caller(self):
        """Tools among these of which every call of the current user without a chat is denied, whatever its arguments:
        an assistant that offers the tool blocks it."""
        assistants, groups = self.env["ai.assistant"].sudo(False)._everywhere(), {}
        for tool in self:
            for assistant in tool._offered_by(assistants) or [assistants.browse()]:
                groups.setdefault(assistant, []).append(tool.id)
        # sudo: mcp_tool, approval_rule - policies, read to decide and not shown
        tools = self.sudo()
        return tools.browse().union(
            *(
                tools.browse(ids)._blocked_for(assistant, self.env.user)
                for assistant, ids in groups.items()
            )
        )

    def _offered_by(self, assistants):
        # sudo: mcp_tool, ai.assistant - reads servers and switches to decide, shows nothing of them
        tool = self.sudo()
        if tool.server_id.scope == "user":
            return assistants
        return assistants & (tool.server_id.assistant_ids - tool.disabled_assistant_ids)

    # ------------------------------------------------------------ definitions, as a sync finds them

    @api.model
    def _vals_from_discovery(self, found):
        schema = json.dumps(dict(found.input_schema), ensure_ascii=False)
        definition = json.dumps(
            [
                found.name,
                found.title,
                found.description,
                dict(found.input_schema),
                found.output_schema,
                dict(found.annotations),
            ],
            sort_keys=True,
        )
        return {
            "name": found.name,
            "title": found.title,
            "description": found.description,
            "input_schema": schema,
            "output_schema": json.dumps(found.output_schema) if found.output_schema else False,
            "annotations": json.dumps(dict(found.annotations)),
            "definition_hash": hashlib.sha256(definition.encode()).hexdigest(),
            "token_estimate": self._estimate(found),
            "warning_codes": [list(warning) for warning in found.warnings],
            "available": True,
        }

    @api.model
    def _estimate(self, found):
        """About how many tokens the definition costs, as a model is sent it; 0 if none can be.

        :param found: what has the name, the title, the description and the input schema
        """
        spec = ToolSpec(
            id=0,
            server_id=0,
            name=found.name,
            alias=found.name,
            title=found.title or "",
            description=found.description or "",
            input_schema=found.input_schema,
        )
        try:
            return definition.tokens(definition.function(spec))
        except EngineError:
            return 0

    @api.model
    def _add_discovered(self, server, vals, active):
        """Add a tool that was not known."""
        state = self._first_state(server, vals)
        tool = self.create(
            {**vals, "server_id": server.id, "active": active, "review_state": state}
        )
        if state == "approved":
            tool._audit("first_seen")
        return tool

    @api.model
    def _first_state(self, server, vals):
        """State of a definition that nobody knew; one that speaks to the model waits for a person in any case."""
        codes = {code for code, _excerpt in vals.get("warning_codes") or ()}
        wants_review = (
            server.review_new_tools
            or limits.is_on(self.env, "review_new_tools")
            or bool(codes & HOSTILE)
        )
        return "new" if wants_review else "approved"

    @api.model
    def _expected(self, server, name):
        """The server's tool of this name; one that it has not been asked for yet waits for its definition."""
        every = self.with_context(active_test=False)
        known = every.search([("server_id", "=", server.id), ("name", "=", name)])
        # sudo: mcp_tool - people make no tools; the caller manages the server, which alone can define it
        return known or self.sudo().create(
            {"server_id": server.id, "name": name, "available": False}
        ).sudo(False)

    def _found_again(self, vals):
        """Compare what the server says now with what was approved.

        :return: whether anything about the tool has changed
        """
        self.ensure_one()
        came_back, changed = not self.available, False
        definition_hash = vals["definition_hash"]
        pending = self.pending_definition or {}
        if self.review_state == "new" or not self.definition_hash:  # nothing was approved yet
            changed = definition_hash != self.definition_hash
            if changed and self.definition_hash and self._is_same(self, vals):
                changed = False
            else:
                if came_back and not self.definition_hash:  # `_expected`
                    vals = {**vals, "review_state": self._first_state(self.server_id, vals)}
                self.write({**vals, "is_accepted": False})
                if changed and self.review_state == "approved":
                    self._audit("first_seen")
        elif definition_hash == self.definition_hash or self._is_same(self, vals):
            state = "approved"
            if self.review_state != state and self._last_review(self.definition_hash) == "refused":
                state = "refused"
            changed = self.review_state != state
            self.write({"pending_definition": False, "review_state": state})
        elif self._last_review(definition_hash) == "accepted":
            changed = True
            vals = {**vals, "pending_definition": False, "review_state": "approved"}
            self.write({**vals, "is_accepted": True})
        elif not pending or not self._is_same(pending, vals):
            changed = definition_hash != pending.get("definition_hash")
            if changed:
                self.write({"pending_definition": vals, "review_state": "changed"})
        self.available = True
        return changed or came_back

    @api.model
    def _is_same(self, known, vals):
        """True if it is the known definition in another order; the known one then counts.

        What the model reads and approvals are bound to stays as it was looked at, so nothing new gets in.
        """
        return definition_diff.is_reordered(_readable(known), _readable(vals))

    def _last_review(self, definition_hash):
        """Latest decision of a person on this very definition: ``accepted``, ``refused``, or False for none."""
        decisions = [
            ("tool_id", "=", self.id),
            ("definition_hash", "=", definition_hash),
            ("decision", "in", ("accepted", "refused")),
        ]
        # sudo: mcp_tool_review - what was decided about the tool of a server that is read
        last = self.env["woow_paas_platform.mcp_tool_review"].sudo().search(decisions, limit=1)
        return last.decision

    def _undecided(self):
        """Tools about which nobody has decided anything."""
        # sudo: mcp_tool_review, approval_rule, person_rule, ai.assistant, action_type - which tools they name
        env = self.sudo().env
        decided = (
            env["woow_paas_platform.mcp_tool_review"]
            .search([("tool_id", "in", self.ids), ("decision", "!=", "first_seen")])
            .tool_id
        )
        decided |= (
            env["woow_paas_platform.approval_rule"].search([("tool_id", "in", self.ids)]).tool_id
        )
        decided |= (
            env["woow_paas_platform.person_rule"].search([("tool_id", "in", self.ids)]).tool_id
        )
        every = {"active_test": False}
        decided |= self.sudo().filtered("disabled_assistant_ids")
        decided |= (
            env["woow_paas_platform.action_type"]
            .with_context(**every)
            .search([("tool_id", "in", self.ids)])
            .tool_id
        )
        return (self - decided).filtered(
            lambda tool: (
                tool.active
                and tool.approval_policy == "default"
                and tool.review_state in ("approved", "new")
            )
        )

    # ------------------------------------------------------------ configuration files

    def _exchange_key(self):
        return f"{self.server_id._exchange_key()}/{self.name}"

    @api.model
    def _exchange_find(self, key):
        """Tool with this key, of a system server that is here; one that the server lacks so far is added."""
        server_key, _slash, name = key.partition("/")
        server = self.env["woow_paas_platform.mcp_server"]._exchange_find(server_key)
        return self._expected(server, name) if server and name else self

    @api.model
    def _exchange_expects(self, key, coming):
        server_key, _slash, name = key.partition("/")
        Server = self.env["woow_paas_platform.mcp_server"]
        return bool(name) and Server._exchange_expects(server_key, coming)

    def _forget(self):
        # sudo: mcp_tool_review, mcp_tool - notes of Odoo about tools that nobody has looked at
        self.env["woow_paas_platform.mcp_tool_review"].sudo().search(
            [("tool_id", "in", self.ids)]
        ).unlink()
        self.sudo().unlink()

    # ------------------------------------------------------------ review of definitions

    @api.depends("review_state", "pending_definition", "definition_hash", "is_unreviewed")
    def _compute_review_hash(self):
        for tool in self:
            waiting = tool.pending_definition or tool
            is_open = tool.review_state != "approved" or tool.is_unreviewed
            tool.review_hash = is_open and waiting["definition_hash"]

    @api.depends("review_state", "is_accepted", "server_id.trust_level")
    def _compute_is_unreviewed(self):
        for tool in self:
            # sudo: mcp_server - how far it is trusted, read to decide
            is_foreign = tool.sudo().server_id.trust_level == "none"
            is_in_use = tool.review_state == "approved"
            tool.is_unreviewed = is_foreign and is_in_use and not tool.is_accepted

    @api.model
    def _search_is_unreviewed(self, operator, value):
        if operator != "in":
            return NotImplemented
        unreviewed = Domain("review_state", "=", "approved") & Domain("is_accepted", "!=", True)
        unreviewed &= Domain("server_id.trust_level", "=", "none")
        return unreviewed if True in value else ~unreviewed

    @api.depends("warning_codes", "pending_definition")
    @api.depends_context("lang")
    def _compute_warnings(self):
        reasons = {
            "invisible": self.env._("It contains invisible characters, which were removed:"),
            "instruction": self.env._("It reads like an instruction to the model:"),
            "link": self.env._("It contains a link:"),
            "secret": self.env._("It mentions passwords or keys:"),
        }
        for tool in self:
            pending = tool.pending_definition or {}
            found = pending.get("warning_codes") or tool.warning_codes or []
            tool.warnings = "\n".join(
                f"{reasons[code]} “{excerpt}”" for code, excerpt in found if code in reasons
            )

    @api.depends("pending_definition")
    @api.depends_context("lang")
    def _compute_definition_diff(self):
        for tool in self:
            tool.definition_diff = tool._render_diff() if tool.pending_definition else False

    def _definition_rows(self):
        """Approved and pending definition side by side, see `services.mcp.discovery.definition_diff`."""
        self.ensure_one()
        pending = self.pending_definition or {}
        return definition_diff.rows(_readable(self), _readable(pending))

    def _render_diff(self):
        colours = {
            "changed": ("danger", "success"),
            "removed": ("danger", ""),
            "added": ("", "success"),
            "rest": ("warning", "warning"),
        }
        cell = Markup(
            '<td class="w-50 text-prewrap text-break font-monospace {colour}">{line}</td>'
        )
        lines = Markup()
        for kind, left, right in self._definition_rows():
            if kind == "gap":
                lines += Markup('<tr><td colspan="2" class="text-center text-muted">…</td></tr>')
                continue
            if kind == "rest":
                left, right = map(self._told_of_rest, (left, right))
            left_colour, right_colour = (
                f"table-{colour}" if colour else "" for colour in colours.get(kind, ("", ""))
            )
            lines += Markup("<tr>{left}{right}</tr>").format(
                left=cell.format(colour=left_colour, line=left),
                right=cell.format(colour=right_colour, line=right),
            )
        return Markup(
            '<table class="table table-sm o_woow_definition_diff"><thead><tr><th>{approved}</th>'
            "<th>{pending}</th></tr></thead><tbody>{lines}</tbody></table>"
        ).format(
            approved=self.env._("Approved"), pending=self.env._("Current definition"), lines=lines
        )

    def _told_of_rest(self, count):
        if count == "0":
            return ""
        return self.env._("%(count)s more lines are not shown.", count=count)

    def _decide_definition(self, decision, seen):
        """Accept or refuse: an accepted definition counts now, a refused tool stays off until its server sends another.

        :param decision: ``accepted`` or ``refused``
        :param seen: `review_hash` of the definition that the person was shown
        :return: False, and nothing is done, where another waits by now, or none
        :raises AccessError: the caller does not manage the server
        """
        self.ensure_one()
        self.check_access("write")
        if not self.review_hash or self.review_hash != seen:
            return False
        self._audit(decision)
        vals = {"review_state": "refused"}
        if decision == "accepted":
            accepted = self.pending_definition or {}
            vals = {**accepted, "pending_definition": False, "review_state": "approved"}
        if decision == "accepted" or not self.pending_definition:
            vals["is_accepted"] = decision == "accepted"
        self.sudo().write(vals)  # sudo: columns that only Odoo writes; the access was checked
        return True

    def _last_change(self, decisions):
        """Author and time of the latest of these decisions in the audit, None if there is none.

        :return: ``{"changed_by", "changed_at"}``
        """
        known = [("tool_id", "=", self.id), ("decision", "in", decisions)]
        # sudo: mcp_tool_review - shown to those who manage the tool
        last = self.env["woow_paas_platform.mcp_tool_review"].sudo().search(known, limit=1)
        return {"changed_by": last.user_name or None, "changed_at": utc(last.create_date)}

    def _audit(self, decision):
        is_setting = decision in SETTINGS
        definition = None if is_setting else _readable(self.pending_definition or self)
        # sudo: mcp_tool_review - rows that people cannot write; the caller may write the tool
        self.env["woow_paas_platform.mcp_tool_review"].sudo().create(
            {
                "tool_id": self.id,
                "server_id": self.server_id.id,
                "tool_name": self.name,
                "decision": decision,
                "definition": definition and text.storable(definition),
                "definition_hash": (self.pending_definition or self)["definition_hash"],
                "user_id": self.env.uid,
                "user_name": self.env.user.name,
            }
        )
        if decision != "first_seen":
            self._record_act("tool_decided", decision=decision, server=self.server_id)


def _readable(definition):
    """The pinned fields of a tool, or of a pending definition, with JSON as data."""
    return {
        name: json.loads(definition[name] or "null")
        if name in JSON_FIELDS
        else definition[name] or ""
        for name in PINNED
    }


class McpToolReview(models.Model):
    """Audit of decisions about a tool, its definition and its settings: rows are added and never changed."""

    _name = "woow_paas_platform.mcp_tool_review"
    _description = "Tool Decision"
    _order = "id desc"
    _rec_name = "tool_name"

    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", readonly=True, ondelete="set null", index="btree_not_null"
    )
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", readonly=True, ondelete="set null", index="btree_not_null"
    )
    tool_name = fields.Char(required=True, readonly=True)
    decision = fields.Selection(
        [
            ("first_seen", "First seen"),
            ("accepted", "Accepted"),
            ("refused", "Refused"),
            ("exempt", "Runs after untrusted content"),
            ("not_exempt", "Asks after untrusted content"),
            ("on", "Enabled"),
            ("off", "Disabled"),
            ("default", "Policy: based on its annotations"),
            ("auto", "Policy: always run"),
            ("ask", "Policy: ask first"),
            ("never", "Policy: never run"),
        ],
        required=True,
        readonly=True,
    )
    definition = fields.Json(readonly=True, help="Of decisions about a definition.")
    definition_hash = fields.Char(readonly=True)
    user_id = fields.Many2one("res.users", "Decided by", readonly=True, ondelete="set null")
    user_name = fields.Char(readonly=True, help="Kept when the user is deleted.")
