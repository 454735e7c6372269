"""Operator settings: section ``[woow_ai]`` of odoo.conf, each key with an environment twin.

Odoo 19 reads only ``[options]``, so this module reads its own section. The environment
(``WOOW_AI_<KEY>``) wins over the file, unless it is empty. Nothing here can be changed from the database.

A value that cannot be used costs its own key: it is logged when the process starts, and health and Settings name it.
"""

import configparser
import difflib
import functools
import logging
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from odoo.tools import config

from ..services import const
from ..services.errors import ConfigError
from ..services.net.egress import EgressPolicy

_logger = logging.getLogger(__name__)

SECTION = "woow_ai"
DEMO = "WOOW_AI_DEMO_"  # variables of `make demo`, no keys of the operator
RETRY_AFTER = 10.0  # s after which a made key that could not be read is looked for again
SHOWN_CHARS = 40  # of a wrong value
SHOWN_CHARS_OF_KEY = 20  # of an unknown one: a secret on a line of its own reads as one
WORDS = re.compile("[a-z_]{1,32}")  # an unknown key that is no secret: these have 43 characters
RESEMBLES = 0.8  # of 1: an unknown variable that is meant to be a key


def _listed(text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(",")) if part]


def _switch(text: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "on": True}
    known |= {"false": False, "0": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError("is neither True nor False")
    return known[text.lower()]


def _number(least: float, most: float, kind: type = int) -> Callable[[str], float]:
    """Reads a number within these bounds."""
    name = "a whole number" if kind is int else "a number"

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise ValueError(f"is not {name} from {least} to {most}")
        return value

    return read


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in names:
            raise ValueError(f"is none of {', '.join(names)}")
        return text.lower()

    return read


def _addresses(text: str) -> EgressPolicy:
    try:
        return EgressPolicy.parse(text)
    except ConfigError as error:
        raise ValueError(f"is no list of addresses: {error}") from error


def _keys(text: str) -> tuple[str, ...]:
    """Fernet keys; the error repeats none."""
    from cryptography.fernet import Fernet  # noqa: PLC0415

    for number, key in enumerate(_listed(text), 1):
        try:
            Fernet(key)
        except ValueError as error:
            raise ValueError(f"is no Fernet key (number {number} of the list)") from error
    if not _listed(text):
        raise ValueError("has no Fernet key")
    return tuple(_listed(text))


@dataclass(frozen=True)
class _Key:
    """One key of the section: how it is read, what counts without a value, and what instead of a wrong one.

    `is_made`: without a value one is made in `data_dir`.
    """

    read: Callable[[str], Any]
    default: Any
    instead: Any = None
    is_secret: bool = False
    is_made: bool = False

    @property
    def of_a_fault(self) -> Any:
        return self.default if self.instead is None else self.instead


def _key(*args: Any, **options: Any) -> Any:
    """Field of `Settings` that is read by a `_Key` with these arguments."""
    return field(metadata={"key": _Key(*args, **options)})


_ANY_PUBLIC = EgressPolicy()  # where MCP servers may live


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the operator; the field of a key says how it is read and what counts without it."""

    # Newest first. A wrong one is not replaced: what was saved under another could be read no more.
    secret_key: tuple[str, ...] = _key(_keys, None, instead=(), is_secret=True, is_made=True)
    egress_allow: EgressPolicy = _key(_addresses, _ANY_PUBLIC)  # noqa: RUF009 never changed
    in_process_runner: bool = _key(_switch, True)
    runner_capacity: int = _key(_number(1, 10_000), const.RUNNER_CAPACITY)
    turns_per_person: int = _key(_number(1, 10_000), 24)
    turns_per_database: int = _key(_number(0, 10_000), 0)  # that run at a time, 0 for no limit
    waits_per_person: int = _key(_number(1, 10_000), 8)
    lease_seconds: float = _key(_number(1, 3600, float), 15.0)
    idle_seconds: float = _key(_number(0, 86_400, float), 60.0)  # until a database is let go
    max_streams: int = _key(_number(1, 1_000_000), 2000)  # of a process
    streams_per_person: int = _key(_number(1, 1_000_000), 64)  # of a process
    metrics_token: str = _key(str, "", is_secret=True)  # without one nobody reads what is measured
    metrics_port: int = _key(_number(0, 65_535), 0)  # of a runner
    metrics_tenants: bool = _key(_switch, False)  # measures name the database
    mail_authserv_id: str = _key(str, "")  # of the mail server whose word on senders counts
    id_jag_issuer: str = _key(str, "")  # of the identity provider whose assertions count
    id_jag_keys: str = _key(str, "")  # file with its public keys
    id_jag_claim: str = _key(str, "email")  # that names the user
    traces: str = _key(str, "")  # address of the collector
    traces_tenants: bool = _key(_switch, False)  # traces name the database
    released_env: frozenset[str] = _key(  # variables that a server's form may take its key from
        lambda text: frozenset(_listed(text)), frozenset()
    )
    mcp_servers_file: str = _key(str, "")
    container_runtime: str = _key(str, "podman")  # runs images of stdio servers
    tool_cache: str = _key(str, "")  # folder of packages for them
    sandbox: str = _key(  # of owners' programs; empty where nothing is said
        _one_of("required", "preferred", "off"), "", instead="required"
    )
    faults: Mapping[str, str] = field(default_factory=dict)  # a sentence by key with a wrong value
    unknown: tuple[str, ...] = ()  # a sentence for each key that there is not


TABLE: dict[str, _Key] = {one.name: one.metadata["key"] for one in fields(Settings) if one.metadata}

# Keys of earlier versions, which may still stand in a file: named in the log, and no fault.
REMOVED = {"wakeup": "PostgreSQL carries the wake-up channel."}


def _shown(key: str) -> str:
    """Part of an unknown key that may stand in a log."""
    return key[:SHOWN_CHARS_OF_KEY] if WORDS.fullmatch(key) else "A key"


class _Reader:
    """Reads the section and its twins once; `faults` and `unknown` say what of them cannot be used."""

    def __init__(self):
        self.faults: dict[str, str] = {}
        self.unknown: list[str] = []
        self._path = config["config"]
        self._file = self._section()

    def _section(self) -> dict[str, str]:
        if not self._path or not os.path.isfile(self._path):
            return {}
        parser = configparser.RawConfigParser()
        parser.read(self._path)
        return dict(parser.items(SECTION)) if parser.has_section(SECTION) else {}

    def values(self) -> dict[str, Any]:
        for key in sorted(self._file.keys() - TABLE.keys()):
            self._note_unknown(key, self._in_file(key))
        for name in sorted(os.environ):
            key = name.removeprefix("WOOW_AI_").lower()
            if not name.startswith("WOOW_AI_") or name.startswith(DEMO) or key in TABLE:
                continue
            # Others have such variables, too: Kubernetes makes them for a service of this name.
            if key in REMOVED or difflib.get_close_matches(key, TABLE, 1, RESEMBLES):
                self._note_unknown(key, f"{name} in the environment")
            else:
                _logger.info("%s in the environment is no key of [%s].", name, SECTION)
        return {key: self._value(key, one) for key, one in TABLE.items()}

    def _value(self, key: str, one: _Key) -> Any:
        twin = f"WOOW_AI_{key.upper()}"
        given = []
        if text := os.environ.get(twin, "").strip():  # an empty one is none
            given.append((f"{twin} in the environment", text))
        if key in self._file:
            given.append((self._in_file(key), self._file[key].strip()))
        for where, text in given:
            if not text and not one.default:  # nothing is what counts without it
                if one.is_made:
                    _logger.warning("%s is empty: the key in data_dir counts.", where)
                continue
            try:
                if not text:
                    raise ValueError("is empty")
                return one.read(text)
            except ValueError as error:
                shown = "" if one.is_secret or not text else f"“{text[:SHOWN_CHARS]}” "
                hint = " A comment needs a line of its own." if re.search(r"\s[;#]", text) else ""
                self._note(key, f"{where}:", f"{shown}{error}", hint)
                if one.instead is not None:  # a wrong value brings nothing weaker back
                    break
        return one.of_a_fault if key in self.faults else one.default

    def made_secret_key(self) -> tuple[str, ...]:
        """The key in `data_dir`, none if it can neither be read nor made."""
        try:
            return _keys(_made_secret_key())
        except (OSError, ValueError) as error:
            if isinstance(error, OSError):  # which may pass
                _made_key.retry_at = time.monotonic() + RETRY_AFTER
            problem = getattr(error, "strerror", None) or str(error)
            self._note("secret_key", f"{_made_key_file()}:", problem)
            return ()

    def _note(self, key: str, where: str, problem: str, hint: str = "") -> None:
        sentence = f"{where} {problem}.{hint}"
        _logger.error("%s", sentence)
        self.faults[key] = " ".join(filter(None, (self.faults.get(key), sentence)))

    def _note_unknown(self, key: str, where: str) -> None:
        if key in REMOVED:
            _logger.warning("%s is no longer used. %s", where, REMOVED[key])
        else:
            sentence = f"{where} is unknown."
            _logger.error("%s", sentence)
            self.unknown.append(sentence)

    def _in_file(self, key: str) -> str:
        shown = key if key in TABLE else _shown(key)
        return f"{shown} in {self._path}, line {self._line(key)}"

    def _line(self, key: str) -> int:
        section = ""
        with open(self._path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if head := re.match(r"\[([^]]+)\]", line):
                    section = head[1]
                elif section == SECTION and re.split("[=:]", line)[0].strip().lower() == key:
                    return number
        return 0


class _MadeKey:
    retry_at = math.inf  # of the monotonic clock


_made_key = _MadeKey()


def _made_key_file() -> Path:
    return Path(config["data_dir"]) / "woow_ai_secret_key"


def _made_secret_key() -> str:
    """The key in `data_dir` for who set none; made once, readable by Odoo's user only."""
    from cryptography.fernet import Fernet  # noqa: PLC0415

    path = _made_key_file()
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(Fernet.generate_key())
    try:
        os.link(draft, path)  # whole or not at all, also when two processes start at once
        _logger.info("No secret_key is set in [%s]: one was made in data_dir.", SECTION)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()


def secret_keys() -> tuple[str, ...]:
    """Keys for secrets, newest first; where the made one could not be read, it is looked for again after a while."""
    if not get().secret_key and time.monotonic() > _made_key.retry_at:
        _made_key.retry_at = math.inf
        get.cache_clear()
    return get().secret_key


@functools.lru_cache(maxsize=1)
def get() -> Settings:
    reader = _Reader()
    values = reader.values()
    if values["secret_key"] is None:
        values["secret_key"] = reader.made_secret_key()
    values["tool_cache"] = values["tool_cache"] or str(Path(config["data_dir"]) / "woow_ai_tools")
    return Settings(faults=reader.faults, unknown=tuple(reader.unknown), **values)
