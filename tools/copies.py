"""Copy detection: whether this database is a copy of one that lives on; what was under way goes on there only.

A renamed database keeps its oid, a copy has one of its own. What was moved, or restored where its original is no
more, goes on; who tells Odoo that it is a copy says so there, see `models/base/ir_config_parameter.py`.
"""

import logging

from odoo.tools.misc import file_open

from .limits import PREFIX

_logger = logging.getLogger(__name__)

KEY = f"{PREFIX}database"  # "oid/name" of the database that ran its turns last
ONLY_IN_THE_ORIGINAL = (
    "-- only in the original\n"  # of neutralize.sql, the part that every copy needs
)


def settle(cr) -> bool:
    """Called before a turn is asked or run here for the first time: decide whose the others are.

    :return: whether this is a copy, and what was under way in it has ended
    """
    cr.execute(
        """
        SELECT oid::text, datname, (SELECT value FROM ir_config_parameter WHERE key = %s)
          FROM pg_database WHERE datname = current_database()
        """,
        [KEY],
    )
    oid, name, known = cr.fetchone()
    if known == f"{oid}/{name}":
        return False
    is_copy = bool(known) and _is_elsewhere(cr, oid, *known.partition("/")[::2])
    if is_copy:
        _logger.info("%s is a copy of a database: its turns go on in the original only.", name)
        end_what_is_under_way(cr)
    cr.execute(
        """
        INSERT INTO ir_config_parameter (key, value, create_date, write_date)
             VALUES (%s, %s, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC')
        ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value
        """,
        [KEY, f"{oid}/{name}"],
        log_exceptions=False,  # two runners met: it is repeated
    )
    return is_copy


def _is_elsewhere(cr, oid, known_oid, known_name) -> bool:
    if oid == known_oid:
        return False
    cr.execute(
        "SELECT 1 FROM pg_database WHERE oid::text = %s AND datname = %s", [known_oid, known_name]
    )
    return bool(cr.fetchone())


def end_what_is_under_way(cr) -> None:
    """Turns that have not ended, what people told servers meanwhile, and sign-ins, whose tokens renew each other."""
    with file_open("woow_paas_platform/data/neutralize.sql") as file:
        cr.execute(file.read().partition(ONLY_IN_THE_ORIGINAL)[2])
