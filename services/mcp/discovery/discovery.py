"""Tool discovery: reads the tools of a server, every page; one broken entry costs only itself."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from ... import const, large, text
from ...errors import ServerTimeout
from ...net.egress import EgressPolicy
from ...oauth.flow import OAuth
from ...specs import DiscoveredTool, ServerSpec
from ..session import connect, paging
from ..session.session import ServerInfo, Session
from ..transport import param_headers
from ..transport.stdio import Process
from . import definition_scan

_logger = logging.getLogger(__name__)

SYNC_MARGIN = 0.2  # s, so that the typed error comes before the caller's own limit

MAX_NAME = 200  # characters; MCP says 128 (SEP-986)
MAX_DESCRIPTION = 8_000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The server's offer, and how it was reached."""

    tools: list[DiscoveredTool]
    info: ServerInfo
    too_large: int = 0  # tools that are left out because of the size of their definition
    is_cut: bool = False  # the list goes on behind what was read of it
    tried: tuple[tuple[str, str], ...] = ()  # ``(variant, sentence)`` of what failed before

    @property
    def transport(self) -> str:
        return self.info.transport

    @property
    def era(self) -> str:
        return self.info.era

    @property
    def protocol_version(self) -> str:
        return self.info.protocol_version


async def discover(
    spec: ServerSpec,
    policy: EgressPolicy,
    *,
    oauth: OAuth | None = None,
    can_ask: bool = False,
    process: Process | None = None,
) -> Discovery:
    """Connect once, read the tools, disconnect: for a sync or a connection test.

    :param oauth: the tokens for this server, see `Pool.oauth`
    :param can_ask: as the pool that will make the calls
    :param process: keeps what a stdio server writes, see `Pool.process`
    :raises EngineError: within ``spec.sync_timeout`` seconds
    """
    tried: list[tuple[str, str]] = []
    session = None
    try:
        async with asyncio.timeout(max(0.1, spec.sync_timeout - SYNC_MARGIN)):
            session = await connect.open_session(
                spec,
                policy,
                first=spec.last_variant,
                tried=tried,
                oauth=oauth,
                can_ask=can_ask,
                process=process,
            )
            return await read(session, spec.sync_timeout, tuple(tried))
    except TimeoutError as error:
        raise ServerTimeout from error
    finally:
        if session is not None:
            session.close()


def is_name(name: Any) -> TypeGuard[str]:
    """True if a tool's name can be stored: nothing in it is invisible, so it is what people see.

    :param name: what the server has sent, of any type
    """
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and text.clean(name) == name


async def read(
    session: Session, timeout: float, tried: tuple[tuple[str, str], ...] = ()
) -> Discovery:
    """:param timeout: seconds for all pages
    :raises ServerError: the list cannot be read at all
    """
    listing = paging.Listing(paging.within(timeout, session.request), "tools/list", "tools")
    found: dict[str, DiscoveredTool] = {}
    too_large = 0
    async for page in listing.pages():
        tools, more = await large.apply(_tools, page, session)
        too_large += more
        for tool in tools:
            found.setdefault(tool.name, tool)
    return Discovery(
        tools=list(found.values()),
        info=session.info,
        tried=tried,
        too_large=too_large,
        is_cut=listing.is_cut,
    )


def _tools(page: list[Mapping[str, Any]], session: Session) -> tuple[list[DiscoveredTool], int]:
    """The tools of a page, and the number of those whose definition is too large."""
    found, too_large = [], 0
    for entry in page:
        if text.weight(entry, const.MAX_DEFINITION) >= const.MAX_DEFINITION:
            too_large += 1
            continue
        tool = _tool(entry)
        if tool is None:
            continue
        if session.era == "modern" and (why := param_headers.problem(tool.input_schema)):
            _logger.warning("%s: the tool %s is left out: %s.", session.spec.name, tool.name, why)
            continue
        found.append(tool)
    return found, too_large


def _tool(item: Mapping[str, Any]) -> DiscoveredTool | None:
    name = item.get("name")
    if not is_name(name):
        return None
    warnings = definition_scan.warnings(item)  # of what does not show, too
    item = text.storable(item)
    annotations = item.get("annotations")
    annotations = dict(annotations) if isinstance(annotations, Mapping) else {}
    title = item.get("title") or annotations.get("title")
    schema, output = item.get("inputSchema"), item.get("outputSchema")
    return DiscoveredTool(
        name=name,
        title=text.one_line(title, 200) if isinstance(title, str) else "",
        description=text.clean(item["description"])[:MAX_DESCRIPTION]
        if isinstance(item.get("description"), str)
        else "",
        input_schema=dict(schema) if isinstance(schema, Mapping) else {},
        output_schema=dict(output) if isinstance(output, Mapping) else None,
        annotations=annotations,
        warnings=warnings,
    )
