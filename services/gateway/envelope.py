"""Revision of a request: legacy ones have a handshake, modern ones say who they are in each request.

Source: MCP 2026-07-28, basic/versioning and basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from collections.abc import Mapping
from typing import Any, Literal

from .. import const, jsonrpc
from ..mcp.transport import param_headers
from .messages import Message, RpcError

Era = Literal["legacy", "modern"]
Headers = Mapping[str, str]
"""Headers of a request, by their names in lower case."""

VERSION = "mcp-protocol-version"
BATCHES = (None, "2025-03-26")  # versions, as the header names them, that allow a batch
_REQUIRED = ("protocolVersion", "clientCapabilities")  # of `_meta`, in each modern request


def era(message: Message, headers: Headers) -> Era:
    """The era of a request or notification, once what its headers say is what its body says.

    :raises RpcError: they differ, something is missing, or nobody here speaks that revision
    """
    stated = headers.get(VERSION)
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    declared = meta.get(f"{const.META_PREFIX}protocolVersion")
    is_legacy = stated is None or stated in const.LEGACY_VERSIONS
    if declared is None and (is_legacy or message.method == "initialize"):
        return "legacy"
    if message.id is None or (declared is None and stated != const.MODERN_VERSION):
        _check_version(stated)
        return "modern"
    if stated is None:
        raise _mismatch("The header MCP-Protocol-Version is missing.")
    missing = [name for name in _REQUIRED if f"{const.META_PREFIX}{name}" not in meta]
    if missing or not isinstance(meta[f"{const.META_PREFIX}clientCapabilities"], Mapping):
        names = ", ".join(const.META_PREFIX + name for name in missing or _REQUIRED[1:])
        raise RpcError(
            jsonrpc.INVALID_PARAMS, f"Missing or not valid in `_meta`: {names}.", status=400
        )
    if stated != declared:
        raise _mismatch("The header MCP-Protocol-Version is not the version in `_meta`.")
    _check_version(stated)
    _check_headers(message, headers)
    return "modern"


def capabilities(message: Message) -> Mapping[str, Any]:
    """Capabilities that the client of a modern request has declared, as far as they can be read."""
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    declared = meta.get(f"{const.META_PREFIX}clientCapabilities")
    return declared if isinstance(declared, Mapping) else {}


def _check_version(version: str | None) -> None:
    if version != const.MODERN_VERSION:
        supported = [const.MODERN_VERSION]
        legacy = ", ".join(const.LEGACY_VERSIONS)
        raise RpcError(
            jsonrpc.UNSUPPORTED_VERSION,
            f"This revision is not supported. Send {supported[0]}, or `initialize` with one of {legacy}.",
            status=400,
            data={"supported": supported, "requested": (version or "")[:100]},
        )


def _check_headers(message: Message, headers: Headers) -> None:
    if headers.get("mcp-method") != message.method:
        raise _mismatch("The header Mcp-Method is missing, or is not the method of the request.")
    key = param_headers.NAMES.get(message.method)
    if (
        key
        and key in message.params
        and param_headers.decode(headers.get("mcp-name", "")) != message.params[key]
    ):
        raise _mismatch(f"The header Mcp-Name is missing, or is not the `{key}` of the request.")


def check_arguments(
    arguments: Mapping[str, Any], schema: Mapping[str, Any], headers: Headers
) -> None:
    """Check that the headers of a modern call say what its arguments say.

    :param schema: of the tool's arguments, which asks for headers
    :raises RpcError: one is missing, or says something else
    """
    wanted = {
        name.lower(): value for name, value in param_headers.of_call(schema, arguments).items()
    }
    given = {name: value for name, value in headers.items() if name in wanted}
    decoded = {name: param_headers.decode(value) for name, value in given.items()}
    if decoded != {name: param_headers.decode(value) for name, value in wanted.items()}:
        names = ", ".join(sorted(wanted))
        raise _mismatch(f"One of these headers is missing, or is not its argument: {names}.")


def _mismatch(sentence: str) -> RpcError:
    return RpcError(jsonrpc.HEADER_MISMATCH, sentence, status=400)
