"""Stdio templates: servers that are started by a command (document 004, 5.1).

The operator's file releases them one by one (``[[mcp.templates]]``). Program and package stand there or here, never in
the database. What an administrator fills in is the value of one variable, or folders below those that the operator
listed, each one argument; no shell ever reads it.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from .server_file import FileServer

MAX_VALUE = 2000  # characters of one filled field


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """Where a filled field goes: into the process's environment, which no list of processes shows.

    :ivar form: what the whole value must match
    :ivar example: for who is told that it does not
    """

    name: str
    form: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioTemplate:
    """
    :ivar package: of npm in its version, run where the operator's file names no other way
    :ivar args: after those of the operator's file
    :ivar variables: by the field that fills each
    :ivar folders: the field that holds folders, separated by commas; they are the last arguments
    """

    package: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    folders: str = ""


TEMPLATES: Mapping[str, StdioTemplate] = {
    "filesystem": StdioTemplate(
        package="@modelcontextprotocol/server-filesystem@2026.8.31", folders="allowed_roots"
    ),
    "postgresql": StdioTemplate(
        package="@bytebase/dbhub@1.4.0",
        args=("--transport", "stdio"),
        # The role of the connection decides what may be done; this is for who forgot to choose one.
        env={"PGOPTIONS": "-c default_transaction_read_only=on"},
        variables={
            "connection_string": Variable(
                name="DSN",
                form=r"postgres(ql)?://\S+",
                example="postgresql://user:password@host:5432/database",
            )
        },
    ),
    "slack": StdioTemplate(
        package="slack-mcp-server@1.3.0",
        args=("--transport", "stdio"),
        variables={
            "bot_token": Variable(
                name="SLACK_MCP_XOXB_TOKEN", form=r"xoxb-[\w-]+", example="xoxb-123-456-abc"
            )
        },
    ),
    "brave_search": StdioTemplate(
        package="@brave/brave-search-mcp-server@2.1.4",
        args=("--transport", "stdio"),
        variables={
            "api_key": Variable(name="BRAVE_API_KEY", form=r"[\w-]+", example="BSA0abcDEF123")
        },
    ),
}


def filled(release: FileServer, values: Mapping[str, str]) -> FileServer:
    """The server that the operator's release and the filled fields make together.

    :param release: an entry of ``[[mcp.templates]]``
    :param values: ``{name of a field: text}``
    :raises ConfigError: a value does not fit
    """
    template = TEMPLATES[release.name]
    for value in values.values():
        if len(value) > MAX_VALUE or not value.isprintable():
            raise ConfigError("A value is too long or contains invalid characters.")
    variables = {
        variable.name: _of_form(variable, values[name])
        for name, variable in template.variables.items()
        if name in values
    }
    folders = _folders(release, values.get(template.folders, "")) if template.folders else ()
    start = {} if release.command or release.env_config else _by_package(template)
    return dataclasses.replace(
        release,
        **start,
        args=(*release.args, *template.args, *folders),
        env={**template.env, **release.env, **variables},
        secrets=tuple(secret for value in variables.values() for secret in _secrets_of(value)),
    )


def _of_form(variable: Variable, value: str) -> str:
    if not re.fullmatch(variable.form, value):
        raise ConfigError(f"A value does not have the expected format, such as {variable.example}.")
    return value


def _secrets_of(value: str) -> tuple[str, ...]:
    """The value, and the password where it is an address with one."""
    _, _, authority = value.partition("://")
    password = authority.rpartition("@")[0].partition(":")[2]
    return (value, password) if password else (value,)


def _by_package(template: StdioTemplate) -> dict[str, Any]:
    config = {"runtime": "node", "package": template.package}
    return {"env_type": "dynamic_injected", "env_config": config}


def _folders(release: FileServer, text: str) -> tuple[str, ...]:
    """As they really are, links followed; the operator's own where none is given."""
    roots = tuple(map(os.path.realpath, release.roots))
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(_below(roots, folder) for folder in wanted) or roots


def _below(roots: tuple[str, ...], folder: str) -> str:
    real = os.path.realpath(folder)
    if not os.path.isabs(folder) or not any(
        os.path.commonpath([root, real]) == root for root in roots
    ):
        raise ConfigError(
            f"The folder {folder} is not inside a folder that the operator has released."
        )
    if not os.path.isdir(real):
        raise ConfigError(f"The folder {folder} does not exist on this host.")
    return real
