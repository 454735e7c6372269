"""Sentences for people: English text that knows its source, so that it can be translated when it is shown.

`_lt` marks a source for Odoo's exporter of terms, which finds the call by its name. Nothing is looked up here.
"""

import json
import re
from collections.abc import Callable
from typing import Any

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class Sentence(str):
    """An English sentence.

    :ivar source: the sentence as catalogues have it, with ``%(name)s`` for each value
    :ivar values: text, numbers and other sentences; only sentences are translated

    >>> _lt("%(count)s more tools were left out.", count=7)
    '7 more tools were left out.'
    """

    __slots__ = ("source", "values")
    source: str
    values: dict[str, Any]

    def __new__(cls, source: str, values: dict[str, Any] | None = None):
        sentence = super().__new__(cls, source % values if values else source)
        sentence.source = source
        sentence.values = values or {}
        return sentence

    def __str__(self) -> str:
        return self  # so that `str(error)` is the sentence itself, not only its text

    def __reduce__(self):
        return Sentence, (self.source, self.values)

    def translated(self, translate: Callable[[str, dict[str, Any]], str]) -> str:
        """Translate it with the sentences among its values.

        :param translate: a source and values that are translated already, into text
        """
        values = {
            name: value.translated(translate) if isinstance(value, Sentence) else value
            for name, value in self.values.items()
        }
        return translate(self.source, values)


def _lt(source: str, /, **values: Any) -> Sentence:
    """Make a sentence; `source` is a literal, so that it is exported."""
    return Sentence(source, values)


def joined(first: str, second: str) -> Sentence:
    """Two sentences in a row, which some languages write without a space between them.

    >>> joined(_lt("The tool “%(name)s” was left out.", name="add"), _lt("Its server is not available."))
    'The tool “add” was left out. Its server is not available.'
    """
    return _lt("%(first)s %(second)s", first=first, second=second)


def dump(sentence: str) -> str:
    """Text that `load` reads back: the sentence itself where it has no values, else JSON.

    >>> load(dump(_lt("There is no tool called %(name)s.", name="add"))).values
    {'name': 'add'}
    """
    if isinstance(sentence, Sentence) and sentence.values:
        return json.dumps(_data(sentence), ensure_ascii=False)
    return str.__str__(sentence)


def load(stored: str) -> Sentence:
    """The sentence that was dumped; any other text is a sentence without values."""
    if stored.startswith('{"source"'):
        try:
            return _of_data(json.loads(stored))
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            pass  # text of somebody else
    return Sentence(str.__str__(stored))


def _data(sentence: Sentence) -> dict[str, Any]:
    values = {
        name: _data(value) if isinstance(value, Sentence) else value
        for name, value in sentence.values.items()
    }
    return {"source": sentence.source, **({"values": values} if values else {})}


def _of_data(data: dict[str, Any]) -> Sentence:
    values = {
        name: _of_data(value) if isinstance(value, dict) else value
        for name, value in data.get("values", {}).items()
    }
    source, names = data["source"], _PLACEHOLDER.findall(data["source"])
    if len(names) > len(values) or "%" in _PLACEHOLDER.sub("", source if values else ""):
        raise ValueError("A source names each value once, and formats it in no other way.")
    return Sentence(source, values)
