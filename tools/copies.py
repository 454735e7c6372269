"""Copy detection: whether this database is a copy of one that lives on; what was under way goes on there only.

PostgreSQL's cluster has an identifier, and each database an oid in it, which a new name does not change. A copy in the
same cluster has another oid, and one whose original is gone goes on. In another cluster nobody sees whether
the original lives on, so nothing goes on there unless `odoo-bin ai_moved` has said so; who tells Odoo that it is a
copy says so there, see `models/assistant/res_config_settings.py`. A clone of the whole cluster cannot be told apart.

Oids of two clusters may be the same. Where a cluster does not tell its identifier, or did not when it was asked last,
the name has to be the same as well.
"""

import logging
import re

from odoo.tools.misc import file_open

from .limits import PREFIX

_logger = logging.getLogger(__name__)

KEY = f"{PREFIX}database"  # "cluster:oid" of the database that ran its turns last, or ":oid/name"
KNOWN = re.compile(r"(?:(\d*):)?(\d+)(?:/(.*))?")  # or "oid/name"
ONLY_IN_THE_ORIGINAL = (
    "-- only in the original\n"  # of neutralize.sql, the part that every copy needs
)


def settle(cr) -> bool:
    """Called before a turn is asked or run here for the first time: decide whose the others are.

    :return: whether this is a copy, and what was under way in it has ended
    """
    known, here = _known(cr), _here(cr)
    if known == here:
        return False
    is_copy = bool(known) and _is_copy(cr, known, here)
    if is_copy:
        end_what_is_under_way(cr)
    _keep(cr, here)
    return is_copy


def moved(cr) -> None:
    """This is the database itself, wherever it has come from: what is under way goes on here."""
    _keep(cr, _here(cr))


def restored(cr) -> None:
    """This is the database itself, as it was once: what was under way then has gone on since, and ends here."""
    end_what_is_under_way(cr)
    moved(cr)


def _known(cr) -> str:
    cr.execute("SELECT value FROM ir_config_parameter WHERE key = %s", [KEY])
    return (cr.fetchone() or [""])[0] or ""


def oid(cr) -> int:
    """Number of the database that this cursor leads to; its name may have been another's a moment ago."""
    cr.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
    return cr.fetchone()[0]


def _here(cr) -> str:
    cluster = _cluster(cr)
    return f"{cluster}:{oid(cr)}" if cluster else f":{oid(cr)}/{_name(cr)}"


def _name(cr) -> str:
    cr.execute("SELECT current_database()")
    return cr.fetchone()[0]


def _cluster(cr) -> str:
    """PostgreSQL's identifier, empty where it is kept from us."""
    cr.execute("SELECT has_function_privilege('pg_control_system()', 'execute')")
    if not cr.fetchone()[0]:
        return ""
    cr.execute("SELECT system_identifier FROM pg_control_system()")
    return str(cr.fetchone()[0])


def _keep(cr, here) -> None:
    cr.execute(
        """
        INSERT INTO ir_config_parameter (key, value, create_date, write_date)
             VALUES (%s, %s, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC')
        ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value
        """,
        [KEY, here],
        log_exceptions=False,  # two runners met: it is repeated
    )


def _is_copy(cr, known, here) -> bool:
    """True if the database that ran the turns last lives on, or it cannot be known."""
    cluster, number, name = _parts(known)
    here_cluster, here_number, _name_here = _parts(here)
    is_told = bool(cluster and here_cluster)
    is_same = cluster == here_cluster if is_told else name == _name(cr)
    if number == here_number and is_same:
        return False
    if not (is_told and is_same):
        _logger.warning(
            "%s comes from another PostgreSQL server, where it may live on, so what was under way in it has been"
            " stopped. Where a database was moved, run `odoo-bin ai_moved -d %s` before Odoo starts.",
            *(cr.dbname,) * 2,
        )
        return True
    cr.execute("SELECT 1 FROM pg_database WHERE oid = %s", [int(number)])
    if is_copy := bool(cr.fetchone()):
        _logger.info("%s is a copy of a database: its turns go on in the original only.", cr.dbname)
    return is_copy


def _parts(known) -> tuple[str, str, str]:
    """Cluster, oid and name of what is kept; of what is not understood nothing."""
    match = KNOWN.fullmatch(known)
    return (match[1] or "", match[2] or "", match[3] or "") if match else ("", "", "")


def end_what_is_under_way(cr) -> None:
    """Turns that have not ended, what people told servers meanwhile, and sign-ins, whose tokens renew each other."""
    # In a large database it takes longer than statements of ours may, and every try would end alike.
    cr.execute("SET LOCAL statement_timeout = 0")
    with file_open("woow_paas_platform/data/neutralize.sql") as file:
        cr.execute(file.read().partition(ONLY_IN_THE_ORIGINAL)[2])
