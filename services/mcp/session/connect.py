"""Protocol negotiation: opens a session, and finds out first what the server speaks where nobody said.

The order is the one of MCP 2026-07-28 (basic/versioning): a modern request, then the handshake of the
legacy revisions, then the HTTP+SSE of 2024-11-05. What worked is worth remembering per server.
"""

import functools
from collections.abc import Callable
from typing import Any

from ... import jsonrpc
from ...errors import (
    ConfigError,
    EngineError,
    ProtocolError,
    ServerRefused,
    ServerTimeout,
    SessionLost,
)
from ...net.egress import EgressPolicy
from ...sentence import _lt, joined
from ...specs import ServerSpec
from .legacy import LegacySession
from .modern import ModernSession
from .session import Session

Variant = tuple[str, str]
"""Era and transport."""

VARIANTS: tuple[Variant, ...] = (
    ("modern", "streamable_http"),
    ("legacy", "streamable_http"),
    ("legacy", "sse"),
    ("legacy", "stdio"),
)
_NAMES = {
    ("modern", "streamable_http"): "streamable HTTP of 2026-07-28",
    ("legacy", "streamable_http"): "streamable HTTP",
    ("legacy", "sse"): "SSE",
    ("legacy", "stdio"): "stdio",
}


def candidates(spec: ServerSpec, first: Variant | None = None) -> list[Variant]:
    """The variants to try, in order.

    :param first: the one to begin with, if the server may speak it
    """
    transports = {spec.transport}
    if spec.transport == "auto":
        transports = {"stdio"} if spec.command else {"streamable_http", "sse"}
    variants = [
        variant
        for variant in VARIANTS
        if variant[1] in transports and spec.era in ("auto", variant[0])
    ]
    return sorted(variants, key=lambda variant: variant != first)


async def open_session(
    spec: ServerSpec,
    policy: EgressPolicy,
    *,
    first: Variant | None = None,
    tried: list | None = None,
    on_begun: Callable[[Session], None] | None = None,
    **options: Any,
) -> Session:
    """Open a session over the first variant that the server speaks.

    :param first: the variant to try first
    :param tried: collects (name of the variant, sentence) of what failed
    :param on_begun: told of each session that is tried; it ends by itself if it does not come about
    :param options: for `Session`
    :raises EngineError: what the most telling variant said
    """
    failures: list[tuple[Variant, EngineError]] = []
    for variant in candidates(spec, first):
        kind = ModernSession if variant[0] == "modern" else LegacySession
        session = kind(spec, policy, variant[1], **options)
        if on_begun:
            on_begun(session)
        try:
            await session.opened()
            return session
        except (ServerRefused, ProtocolError, SessionLost) as error:
            if _is_modern_only(error):
                raise
            failures.append((variant, error))
        except ServerTimeout as error:
            if not failures:  # it has never said anything
                raise
            failures.append((variant, error))
        except BaseException:
            session.abort()
            raise
        finally:
            if tried is not None:
                tried[:] = [(_NAMES[variant], str(error)) for variant, error in failures]
    raise _what_failed(failures)


def variant_of(session: Session) -> Variant:
    """Era and transport of an open session."""
    return session.era, session.info.transport


def _is_modern_only(error: EngineError) -> bool:
    """True for a modern refusal that names no older revision, which opens with a handshake."""
    if not isinstance(error, ServerRefused) or error.rpc_code not in jsonrpc.MODERN_ERRORS:
        return False
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return not isinstance(supported, list) or not any(isinstance(v, str) for v in supported)


def _what_failed(failures: list[tuple[Variant, EngineError]]) -> EngineError:
    """Choose the oldest revision's error of one transport; of several none is conclusive, so list them all."""
    if not failures:
        return ConfigError(_lt("No revision of the protocol supports this transport."))
    if len({variant[1] for variant, _ in failures}) == 1:
        return failures[-1][1]
    detail = "; ".join(f"{_NAMES[variant]}: {error.detail or error}" for variant, error in failures)
    if len({str(error) for _, error in failures}) == 1:
        return ProtocolError(str(failures[-1][1]), detail=detail)
    each = (
        _lt("%(name)s: %(reason)s", name=_NAMES[variant], reason=str(error))
        for variant, error in failures
    )
    sentence = _lt(
        "The address responds, but not as an MCP server. Tried %(tried)s",
        tried=functools.reduce(joined, each),
    )
    return ProtocolError(sentence, detail=detail)
