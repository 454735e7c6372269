"""Lenient streaming JSON parser: one value as language models write it, read character by character.

Read although it is no JSON: trailing commas, single or missing quotes, Python's True, False and None, line breaks
and quotes inside texts, brackets that are missing or too many. What was cut off is kept and marked, so that nobody
takes ``{"amount": 1`` for what the model wanted to say.
"""

import json
import re
from typing import Any

MAX_DEPTH = 60  # nested containers; nobody's arguments are deeper
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_QUOTES = {'"': '"', "'": "'", "“": "”"}
_CLOSERS = "}]"
_END = ""  # sent after the last character


class TooDeep(ValueError):
    """More containers inside each other than `MAX_DEPTH`."""


class LenientJson:
    """Feed it the characters of one object or array, from its bracket on.

    :ivar is_done: the value is complete
    :ivar value: the value, after its end or `close`
    :ivar keys: of the outermost object, in the order of their arrival
    :ivar letters: of the text that is the value of the last of them, as far as it has arrived

    >>> reader = LenientJson()
    >>> for character in "{'a': [1, True,], b: 'it\\\\'s',}":
    ...     reader.feed(character)
    >>> reader.value
    {'a': [1, True], 'b': "it's"}
    """

    def __init__(self):
        self.is_done = False
        self.value: Any = None
        self.keys: list[str] = []
        self.letters: list[str] = []
        self._cut: list[Any] = []
        self._depth = 0
        self._back: list[str] = []
        self._machine = self._read()
        next(self._machine)

    def feed(self, character: str) -> None:
        """:raises TooDeep: nothing more can be fed"""
        try:
            self._machine.send(character)
        except StopIteration:
            self.is_done = True

    def close(self) -> None:
        """Nothing more comes: what is open is cut here."""
        while not self.is_done:
            self.feed(_END)

    @property
    def rest(self) -> str:
        """Characters read beyond the end to find it."""
        return "".join(reversed(self._back))

    def was_cut(self, value: Any) -> bool:
        """True if the input ended inside this very object or array.

        :param value: that was read here
        """
        return any(value is cut for cut in self._cut)

    # ------------------------------------------------------------ characters

    def _read(self):
        self.value = yield from self._value((yield))

    def _next(self):
        if self._back:
            return self._back.pop()
        return (yield)

    def _next_mark(self):
        """The next character that is not blank."""
        while True:
            character = yield from self._next()
            if character == _END or not character.isspace():
                return character

    # ------------------------------------------------------------ values

    def _value(self, first):
        if first == "{":
            return (yield from self._container(self._object))
        if first == "[":
            return (yield from self._container(self._array))
        if first in _QUOTES:
            return (yield from self._text(_QUOTES[first], ",}]"))
        return _scalar((yield from self._bare(first, ",}]")))

    def _container(self, read):
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep
        value = yield from read()
        self._depth -= 1
        return value

    def _object(self):
        value: dict[str, Any] = {}
        while True:
            mark = yield from self._next_mark()
            if mark == ",":
                continue
            if mark in _CLOSERS or mark == _END:
                return self._closed(value, mark, "}")
            key = yield from self._key(mark)
            mark = yield from self._next_mark()
            if mark != ":":  # a key without a value
                self._back.append(mark)
                if mark == _END:
                    value[key] = None
                continue
            mark = yield from self._next_mark()
            if mark in (",", _END, *_CLOSERS):
                self._back.append(mark)
                value[key] = None
            else:
                value[key] = yield from self._value(mark)

    def _key(self, first):
        if first in _QUOTES:
            key = yield from self._text(_QUOTES[first], ":,}]", is_key=True)
        else:
            key = (yield from self._bare(first, ":,}]")).strip()
        if self._depth == 1:
            self.keys.append(key)
            self.letters = []
        return key

    def _array(self):
        value: list[Any] = []
        while True:
            mark = yield from self._next_mark()
            if mark == "}":  # too many, if the array goes on behind it
                after = yield from self._next_mark()
                self._back.append(after)
                if after in (",", "]"):
                    continue
            if mark == ",":
                continue
            if mark in _CLOSERS or mark == _END:
                return self._closed(value, mark, "]")
            value.append((yield from self._value(mark)))

    def _closed(self, value, mark, own):
        """A container's end; a closer that is not its own ends the one around it as well."""
        if mark == _END:
            self._cut.append(value)
        if mark != own and self._depth > 1:
            self._back.append(mark)
        return value

    # ------------------------------------------------------------ texts and words

    def _text(self, quote, followers, *, is_key=False):
        """A quoted text. A quote ends it only where the value can end: models forget to escape."""
        letters: list[str] = []
        if self._depth == 1 and not is_key:
            self.letters = letters
        while True:
            character = yield from self._next()
            if character == _END:
                self._back.append(_END)
                return "".join(letters)
            if character == "\\":
                letters.append((yield from self._escaped()))
            elif character == quote:
                blanks = ""
                while (after := (yield from self._next())) != _END and after.isspace():
                    blanks += after
                self._back.append(after)
                if after == _END or after in followers:
                    return "".join(letters)
                letters.append(quote + blanks)
            else:
                letters.append(character)

    def _escaped(self):
        character = yield from self._next()
        if character != "u":
            if character == _END:
                self._back.append(_END)
            return _ESCAPES.get(character, character)
        code = yield from self._code()
        if 0xD800 <= code < 0xDC00:
            first, second = (yield from self._next()), (yield from self._next())
            low = (yield from self._code()) if first + second == "\\u" else 0
            if not 0xDC00 <= low < 0xE000:
                return "\N{REPLACEMENT CHARACTER}"
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code < 0xE000 else chr(code)

    def _code(self):
        digits = ""
        for _ in range(4):
            digits += yield from self._next()
        try:
            return int(digits, 16)
        except ValueError:
            return 0xFFFD

    def _bare(self, first, followers):
        word = ""
        while first != _END and first not in followers:
            word += first
            first = yield from self._next()
        self._back.append(first)
        return word


def _scalar(word: str) -> Any:
    word = word.strip()
    if _NUMBER.fullmatch(word):
        return json.loads(word)
    return _WORDS.get(word, word)
