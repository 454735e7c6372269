"""The reader's own process: bytes come in, lines of JSON go out, and it can do nothing else.

``{"kind", "count"}``, then ``{"text"}`` for each page, then ``{"end": true}``; instead of what is missing then,
``{"problem", "about"}``. Once the libraries for this kind of file are there, and before they see it, the kernel is told
that this process opens no more files, connections or programs, and touches no other process: what a document makes a
library do stays in here.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from importlib import import_module
from typing import Any

from . import const, office, problems

READERS = {"pdf": "pdf", "docx": "word", "pptx": "slides", "xlsx": "sheets"}
# Python imports them by name when they are needed first, which would be too late.
NEEDED = (
    "encodings.cp437",
    "encodings.utf_16_le",
    "encodings.utf_8_sig",
    "encodings.unicode_escape",
)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2  # prctl(2)
UNWANTED = ("numpy", "pandas")  # openpyxl would load them, with their threads and their memory


def main(calls: bytes) -> None:
    """:param calls: the filter of system calls, empty where there is none for this machine"""
    try:
        _limit()
        data = sys.stdin.buffer.read()
        kind = office.kind_of(data) if data.startswith(b"PK") else "pdf"
        reader = _load(READERS[kind])
        _shut(calls)
        count, pages = reader.read(data)
        _say(kind=kind, count=count)
        room = const.MAX_CHARACTERS
        for text in pages:
            _say(text=text[:room])
            room -= len(text)
            if room <= 0:
                break
        _say(end=True)
    except problems.Problem as problem:
        _say(problem=type(problem).__name__, about=str(problem))
    except (MemoryError, RecursionError):
        _say(problem="TooComplex", about="")
    except Exception as error:  # whatever a library makes of a damaged file
        _say(problem="Unreadable", about=f"{type(error).__name__}: {error}"[:500])


def _limit() -> None:
    os.nice(10)
    signal.alarm(int(const.WALL_SECONDS) + 1)  # also where nobody waits any more
    for what, most in (
        (resource.RLIMIT_AS, const.MEMORY),
        (resource.RLIMIT_CPU, const.CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _load(reader: str):
    missing: Any = None  # an import of such a name fails
    sys.modules.update(dict.fromkeys(UNWANTED, missing))
    try:
        for module in NEEDED:
            import_module(module)
        return import_module(f".{reader}", __package__)
    except ImportError as error:
        raise problems.Missing((error.name or str(error)).partition(".")[0]) from error


def _shut(calls: bytes) -> None:
    """No file, no connection, no thread, no program and no other process from here on.

    A kernel without filters leaves it at the limits; Odoo's health says so.

    :raises OSError: the kernel knows filters, and refuses this one
    """
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not calls:
        return
    whole = ctypes.byref(_Filter(len(calls) // 8, calls))
    if prctl(PR_SET_SECCOMP, MODE_FILTER, whole):
        # A kernel that knows filters complains of the missing address, one that does not of the mode.
        prctl(PR_SET_SECCOMP, MODE_FILTER, None)
        if ctypes.get_errno() != errno.EINVAL:
            raise OSError("The kernel has refused the filter of system calls.")


class _Filter(ctypes.Structure):
    """``struct sock_fprog``"""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _say(**line) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
