import base64
import binascii
import hashlib
import json
from collections import namedtuple

from markupsafe import Markup
from odoo import fields, models
from odoo.exceptions import AccessError

from ..models.assistant.assistant_version import rendered
from ..services.errors import EngineError
from ..services.versions import difference, exchange
from ..tools import sentences
from ..tools.refusals import BadInput, Changed, Refusal

SECTIONS = {  # models that inherit the exchange mixin, each after those to which its records refer
    "providers": "ai.config",
    "servers": "woow_paas_platform.mcp_server",
    "assistants": "ai.assistant",
    "rules": "woow_paas_platform.approval_rule",
    "tests": "woow_paas_platform.assistant_test",
}
FILENAME = "configuration.json"

# What becomes of an entry: `changed` are names of fields, `refusal` a sentence where it cannot be taken.
Step = namedtuple("Step", "section record entry changed notes refusal")


class ConfigurationTransfer(models.TransientModel):
    """A configuration file on its way: made for a download, or shown before it is imported."""

    _name = "woow_paas_platform.configuration_transfer"
    _description = "Configuration Transfer"

    file = fields.Binary(attachment=False)
    filename = fields.Char()
    preview = fields.Html("What Changes", readonly=True, sanitize=False)
    seen = fields.Char(readonly=True, help="Digest of the previewed changes.")
    has_changes = fields.Boolean(readonly=True)

    # ------------------------------------------------------------ export

    def _export(self, assistants):
        """Action that downloads these assistants with what they consist of; without any, everything.

        :raises BadInput: more than one file holds
        """
        self.check_access("create")
        chosen = self._chosen(assistants)
        entries = {
            section: [record._exchange_data() for record in chosen[model]]
            for section, model in SECTIONS.items()
        }
        try:
            content = exchange.write(entries)
        except EngineError as error:
            raise self._bad_input(error) from error
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_exported",
            **{section: chosen[model] for section, model in SECTIONS.items()},
        )
        transfer = self.create({"file": base64.b64encode(content), "filename": FILENAME})
        url = f"/web/content/{self._name}/{transfer.id}/file/{FILENAME}?download=true"
        return {"type": "ir.actions.act_url", "url": url, "target": "download"}

    def _chosen(self, assistants):
        """Records of the file, by model."""
        env = self.env
        everything = not assistants
        assistants = (assistants or env["ai.assistant"].search([("active", "=", True)])).filtered(
            lambda assistant: not (assistant.draft_of_id or assistant.cloud_service_id)
        )
        tests = env["woow_paas_platform.assistant_test"].search(
            [("assistant_id", "in", assistants.ids)]
        )
        providers = assistants.config_id | tests.judge_id
        servers = assistants.mcp_server_ids
        if everything:
            providers |= env["ai.config"].search([("active", "=", True)])
            servers |= env["woow_paas_platform.mcp_server"].search([("scope", "=", "system")])
        providers |= providers.fallback_id
        # The operator's file has the servers that it defines, and those of its templates.
        servers = servers.filtered(lambda s: not (s.managed_by_file or s.template_code))
        rules = env["woow_paas_platform.approval_rule"].search(
            [("assistant_id", "=", False), ("tool_id.server_id.scope", "=", "system")]
        )
        if not everything:
            rules = rules.filtered(lambda rule: rule.tool_id.server_id in servers)
        return {
            "ai.config": providers,
            "woow_paas_platform.mcp_server": servers,
            "ai.assistant": assistants,
            "woow_paas_platform.approval_rule": rules,
            "woow_paas_platform.assistant_test": tests,
        }

    # ------------------------------------------------------------ import

    def action_preview(self):
        """Show what the file would change here.

        :raises BadInput: nothing of it can be taken
        """
        self.ensure_one()
        steps = self._plan()
        self.write(
            {
                "preview": self._rendered(steps),
                "seen": self._digest(steps),
                "has_changes": any(
                    step.changed or not step.record for step in steps if not step.refusal
                ),
            }
        )
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("Import Configuration"),
            "res_model": self._name,
            "res_id": self.id,
            "views": [(False, "form")],
            "target": "new",
        }

    def action_import(self):
        """Make the changes that were shown, all or none.

        :raises Changed: they would be others by now
        """
        self.ensure_one()
        steps = self._plan()
        if not self.seen or self._digest(steps) != self.seen:
            raise Changed(
                self.env._("The configuration has changed since the preview. Preview it again."),
                "preview_outdated",
            )
        taken = [step for step in steps if not step.refusal]
        # All are there before one refers to another.
        done = [
            (step, step.record or self.env[SECTIONS[step.section]]._exchange_create(step.entry))
            for step in taken
        ]
        for step, record in done:
            if changed := exchange.changes(record._exchange_data(), step.entry):
                record._exchange_write(step.entry, changed)
        added = sum(not step.record for step in taken)
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_imported", file=hashlib.sha256(self.file).hexdigest(), entries=len(taken)
        )
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": "success",
                "message": self.env._(
                    "Imported: %(added)s added, %(changed)s changed.",
                    added=added,
                    changed=sum(bool(step.record and step.changed) for step in taken),
                ),
                "next": {"type": "ir.actions.client", "tag": "soft_reload"},
            },
        }

    def _plan(self):
        """Steps of the import, none of which is done yet."""
        self.check_access("write")
        sections = {
            section: self.env[model]._exchange_shapes() for section, model in SECTIONS.items()
        }
        try:
            raw = base64.b64decode(self.file or b"")
            entries = exchange.read(raw, sections)
            for section, model in SECTIONS.items():
                for entry in entries[section]:
                    self.env[model]._exchange_check(entry)
        except binascii.Error as error:
            raise BadInput(self.env._("The file is not valid JSON."), "invalid_json") from error
        except EngineError as error:
            raise self._bad_input(error) from error
        coming = {
            model: {entry["id"] for entry in entries[section]}
            for section, model in SECTIONS.items()
        }
        return [
            self._step(section, entry, coming) for section in SECTIONS for entry in entries[section]
        ]

    def _step(self, section, entry, coming):
        model = SECTIONS[section]
        record = self.env[model]._exchange_find(entry["id"])
        try:
            fitted, notes = record._exchange_fit(entry, coming)
        except (Refusal, AccessError) as error:
            coming[model].discard(entry["id"])
            return Step(section, record, entry, [], [], str(error))
        changed = exchange.changes(record._exchange_data() if record else {}, fitted)
        return Step(section, record, fitted, changed, notes, "")

    def _bad_input(self, error):
        return BadInput(sentences.translated(self.env, str(error)), error.code)

    def _digest(self, steps):
        told = [
            [step.section, step.record.id, step.entry, step.changed, step.notes, step.refusal]
            for step in steps
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    # ------------------------------------------------------------ preview

    def _rendered(self, steps):
        parts = []
        for section, model in SECTIONS.items():
            if of_section := [step for step in steps if step.section == section]:
                # sudo: ir.model - the name of a model that the caller configures
                title = self.env["ir.model"].sudo()._get(model).name
                parts.append(Markup("<h2 class='mt-3 fs-4'>%s</h2>") % title)
                parts += map(self._rendered_step, of_section)
        return Markup("").join(parts) or self.env._("The file is empty.")

    def _rendered_step(self, step):
        _ = self.env._
        if step.refusal:
            color, state = "danger", _("Cannot be imported")
        elif not step.record:
            color, state = "success", _("Added")
        elif step.changed:
            color, state = "warning", _("Changed")
        else:
            color, state = "secondary", _("Unchanged")
        notes = [step.refusal] if step.refusal else step.notes
        return Markup(
            "<div class='o_woow_transfer_entry mb-3'><strong>%s</strong> "
            "<span class='badge text-bg-%s'>%s</span>%s%s</div>"
        ) % (
            self._called(step),
            color,
            state,
            Markup("").join(Markup("<p class='mb-1'>%s</p>") % note for note in notes),
            self._difference(step),
        )

    def _called(self, step):
        name = (
            step.entry.get("name") or step.entry.get("tool_id", {}).get("name") or step.entry["id"]
        )
        if isinstance(name, dict):
            return name.get(self.env.lang) or name.get("en_US") or ""
        return name

    def _difference(self, step):
        if not step.changed:
            return ""
        Model = self.env[SECTIONS[step.section]]
        now = step.record._exchange_data() if step.record else {}
        told = []
        for name in step.changed:
            was = Model._exchange_words(name, now[name]) if name in now else ""
            will = Model._exchange_words(name, step.entry[name])
            if lines := difference.lines(was, will):
                told.append((Model._exchange_label(name), lines))
        if not told:
            return ""
        return Markup("<details%s><summary>%s</summary>%s</details>") % (
            Markup(" open") if step.record else "",
            self.env._("Details"),
            rendered(told),
        )
