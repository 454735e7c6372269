"""Timestamps as the API says them: ISO 8601 in UTC, to the second."""

from datetime import datetime
from typing import Literal


def utc(moment: datetime | Literal[False] | None) -> str | None:
    """``"2026-01-31T09:30:00Z"`` of a Datetime field, None of an empty one."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
