import csv
from datetime import date

from odoo import _, api, fields, models, tools
from odoo.exceptions import ValidationError
from odoo.tools import SQL

from ...services.catalog import llm_presets
from ...services.money import prices

SHIPPED = "woow_paas_platform/data/prices.csv"
PRICES = ("input_price", "cached_price", "output_price")


class Price(models.Model):
    """Price of a model's tokens from a day on. A price of one provider counts before one of all providers at an
    address, and that before one of all; then the more exact name, then the newest."""

    _name = "woow_paas_platform.price"
    _description = "Price of a Model"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "model, valid_from desc, id desc"
    _rec_name = "model"

    config_id = fields.Many2one(
        "ai.config",
        "Provider",
        ondelete="cascade",
        index="btree_not_null",
        help="Leave empty if the price is that of several providers.",
    )
    preset = fields.Selection(
        lambda _self: [(code, name) for code, (name, _url) in llm_presets.PRESETS.items()],
        "Service",
        help="The price counts for all providers with this service's address. Leave empty for any address.",
    )
    model = fields.Char(
        required=True,
        help="Name of the model as used by the provider; versions with a date, such as gpt-5-2025-08-07, are included. "
        "An asterisk at the end stands for any ending.",
    )
    valid_from = fields.Date(required=True, default=fields.Date.context_today)
    currency_id = fields.Many2one(
        "res.currency",
        required=True,
        default=lambda self: self.env.company.currency_id,
        ondelete="restrict",
    )
    input_price = fields.Float(
        "Input", digits=(16, 6), help="Price of a million tokens that the model reads."
    )
    cached_price = fields.Float(
        "Cached Input",
        digits=(16, 6),
        compute="_compute_cached_price",
        store=True,
        readonly=False,
        precompute=True,
        help="Price of a million tokens of input that the provider has kept from an earlier request.",
    )
    output_price = fields.Float(
        "Output", digits=(16, 6), help="Price of a million tokens that the model writes."
    )
    source = fields.Char(help="Where the price was found, and when.")
    active = fields.Boolean(default=True)

    _prices_positive = models.Constraint(
        "CHECK (input_price >= 0 AND cached_price >= 0 AND output_price >= 0)",
        "Prices cannot be negative.",
    )
    _day_unique = models.UniqueIndex(
        "(COALESCE(config_id, 0), COALESCE(preset, ''), lower(model), valid_from) WHERE active",
        "There is already a price of this model from this day on.",
    )

    @api.depends("input_price")
    def _compute_cached_price(self):
        for price in self:
            price.cached_price = price.cached_price or price.input_price

    @api.constrains("model")
    def _check_model(self):
        for price in self:
            name = price.model
            if name != name.strip() or prices.ANY in name[:-1]:
                raise ValidationError(
                    _("Enter the model's name, with an asterisk (*) only at its end.")
                )

    @api.model
    def _of_request(self, config, model_name, day):
        """The price of a model on a day, with its currency's ID; None twice where there is none.

        :return: ``(services.money.prices.Price, currency_id)``
        """
        self.flush_model()
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id, model, valid_from,
                       COALESCE(input_price, 0), COALESCE(cached_price, 0), COALESCE(output_price, 0),
                       (config_id IS NOT NULL)::int * 2 + (preset IS NOT NULL)::int, currency_id
                  FROM woow_paas_platform_price
                 WHERE active AND valid_from <= %(day)s
                   AND (config_id IS NULL OR config_id = %(config)s)
                   AND (preset IS NULL OR preset = %(preset)s)
                   AND starts_with(lower(%(model)s), lower(rtrim(model, '*')))
                """,
                day=day,
                config=config.id or None,
                preset=config.preset or None,
                model=model_name,
            )
        )
        currencies = {row[0]: row[-1] for row in rows}
        found = prices.of_model(
            (
                prices.Price(
                    id=id_,
                    model=model,
                    valid_from=valid_from,
                    input=prices.exact(asked),
                    cached=prices.exact(cached),
                    output=prices.exact(answered),
                    rank=rank,
                )
                for id_, model, valid_from, asked, cached, answered, rank, _currency in rows
            ),
            model_name,
            day,
        )
        return (found, currencies[found.id]) if found else (None, None)

    @api.model
    def _load_shipped(self):
        """Add the prices that ship with the app and are not known yet; none that is known is changed."""
        dollar = self.env.ref("base.USD")
        with tools.file_open(SHIPPED) as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        found = []
        for row in rows:
            name = f"price_{row['preset']}_{row['model']}_{row['valid_from']}"
            values = {
                "preset": row["preset"],
                "model": row["model"],
                "valid_from": date.fromisoformat(row["valid_from"]),
                "currency_id": dollar.id,
                "source": row["source"],
                **{price: float(row[price]) for price in PRICES},
            }
            found.append((name.replace(".", "_").replace("*", "any").replace("/", "_"), values))
        self._add_missing(found)

    def _add_missing(self, found):
        """:param found: ``[(name in ir.model.data, values)]``"""
        # sudo: ir.model.data - names of our own data
        Data = self.env["ir.model.data"].sudo()
        names = [name for name, _values in found]
        known = Data.search([("module", "=", "woow_paas_platform"), ("name", "in", names)])
        known = set(known.mapped("name"))
        new = [(name, values) for name, values in found if name not in known]
        made = self.create([values for _name, values in new])
        Data.create(
            [
                {
                    "module": "woow_paas_platform",
                    "name": name,
                    "model": self._name,
                    "res_id": price.id,
                    "noupdate": True,
                }
                for (name, _values), price in zip(new, made, strict=True)
            ]
        )
