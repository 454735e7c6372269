"""Server file cache: the operator's ``mcp_servers.toml``, read again when it changes; of what it has wrong, the last
good state.

Commands, environments and headers of its servers live here and in the file only, never in the database.
"""

import contextlib
import hashlib
import logging
import os
import threading
import time
from pathlib import Path

from odoo.tools import config

from ..services.catalog import server_file_reader
from ..services.catalog.server_file import ServerFile
from ..services.errors import SecretKeyInvalid, SecretUnreadable
from . import settings, vault

# Copies of earlier versions: of one file for all Odoos of a data directory, and in plain text.
EARLIER = ("woow_ai_mcp_servers.last", "woow_ai_mcp_servers.toml")

_logger = logging.getLogger(__name__)
_lock = threading.Lock()


class _Known:
    """State of the file in this process. `stamp` tells one state of the file from another."""

    def __init__(self):
        self.stamp: tuple[object, ...] | None = None
        self.requested: tuple[object, ...] | None = None  # when somebody wanted it to be read again
        self.content = ServerFile()


_known = _Known()


def path() -> Path | None:
    name = settings.get().mcp_servers_file
    return Path(name) if name else None


def error() -> str:
    """Faults of the file now, a line each; ``""`` if there are none."""
    return "\n".join(current().problems)


def current() -> ServerFile:
    """The state that counts now. Reading a file that has not changed costs one look at its date."""
    source = path()
    if source is None:
        return _known.content
    with _lock:
        stamp, requested = _stamp(source), _stamp(_request())
        is_wanted = _known.content.auto_reload or requested != _known.requested
        if _known.stamp is None or (stamp != _known.stamp and is_wanted):
            _read(source, is_first=_known.stamp is None)
            _known.stamp = stamp
        _known.requested = requested
        return _known.content


def version() -> tuple[object, ...]:
    """Differs whenever the file was written, also with what it had before: in between, others may have read it."""
    return current().digest, _known.stamp


def reload() -> str:
    """Read the file again though it says ``auto_reload = false``; other processes of this data directory follow.

    :return: what is wrong with it now, ``""`` if nothing is
    """
    request = _request()
    with contextlib.suppress(OSError):
        request.parent.mkdir(parents=True, exist_ok=True)
        request.write_text(f"{time.time_ns()}\n")
    return error()


def _request() -> Path:
    """The file whose date says when somebody has asked for a reload."""
    return Path(config["data_dir"]) / "woow_ai_mcp_servers.reload"


def _stamp(source: Path):
    try:
        found = source.stat()
    except OSError as error:
        return (type(error).__name__,)
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(source: Path, *, is_first: bool) -> None:
    before = _last_good() or (None if is_first else _known.content)
    try:
        text = source.read_text("utf-8")
        content = server_file_reader.parse(text, os.environ, source.name, before)
        _keep(content, is_first=is_first)
    except (OSError, UnicodeDecodeError) as caught:
        content = server_file_reader.unread(f"{source.name}: {caught}.", before)
    for problem in content.problems:
        _logger.error("%s What was valid before stays in effect.", problem)
    if _known.content.problems and not content.problems:
        _logger.info("%s is in order again.", source.name)
    _known.content = content


def _copy() -> Path:
    """Path of the copy of this file; Odoos that share a data directory may each have a file of their own."""
    mark = hashlib.sha256(str(path()).encode()).hexdigest()[:12]
    return Path(config["data_dir"]) / f"woow_ai_mcp_servers.{mark}.last"


def _keep(content: ServerFile, *, is_first: bool) -> None:
    """Keep the file for a process that starts while it is broken, or without a variable that it had; encrypted,
    because it has the values of variables.
    """
    copy = _copy()
    with contextlib.suppress(OSError, SecretKeyInvalid):
        known = _last_good()
        if not is_first and known and known.to_json() == content.to_json():
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        draft = copy.with_suffix(f".{os.getpid()}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(vault.encrypt(content.to_json()))
        draft.replace(copy)
        for name in EARLIER:
            copy.with_name(name).unlink(missing_ok=True)


def _last_good() -> ServerFile | None:
    """The last good state that a process of this data directory has read, None if there is none that can be read."""
    for copy in (_copy(), _copy().with_name(EARLIER[0])):
        with contextlib.suppress(OSError, SecretUnreadable, ValueError):
            return ServerFile.from_json(vault.decrypt(copy.read_text("utf-8")))
    return None
