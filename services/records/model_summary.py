"""Model summary: the models of Odoo that a model may use, with some of their fields.

A small model that knows them searches the right one at once; it is part of the prompt, so it has a limit.
"""

from collections.abc import Iterable
from dataclasses import dataclass

MAX_DETAILED = 10  # models whose fields are told
MAX_MODELS = 40  # models that are named
MAX_CHOICES = 6  # values of a selection; fields with more are told by their name
MORE = "describe_model lists the other fields."


@dataclass(frozen=True, slots=True)
class Model:
    """:ivar fields: as `field` tells them"""

    name: str
    label: str
    fields: tuple[str, ...] = ()


def field(name: str, choices: Iterable[object] = ()) -> str:
    """
    >>> field("state", ["draft", "done"]), field("city")
    ('state [draft done]', 'city')
    """
    keys = [str(one) for one in choices]
    return f"{name} [{' '.join(keys)}]" if 0 < len(keys) <= MAX_CHOICES else name


def told(models: Iterable[Model]) -> str:
    """
    >>> told([Model("res.partner", "Contact", ("email", "city"))])
    'Its models: res.partner (Contact): email, city. describe_model lists the other fields.'
    >>> told([])
    ''
    """
    found = list(models)
    lines = [
        f"{one.name} ({one.label})"
        + (f": {', '.join(one.fields)}" if one.fields and place < MAX_DETAILED else "")
        for place, one in enumerate(found[:MAX_MODELS])
    ]
    if len(found) > MAX_MODELS:
        lines.append("others, which find_models lists")
    return f"Its models: {'; '.join(lines)}. {MORE}" if lines else ""
