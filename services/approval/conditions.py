"""Condition language for the arguments of a call, such as ``amount > 1000 and currency in ("EUR", "USD")``.

Python's own grammar, of which only comparisons, ``and``, ``or``, ``not``, literals, names of arguments,
attributes, subscripts and ``len()`` are read. Nothing is executed: the tree is walked here.
"""

import ast
import operator
from collections.abc import Mapping
from typing import Any

from ..sentence import _lt

MAX_CHARS = 500  # characters of one condition
MAX_DEPTH = 20  # nested expressions

_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class ConditionError(ValueError):
    """The condition cannot be read; the sentence says what is wrong with it."""


class Undecided(ValueError):
    """The arguments do not have what the condition asks about."""


def check(condition: str) -> None:
    """:raises ConditionError: `holds` could not read it"""
    _parse(condition)


def holds(condition: str, arguments: Mapping[str, Any]) -> bool:
    """True if the arguments meet the condition.

    >>> holds("amount > 1000", {"amount": 2000})
    True
    >>> holds("to.country not in ('TW', 'JP')", {"to": {"country": "TW"}})
    False

    :raises ConditionError: it cannot be read
    :raises Undecided: an argument is missing, or of a kind that cannot be compared
    """
    tree = _parse(condition)
    try:
        return bool(_value(tree, arguments))
    except (LookupError, TypeError) as error:
        raise Undecided(str(error)) from error


def _parse(condition: str) -> ast.expr:
    if len(condition) > MAX_CHARS:
        raise ConditionError(_lt("A condition has at most %(count)s characters.", count=MAX_CHARS))
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ConditionError(_lt("The condition is not a complete expression.")) from error
    _check(tree, MAX_DEPTH)
    return tree


def _check(node: ast.AST, depth: int) -> None:
    if depth <= 0:
        raise ConditionError(_lt("The condition is nested too deeply."))
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            parts = []
        case ast.Name():
            parts = []
        case ast.Attribute(value=inner, attr=name) if not name.startswith("_"):
            parts = [inner]
        case ast.Subscript(value=inner, slice=index):
            parts = [inner, index]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            pass
        case ast.BoolOp(values=parts):
            pass
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner):
            parts = [inner]
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARE for op in ops
        ):
            parts = [left, *others]
        case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
            parts = [inner]
        case _:
            raise ConditionError(
                _lt(
                    "“%(part)s” cannot be used in a condition: compare arguments, and join comparisons "
                    "with and, or, not.",
                    part=ast.unparse(node)[:60],
                )
            )
    for part in parts:
        _check(part, depth - 1)


def _value(node: ast.AST, arguments: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return arguments[name]
        case ast.Attribute(value=inner, attr=name):
            return _value(inner, arguments)[name]
        case ast.Subscript(value=inner, slice=index):
            return _value(inner, arguments)[_value(index, arguments)]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, arguments) for part in parts]
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, arguments) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, arguments) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, arguments)
        case ast.UnaryOp(operand=inner):
            return -_value(inner, arguments)
        case ast.Call(args=[inner]):
            return len(_value(inner, arguments))
        case ast.Compare(left=left, ops=ops, comparators=others):
            value = _value(left, arguments)
            for op, other in zip(ops, others, strict=True):
                right = _value(other, arguments)
                if not _COMPARE[type(op)](value, right):
                    return False
                value = right
            return True
    raise ConditionError(_lt("The condition cannot be read."))
