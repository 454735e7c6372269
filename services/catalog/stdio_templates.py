"""Stdio templates: servers that are started by a command (document 004, 5.1).

The operator's file releases them one by one (``[[mcp.templates]]``). Program and package stand there or here, never in
the database. What people fill in is the value of one variable, or folders below those that the operator listed, each
one argument; no shell ever reads it.

With ``owners = true``, cloud services may have such servers, too. Each workspace has a folder of its own, which Odoo
makes below ``workspace_root``, and reaches those databases only that ``hosts`` lists.
"""

import contextlib
import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from ..sentence import _lt
from .server_file import FileServer

MAX_VALUE = 2000  # characters of one filled field
POSTGRESQL_PORT = 5432
NOT_FOR_OWNERS = _lt("The operator has not enabled this template for cloud services.")
NO_ENVIRONMENT = _lt("The operator has not released this environment for the template.")
NO_FOLDER = _lt("The folder of this workspace cannot be made on this host. Ask the operator.")
EXAMPLE_ROOT, EXAMPLE_WORKSPACES = "/srv/files", "/srv/workspaces"
EXAMPLE_HOST = "db.example.com:5432"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """Place of a field in the process's environment, which no list of processes shows.

    :ivar form: what the whole value must match
    :ivar example: for who is told that it does not
    :ivar owners_form: what it must match instead for a workspace, whose owners choose among the operator's ``hosts``;
        its groups are ``host`` and ``port``
    """

    name: str
    form: str
    example: str
    owners_form: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioTemplate:
    """
    :ivar package: of npm in its version, run where the operator's file names no other way
    :ivar args: after those of the operator's file
    :ivar variables: by the field that fills each
    :ivar folders: the field that holds folders, separated by commas; they are the last arguments
    :ivar is_offline: whether it needs no network
    """

    package: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    folders: str = ""
    is_offline: bool = False

    @property
    def hosted(self) -> bool:
        """True if a field names a host."""
        return any(variable.owners_form for variable in self.variables.values())


TEMPLATES: Mapping[str, StdioTemplate] = {
    "filesystem": StdioTemplate(
        package="@modelcontextprotocol/server-filesystem@2026.8.31",
        folders="allowed_roots",
        is_offline=True,
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
                # No socket, no file and no option of the session, which a query of the address could name.
                owners_form=r"postgres(?:ql)?://[\w.~%+-]+(?::[\w.~%+!$&'()*,;=-]*)?@"
                r"(?P<host>[\w.-]+)(?::(?P<port>\d{1,5}))?/[\w.%-]+"
                r"(?:\?sslmode=(?:disable|require|verify-full))?",
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


def environments(release: FileServer) -> list[FileServer]:
    """The release in each of its environments; the first one counts where nobody has chosen."""
    own = release
    if not release.command and not release.env_config:
        own = dataclasses.replace(release, **_by_package(TEMPLATES[release.name]))
    return [own, *(dataclasses.replace(release, **other) for other in release.environments)]


def in_environment(release: FileServer, env_type: str, env_config: Any) -> FileServer:
    """:param env_type: what somebody has chosen, ``""`` for nothing
    :raises ConfigError: the release has no such environment (any more)
    """
    found = environments(release)
    if not env_type:
        return found[0]
    for one in found:
        if (one.env_type, dict(one.env_config)) == (env_type, env_config or {}):
            return one
    raise ConfigError(NO_ENVIRONMENT)


def folder_example(release: FileServer, name: str, *, owners: bool) -> str | None:
    """Example of a field that holds folders: a released one; owners learn no folder of the host.

    :return: None for a field that holds something else
    """
    if name != TEMPLATES[release.name].folders:
        return None
    return "" if owners else next(iter(release.roots), "")


def filled(release: FileServer, values: Mapping[str, str], *, workspace: str = "") -> FileServer:
    """The server that the operator's release and the filled fields make together.

    :param release: an entry of ``[[mcp.templates]]``, in one of its `environments`
    :param values: ``{name of a field: text}``
    :param workspace: the name of its folder, where the server is a cloud service's
    :raises ConfigError: a value does not fit, or the release is not for owners
    """
    template = TEMPLATES[release.name]
    if not release.command and not release.env_config:
        release = environments(release)[0]
    if workspace:
        release = _of_workspace(release, workspace)
    for value in values.values():
        if len(value) > MAX_VALUE or not value.isprintable():
            raise ConfigError(_lt("A value is too long or contains invalid characters."))
    variables = {
        variable.name: _of_form(variable, values[name], release.hosts if workspace else None)
        for name, variable in template.variables.items()
        if name in values
    }
    base = release.roots[0] if workspace and template.folders else ""
    folders = _folders(release, values.get(template.folders, ""), base) if template.folders else ()
    return dataclasses.replace(
        release,
        args=(*release.args, *template.args, *folders),
        env={**template.env, **release.env, **variables},
        is_owners=bool(workspace),
        is_offline=template.is_offline,
        secrets=tuple(secret for value in variables.values() for secret in _secrets_of(value)),
    )


def lines(code: str, release: FileServer | None, *, owners: bool) -> str:
    """TOML lines for the operator; ``""`` where it is released already.

    >>> print(lines("slack", None, owners=True))
    [[mcp.templates]]
    name = "slack"
    owners = true
    """
    template = TEMPLATES[code]
    if release and (release.owners or not owners):
        return ""
    if release:
        entry = [f'# in the entry [[mcp.templates]] with name = "{code}":']
    else:
        entry = ["[[mcp.templates]]", f'name = "{code}"']
        entry += [f'roots = ["{EXAMPLE_ROOT}"]'] if template.folders else []
    if owners:
        entry.append("owners = true")
        entry += [f'workspace_root = "{EXAMPLE_WORKSPACES}"'] if template.folders else []
        entry += [f'hosts = ["{EXAMPLE_HOST}"]'] if template.hosted else []
    return "\n".join(entry)


def _of_form(variable: Variable, value: str, hosts: tuple[str, ...] | None) -> str:
    """:param hosts: those that may be named, None for any"""
    is_hosted = hosts is not None and variable.owners_form
    match = re.fullmatch(variable.owners_form if is_hosted else variable.form, value)
    if not match:
        raise ConfigError(
            _lt(
                "A value does not have the expected format, such as %(example)s.",
                example=variable.example,
            )
        )
    if is_hosted and _with_port(match["host"], match["port"]) not in {
        _with_port(*host.partition(":")[::2]) for host in hosts or ()
    }:
        raise ConfigError(
            _lt(
                "The host %(name)s is not among those that the operator allows.", name=match["host"]
            )
        )
    return value


def _with_port(host: str, port: str | None) -> tuple[str, int]:
    return host.lower(), int(port or POSTGRESQL_PORT)


def _secrets_of(value: str) -> tuple[str, ...]:
    """The value, and the password where it is an address with one."""
    _, _, authority = value.partition("://")
    password = authority.rpartition("@")[0].partition(":")[2]
    return (value, password) if password else (value,)


def _by_package(template: StdioTemplate) -> dict[str, Any]:
    config = {"runtime": "node", "package": template.package}
    return {"env_type": "dynamic_injected", "env_config": config}


def _of_workspace(release: FileServer, workspace: str) -> FileServer:
    """The release as one workspace has it, with its own folder as the only one.

    :raises ConfigError: it is not for owners, or the folder cannot be made
    """
    if not release.owners:
        raise ConfigError(NOT_FOR_OWNERS)
    if not release.workspace_root:
        return release
    root = os.path.realpath(release.workspace_root)
    for other in map(os.path.realpath, release.roots):
        if os.path.commonpath([root, other]) in (
            root,
            other,
        ):  # by a link: who has that, has all workspaces
            raise ConfigError(NO_FOLDER)
    own = os.path.join(root, workspace)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(own, 0o700)  # a root that is not there may be a disk that is away
    except OSError as error:
        raise ConfigError(NO_FOLDER) from error
    if os.path.realpath(own) != own:  # a link that somebody has put there
        raise ConfigError(NO_FOLDER)
    config = dict(release.env_config)
    if release.env_type == "custom_image":
        config["mounts"] = [*config.get("mounts", ()), f"{own}:{own}"]
    return dataclasses.replace(release, roots=(own,), env_config=config)


def _folders(release: FileServer, text: str, base: str) -> tuple[str, ...]:
    """Folders as they really are, links followed; the operator's own where none is given.

    :param base: what names without a path are below
    """
    roots = tuple(map(os.path.realpath, release.roots))
    wanted = [os.path.join(base, part.strip()) for part in text.split(",") if part.strip()]
    return tuple(_below(roots, folder) for folder in wanted) or roots


def _below(roots: tuple[str, ...], folder: str) -> str:
    real = os.path.realpath(folder)
    if not os.path.isabs(folder) or not any(
        os.path.commonpath([root, real]) == root for root in roots
    ):
        raise ConfigError(
            _lt(
                "The folder %(name)s is not inside a folder that the operator has released.",
                name=folder,
            )
        )
    if not os.path.isdir(real):
        raise ConfigError(_lt("The folder %(name)s does not exist on this host.", name=folder))
    return real
