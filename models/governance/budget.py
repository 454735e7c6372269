from calendar import monthrange
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

from markupsafe import escape
from odoo import api, fields, models
from odoo.addons.base.models.res_partner import _tz_get
from odoo.exceptions import UserError, ValidationError
from odoo.tools import SQL, format_date, format_datetime, formatLang, ormcache

from ...services import text
from ...services.errors import BudgetExhausted
from ...services.money import budgets
from ...tools import sentences
from ...tools.moments import utc
from ...tools.refusals import BadInput, NotThere

PERIOD = "woow_paas_platform.budget_period"
ADMIN = "woow_paas_platform.group_admin"
SUMS = ("request_count", "input_tokens", "output_tokens", "company_amount")
COST = "woow_paas_platform.cost"
MONTHS = 12  # that the page of a service lists
MAX_OF_SERVICE = 20  # budgets that its managers may have
MAX_ADDITIONS = 50  # in 24 hours, archived ones among them
MAX_NAME = 100  # characters
MAX_LIMIT = 1e12
PLACES = Decimal("1e-9")  # of what is counted
TARGETS = {  # scope -> field of the budget
    "company": "company_id",
    "workspace": "workspace_id",
    "service": "cloud_service_id",
    "user": "user_id",
    "assistant": "assistant_id",
    "each_user": "company_id",
}
FIXED = frozenset({"scope", "measure", "unit", "time_zone", *TARGETS.values()})

KEPT_DAYS = 400  # after the end of a period: more than a year to look back on
GC_BATCH = 1_000  # rows that one sweep deletes


class Budget(models.Model):
    """Budget: how much may be spent in a period, by whom.

    `_hold` reserves before a request, in the transaction that writes its cost, `_count` puts the real amount in its
    place. Requests without a budget cost no statement here."""

    _name = "woow_paas_platform.budget"
    _description = "Budget"
    _inherit = [
        "mail.thread",
        "woow_paas_platform.filter.mixin",
        "woow_paas_platform.audited.mixin",
    ]
    _order = "scope, name, id"

    name = fields.Char(required=True, tracking=True)
    active = fields.Boolean(default=True, tracking=True)
    scope = fields.Selection(
        [
            ("company", "Company"),
            ("workspace", "Workspace"),
            ("service", "Cloud service"),
            ("user", "One user"),
            ("each_user", "Each user of the company"),
            ("assistant", "Assistant"),
        ],
        "Limits",
        required=True,
        default="company",
    )
    company_id = fields.Many2one(
        "res.company",
        required=True,
        default=lambda self: self.env.company,
        ondelete="cascade",
        index=True,
        help="The amount is in its currency.",
    )
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace", ondelete="cascade", index="btree_not_null"
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", ondelete="cascade", index="btree_not_null"
    )
    user_id = fields.Many2one("res.users", ondelete="cascade", index="btree_not_null")
    assistant_id = fields.Many2one("ai.assistant", ondelete="cascade", index="btree_not_null")
    measure = fields.Selection(
        [("amount", "Amount"), ("tokens", "Tokens")], "Counts", required=True, default="amount"
    )
    currency_id = fields.Many2one(related="company_id.currency_id")
    limit = fields.Float(digits=(16, 2), required=True, tracking=True)
    unit = fields.Selection(
        [("day", "Day"), ("week", "Week"), ("month", "Month")],
        "Per",
        required=True,
        default="month",
        help="A day begins at midnight in the time zone, a week on Monday.",
    )
    time_zone = fields.Selection(
        _tz_get,
        compute="_compute_time_zone",
        store=True,
        readonly=False,
        precompute=True,
        required=True,
    )
    is_hard = fields.Boolean(
        "Refuse Beyond",
        default=True,
        tracking=True,
        help="Assistants stop answering when the budget is used up. Without this, its owner is only told.",
    )
    is_saving = fields.Boolean(
        "Fallback From 90 %",
        tracking=True,
        help="From 90 % on, the fallback provider of an assistant answers, if it has one.",
    )
    owner_id = fields.Many2one(
        "res.users",
        default=lambda self: self.env.user,
        ondelete="set null",
        index="btree_not_null",
        tracking=True,
        help="Is told when 75, 90 and 100 % are used.",
    )
    is_managed = fields.Boolean(
        "Set by Managers",
        readonly=True,
        copy=False,
        help="The managers of the service have made it, and may change it.",
    )
    period_ids = fields.One2many(PERIOD, "budget_id", "Periods", readonly=True)
    spent = fields.Float(compute="_compute_current", digits=(16, 2))
    left = fields.Float(compute="_compute_current", digits=(16, 2))
    percent = fields.Integer("Used (%)", compute="_compute_current")
    next_start = fields.Datetime("Starts Again", compute="_compute_current")

    _limit_positive = models.Constraint('CHECK ("limit" > 0)', "A budget must be more than 0.")

    @api.model
    def _fields_to_filter(self):
        return {"name", "scope", "company_id", "workspace_id", "cloud_service_id", "user_id"} | {
            "assistant_id",
            "measure",
            "unit",
            "is_hard",
            "is_saving",
            "owner_id",
            "active",
        }

    @api.depends("company_id", "workspace_id", "cloud_service_id")
    def _compute_time_zone(self):
        for budget in self:
            workspace = budget.workspace_id or budget.cloud_service_id.workspace_id
            zone = workspace.owner_id.tz or budget.company_id.partner_id.tz
            budget.time_zone = budget.time_zone or zone or self.env.user.tz or "UTC"

    @api.depends("limit", "unit", "time_zone")
    def _compute_current(self):
        now = fields.Datetime.now()
        current = [("budget_id", "in", self.ids), ("starts_at", "<=", now), ("ends_at", ">", now)]
        # Of a budget for each user the one who has used most.
        most = dict(self.env[PERIOD]._read_group(current, ["budget_id"], ["spent:max"]))
        for budget in self:
            budget.spent = most.get(budget._origin, 0)
            budget.left = max(0, budget.limit - budget.spent)
            budget.percent = min(100, int(budget.spent * 100 / budget.limit)) if budget.limit else 0
            budget.next_start = budgets.period_of(
                now, budget.unit or "month", budget.time_zone or "UTC"
            )[1]

    @api.constrains("scope", *TARGETS.values())
    def _check_target(self):
        for budget in self:
            if not budget[TARGETS[budget.scope]]:
                raise ValidationError(self.env._("Choose what the budget limits."))

    # ------------------------------------------------------------ rules, kept in memory

    @api.model_create_multi
    def create(self, vals_list):
        created = super().create([self._of_scope(vals) for vals in vals_list])
        self._forget_rules()
        return created

    def _of_scope(self, vals):
        """The values without targets that the scope does not have."""
        kept = TARGETS[vals.get("scope") or "company"]
        return {
            name: False if name in TARGETS.values() and name not in (kept, "company_id") else value
            for name, value in vals.items()
        }

    def write(self, vals):
        if changed := FIXED & vals.keys():
            for budget in self:
                now = budget._convert_to_write({name: budget[name] for name in changed})
                if any((now[name] or False) != (vals[name] or False) for name in changed):
                    raise UserError(
                        self.env._(
                            "A budget keeps what it limits and counts. Archive it and make another one."
                        )
                    )
        result = super().write(vals)
        self._forget_rules()
        return result

    def unlink(self):
        result = super().unlink()
        self._forget_rules()
        return result

    def _forget_rules(self):
        """Read rules anew, also after the commit: until then the runner of this process keeps the former ones."""
        self.env.registry.clear_cache()
        self.env.cr.postcommit.add(self.env.registry.clear_cache)

    @api.model
    @ormcache()
    def _rules(self):
        """``{(scope, id of its target): (services.money.budgets.Rule,)}`` of all budgets in use."""
        # sudo: budget - read to decide, by whoever asks an assistant
        found = {}
        for budget in self.sudo().search([("active", "=", True)], order="id"):
            key = budget.scope, budget[TARGETS[budget.scope]].id
            rule = budgets.Rule(
                id=budget.id,
                name=budget.name,
                limit=Decimal(str(budget.limit)),
                unit=budget.unit,
                tz=budget.time_zone,
                currency=budget.currency_id.name if budget.measure == "amount" else "",
                is_hard=budget.is_hard,
                is_saving=budget.is_saving,
            )
            found[key] = (*found.get(key, ()), rule)
        return found

    @api.model
    def _rules_of(self, payer):
        """Budgets that count a request, in the order in which their rows are locked.

        :param payer: ``{"company_id", "workspace_id", "cloud_service_id", "user_id", "assistant_id"}``, ids
        :return: ``[(rule, user_id or None)]``
        """
        if not (rules := self._rules()):
            return []
        found = [
            (rule, payer.get("user_id") if scope == "each_user" else None)
            for scope, name in TARGETS.items()
            if payer.get(name) and (scope != "each_user" or payer.get("user_id"))
            for rule in rules.get((scope, payer[name]), ())
        ]
        return sorted(found, key=lambda pair: pair[0].id)

    # ------------------------------------------------------------ a request

    @api.model
    def _hold(self, cost):
        """Reserve a request in all its budgets, or in none.

        :param cost: row that was just reserved
        :raises BudgetExhausted: a hard one has nothing left
        """
        held = {}
        is_refused = not cost._is_always_sent()
        for rule, user_id in self._rules_of(self._payer(cost)):
            share = self._share(rule.currency, cost)
            period_id = self.env[PERIOD]._hold(
                rule, user_id, cost.date, share, is_hard=rule.is_hard and is_refused
            )
            if period_id is None:
                raise self._exhausted(rule, cost.date)
            held[str(period_id)] = str(share)
        if held:
            cost.budget_holds = held
            cost.flush_recordset(["budget_holds"])

    @api.model
    def _count(self, cost):
        """Count a request that has ended in the budgets in which it was reserved."""
        for key, held in sorted((cost.budget_holds or {}).items(), key=lambda pair: int(pair[0])):
            period = self.env[PERIOD].browse(int(key)).exists()
            if period:
                currency = (
                    period.budget_id.measure == "amount" and period.budget_id.currency_id.name
                )
                share = self._share(currency or "", cost)
                self.env[PERIOD]._count(period.id, Decimal(held), share)

    def _payer(self, cost):
        return {name: cost[name].id for name in TARGETS.values()}

    def _share(self, currency, cost):
        """Part that a request has in a budget: its tokens, or its amount in the budget's currency.

        :param currency: ISO code, empty of tokens
        """
        if not currency:
            return Decimal(cost.input_tokens + cost.output_tokens)
        own = cost.company_id.currency_id
        amount = Decimal(repr(cost.company_amount))
        if currency == own.name:
            return amount.quantize(PLACES, ROUND_HALF_EVEN)
        Currency = self.env["res.currency"].with_context(active_test=False)
        wanted = Currency.search([("name", "=", currency)], limit=1)
        rate = Currency._get_conversion_rate(own, wanted, cost.company_id, cost.date.date())
        return (amount * Decimal(repr(rate))).quantize(PLACES, ROUND_HALF_EVEN)

    def _exhausted(self, rule, moment):
        _start, stop = budgets.period_of(moment, rule.unit, rule.tz)
        return BudgetExhausted(budgets.used_up(rule, stop))

    # ------------------------------------------------------------ people

    @api.model
    def _states_of(self, payer):
        """``[(rule, used, stop)]`` of the budgets of a request, in this moment; nothing is reserved.

        :param payer: as of `_rules_of`
        """
        if not (rules := self._rules_of(payer)):
            return []
        now = fields.Datetime.now()
        found = []
        for rule, user_id in rules:
            start, stop = budgets.period_of(now, rule.unit, rule.tz)
            domain = [
                ("budget_id", "=", rule.id),
                ("user_id", "=", user_id or False),
                ("starts_at", "=", start),
            ]
            # sudo: budget_period - read to decide, and for whom it limits
            row = self.env[PERIOD].sudo().search(domain, limit=1)
            found.append((rule, Decimal(str(row.spent)) + Decimal(str(row.reserved)), stop))
        return found

    @api.model
    def _left_of_budget(self, payer):
        """
        :param payer: as of `_rules_of`
        :return: `services.specs.Spending`
        :raises BudgetExhausted: a request would be refused now
        """
        states = self._states_of(payer)
        for rule, used, stop in states:
            if rule.is_hard and used >= rule.limit:
                raise BudgetExhausted(budgets.used_up(rule, stop))
        return budgets.spending(states)

    def _tell_owner(self, level, period):
        """Write to the owner that a level is reached."""
        # sudo: budget - the system tells its owner, whoever's request it was
        budget = self.sudo()
        owner = budget._told_owner()
        if not owner.active:
            return
        env = budget.with_context(lang=owner.lang).env
        own = (rule for rules in self._rules().values() for rule in rules if rule.id == self.id)
        if not (rule := next(own, None)):  # archived while the request was being answered
            return
        if level == 100 and rule.is_hard:
            sentence = sentences.translated(env, budgets.used_up(rule, period.ends_at))
        else:
            used = Decimal(str(period.spent))
            sentence = sentences.translated(env, budgets.nearly(rule, used, period.ends_at))
        subject = env._("Budget “%(name)s”: %(percent)s %% used", name=budget.name, percent=level)
        owner._woow_ai_mail(subject, escape(sentence), budget._path())

    def _told_owner(self):
        """The owner; of a service's budget whose owner no longer manages it, the owner of the workspace."""
        workspace = self.cloud_service_id.workspace_id
        if self.is_managed and self.owner_id not in workspace._managers():
            return workspace.owner_id
        return self.owner_id

    def _path(self):
        if self.is_managed:
            return f"/my/services/{self.cloud_service_id.id}/usage"
        return f"/odoo/{self._name}/{self.id}"

    # ------------------------------------------------------------ usage, as people see it

    @api.model
    def _usage(self):
        """Budgets that limit the caller, the fullest first, and what the caller has used this month.

        Amounts of a budget that others share are for those who manage it: everybody else sees its share in percent.
        """
        found = [self._usage_data(*state) for state in self._states_of_caller()]
        return {
            "budgets": sorted(found, key=lambda entry: -entry["percent"]),
            "month": self._month_of_caller(),
        }

    def _states_of_caller(self):
        """``[(budget with sudo, used, end of the period)]``"""
        person = self.env.user

        def seen(scope):
            """Targets of budgets that the caller may see."""
            limited = [target for kind, target in self._rules() if kind == scope]
            targets = self.env[self._fields[TARGETS[scope]].comodel_name]
            return targets.search([("id", "in", limited)]) if limited else targets

        targets = {
            "company": person.company_id,
            "each_user": person.company_id,
            "user": person,
            "workspace": seen("workspace"),
            "service": seen("service"),
            "assistant": seen("assistant"),
        }
        return self._states_of_targets(targets)

    def _states_of_targets(self, targets):
        """:param targets: ``{scope: records}``"""
        states = []
        for scope, records in targets.items():
            for record in records:
                payer = {TARGETS[scope]: record.id, "user_id": self.env.uid}
                states += [
                    state
                    for state in self._states_of(payer)
                    if (scope, record.id) in self._rules()
                    and state[0] in self._rules()[scope, record.id]
                ]
        # sudo: budget - those that limit the caller, or what the caller manages
        return [
            (self.sudo().browse(rule.id), used, stop) for rule, used, stop in dict.fromkeys(states)
        ]

    def _usage_data(self, budget, used, stop):
        limit = Decimal(str(budget.limit))
        shows = budget._shows_amounts()
        return {
            "id": budget.id,
            "name": budget.name,
            "scope": budget.scope,
            "unit": budget.unit,
            "is_hard": budget.is_hard,
            "percent": min(100, budgets.percent(used, limit)),
            "limit": float(limit) if shows else None,
            "left": float(max(Decimal(0), limit - used)) if shows else None,
            "currency": budget.currency_id.name if budget.measure == "amount" else None,
            "starts_again_at": utc(stop),
        }

    def _shows_amounts(self):
        """True if the caller may see the budget's amounts: it is the caller's own, or the caller manages it."""
        person = self.env.user
        workspace = self.workspace_id or self.cloud_service_id.workspace_id
        is_own = self.scope == "each_user" or person in (self.user_id | self.owner_id)
        return is_own or person in workspace._managers() or person.has_group(ADMIN)

    def _month_of_caller(self):
        """``{since, currency, assistants: [{id, name, requests, input_tokens, output_tokens, amount, currency}]}``,
        a line for each currency that companies have paid in."""
        zone = self.env.user.tz or "UTC"
        since, _until = budgets.period_of(fields.Datetime.now(), "month", zone)
        # sudo: cost - the caller's own
        rows = (
            self.env["woow_paas_platform.cost"]
            .sudo()
            ._read_group(
                [
                    ("user_id", "=", self.env.uid),
                    ("date", ">=", since),
                    ("state", "=", "settled"),
                ],
                ["assistant_id", "company_id.currency_id"],
                [f"{name}:sum" for name in SUMS],
                order="company_amount:sum desc, assistant_id",
            )
        )
        return {
            "since": utc(since),
            "currency": self.env.user.company_id.currency_id.name,
            "assistants": [
                {
                    "id": assistant.id or None,
                    "name": assistant.name or "",
                    "currency": currency.name,
                }
                | _sums(sums)
                for assistant, currency, *sums in rows
            ],
        }

    def _usage_in_words(self):
        """The same with amounts and moments as the caller's page shows them."""
        usage = self._usage()
        for entry in usage["budgets"]:
            self._put_in_words(entry)
        for line in usage["month"]["assistants"]:
            line["amount"] = self._quantity(line["amount"], line["currency"])
            line["tokens"] = self._quantity(line["input_tokens"] + line["output_tokens"])
        return usage

    def _put_in_words(self, entry):
        """:param entry: see `_usage_data`"""
        for name in ("limit", "left"):
            if entry[name] is not None:
                entry[name] = self._quantity(entry[name], entry["currency"])
        at = fields.Datetime.to_datetime(entry["starts_again_at"].replace("T", " ")[:19])
        zone = self.env.user.tz or "UTC"
        entry["starts_again_at"] = format_datetime(self.env, at, tz=zone, dt_format="short")

    def _quantity(self, number, code=None):
        """An amount or, without the code of a currency, tokens, in the caller's words."""
        if code is None:
            return self.env._("%(count)s tokens", count=formatLang(self.env, number, digits=0))
        currencies = self.env["res.currency"].with_context(active_test=False)
        currency = currencies.search([("name", "=", code)], limit=1)
        return formatLang(self.env, number, currency_obj=currency)

    @api.model
    def _usage_of_workspace(self, workspace_id, first, last, service_id=None):
        """Lines of what a workspace, or one of its services, has used, by service, assistant and currency.

        :param first, last: days of UTC, both included
        :raises NotThere: there is none that the caller manages
        """
        workspace = self.env["woow_paas_platform.workspace"].browse(workspace_id).exists()
        workspace = workspace._filtered_access("read")
        user = self.env.user
        if not workspace or not (user in workspace._managers() or user.has_group(ADMIN)):
            raise NotThere(self.env._("There is no such workspace, or you do not manage it."))
        if first > last:
            raise BadInput(self.env._("The first day must not be after the last one."))
        groups = ["cloud_service_id", "assistant_id", "company_id"]
        domain = self._costs_of(workspace, first, last)
        if service_id:
            domain.append(("cloud_service_id", "=", service_id))
        return {
            "workspace": {"id": workspace.id, "name": workspace.name},
            "from": first.isoformat(),
            "to": last.isoformat(),
            "lines": [
                {
                    "service": _named(service),
                    "assistant": _named(assistant),
                    "currency": company.currency_id.name,
                    **_sums(sums),
                }
                for service, assistant, company, *sums in self._sums_of_managed(domain, groups)
            ],
        }

    def _costs_of(self, workspace, first, last):
        return [
            ("workspace_id", "=", workspace.id),
            ("date", ">=", datetime.combine(first, time())),
            ("date", "<=", datetime.combine(last, time.max)),
            ("state", "=", "settled"),
        ]

    def _sums_of_managed(self, domain, groups, order=None):
        # sudo: cost - of a workspace that the caller manages; names of its services and of assistants used there
        return (
            self.env[COST]
            .sudo()
            .with_context(tz="UTC")
            ._read_group(
                domain,
                groups,
                [f"{name}:sum" for name in SUMS],
                order=order or ", ".join(groups),
            )
        )

    # ------------------------------------------------------------ a service, as its managers see it

    def _managed_service(self, service_id):
        """
        :return: the cloud service with sudo
        :raises NotThere: there is none that the caller manages
        """
        service = self.env["woow_paas_platform.cloud_service"].browse(service_id).exists()
        service = service._filtered_access("read")
        if not service.is_manager:
            raise NotThere(self.env._("There is no such service, or you do not manage it."))
        return service.sudo()  # sudo: cloud_service - the caller manages it

    @api.model
    def _usage_of_service(self, service_id, day, *, is_whole=False):
        """Page of what a service has used in a month of UTC, in words, with its budgets.

        :param day: any of the month
        :param is_whole: of its whole workspace
        :return: ``{month, title, first, last, months: [{month, title, requests, tokens, amount}], lines: [{service,
            assistant, kind, requests, tokens, amount}], users, budgets}``; of people only their number
        :raises NotThere: there is none that the caller manages
        """
        service = self._managed_service(service_id)
        workspace = service.workspace_id
        first = day.replace(day=1)
        last = first.replace(day=monthrange(first.year, first.month)[1])
        own = [] if is_whole else [("cloud_service_id", "=", service.id)]
        today = fields.Date.today()
        year = self._costs_of(
            workspace, (today - timedelta(days=30 * (MONTHS - 1))).replace(day=1), today
        )
        months = self._sums_of_managed(
            own + year, ["date:month", "company_id"], order="date:month desc"
        )
        domain = own + self._costs_of(workspace, first, last)
        groups = ["cloud_service_id", "assistant_id", "kind", "company_id"]
        lines = self._sums_of_managed(domain, groups, order="company_amount:sum desc, assistant_id")
        kinds = dict(self.env[COST]._fields["kind"]._description_selection(self.env))
        # sudo: cost - a number
        ((users,),) = self.env[COST].sudo()._read_group(domain, [], ["user_id:count_distinct"])
        return {
            **self._month_data(first),
            "first": first.isoformat(),
            "last": last.isoformat(),
            "is_whole": is_whole,
            "months": [
                self._month_data(month.date()) | self._sums_in_words(company, sums)
                for month, company, *sums in months
            ],
            "lines": [
                {
                    "service": where.name or "",
                    "assistant": assistant.name or "",
                    "kind": kinds.get(kind, ""),
                }
                | self._sums_in_words(company, sums)
                for where, assistant, kind, company, *sums in lines
            ],
            "users": users,
            "budgets": self._budgets_of(service),
        }

    def _month_data(self, first):
        title = format_date(self.env, first, date_format="MMMM y")
        return {"month": f"{first:%Y-%m}", "title": title}

    def _sums_in_words(self, company, sums):
        found = _sums(sums)
        return {
            "requests": found["requests"],
            "tokens": self._quantity(found["input_tokens"] + found["output_tokens"]),
            "amount": self._quantity(found["amount"], company.currency_id.name),
        }

    def _budgets_of(self, service):
        """Budgets of a service and its workspace, those that its managers may change first."""
        targets = {"service": service, "workspace": service.workspace_id}
        found = []
        for budget, used, stop in self._states_of_targets(targets):
            entry = self._usage_data(budget, used, stop)
            more = {"is_managed": budget.is_managed, "number": entry["limit"]}
            self._put_in_words(entry)
            found.append(entry | more)
        return sorted(found, key=lambda entry: (not entry["is_managed"], -entry["percent"]))

    @api.model
    def _make_of_service(self, service_id, values):
        """Set a budget of a service, beside those of administrators.

        :param values: texts of a form: ``{"name", "limit", "measure", "unit", "is_hard"}``
        :raises NotThere: there is none that the caller manages
        :raises UserError: a value is wrong, or there are too many
        """
        service = self._managed_service(service_id)
        budgets_of_service = self.sudo()  # sudo: budget - of a service that the caller manages
        own = [("cloud_service_id", "=", service.id), ("is_managed", "=", True)]
        if budgets_of_service.search_count(own) >= MAX_OF_SERVICE:
            raise UserError(
                self.env._(
                    "A service has at most %(count)s budgets. Archive one first.",
                    count=MAX_OF_SERVICE,
                )
            )
        today = [*own, ("create_date", ">", fields.Datetime.now() - timedelta(days=1))]
        added = budgets_of_service.with_context(active_test=False)
        if added.search_count(today, limit=MAX_ADDITIONS) >= MAX_ADDITIONS:
            raise UserError(
                self.env._("Too many budgets were set for this service today. Try again tomorrow.")
            )
        chosen = {name: values.get(name) for name in ("measure", "unit")}
        if any(chosen[name] not in dict(self._fields[name].selection) for name in chosen):
            raise UserError(self.env._("Choose what the budget counts, and for how long."))
        name = text.one_line(str(values.get("name") or ""), MAX_NAME).strip()
        if not name:
            raise UserError(self.env._("Enter a name for the budget."))
        return budgets_of_service.create(
            {
                **chosen,
                "name": name,
                "limit": self._limit_of(values),
                "is_hard": bool(values.get("is_hard")),
                "scope": "service",
                "cloud_service_id": service.id,
                "company_id": self.env.user.company_id.id,
                "owner_id": self.env.uid,
                "is_managed": True,
            }
        )

    @api.model
    def _change_of_service(self, service_id, budget_id, values):
        """Change the limit of a budget that managers of the service have set.

        :param values: as of `_make_of_service`
        :raises NotThere: there is none that the caller may change
        """
        budget = self._managed_budget(service_id, budget_id)
        budget.write({"limit": self._limit_of(values), "is_hard": bool(values.get("is_hard"))})

    @api.model
    def _archive_of_service(self, service_id, budget_id):
        self._managed_budget(service_id, budget_id).active = False

    def _managed_budget(self, service_id, budget_id):
        service = self._managed_service(service_id)
        own = [
            ("id", "=", budget_id),
            ("cloud_service_id", "=", service.id),
            ("is_managed", "=", True),
        ]
        # sudo: budget - of a service that the caller manages, and not an administrator's
        if not (budget := self.sudo().search(own)):
            raise NotThere(
                self.env._("This budget does not exist any more, or you may not change it.")
            )
        return budget

    def _limit_of(self, values):
        """
        :raises UserError: it is no number in reach
        """
        try:
            limit = float(str(values.get("limit") or 0))
        except ValueError:
            limit = 0
        if not 0.01 <= limit <= MAX_LIMIT:
            raise UserError(self.env._("Enter a limit from 0.01 to 1,000,000,000,000."))
        return limit


def _named(record):
    return {"id": record.id, "name": record.name} if record else None


def _sums(values):
    *counts, amount = values
    names = ("requests", "input_tokens", "output_tokens")
    found = {name: int(count or 0) for name, count in zip(names, counts, strict=True)}
    return {**found, "amount": amount or 0}


class BudgetPeriod(models.Model):
    """Counter of a budget in one of its periods; of a budget for each user, one a user.

    The row is changed by single statements, so that what two requests count at once is counted twice."""

    _name = "woow_paas_platform.budget_period"
    _description = "Period of a Budget"
    _order = "starts_at desc, id desc"
    _rec_name = "starts_at"
    _log_access = False

    budget_id = fields.Many2one(
        "woow_paas_platform.budget", required=True, readonly=True, ondelete="cascade", index=True
    )
    user_id = fields.Many2one(
        "res.users", readonly=True, ondelete="cascade", index="btree_not_null"
    )
    starts_at = fields.Datetime("From", required=True, readonly=True)
    ends_at = fields.Datetime("Until", required=True, readonly=True)
    spent = fields.Float(digits=(20, 9), readonly=True)
    reserved = fields.Float(
        digits=(20, 9), readonly=True, help="Expected of requests that have not ended."
    )
    told = fields.Integer(
        readonly=True, aggregator=None, help="Percentage of which the budget's owner was last told."
    )
    percent = fields.Integer("Used (%)", compute="_compute_percent")

    _period_unique = models.UniqueIndex(
        "(budget_id, COALESCE(user_id, 0), starts_at)", "This period is counted already."
    )

    _ended = models.Index("(ends_at)")

    @api.depends("spent", "budget_id.limit")
    def _compute_percent(self):
        for period in self:
            limit = period.budget_id.limit
            period.percent = min(100, int(period.spent * 100 / limit)) if limit else 0

    @api.autovacuum
    def _gc_ended(self):
        old = fields.Datetime.subtract(fields.Datetime.now(), days=KEPT_DAYS)
        gone = self.search([("ends_at", "<", old)], limit=GC_BATCH)
        gone.unlink()
        return len(gone), len(gone) == GC_BATCH

    @api.model
    def _hold(self, rule, user_id, moment, share, *, is_hard):
        """Reserve a share of the period in which a moment lies.

        :param rule: `services.money.budgets.Rule`
        :param user_id: of whom it counts, None for all
        :param is_hard: refuse where nothing is left
        :return: id of the row; None if it is refused
        """
        start, stop = budgets.period_of(moment, rule.unit, rule.tz)
        found = self.env.execute_query(
            SQL(
                """
                INSERT INTO woow_paas_platform_budget_period AS period
                            (budget_id, user_id, starts_at, ends_at, spent, reserved, told)
                     VALUES (%(budget)s, %(user)s, %(start)s, %(stop)s, 0, %(share)s, 0)
                ON CONFLICT (budget_id, COALESCE(user_id, 0), starts_at) DO UPDATE
                        SET reserved = period.reserved + %(share)s
                      WHERE NOT %(hard)s OR period.spent + period.reserved < %(limit)s
                  RETURNING id
                """,
                budget=rule.id,
                user=user_id,
                start=start,
                stop=stop,
                share=share,
                hard=is_hard,
                limit=rule.limit,
            )
        )
        self.invalidate_model(flush=False)
        return found[0][0] if found else None

    @api.model
    def _count(self, period_id, held, share):
        """Put what a request has cost in place of what was reserved for it."""
        found = self.env.execute_query(
            SQL(
                """
                UPDATE woow_paas_platform_budget_period
                   SET reserved = reserved - %(held)s, spent = spent + %(share)s
                 WHERE id = %(id)s
             RETURNING spent::text, told
                """,
                id=period_id,
                held=held,
                share=share,
            )
        )
        self.invalidate_model(flush=False)
        for spent, told in found:  # none where the budget was deleted meanwhile
            period = self.browse(period_id)
            level = budgets.level(Decimal(spent), Decimal(str(period.budget_id.limit)))
            if level > told:
                period._tell(level)

    def _tell(self, level):
        """Tell the budget's owner, once for each level of a period: the row is locked."""
        self.env.execute_query(
            SQL(
                "UPDATE woow_paas_platform_budget_period SET told = %s WHERE id = %s RETURNING id",
                level,
                self.id,
            )
        )
        self.invalidate_recordset(["told"])
        self.budget_id._tell_owner(level, self)
