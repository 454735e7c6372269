"""What the operator releases of the templates with a command, as the engine's tests write it."""

from services.catalog import environments
from services.catalog.server_file_reader import parse


def read(text):
    return parse(text, {}, "mcp_servers.toml")


def released(name, **keys):
    rows = "\n".join(f"{key} = {value}" for key, value in keys.items())
    return read(f'[mcp]\n\n[[mcp.templates]]\nname = "{name}"\n{rows}\n').templates[name]


def command(server):
    return environments.command(server, container_runtime="podman")
