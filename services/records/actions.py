"""Standard actions: steps of Odoo's own buttons that an assistant may be allowed, by model and name.

What they do is the host's; each runs with the person's rights, where its application is installed.
"""

from collections.abc import Iterable, Mapping

# {model: {name: what it takes}}
ACTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sale.order": {"Confirm": (), "Cancel": (), "Create Invoice": (), "Send by Email": ()},
    "account.move": {"Post": (), "Register Payment": ("amount", "date", "journal")},
    "crm.lead": {"Mark as Won": (), "Mark as Lost": ("reason", "note")},
    "stock.picking": {"Validate": ()},
    "purchase.order": {"Confirm": (), "Cancel": ()},
}


def told(model: str, names: Iterable[str]) -> list[str]:
    """
    >>> told("crm.lead", ["Mark as Won", "Mark as Lost", "Own"])
    ['Mark as Won', 'Mark as Lost (takes reason, note)', 'Own']
    """
    takes = ACTIONS.get(model, {})
    return [
        f"{name} (takes {', '.join(takes[name])})" if takes.get(name) else name for name in names
    ]
