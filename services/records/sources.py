"""Sources of an answer: the records and fields of Odoo whose values its model was told."""

from collections.abc import Iterator
from typing import Any

from . import conditions
from .errors import RecordError

NO_VALUES = ("find_models", "describe_model")  # tools that tell no value of a record
NAMING = ("search_records", "read_records")  # tools whose result names each record that it tells of
MAX_IDS = 500  # records of one call

Source = list[Any] | None  # ``[model, ids, names of fields]``; None: it is not known what was told


def of_message(message: dict[str, Any]) -> list[Source]:
    """Sources that a message of the chat brought into the conversation, one for each call.

    :param message: see `DiscussChannel._conversation_page`
    """
    # of an attached record, the model was told more than the name
    found: list[Source] = [None] if message.get("records") else []
    for call in (message["turn"] or {}).get("tool_calls", ()):
        if call.get("fixed"):  # values of the conversation's record
            found.append(None)
        elif call.get("records") and call["tool"] not in NO_VALUES:
            found.append(of_call(call))
    return found


def of_call(call: dict[str, Any]) -> Source:
    """Source of a call on records; None unless all records that it found, or counted, are named in its result.

    >>> told = {"model": "res.partner", "rows": [{"id": 7}], "columns": [{"name": "email"}], "total": 1}
    >>> given = {"model": "res.partner", "filters": [{"field": "city", "value": "Taipei"}], "order": "name desc"}
    >>> call = {"tool": "search_records", "args": given, "outcome": "ok", "result": {"records": told}}
    >>> of_call(call)
    ['res.partner', [7], ['city', 'email', 'name']]
    >>> of_call({**call, "args": {"model": "res.partner", "domain": ["city", "=", "Taipei"]}})
    ['res.partner', [7], ['city', 'email']]
    >>> of_call({**call, "args": {"filters": "Taipei"}})
    >>> told["total"] = 2
    >>> of_call(call), of_call({**call, "tool": "aggregate_records"})
    (None, None)
    """
    result = call["result"] if isinstance(call.get("result"), dict) else {}
    told = result.get("records")
    if call["tool"] not in NAMING or call["outcome"] != "ok" or not isinstance(told, dict):
        return None
    ids = [row["id"] for row in told.get("rows") or ()]
    if not 0 < len(ids) <= MAX_IDS or len(ids) != told.get("total"):
        return None
    try:
        compared = set(_compared(call["args"]))
    except RecordError:  # of a tool that takes no conditions
        return None
    shown = {column["name"] for column in told["columns"]}
    return [told["model"], ids, sorted(shown | compared)]


def _compared(given: dict[str, Any]) -> Iterator[str]:
    """Paths by which a call searches and sorts: that a record was found tells their values."""
    found = [*conditions.parse(given.get("domain"), given.get("filters")).parts]
    while found:
        part = found.pop()
        if isinstance(part, conditions.Condition):
            yield ".".join(part.path)
        else:
            found += part.parts
    for part in str(given.get("order") or "").split(","):
        if part.strip():
            yield part.split()[0]
