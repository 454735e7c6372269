"""Prompt of a language model: Odoo's models that the person may read, with some of their fields, and the name of the
conversation's record."""

from ...services import text
from ...services.records import model_summary
from . import executor, values
from .record_scope import RecordScope

LABEL = 60  # characters of a model's name


def models(turn):
    """One or two sentences; ``""`` where there is nothing that the person may read."""
    scope = RecordScope(executor.env_of(turn.env, turn), turn._record_access())
    return model_summary.told(_model(scope, name) for name in scope.models())


def name(turn, record):
    """Name of a record, also where others read along, so that the assistant may use none.

    :param record: with the rights of the turn's person
    """
    scope = RecordScope(record.env, turn.assistant_id._record_access())
    return scope.names_of(record).get(record.id, f"#{record.id}")


def _model(scope, name):
    model = scope.env[name]
    names = [one for one in ("name",) if scope.is_visible(model, one)]
    shown = [*names, *values.default_columns(scope, model)]
    label = text.one_line(model._description, LABEL)
    return model_summary.Model(name, label, tuple(_field(model, one) for one in shown))


def _field(model, name):
    """Field with its values where they are a list; what computes them is not run for each turn."""
    values_of = getattr(model._fields[name], "selection", None)
    return model_summary.field(
        name, [key for key, _label in values_of] if isinstance(values_of, list) else ()
    )
