from odoo import api, models

CHOICES = ("searchable", "sortable", "groupable")


class FilterMixin(models.AbstractModel):
    """Custom filters, groups and measures offer what means something to people, and none of the machinery.

    Searching and sorting over RPC stay as they are: what is offered is a matter of `fields_get`, which the web
    client asks.
    """

    _name = "woow_paas_platform.filter.mixin"
    _description = "Filter Mixin"

    @api.model
    def _fields_to_filter(self):
        """Names of the fields that are offered. A hook."""
        return set()

    @api.model
    def fields_get(self, allfields=None, attributes=None):
        found = super().fields_get(allfields, attributes)
        offered = self._fields_to_filter()
        for name, description in found.items():
            if name not in offered:
                description |= {key: False for key in CHOICES if key in description}
                if "aggregator" in description:
                    description["aggregator"] = None
        return found
