"""Columns: what is shown of records, their own fields and those of one record that a relation leads to."""

from dataclasses import dataclass
from typing import Any

from odoo.exceptions import AccessError, UserError

from ...services.records.conditions import MAX_DEPTH
from ...services.records.errors import invalid
from . import values


@dataclass(frozen=True, slots=True)
class Column:
    """
    :ivar name: as it was asked for, such as ``partner_id.email``
    :ivar steps: the relations that lead to the field
    :ivar model: of the field, empty
    """

    name: str
    steps: tuple[Any, ...]
    model: Any
    field: Any


def column(scope, model, name):
    """:raises RecordError: a part of it is out of reach, or leads to several records"""
    *relations, last = name.strip().split(".")
    if len(relations) >= MAX_DEPTH or not all((*relations, last)):
        raise invalid(f"A path has 1 to {MAX_DEPTH} field names with dots between them.")
    steps = []
    for one in relations:
        field = scope.field(model, one)
        if field.type != "many2one":
            raise invalid(
                f"“{field.name}” does not lead to one record, so “{name[:100]}” cannot be shown."
                " Search its model instead."
            )
        model = scope.comodel(field)
        steps.append(field)
    field = scope.field(model, last)
    path = ".".join(one.name for one in (*steps, field))
    return Column(path, tuple(steps), model.browse(), field)


def told(scope, records, column, limit, start=0):
    """Value as of `values.column`; what a relation leads to is told only where the person may read that record."""
    if not column.steps:
        return values.column(scope, records, column.field, limit, start)
    reached, closed = {one.id: one for one in records}, set()
    try:
        for step in column.steps:
            linked = {row: one[step.name] for row, one in reached.items()}
            comodel = scope.env[step.comodel_name].with_context(prefetch_fields=False)
            ids = dict.fromkeys(one.id for one in linked.values() if one)
            readable = comodel.browse(ids)._filtered_access("read").with_prefetch()
            found = {one.id: one for one in readable}  # whose next field is read of all at once
            closed |= {row for row, one in linked.items() if one and one.id not in found}
            reached = {row: found[one.id] for row, one in linked.items() if one.id in found}
    except (AccessError, UserError):
        return dict.fromkeys(records.ids, values.NO_ACCESS)
    last = column.model.browse(dict.fromkeys(one.id for one in reached.values()))
    last = last.with_context(prefetch_fields=False)
    known = values.column(scope, last, column.field, limit, start)
    return {
        row: known[reached[row].id]
        if row in reached
        else values.NO_ACCESS
        if row in closed
        else None
        for row in records.ids
    }


def described(scope, column):
    """Description as of `values.described`; its label says what leads there."""
    found = values.described(scope, column.model, column.field)
    labels = [one._description_string(scope.env) for one in column.steps]
    return {**found, "name": column.name, "label": " / ".join([*labels, found["label"]])}
