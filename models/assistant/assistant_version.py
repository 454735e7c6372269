from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError
from odoo.fields import Command, Domain

from ...services.catalog.address import without_secrets
from ...services.records import deny_list
from ...services.versions import difference
from ...tools.moments import utc
from .record_access import FLAGS

TRANSLATED = ("name", "description", "greeting", "starters")
LINKS = ("group_ids", "mcp_server_ids", "mcp_tool_disabled_ids")
RULE = ("tool_id", "condition", "policy")  # in their order, of which the first that matches applies
ACCESS = ("model", *FLAGS, "can_act", "policy", "hidden_fields", "action_ids")
PROVIDER = (
    "api_base_url",
    "model",
    "temperature",
    "max_tokens",
    "tool_protocol",
    "supports_vision",
    "context_length",
    "embedding_model",
    "fallback_id",
)
STATE = (
    *TRANSLATED,
    "config_id",
    "system_prompt",
    "group_ids",
    "mcp_server_ids",
    "mcp_tool_disabled_ids",
    "record_access_ids",
    "is_open_to_clients",
    "is_changed_by_clients",
    "approval_mode",
    "approval_rule_ids",
    "max_rounds",
    "confirm_round",
    "definition_tokens",
    "is_grounded",
)
"""Fields of an assistant that a version holds, in the order in which a difference shows them."""
OF_OWNER = {
    **{name: name for name in TRANSLATED},
    "config_id": "provider",
    "system_prompt": "instructions",
    "mcp_server_ids": "servers",
}
"""Fields that who manages a cloud service writes of its assistants, with their names in the API."""
INSIDE = {"config_id": PROVIDER, "record_access_ids": ACCESS, "approval_rule_ids": RULE}
PUBLISHED = (
    *STATE,
    *(f"{name}.name" for name in LINKS),  # also if one of them is deleted
    *(f"{name}.{inside}" for name, names in INSIDE.items() for inside in names),
    "record_access_ids.sequence",
    "approval_rule_ids.sequence",
    "approval_rule_ids.tool_id.name",
)
"""Everything whose change may publish a version."""
MAX_NAMED = 20  # names of what a restore left out
HTML = {  # with a sign for those who see no colours, too
    difference.ADDED: Markup(
        "<div class='border-start border-3 border-success ps-2 text-break' style='white-space: pre-wrap'>"
        "<ins class='text-decoration-none'>+ %s</ins></div>"
    ),
    difference.REMOVED: Markup(
        "<div class='border-start border-3 border-danger ps-2 text-break' style='white-space: pre-wrap'>"
        "<del class='text-decoration-none'>− %s</del></div>"
    ),
    difference.SAME: Markup(
        "<div class='border-start border-3 ps-2 text-break' style='white-space: pre-wrap'>  %s</div>"
    ),
    difference.LEFT_OUT: Markup("<div class='border-start border-3 ps-2'>… %s</div>"),
}
WAITING = "woow_paas_platform.assistant_version"
BY_HAND = "woow_paas_platform.assistant_version.by_hand"


def rendered(changes):
    """A difference as HTML.

    :param changes: pairs of a field's label and the lines that differ
    """
    return Markup("").join(
        Markup("<h3 class='mt-3 fs-5'>%s</h3>%s")
        % (label, Markup("").join((HTML[sign] % text for sign, text in found)))
        for label, found in changes
    )


class AssistantVersion(models.Model):
    """A published state of an assistant, to compare and to restore. Nobody changes it; it goes with its assistant."""

    _name = "woow_paas_platform.assistant_version"
    _description = "Assistant Version"
    _order = "id desc"
    _inherit = ["woow_paas_platform.audit.mixin"]
    _rec_name = "number"

    assistant_id = fields.Many2one("ai.assistant", required=True, readonly=True, ondelete="cascade")
    number = fields.Integer("Version", required=True, readonly=True, aggregator=None)
    content = fields.Json(required=True, readonly=True)
    content_digest = fields.Char(required=True, readonly=True)
    note = fields.Char(readonly=True)
    is_current = fields.Boolean("Current", compute="_compute_is_current")
    turn_count = fields.Integer("Questions", compute="_compute_turn_count")
    difference = fields.Html(
        "Changes",
        compute="_compute_difference",
        sanitize=False,
        help="Differences from the previous version.",
    )

    _number_unique = models.UniqueIndex("(assistant_id, number)")

    @api.depends("number")
    @api.depends_context("lang")
    def _compute_display_name(self):
        for version in self:
            version.display_name = self.env._("Version %(number)s", number=version.number)

    @api.depends("assistant_id.version_id")
    def _compute_is_current(self):
        for version in self:
            version.is_current = version == version.assistant_id.version_id

    def _compute_turn_count(self):
        counts = dict(
            self.env["woow_paas_platform.ai_turn"]._read_group(
                [("version_id", "in", self.ids)], ["version_id"], ["__count"]
            )
        )
        for version in self:
            version.turn_count = counts.get(version, 0)

    @api.depends_context("lang")
    def _compute_difference(self):
        for version in self:
            version.difference = self._difference_of(version._before().content, version.content)

    def write(self, vals):
        if vals:
            self._refuse()
        return super().write(vals)

    @api.ondelete(at_uninstall=False)
    def _refuse(self):
        raise AccessError(
            self.env._(
                "Versions of assistants cannot be changed or deleted. Restore one, or change the assistant."
            )
        )

    def action_restore(self):
        """Give the assistant this state again by an ordinary change, which publishes a version of its own.

        What no longer exists is left out, and named.
        """
        self.ensure_one()
        assistant = self.assistant_id
        assistant.check_access("write")
        note = self.env._("Restored version %(number)s", number=self.number)
        left_out = self._write_content(assistant, self.content, note)[:MAX_NAMED]
        _ = self.env._
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": "warning" if left_out else "success",
                "title": _("Version %(number)s restored", number=self.number),
                "message": bool(left_out)
                and _(
                    "Left out, since it no longer exists or is not set here: %(names)s",
                    names=", ".join(left_out),
                ),
                "sticky": bool(left_out),
                "next": assistant.get_formview_action(),
            },
        }

    def action_view_turns(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {**action, "domain": [("version_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ publishing

    @api.model
    def _publish_later(self, assistants, note=""):
        """Publish them when the transaction ends, where they then differ from their latest version.

        :param note: why they were changed
        """
        if not assistants:
            return
        precommit = self.env.cr.precommit
        waiting = precommit.data.setdefault(WAITING, {})
        if not waiting:
            precommit.add(self._publish)
        for assistant_id in assistants.ids:
            waiting[assistant_id] = note or waiting.get(assistant_id, "")

    @api.model
    def _publish(self):
        waiting = self.env.cr.precommit.data.pop(WAITING, {})
        # One transaction after the other, for numbers without gaps; the second one is repeated by Odoo.
        self.env.cr.execute(
            "SELECT id FROM ai_assistant WHERE id IN %s AND draft_of_id IS NULL"
            " ORDER BY id FOR NO KEY UPDATE",
            [tuple(waiting)],
        )
        ids = [row[0] for row in self.env.cr.fetchall()]
        # sudo: ai.assistant, assistant_version - written by Odoo itself, whoever has changed the assistant
        versions = self.sudo()
        for assistant in versions.env["ai.assistant"].browse(ids):
            latest = versions.search([("assistant_id", "=", assistant.id)], limit=1)
            content = self._content_of(assistant)
            digest = difference.digest(content)
            if digest != latest.content_digest:
                versions._check_drafts(assistant, latest.content, content)
                latest = versions.create(
                    {
                        "assistant_id": assistant.id,
                        "number": latest.number + 1,
                        "content": content,
                        "content_digest": digest,
                        "note": waiting[assistant.id],
                    }
                )
                latest._record_act(
                    "version_published", assistant=assistant, number=latest.number, digest=digest
                )
            if assistant.version_id != latest:
                assistant.version_id = latest

    def _check_drafts(self, assistant, before, now):
        """Refuse changes of what people use by anything but a publication, where drafts are on.

        What follows from elsewhere does: settings of its provider, and what is deleted.

        :raises UserError: the change was made on the assistant itself
        """
        by_hand = self.env.cr.precommit.data.get(BY_HAND, ())
        if not before or assistant.id in by_hand or not assistant._has_drafts():
            return
        was, will = self._decided(before), self._decided(now)
        names = was.keys() & will.keys()
        if any(
            difference.without_names(was[name]) != difference.without_names(will[name])
            for name in names
        ):
            raise UserError(
                self.env._(
                    "Drafts are on: change the draft of “%(name)s”, and publish it.",
                    name=assistant.name,
                )
            )

    def _decided(self, content):
        """The content without what changes by itself: settings of the provider, and references to what is gone."""

        def here(model, lines):
            existing = set(self.env[model].browse(one["id"] for one in lines).exists().ids)
            return [one for one in lines if one["id"] in existing]

        content = dict(content)
        content["config_id"] = {"id": content["config_id"]["id"]}
        for name in LINKS:
            content[name] = here(self.env["ai.assistant"]._fields[name].comodel_name, content[name])
        tools = here(
            "woow_paas_platform.mcp_tool", [r["tool_id"] for r in content["approval_rule_ids"]]
        )
        content["approval_rule_ids"] = [
            rule for rule in content["approval_rule_ids"] if rule["tool_id"] in tools
        ]
        content["record_access_ids"] = [
            {**line, "action_ids": here("ir.actions.server", line["action_ids"])}
            for line in content["record_access_ids"]
        ]
        return content

    # ------------------------------------------------------------ content

    @api.model
    def _content_of(self, assistant):
        """The state of an assistant as JSON: references with their names, no secrets.

        :param assistant: with sudo
        """
        assistant = assistant.with_context(lang=None, active_test=False)
        return {name: self._stated(assistant, name) for name in STATE}

    @api.model
    def _stated(self, record, name):
        field, inside = record._fields[name], INSIDE.get(name, ())
        if field.translate:
            return field._get_stored_translations(record) or {}
        if field.relational:
            by = "id" if field.type != "one2many" else lambda line: (line.sequence, line.id)
            found = record[name].sorted(by)
            all_of = [self._stated_line(one, inside) for one in found]
            return next(iter(all_of), None) if field.type == "many2one" else all_of
        if name == "api_base_url":
            return without_secrets(record[name] or "", lambda _name: "…")
        if field.type in ("char", "text", "selection"):
            return record[name] or ""
        return record[name]

    @api.model
    def _stated_line(self, record, inside):
        lines = {name: self._stated(record, name) for name in inside}
        if record._name in ("woow_paas_platform.record_access", "woow_paas_platform.approval_rule"):
            return lines  # known by what they hold
        return {"id": record.id, "name": record.display_name, **lines}

    # ------------------------------------------------------------ difference

    @api.model
    def _compared(self, before, content):
        """Name of each field in which two contents differ, with the lines that do."""
        for name in STATE:
            was, now = (self._in_words(name, one.get(name)) for one in (before, content))
            if found := difference.lines(was, now):
                yield name, found

    @api.model
    def _difference_of(self, before, now):
        """Difference of two contents as HTML, field by field."""
        fields_of = self.env["ai.assistant"]._fields
        return rendered(
            (fields_of[name]._description_string(self.env), found)
            for name, found in self._compared(before or {}, now)
        )

    def _before(self):
        """The version before, empty for the first one."""
        return self.search(
            [("assistant_id", "=", self.assistant_id.id), ("number", "<", self.number)], limit=1
        )

    def _in_words(self, name, value):
        """Value of a field of an assistant as text to read, in lines."""
        if not value and value is not False and value != 0:
            return ""
        if name in TRANSLATED:
            if len(value) == 1:
                return next(iter(value.values())) or ""
            return "\n".join(f"[{lang}]\n{said or ''}" for lang, said in sorted(value.items()))
        if name == "config_id":
            labels = [self.env._("Name: %(name)s", name=value["name"])]
            return "\n".join(labels + self._pairs("ai.config", PROVIDER, value))
        if name in LINKS:
            return "\n".join(one["name"] for one in value)
        if name == "approval_rule_ids":
            model = "woow_paas_platform.approval_rule"
            return "\n".join(", ".join(self._pairs(model, RULE, one)) for one in value)
        if name == "record_access_ids":
            model = "woow_paas_platform.record_access"
            return "\n".join(", ".join(self._pairs(model, ACCESS, one)) for one in value)
        return self._said("ai.assistant", name, value)

    def _pairs(self, model, names, values):
        fields_of = self.env[model]._fields
        return [
            f"{fields_of[name]._description_string(self.env)}: {self._said(model, name, values[name])}"
            for name in names
            if values.get(name) not in (False, "", None, [])
        ]

    def _said(self, model, name, value):
        field = self.env[model]._fields[name]
        if isinstance(value, bool):
            return self.env._("Yes") if value else self.env._("No")
        if isinstance(value, dict):
            return value["name"]
        if isinstance(value, list):
            return " + ".join(one["name"] for one in value)
        if field.type == "selection" and name != "model":
            return dict(field._description_selection(self.env)).get(value, value)
        return str(value)

    # ------------------------------------------------------------ giving a state to an assistant

    @api.model
    def _write_content(self, assistant, content, note):
        """Give an assistant a state, by an ordinary change with this note.

        :param content: as `_content_of`
        :return: names of what is left out
        """
        self.env.cr.precommit.data.setdefault(BY_HAND, set()).add(assistant.id)
        # sudo: ai.assistant - compared with what the person may write, and written as the person
        now = self._content_of(assistant.sudo())
        differing = {
            name: was
            for name, was in content.items()
            if name in now and difference.without_names(was) != difference.without_names(now[name])
        }
        left_out, values = [], {}
        for name, was in differing.items():
            if name == "config_id":
                if was["id"] != now[name]["id"]:
                    values |= self._existing(name, [was], left_out, lambda ids: ids[0])
                else:  # other assistants use them, too
                    left_out.append(
                        self.env._("settings of the provider “%(name)s”", name=was["name"])
                    )
            elif name in LINKS:
                values |= self._existing(name, was, left_out, lambda ids: [Command.set(ids)])
            elif name == "record_access_ids":
                values[name] = self._access_commands(assistant, was, left_out)
            elif name == "approval_rule_ids":
                values[name] = self._rule_commands(was, left_out)
            elif name not in TRANSLATED:
                values[name] = was
        if "name" in differing:  # which the contact follows
            said = differing["name"]
            values["name"] = said.get(self.env.lang) or said.get("en_US") or assistant.name
        if differing:
            assistant.write({**values, "version_note": note})
        self._translate_back(assistant, differing, now)
        return left_out

    def _existing(self, name, was, left_out, as_value):
        """:param left_out: names of what is gone are added to it
        :return: value of the field as `as_value` makes it of the ids that exist, in a dictionary; empty without any
        """
        model = self.env[self.env["ai.assistant"]._fields[name].comodel_name]
        existing = set(model.browse(one["id"] for one in was).exists().ids)
        left_out += [one["name"] for one in was if one["id"] not in existing]
        ids = [one["id"] for one in was if one["id"] in existing]
        return {name: as_value(ids)} if ids or not was else {}

    def _access_commands(self, assistant, was, left_out):
        lines = {line.model: line for line in assistant.record_access_ids}
        Access = self.env["woow_paas_platform.record_access"]
        may_release = Access._has_field_access(Access._fields["action_ids"], "write")
        commands = []
        for sequence, values in enumerate(was):
            model = values["model"]
            if model not in self.env or deny_list.is_denied(model):
                left_out.append(model)
                continue
            values = {**values, "sequence": sequence}
            actions, line = values.pop("action_ids"), lines.pop(model, Access)
            if may_release:
                Action = self.env["ir.actions.server"]
                existing = set(Action.browse(one["id"] for one in actions).exists().ids)
                values["action_ids"] = [Command.set(sorted(existing))]
                left_out += [one["name"] for one in actions if one["id"] not in existing]
            # sudo: ir.actions.server - only which ones are released, for those who may not change it
            elif {one["id"] for one in actions} != set(line.sudo().action_ids.ids):
                left_out += [one["name"] for one in actions] or [model]
            commands.append(Command.update(line.id, values) if line else Command.create(values))
        return [*(Command.delete(line.id) for line in lines.values()), *commands]

    def _rule_commands(self, was, left_out):
        Tool = self.env["woow_paas_platform.mcp_tool"]
        existing = set(Tool.browse(rule["tool_id"]["id"] for rule in was).exists().ids)
        left_out += [
            rule["tool_id"]["name"] for rule in was if rule["tool_id"]["id"] not in existing
        ]
        return [
            Command.clear(),
            *(
                Command.create({**rule, "tool_id": rule["tool_id"]["id"], "sequence": sequence})
                for sequence, rule in enumerate(was)
                if rule["tool_id"]["id"] in existing
            ),
        ]

    def _translate_back(self, assistant, differing, now):
        installed = {"en_US", *(code for code, _name in self.env["res.lang"].get_installed())}
        for name in TRANSLATED:
            if name in differing:
                was = differing[name]
                if not was:
                    assistant[name] = False
                    continue
                langs = (was.keys() | now[name].keys() | {self.env.lang or "en_US"}) & installed
                # A language that this version had no text in falls back to English again.
                assistant.update_field_translations(
                    name, {lang: was.get(lang, False) for lang in langs}
                )

    # ------------------------------------------------------------ for who manages a cloud service with its assistants

    def _data_of_owner(self):
        """Versions of one assistant as JSON for who manages it: of providers and servers only names, and only of those
        that are offered to them."""
        assistant = self.assistant_id.with_env(self.env(su=False))
        offered = {
            "config_id": set(assistant._providers_to_choose().ids),
            "mcp_server_ids": set(
                assistant._servers_to_choose(self.assistant_id.cloud_service_id).ids
            ),
        }
        return [version._data_with_names_of(offered) for version in self]

    @api.model
    def _of_owner(self, assistant):
        """Domain of the versions that who manages the assistant may read: those that others had in another workspace
        are not theirs, but for the one that is used."""
        # sudo: ai.assistant - whose it is
        own = assistant.sudo()
        theirs = own.cloud_service_id._since_move() | Domain("id", "=", own.version_id.id)
        return Domain("assistant_id", "=", own.id) & theirs

    def _data_with_names_of(self, offered):
        """:param offered: ``{field: ids}``"""
        before = self._before().filtered_domain(self._of_owner(self.assistant_id))

        def shown(content):
            return self._shown_to_owner(content, offered)

        return {
            "id": self.id,
            "number": self.number,
            "created_at": utc(self.create_date),
            "created_by": self.create_uid.sudo().name,  # sudo: res.users - the name of who has changed it
            "note": self.note or "",
            "is_current": self.is_current,
            "changes": [
                {
                    "field": OF_OWNER[name],
                    "lines": [{"sign": sign, "text": line} for sign, line in found],
                }
                for name, found in self._compared(shown(before.content or {}), shown(self.content))
            ],
        }

    @api.model
    def _shown_to_owner(self, content, offered):
        """Part of a content that who manages a cloud service sees.

        :param offered: as `_data_with_names_of`
        """
        shown = {name: content[name] for name in OF_OWNER if name in content}
        hidden = self.env._("No longer offered")

        def named(field, one):
            return {"name": one["name"] if one["id"] in offered[field] else hidden}

        if provider := shown.get("config_id"):
            shown["config_id"] = named("config_id", provider)
        if servers := shown.get("mcp_server_ids"):
            shown["mcp_server_ids"] = [named("mcp_server_ids", one) for one in servers]
        return shown

    def _restore_by_owner(self):
        """Write again what owners may write, as far as it is offered to them now; the rest stays as it is.

        :return: what is left out, in words
        :raises AccessError: the caller does not manage the assistant
        """
        assistant, content = self.assistant_id.with_env(self.env(su=False)), self.content
        assistant._check_managed()
        assistant._check_free()
        vals = {name: (content[name] or {}).get("en_US") or False for name in TRANSLATED}
        vals["system_prompt"] = content["system_prompt"] or False
        servers = assistant._servers_to_choose(self.assistant_id.cloud_service_id)
        wanted = {one["id"] for one in content["mcp_server_ids"]}
        servers = servers.filtered(lambda server: server.id in wanted)
        vals["mcp_server_ids"] = [Command.set(servers.ids)]
        _, missing, left_out = self.env._, len(wanted) - len(servers), []
        if missing:  # whose names are not theirs to read any more
            several = _("%(count)s MCP servers", count=missing)
            left_out.append(_("1 MCP server") if missing == 1 else several)
        provider = assistant._providers_to_choose().filtered(
            lambda one: one.id == content["config_id"]["id"]
        )
        if provider:
            vals |= {"config_id": provider.id, "company_id": provider.company_id.id}
        else:
            left_out.append(_("the provider"))
        assistant._write_of_owner(vals, _("Restored version %(number)s", number=self.number))
        return left_out
