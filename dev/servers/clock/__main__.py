"""``python -m dev.servers.clock PORT``: serves streamable HTTP at ``/mcp`` of the loopback."""

import logging
import re
import sys
import threading
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from dev.servers.clock import places

NO_MEMORY = "A time from memory is no answer."
READ_ONLY = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
_AFTERNOON = ("下午", "晚上", "傍晚")
_TIME = re.compile(
    r"(?P<before>上午|下午|晚上|早上|凌晨|中午|傍晚|清晨)?\s*(?P<hour>\d{1,2})"
    r"(?:\s*[:：.點点时時]\s*(?P<minute>\d{2})?)?(?::\d{2})?\s*(?P<half>半)?[分鐘钟整]*"
    r"\s*(?P<after>[ap])?\.?(?:m\.?)?",
    re.IGNORECASE,
)


class Moment(BaseModel):
    """``time`` is HH:MM, ``date`` YYYY-MM-DD, ``utc_offset`` ±HH:MM."""

    place: str
    country: str
    time_zone: str
    time: str
    date: str
    weekday: str
    utc_offset: str


class Conversion(BaseModel):
    source: Moment
    target: Moment


Place = Annotated[str, Field(description="City or country, as it stands in the question")]
server = FastMCP("clock", host="127.0.0.1", stateless_http=True, log_level="WARNING")


@server.tool(title="Current Time", annotations=READ_ONLY)
def get_current_time(place: Place) -> Annotated[CallToolResult, Moment]:
    """Current time, day and date in a place"""
    found = _find(place)
    now = datetime.now(UTC).astimezone(ZoneInfo(found.zone))
    day = f"{now:%A}, {now.day} {now:%B %Y}"
    return _result(
        f"It is {now:%H:%M} on {day} in {found.as_said(place)} (UTC{_offset(now)}).",
        _moment(found, now),
    )


@server.tool(title="Convert Time", annotations=READ_ONLY)
def convert_time(
    time: Annotated[str, Field(description="HH:MM in place")],
    place: Annotated[str, Field(description="City or country where it is this time")],
    target_place: Annotated[str, Field(description="City or country whose time is asked for")],
) -> Annotated[CallToolResult, Conversion]:
    """Convert a time of one place to the time of another place"""
    source, target = _find(place), _find(target_place)
    here = datetime.combine(_today(source), _time_of_day(time), ZoneInfo(source.zone))
    there = here.astimezone(UTC).astimezone(ZoneInfo(target.zone))
    days = {-1: "the day before", 0: "the same day", 1: "the next day"}
    day = days[(there.date() - here.date()) // timedelta(days=1)]
    return _result(
        f"{here:%H:%M} in {source.as_said(place)} is {there:%H:%M} in {target.as_said(target_place)}, {day}.",
        Conversion(source=_moment(source, here), target=_moment(target, there)),
    )


def _find(said: str) -> places.Place:
    try:
        return places.find(said)
    except places.UnknownPlace as error:
        raise ToolError(f"{error} {NO_MEMORY}") from error


def _time_of_day(said: str) -> time:
    found = _TIME.fullmatch(said.strip())
    hour = int(found["hour"]) if found else 24
    minute = int(found["minute"] or (30 if found["half"] else 0)) if found else 0
    if found and hour < 12 and (found["before"] in _AFTERNOON or found["after"] in ("p", "P")):
        hour += 12
    elif found and hour == 12 and (found["before"] == "凌晨" or found["after"] in ("a", "A")):
        hour = 0
    if hour > 23 or minute > 59:
        raise ToolError(f"“{said}” is no time of day: call again with HH:MM. {NO_MEMORY}")
    return time(hour, minute)


def _today(place: places.Place) -> date:
    return datetime.now(UTC).astimezone(ZoneInfo(place.zone)).date()


def _moment(place: places.Place, moment: datetime) -> Moment:
    return Moment(
        place=place.name,
        country=place.country,
        time_zone=place.zone,
        time=f"{moment:%H:%M}",
        date=moment.date().isoformat(),
        weekday=f"{moment:%A}",
        utc_offset=_offset(moment),
    )


def _offset(moment: datetime) -> str:
    return f"{moment:%z}"[:3] + ":" + f"{moment:%z}"[3:5]


def _result(sentence: str, structured: Moment | Conversion) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=sentence)], structuredContent=structured.model_dump()
    )


def main() -> None:
    logging.getLogger("mcp").setLevel(logging.WARNING)
    # The first question need not wait for the places, nor the port for them.
    threading.Thread(target=places.atlas, daemon=True).start()
    server.settings.port = int(sys.argv[1])
    server.run("streamable-http")


if __name__ == "__main__":
    main()
