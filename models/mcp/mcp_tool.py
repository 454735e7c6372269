import hashlib
import json

from odoo import api, fields, models
from odoo.exceptions import AccessError, ValidationError
from odoo.fields import Domain

from ...services.errors import EngineError, McpOff
from ...services.specs import ToolSpec
from ...services.toolset import definition
from ...services.turn import approval, names
from ...tools import limits, mcp_switch, sentences


class McpTool(models.Model):
    """A tool as its server described it. `active` is the people's switch, `available` the server's word."""

    _name = "woow_paas_platform.mcp_tool"
    _description = "MCP Tool"
    _inherit = ["woow_paas_platform.callable.mixin"]
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
    approval_policy = fields.Selection(
        [
            ("default", "Based on its annotations"),
            ("auto", "Always run"),
            ("ask", "Ask first"),
            ("never", "Never run"),
        ],
        required=True,
        default="default",
    )
    token_estimate = fields.Integer(
        "Tokens",
        readonly=True,
        help="Estimated number of tokens the definition adds to each request.",
    )

    _server_name_unique = models.Constraint(
        "UNIQUE (server_id, name)", "The server already has a tool with this name."
    )

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

    @api.depends("name", "title", "server_id.name")
    def _compute_display_name(self):
        for tool in self:
            # sudo: mcp_server - only its name, which every caller of the tool sees anyway
            tool.display_name = f"{tool.sudo().server_id.name}.{tool.name}"

    def _harmless(self):
        """Those that may be suggested to people: their server answers. Other features leave out more."""
        return self.filtered(
            lambda tool: tool.server_id.state in ("draft", "connected", "degraded")
        )

    def _aliases(self):
        """``{tool: alias}``: what models call these tools, unique among all that the current user could be told of."""
        if not self:
            return {}
        called = self.server_id._unambiguous_names()
        own = {called[server] for server in self.server_id}
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
        return {tool: alias for tool, alias in found.items() if tool in self}

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

    def write(self, vals):
        self._check_write(vals)
        result = super().write(vals)
        self._after_write(vals)
        return result

    def _check_write(self, vals):
        """Hook of `write`, as that of a server."""
        if not self.env.su and vals.keys() - {"active", "approval_policy"}:
            raise AccessError(
                self.env._("The definition of a tool comes from its server and cannot be changed.")
            )

    def _after_write(self, vals):
        """Hook of `write`, as that of a server."""

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

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    def _may_repeat(self):
        """Whether a call that was cut may run again; none of a tool that is gone."""
        return bool(self) and approval.is_repeatable(
            self._annotations(), self.server_id.trust_level
        )

    def _switch_refusal(self):
        self.ensure_one()
        # sudo: mcp_tool - the switches of a tool that the caller may use
        tool = self.sudo()
        return "" if tool.is_usable else tool._reason_of_switch()

    def _reason_of_switch(self):
        """Why a tool that is not usable is not, also where it is gone."""
        if not mcp_switch.is_on(self.env):
            return McpOff.default_message
        return self._quarantine_reason() or "This tool is switched off."

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
            ToolSpec(
                id=tool.id,
                server_id=tool.server_id.id,
                name=tool.name,
                alias=alias,
                title=tool.title or "",
                description=tool.description or "",
                input_schema=json.loads(tool.input_schema or "{}"),
                output_schema=json.loads(tool.output_schema or "{}"),
                annotations=tool._annotations(),
                definition=tool._definition(),
                tokens=tool.token_estimate,
                is_blocked=tool in blocked,
                problem=sentences.translated(self.env, problems[tool.server_id.id].outline)
                if tool.server_id.id in problems
                else "",
            )
            for tool, alias in self._aliases().items()
        )
