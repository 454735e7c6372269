"""What a model is told of Odoo's models in its prompt: those that the person may read, with some of their fields."""

from ...services.records import known
from . import convert, executor, values
from .reach import Reach


def models(turn):
    """One or two sentences; ``""`` where there is nothing that the person may read."""
    reach = Reach(executor.env_of(turn.env, turn), turn._record_access())
    return known.told(_model(reach, name) for name in reach.models())


def _model(reach, name):
    model = reach.env[name]
    names = [one for one in ("name",) if reach.reaches(model, one)]
    shown = [*names, *values.default_columns(reach, model)]
    return known.Model(name, model._description, tuple(_field(model, one) for one in shown))


def _field(model, name):
    field = model._fields[name]
    return known.field(name, convert.choices(model, field) if field.type == "selection" else ())
