import json

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import UserError

from ...services import text
from ...services.mcp.discovery import definition_diff
from ...tools import limits

HOSTILE = {"instruction", "invisible"}  # no honest tool needs them in its definition
PINNED = ("title", "description", "input_schema", "output_schema", "annotations")
JSON_FIELDS = ("input_schema", "output_schema", "annotations")


class McpTool(models.Model):
    """Pinned definitions: a changed one takes effect when somebody has accepted it."""

    _inherit = "woow_paas_platform.mcp_tool"

    review_state = fields.Selection(
        [
            ("approved", "Approved"),
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
        help="Only tools with an approved definition are offered to a model.",
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

    @api.depends("review_state", "pending_definition", "definition_hash")
    def _compute_review_hash(self):
        for tool in self:
            waiting = tool.pending_definition or tool
            tool.review_hash = tool.review_state != "approved" and waiting["definition_hash"]

    @api.depends("warning_codes", "pending_definition")
    @api.depends_context("lang")
    def _compute_warnings(self):
        sentences = {
            "invisible": self.env._("It contains invisible characters, which were removed:"),
            "instruction": self.env._("It reads like an instruction to the model:"),
            "link": self.env._("It contains a link:"),
            "secret": self.env._("It mentions passwords or keys:"),
        }
        for tool in self:
            pending = tool.pending_definition or {}
            found = pending.get("warning_codes") or tool.warning_codes or []
            tool.warnings = "\n".join(
                f"{sentences[code]} “{excerpt}”" for code, excerpt in found if code in sentences
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

    # ------------------------------------------------------------ decisions

    def action_review(self):
        """Show what waits for a decision."""
        if not any(self.mapped("review_hash")):
            raise UserError(self.env._("None of these tools is waiting for a decision."))
        return self.env["woow_paas_platform.definition_review"]._open(self)

    def _decide_definition(self, decision, seen):
        """What is accepted counts from here on; what is refused stays out of use until its server sends another.

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
        self.sudo().write(vals)  # sudo: columns that only Odoo writes; the access was checked
        return True

    def _audit(self, decision):
        definition = _readable(self.pending_definition or self)
        # sudo: mcp_tool_review - rows that people cannot write; the caller may write the tool
        self.env["woow_paas_platform.mcp_tool_review"].sudo().create(
            {
                "tool_id": self.id,
                "server_id": self.server_id.id,
                "tool_name": self.name,
                "decision": decision,
                "definition": text.storable(definition),
                "definition_hash": (self.pending_definition or self)["definition_hash"],
                "user_id": self.env.uid,
                "user_name": self.env.user.name,
            }
        )

    # ------------------------------------------------------------ what a sync found

    @api.model
    def _add_discovered(self, server, vals, active):
        """Add a tool that was not known; one that speaks to the model waits for a person in any case."""
        codes = {code for code, _excerpt in vals.get("warning_codes") or ()}
        wants_review = (
            server.review_new_tools
            or limits.is_on(self.env, "review_new_tools")
            or bool(codes & HOSTILE)
        )
        state = "new" if wants_review else "approved"
        tool = self.create(
            {**vals, "server_id": server.id, "active": active, "review_state": state}
        )
        if not wants_review:
            tool._audit("first_seen")
        return tool

    def _forget(self):
        # sudo: mcp_tool_review, mcp_tool - notes of Odoo about tools that nobody has looked at
        self.env["woow_paas_platform.mcp_tool_review"].sudo().search(
            [("tool_id", "in", self.ids)]
        ).unlink()
        self.sudo().unlink()

    def _undecided(self):
        """Those about which nobody has decided anything."""
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
        decided |= (
            env["ai.assistant"]
            .with_context(**every)
            .search([("mcp_tool_disabled_ids", "in", self.ids)])
            .mcp_tool_disabled_ids
        )
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
                self.write(vals)
                if changed and self.review_state == "approved":
                    self._audit("first_seen")
        elif definition_hash == self.definition_hash or self._is_same(self, vals):
            changed = self.review_state != "approved"
            self.write({"pending_definition": False, "review_state": "approved"})
        elif self._was_accepted(definition_hash):
            changed = True
            self.write({**vals, "pending_definition": False, "review_state": "approved"})
        elif not pending or not self._is_same(pending, vals):
            changed = definition_hash != pending.get("definition_hash")
            if changed:
                self.write({"pending_definition": vals, "review_state": "changed"})
        self.available = True
        return changed or came_back

    @api.model
    def _is_same(self, known, vals):
        """Whether it is the definition that we know in another order; the known one is what counts then.

        What the model reads and approvals are bound to stays as it was looked at, so nothing new gets in.
        """
        return definition_diff.is_reordered(_readable(known), _readable(vals))

    def _was_accepted(self, definition_hash):
        """Whether a person has looked at this very definition and has not refused it since."""
        decisions = [
            ("tool_id", "=", self.id),
            ("definition_hash", "=", definition_hash),
            ("decision", "!=", "first_seen"),
        ]
        # sudo: mcp_tool_review - what was decided about the tool of a server that is read
        last = self.env["woow_paas_platform.mcp_tool_review"].sudo().search(decisions, limit=1)
        return last.decision == "accepted"

    def _harmless(self):
        return super()._harmless().filtered(lambda tool: not tool.warning_codes)

    def _quarantine_reason(self):
        """:return: why the definition keeps the tool out of use, ``""`` if it does not"""
        return {
            "new": "This tool is new. A manager of its server must review it first.",
            "changed": "The tool's definition has changed. A manager of its server must accept it first.",
            "refused": "The tool's definition was refused.",
        }.get(self.review_state, "")


def _readable(definition):
    """The pinned fields of a tool, or of a pending definition, with JSON as data."""
    return {
        name: json.loads(definition[name] or "null")
        if name in JSON_FIELDS
        else definition[name] or ""
        for name in PINNED
    }
