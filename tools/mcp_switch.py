"""MCP switch: one for everything of MCP, in Settings for a database and in the operator's file for all of them."""

from ..services.errors import McpOff
from . import limits, sentences, server_files

PARAMETER = f"{limits.PREFIX}mcp"
OFF = "off"


def is_on_by_operator() -> bool:
    """The operator's ``[mcp] enabled``; nothing in a database overrules it."""
    return server_files.current().enabled


def is_on_in_settings(env) -> bool:
    # sudo: ir.config_parameter - one of our own switches, no secret
    """True unless an administrator of this database has switched MCP off."""
    return env["ir.config_parameter"].sudo().get_param(PARAMETER) != OFF


def is_on(env) -> bool:
    """True if the operator's file and the settings of this database have MCP on."""
    return is_on_by_operator() and is_on_in_settings(env)


def check(env) -> None:
    """:raises McpOff: no MCP server may be asked"""
    if not is_on(env):
        raise McpOff()


def notice(env) -> str:
    """The one sentence that people read while it is off, in their language."""
    return "" if is_on(env) else sentences.translated(env, McpOff.default_message)
