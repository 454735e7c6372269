"""Standard actions: steps of Odoo's own buttons that an assistant may be allowed, by model and name.

What they do is the host's; each runs with the person's rights, where its application is installed.
"""

from collections.abc import Iterable, Mapping

# {model: {name: what it takes}}
ACTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sale.order": {
        "Confirm": (),
        "Cancel": (),
        "Create Invoice": (),
        "Send by Email": (),
        "Print": ("report",),
    },
    "account.move": {
        "Post": (),
        "Register Payment": ("amount", "date", "journal"),
        "Send by Email": (),
        "Print": ("report",),
    },
    "crm.lead": {"Mark as Won": (), "Mark as Lost": ("reason", "note")},
    "stock.picking": {"Validate": (), "Print": ("report",)},
    "purchase.order": {"Confirm": (), "Cancel": (), "Print": ("report",)},
}
READS = frozenset({"Print"})  # need no right to change
ASKS = frozenset({"Send by Email"})  # each time, also where changes run without a question


def told(model: str, names: Iterable[str]) -> list[str]:
    """
    >>> told("crm.lead", ["Mark as Won", "Mark as Lost", "Own"])
    ['Mark as Won', 'Mark as Lost (takes reason, note)', 'Own']
    """
    takes = ACTIONS.get(model, {})
    return [
        f"{name} (takes {', '.join(takes[name])})" if takes.get(name) else name for name in names
    ]
