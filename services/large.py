"""Large payloads: read beside the loop, one after another, and refused where reading would take too long.

C code holds the interpreter's lock however many threads there are, so a body is looked at in pieces first: what
may be read in one go is bounded by `MAX_VALUES` and `MAX_TEXT`. Only base64 of files may take the rest of
`const.WIRE_CAP`.
"""

import asyncio
import contextlib
import ctypes
import functools
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from json.encoder import encode_basestring
from typing import Any, ParamSpec, TypeVar

from . import concurrency, const, jsonrpc, text
from .errors import ResultTooLarge

SMALL = 64 * 1024  # bytes that are read on the spot, 5 ms at most
MAX_TEXT = (
    4 * 1024 * 1024
)  # bytes of a body beside its files; the largest known list of tools has 2.2 MB
MAX_VALUES = 100_000  # members and items of a body; the same list has 82 000
_PIECE = 64 * 1024  # bytes that are looked at in one go
# mallopt(3): as Odoo has it in a threaded server; bytes of a block that goes back to the system when it is free
_MALLOC = {"MALLOC_ARENA_MAX": (-8, 2), "MALLOC_MMAP_THRESHOLD_": (-3, 256 * 1024)}

_BASE64 = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-:;,"  # also as data URL
)

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Worker(ThreadPoolExecutor):
    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix="woow_ai-large")


_worker = concurrency.renewed(_Worker())


def keep_little() -> None:
    """Let this process give large blocks back. Left alone, glibc keeps up to twice the largest one, for each of its
    arenas, and many threads have many of them. Options in the operator's environment count instead.
    """
    with contextlib.suppress(OSError, AttributeError):  # another libc
        mallopt = ctypes.CDLL(None).mallopt
        for name, option in _MALLOC.items():
            if name not in os.environ:
                mallopt(*option)


async def beside(function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Run a function in the one thread that large things share; for Python code, which lets the loop go on.

    :param args, options: of the function
    """
    work = functools.partial(function, *args, **options)
    return await asyncio.get_running_loop().run_in_executor(_worker, work)


async def apply(function: Callable[..., _T], value: Any, *args: Any, **options: Any) -> _T:
    """Result of ``function(value, *args, **options)``: on the spot if the value is small, else beside the loop.

    :param value: JSON
    """
    if text.weight(value, SMALL) < SMALL:
        return function(value, *args, **options)
    return await beside(function, value, *args, **options)


async def parse(body: bytes | bytearray) -> Any:
    """Parse as `jsonrpc.parse`, beside the loop where it is large.

    :raises ResultTooLarge: reading it would hold up the process
    """
    return jsonrpc.parse(body) if len(body) <= SMALL else await beside(_parse, body)


def _parse(body: bytes | bytearray) -> Any:
    from pydantic_core import from_json  # noqa: PLC0415 comes with mcp

    check(body)
    try:  # without a copy of the body as text, which takes four times its size for one emoji
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        return jsonrpc.parse(body) if len(body) <= MAX_TEXT or body.isascii() else None


def check(body: bytes | bytearray, max_text: int = MAX_TEXT, max_values: int = MAX_VALUES) -> None:
    """:raises ResultTooLarge: this JSON has more text or more values than can be read in one go"""
    written = values = run = 0
    inside = is_file = False  # inside of a string; of one that holds nothing but base64 so far
    tail = b""
    for start in range(0, len(body), _PIECE):
        piece = tail + body[start : start + _PIECE]
        tail = b"\\" if (len(piece) - len(piece.rstrip(b"\\"))) % 2 else b""
        piece = _without_escapes(piece.removesuffix(tail))
        parts = piece.split(b'"')
        if inside and is_file:
            if parts[0].translate(None, _BASE64):
                written, is_file = written + run, False
            elif len(parts) == 1:
                run += len(piece)
                continue
        written += len(piece)
        values += _commas_and_brackets(b"".join(parts[1::2] if inside else parts[::2]))
        if len(parts) > 1:
            inside ^= len(parts) % 2 == 0
            is_file, run = not parts[-1].translate(None, _BASE64), 0
        if written > max_text:
            raise ResultTooLarge(detail=f"more than {max_text} bytes beside files")
        if values > max_values:
            raise ResultTooLarge(detail=f"more than {max_values} values")


def _without_escapes(piece: bytes) -> bytes:
    """Leave quotes only where strings begin and end."""
    if b"\\" not in piece:
        return piece
    return piece.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\0\0").replace(b"\\/", b"/")


def _commas_and_brackets(json_without_strings: bytes) -> int:
    return len(json_without_strings) - len(json_without_strings.translate(None, b"[{,"))


def dump(value: Any, limit: int = const.WIRE_CAP) -> str:
    """Write JSON in Python code: the encoder in C would hold the interpreter's lock all the while.

    :param limit: characters, about; what comes later is left out
    """
    written = io.StringIO()
    for part in _parts(value, limit, text.MAX_DEPTH):
        written.write(part)
        if written.tell() > limit:
            break
    return written.getvalue()


def _parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield encode_basestring(value[:limit])
    elif not isinstance(value, Mapping | list):
        yield json.dumps(value, default=str)
    elif depth <= 0:
        yield '"…"'
    elif isinstance(value, Mapping):
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield f"{', ' if number else ''}{encode_basestring(str(key)[:limit])}: "
            yield from _parts(item, limit, depth - 1)
        yield "}"
    else:
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ", "
            yield from _parts(item, limit, depth - 1)
        yield "]"
