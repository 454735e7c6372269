"""Periods of budgets."""

import sys
import zoneinfo
from datetime import datetime

from services.money import budgets


def test_a_time_zone_that_the_system_no_longer_has_counts_as_in_odoo(monkeypatch):
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        for zone, start in (
            ("US/Eastern", datetime(2026, 6, 30, 4)),
            ("Mars", datetime(2026, 7, 1)),
        ):
            assert budgets.period_of(datetime(2026, 7, 1, 1), "day", zone)[0] == start
    finally:
        zoneinfo.reset_tzpath()
