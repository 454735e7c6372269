"""Timestamps as the API says them: ISO 8601 in UTC, to the second."""

from datetime import datetime
from typing import Literal


def utc(moment: datetime | Literal[False] | None) -> str | None:
    """Moment as the API says it: ``"2026-01-31T09:30:00Z"``.

    :param moment: of a Datetime field, in UTC; an empty one gives None
    """
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
