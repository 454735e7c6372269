"""Document reader: the text of a PDF or an Office file, page by page.

Files of people are read by large libraries, some of them in C. So each is read in a process of its own (`child`), which
gets the file on its standard input, nothing of this process's environment or open files, and has limits that the kernel
keeps. Whatever becomes of it is one of the errors below.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from .. import concurrency, packages
from ..errors import (
    EngineError,
    FileEncrypted,
    FileTooComplex,
    FileUnreadable,
    FileWithoutText,
    PackageMissing,
    ReaderBusy,
    UnsupportedFile,
)
from ..sandbox import seccomp
from . import const

MIMETYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
UNITS = {"pdf": "page", "docx": "page", "pptx": "slide", "xlsx": "sheet"}
PDF, ARCHIVE, COMPOUND = b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The stream of an Office file with a password, [MS-OFFCRYPTO] 2.3.4.4
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# The package of this file under a name of its own, with the paths of this process and without its site modules.
START = """
import importlib.util, json, sys
folder = sys.argv[1]
sys.path[:] = json.loads(sys.argv[2])
spec = importlib.util.spec_from_file_location(
    "woow_documents", folder + "/__init__.py", submodule_search_locations=[folder]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
importlib.import_module("woow_documents.child").main(bytes.fromhex(sys.argv[3]))
"""
KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")  # variables without which Python may not start
LAST = (b'{"end"', b'{"problem"')  # beginnings of the last line of a reader that lived
PART = 64 * 1024  # bytes that are read at once
PROBLEMS: dict[str, type[EngineError]] = {
    "Encrypted": FileEncrypted,
    "Unreadable": FileUnreadable,
    "TooComplex": FileTooComplex,
    "Unsupported": UnsupportedFile,
}
# What computing and answering take, and nothing that reaches another process. A library without memory ends itself.
ALLOWED = (
    *(
        seccomp.Rule(call, seccomp.ALLOW)
        for call in (
            *("read", "readv", "write", "writev", "close", "fstat", "lseek", "poll", "ioctl"),
            *("mmap", "mprotect", "munmap", "mremap", "madvise", "brk", "futex", "restart_syscall"),
            *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"),
            *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "sched_yield"),
            *("sched_getaffinity", "getpid", "gettid", "getrandom", "getrusage", "rseq"),
            *("set_robust_list", "exit", "exit_group"),
        )
    ),
    seccomp.Rule("tgkill", seccomp.KILL),
)
# How the kernel ends a process at its limits, and how a library ends itself without memory.
OVER_LIMIT = (
    *(signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM, signal.SIGXFSZ),
    *(signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGSYS),
)


@dataclass(frozen=True, slots=True)
class Document:
    """Extracted text of a document.

    :ivar kind: a key of `MIMETYPES`
    :ivar count: pages, slides or sheets that it has
    :ivar pages: the text of the first ones, as far as the limits allow
    """

    kind: str
    count: int
    pages: tuple[str, ...]


class _Places:
    """Readers that this process may have at once; one person has one of them at most, so that others are served."""

    def __init__(self):
        self._changed = threading.Condition()
        self._held: list[Hashable] = []

    @contextlib.contextmanager
    def take(self, person: Hashable):
        """:raises ReaderBusy: none has become free"""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_one_for(person), const.QUEUE_TIMEOUT):
                raise ReaderBusy
            self._held.append(person)
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(person)
                self._changed.notify_all()

    def _has_one_for(self, person):
        return len(self._held) < const.READERS and person not in self._held


_places = concurrency.renewed(_Places())


def is_document(data: bytes) -> bool:
    """True if a file is one for the reader; it may still turn out that it is not.

    >>> is_document(b"%PDF-1.7"), is_document(b"a;b"), is_document(b"PK")
    (True, False, False)
    """
    return data.lstrip(b"\xef\xbb\xbf\r\n\t ")[:5] == PDF or data.startswith((ARCHIVE, COMPOUND))


def read(data: bytes, person: Hashable = None) -> Document:
    """
    :param person: who is waiting for it, of all that this process serves
    :raises FileError: it cannot be read, and why
    :raises PackageMissing: a library for it is not installed
    """
    if data.startswith(COMPOUND):
        raise FileEncrypted if ENCRYPTED in data else UnsupportedFile
    with _places.take(person):
        try:
            said = _said_of(data)
        except OSError as error:
            # No room for its copy, no process or no memory: it may be had in a moment.
            raise ReaderBusy(detail=str(error)) from error
    return _document(map(json.loads, said))


def _document(lines: Iterator[dict[str, Any]]) -> Document:
    kind, count, pages = "", 0, []
    for line in lines:
        match line:
            case {"problem": "Missing", "about": module}:
                raise PackageMissing(packages.DOCUMENTS.get(module) or module)
            case {"problem": problem, "about": about}:
                raise PROBLEMS[problem](detail=about)
            case {"kind": kind, "count": count}:
                pass
            case {"text": text}:
                pages.append(text.strip("\r\n"))
    if not any(page.strip() for page in pages):
        raise FileWithoutText
    return Document(kind, count, tuple(pages))


def _said_of(data: bytes) -> list[bytes]:
    """The lines of a process that reads a file, to its end.

    :raises FileTooComplex: it reached a limit
    :raises FileUnreadable: it died
    """
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        process = subprocess.Popen(  # noqa: S603 our own program
            [
                *(sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", START),
                str(Path(__file__).parent),
                json.dumps([path for path in sys.path if os.path.isabs(path)]),
                seccomp.program(ALLOWED, seccomp.refused()).hex(),
            ],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in KEPT if name in os.environ},
            cwd="/",
        )
    with process:
        try:
            lines = _output(process).splitlines()
            process.wait(timeout=1)  # it has closed its output
        except subprocess.TimeoutExpired as error:
            raise FileTooComplex(detail="the reader did not end") from error
        finally:
            process.kill()
    if not lines or not lines[-1].startswith(LAST):
        if -process.returncode in OVER_LIMIT:
            raise FileTooComplex(detail=f"the reader ended with {process.returncode}")
        raise FileUnreadable(detail=f"the reader ended with {process.returncode}")
    return lines


def _output(process: subprocess.Popen[bytes]) -> bytes:
    """All that it says.

    :raises FileTooComplex: it is too much, or takes too long
    """
    said, end = bytearray(), time.monotonic() + const.WALL_SECONDS
    output = cast(IO[bytes], process.stdout).fileno()  # it was started with a pipe
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(max(0, end - time.monotonic())):
            part = os.read(output, PART)
            if not part:
                return bytes(said)
            said += part
            if len(said) > const.MAX_OUTPUT:
                raise FileTooComplex(detail="the reader said too much")
    raise FileTooComplex(detail="the reader took too long")
