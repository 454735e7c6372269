from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal

from odoo import api, fields, models
from odoo.fields import Domain
from odoo.tools import SQL

from ...services.money import prices
from ...tools import limits

ADMIN = "woow_paas_platform.group_admin"
LOST = 3600  # s after which nobody tells of a request any more
COUNTS = ("input_tokens", "cached_tokens", "output_tokens")
SUMS = ("request_count", *COUNTS, "amount", "company_amount")
FOLDED = 10_000  # rows that one transaction adds up
# Of one request alone, and so of no sum; all other columns tell sums of a day apart.
OF_ONE = {"id", "key", "date", "turn_id", "step", "tool_names", "budget_holds", "is_sum"}
TURN = "woow_paas_platform.ai_turn"
MOST = 64  # tools of one request, and more


class BigInteger(fields.Integer):
    """Integer of 64 bits: tokens of a day."""

    _column_type = ("int8", "int8")


class Cost(models.Model):
    """Ledger of requests to providers: a row is written before each request, with an estimate, and settled after it.

    `_reserve`, `_settle` and `_give_up` are all that changes a row; each calls `_changed` once, in its transaction. Old
    rows become daily sums (`_fold`), which change no total."""

    _name = "woow_paas_platform.cost"
    _description = "Cost"
    _order = "date desc, id desc"
    _rec_name = "model"
    _log_access = False

    key = fields.Char(
        required=True,
        readonly=True,
        help="Names the request, so that none is counted twice.",
    )
    date = fields.Datetime(required=True, readonly=True)
    kind = fields.Selection(
        [
            ("answer", "Answer"),
            ("summary", "Summary"),
            ("protocol", "Detection of tool calls"),
            ("embedding", "Embeddings"),
            ("test", "Test of an assistant"),
            ("judge", "Judge of a test"),
            ("connection", "Test of a provider"),
        ],
        required=True,
        readonly=True,
    )
    is_retry = fields.Boolean("Retry", readonly=True, help="The same was asked before, and failed.")
    is_fallback = fields.Boolean(
        "Fallback",
        readonly=True,
        help="The fallback provider was asked, as the first one was down.",
    )
    user_id = fields.Many2one(
        "res.users", readonly=True, ondelete="set null", index="btree_not_null"
    )
    assistant_id = fields.Many2one(
        "ai.assistant", readonly=True, ondelete="set null", index="btree_not_null"
    )
    version_id = fields.Many2one(
        "woow_paas_platform.assistant_version",
        "Assistant Version",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        groups=ADMIN,
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
    )
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace", readonly=True, ondelete="set null", index="btree_not_null"
    )
    company_id = fields.Many2one("res.company", readonly=True, ondelete="cascade")
    config_id = fields.Many2one(
        "ai.config",
        "Provider",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        groups=ADMIN,
    )
    provider_name = fields.Char(
        readonly=True, groups=ADMIN, help="Kept when the provider is deleted."
    )
    model = fields.Char(readonly=True)
    turn_id = fields.Many2one(TURN, readonly=True, ondelete="set null", index="btree_not_null")
    step = fields.Integer(readonly=True, aggregator=None, help="Number of the turn's step, from 0.")
    tool_names = fields.Char(
        "Tools", readonly=True, help="Tools that the answer called, separated by commas."
    )
    is_sum = fields.Boolean(
        "Daily Total",
        readonly=True,
        help="Requests of a day (UTC) that are older than Cost Retention.",
    )
    request_count = fields.Integer("Requests", readonly=True)
    input_tokens = BigInteger(readonly=True)
    cached_tokens = BigInteger(
        "Cached Input Tokens",
        readonly=True,
        help="Part of the input that the provider had kept from an earlier request.",
    )
    output_tokens = BigInteger(readonly=True)
    amount = fields.Float(
        digits=(16, 9), readonly=True, aggregator=None, help="In the currency of the price."
    )
    currency_id = fields.Many2one("res.currency", readonly=True, ondelete="restrict")
    company_amount = fields.Float(
        "Cost", digits=(16, 9), readonly=True, help="In the company's currency, at that day's rate."
    )
    company_currency_id = fields.Many2one(
        string="Company Currency", related="company_id.currency_id"
    )
    has_no_price = fields.Boolean(
        "No Price",
        readonly=True,
        help="No price of the model was known, so that no amount was counted. Add it under Prices.",
    )
    state = fields.Selection(
        [("reserved", "Reserved"), ("settled", "Settled")], required=True, readonly=True
    )
    is_estimated = fields.Boolean(
        "Estimated",
        readonly=True,
        help="The provider did not say how many tokens it counted, for instance because the answer was stopped.",
    )

    budget_holds = fields.Json(
        readonly=True,
        groups=fields.NO_ACCESS,
        help="What is reserved in budgets, by the ID of the budget's period.",
    )

    _key_unique = models.UniqueIndex("(key)", "There can be only one cost of a request.")
    # what pages add up is read from the index alone
    _sums = models.Index(
        "(date) INCLUDE (company_id, assistant_id, company_amount, request_count, input_tokens, output_tokens)"
    )
    _reserved = models.Index("(date) WHERE state = 'reserved'")

    # ------------------------------------------------------------ the three changes

    @api.model
    def _reserve(self, vals):
        """Write down a request that is about to be sent; the same key again is the same row.

        :param vals: ``{"key", "kind", "config_id", "model"}``, and as known ``date``, ``turn_id``, ``step``,
            ``user_id``, ``assistant_id``, ``version_id``, ``cloud_service_id``, ``company_id``, ``is_retry``,
            ``is_fallback``, ``input_tokens``; ``output_limit`` is the most tokens that its answer may have
        """
        vals = dict(vals)
        if turn_id := vals.get("turn_id"):
            vals = {**_ids_of(self.env[TURN].browse(turn_id)._payer()), **vals}
        provider = self.env["ai.config"].browse(vals.get("config_id"))
        service = self.env["woow_paas_platform.cloud_service"].browse(vals.get("cloud_service_id"))
        company = self._company_of(vals)
        limit = vals.pop("output_limit", None)
        usage = {
            "input_tokens": vals.get("input_tokens") or 0,
            "output_tokens": prices.expected_output(limit),
        }
        row = {
            **vals,
            **usage,
            "date": vals.get("date") or fields.Datetime.now(),
            "provider_name": provider.name,
            "workspace_id": service.workspace_id.id,
            "company_id": company.id,
            "request_count": 1,
            "state": "reserved",
            "is_estimated": True,
        }
        row |= self._amounts(provider, row["model"], row["date"], company, usage)
        columns = SQL(", ").join(map(SQL.identifier, row))
        values = tuple(
            None if value is False and self._fields[name].type != "boolean" else value
            for name, value in row.items()
        )
        self.env.flush_all()
        made = self.env.execute_query(
            SQL(
                "INSERT INTO woow_paas_platform_cost (%s) VALUES %s ON CONFLICT (key) DO NOTHING RETURNING id",
                columns,
                values,
            )
        )
        if not made:
            return self._of_key(row["key"])
        cost = self.browse(made[0][0])
        cost._changed(None)
        return cost

    def _settle(self, usage, tools=()):
        """Put down how many tokens the provider counted; once, a settled row stays as it is.

        :param usage: ``{"input_tokens", "cached_tokens", "output_tokens"}``, with ``is_estimated`` if it is no count of
            the provider
        :param tools: names of the tools that the answer called
        """
        self.ensure_one()
        counts = {name: max(0, usage.get(name) or 0) for name in COUNTS}
        row = {
            **counts,
            **self._amounts(self.config_id, self.model, self.date, self.company_id, counts),
            "state": "settled",
            "is_estimated": bool(usage.get("is_estimated")),
            "tool_names": ", ".join(dict.fromkeys(tools)) or None,
        }
        self._close(row)

    def _give_up(self):
        """Leave a request as it was estimated, as its end is not known."""
        for cost in self:
            cost._close({"state": "settled"})

    def _close(self, row):
        before = self.company_amount
        values = SQL(", ").join(
            SQL("%s = %s", SQL.identifier(name), value) for name, value in row.items()
        )
        self.env.flush_all()
        written = self.env.execute_query(
            SQL(
                "UPDATE woow_paas_platform_cost SET %s WHERE id = %s AND state = 'reserved' RETURNING id",
                values,
                self.id,
            )
        )
        self.invalidate_recordset()
        if written:
            self._changed(before)

    def _changed(self, before):
        """Called once for each change, in its transaction: the place where budgets count.

        :param before: the company's amount until now, None of a row that is new
        :raises BudgetExhausted: a new one is refused
        """
        budget = self.env["woow_paas_platform.budget"]
        if before is None:
            budget._hold(self)
        else:
            budget._count(self)

    # ------------------------------------------------------------ requests of turns

    @api.model
    def _reserve_for(self, turn, request):
        """:param request: `services.specs.ModelRequest`"""
        own = {"key": self._key_in(turn, request.key), "turn_id": turn.id}
        self._reserve({**self._vals_of_request(request), **own})

    @api.model
    def _settle_for(self, turn, spent):
        """:param spent: see `services.specs.TurnProgress`"""
        for one in spent:
            if cost := self._of_key(self._key_in(turn, one["key"])):
                cost._settle(one["usage"], one["tools"])

    @api.model
    def _give_up_for(self, turn):
        """Leave requests as they were estimated of which nobody will tell any more."""
        self.search([("turn_id", "=", turn.id), ("state", "=", "reserved")])._give_up()

    @api.model
    def _cron_close_lost(self):
        """Give up requests of which nobody will tell any more, so that they hold no budget."""
        latest = fields.Datetime.now() - timedelta(seconds=LOST)
        is_over = Domain("turn_id", "=", False) | Domain("turn_id.state", "!=", "running")
        lost = Domain("date", "<", latest) & Domain("state", "=", "reserved")
        self.search(lost & is_over, limit=10_000)._give_up()

    def _key_in(self, turn, key):
        return f"turn-{turn.id}-{key}"

    # ------------------------------------------------------------ requests outside of turns

    @api.model
    def _reserve_of(self, payer, request):
        """
        :param payer: `services.specs.Payer`
        :param request: `services.specs.ModelRequest`
        """
        ids = _ids_of(payer)
        vals = {**self._vals_of_request(request), **ids}
        for name in (*ids, "config_id"):  # deleted meanwhile
            vals[name] = self.env[self._fields[name].comodel_name].browse(vals[name]).exists().id
        self._reserve(vals)

    @api.model
    def _settle_of(self, spent):
        """:param spent: one of `services.specs.TurnProgress.spent`"""
        if cost := self._of_key(spent["key"]):
            cost._settle(spent["usage"], spent["tools"])

    def _is_always_sent(self):
        """True if no budget refuses the request: it belongs to no question."""
        return self.kind in ("embedding", "connection")

    # ------------------------------------------------------------ retention

    @api.autovacuum
    def _gc_old(self):
        done = self._fold(FOLDED)
        return done, done == FOLDED

    @api.model
    def _old(self):
        """Condition of rows that become sums now, None if all are kept."""
        days = limits.get(self.env, "cost_retention_days")
        return days and SQL(
            "state = 'settled' AND is_sum IS NOT TRUE"
            " AND date < (now() AT TIME ZONE 'UTC')::date - %s",
            days,
        )

    @api.model
    def _count_due(self):
        """Number of rows that would become sums now."""
        old = self._old()
        query = "SELECT COUNT(*) FROM woow_paas_platform_cost WHERE %s"
        return self.env.execute_query(SQL(query, old))[0][0] if old else 0

    @api.model
    def _fold(self, limit):
        """Put sums of a day in place of the oldest rows, in one statement: all of it, or none.

        A sum stands at noon, so that it is of the same day in most time zones.

        :return: number of the rows
        """
        if not (old := self._old()):
            return 0
        self.env.flush_all()
        stored = [field.name for field in self._fields.values() if field.store]
        group = [name for name in stored if name not in OF_ONE and name not in SUMS]
        ((count,),) = self.env.execute_query(
            SQL(
                """
                WITH due AS MATERIALIZED (
                    SELECT id FROM woow_paas_platform_cost
                     WHERE %(old)s ORDER BY date LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
                gone AS (
                    DELETE FROM woow_paas_platform_cost c USING due
                     WHERE c.id = due.id RETURNING c.*),
                stored AS (
                    INSERT INTO woow_paas_platform_cost AS total (key, date, is_sum, %(group)s, %(sums)s)
                    SELECT 'day-' || md5(ROW(date::date, %(group)s)::text) AS key,
                           date::date + interval '12 hours', TRUE, %(group)s, %(added)s
                      FROM gone GROUP BY date::date, %(group)s ORDER BY key
                        ON CONFLICT (key) DO UPDATE SET %(updated)s)
                SELECT COUNT(*) FROM due
                """,
                old=old,
                limit=limit,
                group=_listed("%(name)s", group),
                sums=_listed("%(name)s", SUMS),
                added=_listed("SUM(COALESCE(%(name)s, 0))", SUMS),
                updated=_listed("%(name)s = total.%(name)s + EXCLUDED.%(name)s", SUMS),
            )
        )
        if count:
            self.invalidate_model()
        return count

    # ------------------------------------------------------------ what a row holds

    @api.model
    def _vals_of_request(self, request):
        return {
            "key": request.key,
            "kind": request.kind,
            "step": request.step,
            "config_id": request.llm_id,
            "model": request.model,
            "input_tokens": request.input_tokens,
            "output_limit": request.output_limit,
            "is_retry": request.is_retry,
            "is_fallback": request.is_fallback,
        }

    def _of_key(self, key):
        return self.search([("key", "=", key)], limit=1)

    def _company_of(self, vals):
        """The company that pays."""
        user = self.env["res.users"].browse(vals.get("user_id"))
        company = self.env["res.company"].browse(vals.get("company_id")).exists()
        provider = self.env["ai.config"].browse(vals.get("config_id"))
        return company or user.company_id or provider.company_id or self.env.company

    @api.model
    def _amounts(self, provider, model_name, moment, company, usage):
        """Amount of a request in the price's and the company's currency; none without a price.

        :param usage: ``{"input_tokens", "cached_tokens", "output_tokens"}``
        """
        day = moment.date()
        price, currency_id = self.env["woow_paas_platform.price"]._of_request(
            provider, model_name or "", day
        )
        if price is None:
            none = Decimal(0)
            return {
                "amount": none,
                "currency_id": None,
                "company_amount": none,
                "has_no_price": True,
            }
        amount = prices.amount(price, usage)
        return {
            "amount": amount,
            "currency_id": currency_id,
            "company_amount": self._in_currency_of(company, amount, currency_id, day),
            "has_no_price": False,
        }

    def _in_currency_of(self, company, amount, currency_id, day):
        Currency = self.env["res.currency"]
        if currency_id == company.currency_id.id:
            return amount
        currency = Currency.browse(currency_id)
        rate = Currency._get_conversion_rate(currency, company.currency_id, company, day)
        return (amount * Decimal(repr(rate))).quantize(prices.PLACES, ROUND_HALF_EVEN)


def _ids_of(payer):
    return {
        "user_id": payer.user,
        "assistant_id": payer.assistant,
        "version_id": payer.version or None,
        "cloud_service_id": payer.service or None,
        "company_id": payer.company,
    }


def _listed(template, names):
    return SQL(", ").join(SQL(template, name=SQL.identifier(name)) for name in names)


class CostOfTool(models.Model):
    """Costs by tool: a line a tool that the answer to a request called, each with its share of the request.

    Shares of a request are alike but for what rounding leaves to the first, so the lines of all tools add up to the
    ledger."""

    _name = "woow_paas_platform.cost_of_tool"
    _description = "Cost by Tool"
    _auto = False
    _order = "date desc, id desc"
    _rec_name = "tool_name"

    date = fields.Datetime(readonly=True)
    tool_name = fields.Char("Tool", readonly=True)
    assistant_id = fields.Many2one("ai.assistant", readonly=True)
    user_id = fields.Many2one("res.users", readonly=True)
    cloud_service_id = fields.Many2one("woow_paas_platform.cloud_service", readonly=True)
    company_id = fields.Many2one("res.company", readonly=True)
    provider_name = fields.Char(readonly=True)
    model = fields.Char(readonly=True)
    tokens = fields.Float(digits=(16, 0), readonly=True)
    company_amount = fields.Float("Cost", digits=(16, 9), readonly=True)

    @property
    def _table_query(self):
        return SQL(
            """
            SELECT c.id::bigint * %s + tool.number AS id, c.date, COALESCE(tool.name, %s) AS tool_name,
                   c.assistant_id, c.user_id, c.cloud_service_id, c.company_id, c.provider_name, c.model,
                   %s AS tokens, %s AS company_amount
              FROM woow_paas_platform_cost c
             CROSS JOIN LATERAL (
                   SELECT name, number, COUNT(*) OVER () AS count
                     FROM unnest(COALESCE(string_to_array(c.tool_names, ', '), ARRAY[NULL]))
                          WITH ORDINALITY AS named (name, number)) tool
            """,
            MOST,
            self.env._("No tool"),
            _share(SQL("(COALESCE(c.input_tokens, 0) + COALESCE(c.output_tokens, 0))::numeric"), 0),
            _share(SQL("c.company_amount"), 9),
        )


def _share(value, places):
    """Part of a value that a tool has.

    :param places: digits after the point
    """
    others = SQL("round(%s / tool.count, %s)", value, places)
    first = SQL("%s - %s * (tool.count - 1)", value, others)
    return SQL("CASE WHEN tool.number = 1 THEN %s ELSE %s END", first, others)
