from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.tools import html2plaintext

from ...services import text
from ...services.records import placeholders
from ...services.sentence import _lt
from ...tools import limits, sentences
from ..turn.ai_turn import PROMPT_CHARS
from ..turn.ai_turn_request import DATA

ASK = "woow_ask_assistant"
VALUE_CHARS = 2_000  # characters of one value
HTML_CHARS = 10 * VALUE_CHARS  # of rich text that are read for one
MAX_NAMES = 20  # records of a value that holds several
MAX_HOURS = 8_760  # until a reminder or an escalation
TEXTS = ("char", "text", "html")
# Method of the model, and access of the assistant, that an answer needs.
NEEDED = {"note": "message_post", "message": "message_post", "activity": "activity_schedule"}
OPERATIONS = {"message": "message", "field": "update"}
HARMLESS = ("boolean", "date", "datetime", "float", "integer", "monetary", "selection")
MAX_BUTTONS = 12  # in one chat


class IrActionsServer(models.Model):
    """Server action that asks an assistant: the one way in which an assistant starts without a person."""

    _name = "ir.actions.server"
    _inherit = ["ir.actions.server", "woow_paas_platform.audited.mixin"]

    state = fields.Selection(
        selection_add=[(ASK, "Ask an AI Assistant"), ("code",)],
        ondelete={ASK: lambda actions: actions._remove_ours()},
    )
    woow_assistant_id = fields.Many2one(
        "ai.assistant",
        "AI Assistant",
        domain=[("cloud_service_id", "=", False)],
        ondelete="set null",
    )
    woow_instruction = fields.Text(
        "Instruction",
        help="What the assistant is to do. {{ object.field }} stands for a value of the record, for example "
        "{{ object.partner_id.name }}; values are quoted, as data.",
    )
    woow_run_as_id = fields.Many2one(
        "res.users",
        "Runs As",
        ondelete="set null",
        default=lambda self: self.env.user,
        help="The assistant acts with the rights of this user.",
    )
    woow_answer_to = fields.Selection(
        [
            ("none", "Nothing else"),
            ("note", "Log it as a note"),
            ("message", "Send it to the followers"),
            ("field", "Write it into a field"),
            ("activity", "Schedule an activity"),
            ("user", "Notify the user"),
        ],
        "Answer",
        default="note",
        help="What becomes of the answer, beside the conversation. To send it or to write it into a field, the "
        "assistant needs that access to the model, on its page Odoo Records.",
    )
    # Values of `woow_answer_to` that can be saved.
    woow_answers = fields.Json("Possible Answers", compute="_compute_woow_answers")
    woow_decider = fields.Selection(
        [
            ("user", "The user it runs as"),
            ("group", "A group"),
            ("field", "A user of the record"),
        ],
        "Decided By",
        default="user",
        help="Users who decide about calls that ask. They must be able to read the record; if none can, the "
        "user that the action runs as decides.",
    )
    woow_decider_group_id = fields.Many2one("res.groups", "Deciding Group", ondelete="set null")
    woow_decider_field_id = fields.Many2one(
        "ir.model.fields",
        "Field With the User",
        ondelete="set null",
        domain="[('model_id', '=', model_id), ('ttype', '=', 'many2one'), ('relation', '=', 'res.users')]",
        help="For example the salesperson.",
    )
    woow_remind_hours = fields.Integer(
        "Remind After (hours)",
        help="Hours until a reminder is sent, once. 0 means never.",
    )
    woow_escalation_group_id = fields.Many2one(
        "res.groups",
        "Escalate To",
        ondelete="set null",
        help="Group that may decide, too, if nobody has decided by then.",
    )
    woow_escalation_hours = fields.Integer(
        "Escalate After (hours)", help="Hours until the other group may decide, too. 0 means never."
    )
    woow_requester_is_excluded = fields.Boolean(
        "Requester May Not Approve",
        help="Neither the user that the action runs as nor the user who triggered it can allow its calls. If there is "
        "nobody else, administrators of AI assistants decide.",
    )
    woow_answer_field_id = fields.Many2one(
        "ir.model.fields",
        "Field for the Answer",
        ondelete="set null",
        help="The assistant writes it as its last call, with the access to records that it has, and asks as such a "
        "call does.",
    )
    woow_is_off = fields.Boolean(
        "Switched Off",
        copy=False,
        help="The action switched itself off; it can be switched on again here.",
    )
    woow_off_reason = sentences.SentenceField("Reason", readonly=True, copy=False)
    woow_off_sentence = fields.Char("Why Switched Off", compute="_compute_woow_off_sentence")
    woow_run_count = fields.Integer("Runs", compute="_compute_woow_run_count")

    @api.depends("woow_off_reason")
    @api.depends_context("lang")
    def _compute_woow_off_sentence(self):
        for action in self:
            action.woow_off_sentence = sentences.translated(self.env, action.woow_off_reason or "")

    def _compute_woow_run_count(self):
        counts = dict(
            self.env["woow_paas_platform.ai_run"]._read_group(
                [("action_id", "in", self.ids)], ["action_id"], ["__count"]
            )
        )
        for action in self:
            action.woow_run_count = counts.get(action, 0)

    @api.depends("state", "usage", "model_id", "woow_assistant_id.record_access_ids")
    def _compute_woow_answers(self):
        answers = [value for value, _label in self._fields["woow_answer_to"].selection]
        for action in self:
            asks = action.state == ASK
            action.woow_answers = [a for a in answers if asks and not action._answer_problem(a)]

    def _is_audited(self):
        """Only those that ask an assistant."""
        return super()._is_audited() and self.state == ASK

    @api.constrains(
        "state",
        "usage",
        "model_id",
        "woow_assistant_id",
        "woow_instruction",
        "woow_run_as_id",
        "woow_answer_to",
        "woow_answer_field_id",
    )
    def _check_woow_ask(self):
        _ = self.env._
        for action in self.filtered(lambda action: action.state == ASK):
            if not action.woow_assistant_id or not (action.woow_instruction or "").strip():
                raise ValidationError(_("Choose an assistant and write what it is to do."))
            if len(action.woow_instruction) > PROMPT_CHARS // 2:
                raise ValidationError(
                    _(
                        "The instruction can have at most %(limit)s characters.",
                        limit=PROMPT_CHARS // 2,
                    )
                )
            check_run_as(action.woow_run_as_id)
            model = self.env[action.model_id.model]
            check_placeholders(model, action.woow_instruction)
            field = action.woow_answer_field_id
            if problem := action._answer_problem(action.woow_answer_to):
                raise ValidationError(problem)
            if action.woow_answer_to == "field" and (
                field.model != model._name or field.ttype not in TEXTS
            ):
                raise ValidationError(
                    _(
                        "Choose a text field of “%(model)s” for the answer.",
                        model=model._description,
                    )
                )
            if problem := action._answer_problem(action.woow_answer_to, field.name):
                raise ValidationError(problem)

    def _answer_problem(self, answer, field=None):
        """Reason why the answer cannot go there, empty if it can.

        :param answer: a value of `woow_answer_to`
        :param field: name of the field, of such an answer
        """
        _ = self.env._
        if answer in ("none", "user"):
            return ""
        if self.usage == "ir_cron":
            return _("A schedule has no record. Notify the user, or choose “Nothing else”.")
        model = self.env.get(self.model_id.model)
        name = model._description if model is not None else ""
        if not hasattr(model, NEEDED.get(answer, "search")):
            return _("“%(model)s” has no chatter. Choose another place for the answer.", model=name)
        if operation := OPERATIONS.get(answer):
            # sudo: ai.assistant - its access, for an administrator who uses it here
            assistant = self.woow_assistant_id.sudo()
            access = assistant._record_access().get(model._name)
            if not access or operation not in access.operations or field in access.hidden:
                return _(
                    "“%(assistant)s” may not do this with “%(model)s”. Allow it on its page Odoo Records.",
                    assistant=assistant.name or "",
                    model=name,
                )
        return ""

    @api.constrains(
        "state",
        "usage",
        "model_id",
        "woow_decider",
        "woow_decider_group_id",
        "woow_decider_field_id",
        "woow_remind_hours",
        "woow_escalation_group_id",
        "woow_escalation_hours",
    )
    def _check_woow_deciders(self):
        _ = self.env._
        for action in self.filtered(lambda action: action.state == ASK):
            field = action.woow_decider_field_id
            if action.woow_decider == "group" and not action.woow_decider_group_id:
                raise ValidationError(_("Choose the group that decides."))
            if action.woow_decider == "field" and action.usage == "ir_cron":
                raise ValidationError(_("A schedule has no record. Choose the user or a group."))
            if action.woow_decider == "field" and (
                field.model_id != action.model_id
                or field.relation != "res.users"
                or field.ttype != "many2one"
            ):
                raise ValidationError(_("Choose a field of the record that holds a user."))
            hours = action.woow_remind_hours, action.woow_escalation_hours
            if min(hours) < 0 or max(hours) > MAX_HOURS:
                raise ValidationError(
                    _("Hours cannot be negative or more than %(limit)s.", limit=MAX_HOURS)
                )
            if bool(action.woow_escalation_group_id) != bool(action.woow_escalation_hours):
                raise ValidationError(
                    _("Set both the group to escalate to and the hours until then, or neither.")
                )

    # ------------------------------------------------------------ run

    def _run_action_woow_ask_assistant_multi(self, eval_context=None):
        """Schedule a run for each record, or one without any. Odoo finds the method by the value of `state`."""
        self.ensure_one()
        Run = self.env["woow_paas_platform.ai_run"]
        records = (eval_context or {}).get("records") or (eval_context or {}).get("record") or ()
        event, count = self._event(), 0
        for record in records or [self.env[self.model_id.model]]:
            if self.woow_is_off or self._is_incomplete() or self._is_too_fast():
                break
            count += len(Run._schedule(self, record, event))
        return self._notification(count)

    def _notification(self, count):
        """Notification of the user who has pressed a button; triggers ignore it."""
        _ = self.env._
        message = _("The assistant starts soon. Its runs: %(count)s", count=count)
        if self.woow_is_off:
            message = self.woow_off_sentence
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {"message": message, "type": "warning" if self.woow_is_off else "info"},
        }

    def _event(self):
        """Key of what started the action: the time for which its own cron was planned, else the transaction.

        Another cron, such as the one that fetches mail, may tell the same record of several events.
        """
        cron = self.env["ir.cron"].sudo().browse(self.env.context.get("cron_id")).exists()
        if cron.ir_actions_server_id == self and cron.nextcall <= fields.Datetime.now():
            return f"cron {cron.id} {cron.nextcall}"
        self.env.cr.execute("SELECT txid_current()")
        return f"transaction {self.env.cr.fetchone()[0]}"

    def _is_incomplete(self):
        """Switch the action off if its user or assistant was deleted: the trigger itself goes on."""
        if self.woow_run_as_id and self.woow_assistant_id:
            return False
        self._switch_off(
            _lt("The assistant of the action, or the user that it runs as, was deleted.")
        )
        return True

    def _is_too_fast(self):
        """Switch the action off if it has been started too often."""
        limit = limits.get(self.env, "runs_per_hour")
        hour = fields.Datetime.subtract(fields.Datetime.now(), hours=1)
        recent = [("action_id", "=", self.id), ("create_date", ">", hour)]
        # sudo: ai_run - counted
        if self.env["woow_paas_platform.ai_run"].sudo().search_count(recent, limit=limit) < limit:
            return False
        self._switch_off(
            _lt("The action was started more than %(limit)s times within an hour.", limit=limit)
        )
        return True

    def _instruction_for(self, record):
        """Instruction with the values of a record, and whether other people may have written some of them.

        :param record: with the rights of the run's user, or None
        """
        model = self.env[self.model_id.model]
        instruction, foreign = filled(model, self.woow_instruction, record)
        if instruction == self.woow_instruction:
            return instruction, False
        room = PROMPT_CHARS - len(DATA) - 2
        return f"{instruction[:room]}\n\n{DATA}", bool(foreign)

    # ------------------------------------------------------------ off and on

    def _switch_off(self, reason):
        """Keep the action from starting runs, and tell its owner why.

        :param reason: a `Sentence`
        """
        if not self or self.woow_is_off:
            return
        # sudo: ir.actions.server - a switch that the system sets; activities are for its owner
        action = self.sudo()
        action.write({"woow_is_off": True, "woow_off_reason": reason})
        author, admin = action.create_uid, action.env.ref("base.user_admin")
        owner = (
            author if author.active and author._is_internal() else action.woow_run_as_id or admin
        )
        action.activity_schedule(
            "mail.mail_activity_data_warning",
            summary=self.env._("The assistant is no longer asked"),
            note=action.with_context(lang=owner.lang).woow_off_sentence,
            user_id=owner.id,
        )

    def write(self, vals):
        if vals.get("woow_is_off") is False:
            vals = {**vals, "woow_off_reason": False}
            self.filtered("woow_is_off").activity_unlink(["mail.mail_activity_data_warning"])
        return super().write(vals)

    def _remove_ours(self):
        """The addon is uninstalled: remove the actions and what schedules them."""
        self.ir_cron_ids.unlink()
        self.unlink()


def check_run_as(user):
    """
    :raises ValidationError: an assistant may not run as this user
    """
    if not user or not user.active or user._is_public() or user._is_superuser():
        raise ValidationError(
            user.env._(
                "Choose an active user that the assistant runs as: neither the public user nor the system."
            )
        )


def check_placeholders(model, instruction):
    """:raises ValidationError: a placeholder is no field of the model"""
    for placeholder, names in placeholders.paths(instruction):
        if _field_of(model, names) is None:
            raise ValidationError(
                model.env._(
                    "“%(placeholder)s” is no field of “%(model)s”. Write {{ object.field }}.",
                    placeholder=placeholder,
                    model=model._description,
                )
            )


def filled(model, instruction, record):
    """Instruction with the values of a record in place of its placeholders, quoted.

    :param record: with the rights of the user who may read it, or None
    :return: the text, and those of the values that other people may have written
    """
    foreign = []

    def value(names):
        field = _field_of(model, names)  # of an addon that may be gone
        shown = _value(record, names) if record and field is not None else ""
        if field is not None and field.type not in HARMLESS:
            foreign.append(shown)
        return text.quoted(shown, VALUE_CHARS)

    return placeholders.fill(instruction, value), foreign


def _field_of(model, names):
    """The last field of a path of fields, None if it leads nowhere."""
    field = None
    for name in names:
        field = model._fields.get(name) if model is not None else None
        if field is None or field.type in ("binary", "json", "properties"):
            return None
        model = model.env[field.comodel_name] if field.relational else None
    return field


def _value(record, names):
    """Value of a path of fields as text."""
    *path, last = names
    for name in path:
        record = record[name][:MAX_NAMES] if record else record
    if not record:
        return ""
    field = record._fields[last]
    if field.relational:
        return ", ".join(record.mapped(last)[:MAX_NAMES].mapped("display_name"))
    values = (field.convert_to_export(one[last], one) for one in record[:MAX_NAMES])
    shown = ("" if value is None or value is False else str(value) for value in values)
    if field.type == "html":
        shown = (html2plaintext(value[:HTML_CHARS]) for value in shown)
    return ", ".join(shown)


class DefaultPrompt(models.Model):
    """Default prompt: a button of the empty chat about a record of its model, which fills the message input."""

    _name = "woow_paas_platform.default_prompt"
    _description = "Default Prompt"
    _order = "sequence, id"

    name = fields.Char("Button", required=True, translate=True)
    prompt_text = fields.Text(
        "Message",
        required=True,
        translate=True,
        help="Put into the message input, to be edited and sent. {{ object.field }} stands for a value of the record, "
        "for example {{ object.partner_id.name }}; values are quoted, as data.",
    )
    sequence = fields.Integer(default=10)
    active = fields.Boolean(default=True)
    model_id = fields.Many2one("ir.model", required=True, ondelete="cascade", index=True)
    model = fields.Char(related="model_id.model", store=True, index=True, string="Model Name")
    assistant_id = fields.Many2one(
        "ai.assistant",
        ondelete="cascade",
        index="btree_not_null",
        help="Leave empty to offer the prompt with every assistant.",
    )
    group_ids = fields.Many2many(
        "res.groups",
        "woow_paas_platform_default_prompt_group_rel",
        string="Available To",
        help="Leave empty to offer the prompt to all internal users.",
    )

    @api.constrains("prompt_text", "model_id")
    def _check_prompt_text(self):
        for prompt in self:
            if len(prompt.prompt_text) > PROMPT_CHARS // 2:
                raise ValidationError(
                    self.env._(
                        "The prompt can have at most %(limit)s characters.",
                        limit=PROMPT_CHARS // 2,
                    )
                )
            check_placeholders(self.env[prompt.model_id.model], prompt.prompt_text)

    @api.model
    def _offered(self, assistant, model):
        """Prompts that the caller is offered in a chat with an assistant about a record of a model."""
        if not self.has_access("read"):
            return self.browse()
        return self.search(
            [("model", "=", model), ("assistant_id", "in", (False, assistant.id))],
            limit=MAX_BUTTONS,
        )

    def _filled(self, record):
        """Text with the values of a record that the caller may read.

        :return: the text, and those of the values that other people may have written
        """
        self.ensure_one()
        content, foreign = filled(record, self.prompt_text, record)
        return content[:PROMPT_CHARS], foreign
