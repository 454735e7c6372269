"""Record executor: carries out one call with a person's rights, within its limits, and says what went wrong.

The caller owns the transaction: what raises here has to roll it back.
"""

import logging
import time
from contextlib import contextmanager

import psycopg2
from odoo.exceptions import AccessError, MissingError, RedirectWarning, UserError
from odoo.service.model import PG_CONCURRENCY_EXCEPTIONS_TO_RETRY

from ...services import text
from ...services.records.errors import RecordError, RehearsalDiffers
from ...services.specs import CallResult
from ...tools import db, rehearsal
from . import aggregate, chatter, read, write
from .changes import Changes
from .reach import Reach

_logger = logging.getLogger(__name__)

STATEMENT_TIMEOUT = 10_000  # ms of one statement
LOCK_TIMEOUT = 2_000  # ms that a statement waits for a lock
MAX_SENTENCE = 1_000  # characters of what Odoo says about an error
READS = {**read.TOOLS, **aggregate.TOOLS, **chatter.READS}
GONE = ("08", "57P")  # PostgreSQL's classes of a lost connection


def env_of(env, turn):
    """The environment of the turn's person."""
    return env_of_person(env, turn.user_id, turn._allowed_companies())


def env_of_person(env, user, companies):
    """A person's rights, companies, language and time zone; never sudo."""
    context = {
        "lang": user.lang,
        "tz": user.tz,
        "allowed_company_ids": companies.ids,
        **db.SEND_LATER,
    }
    return env(user=user.id, su=False, context=context)


def perform(env, call):
    """:param call: the row of the call; its tool and its arguments are what is carried out
    :return: the `CallResult`
    :raises RecordError: it was not carried out; with a rehearsal behind it, also a `RehearsalDiffers`
    """
    begun = time.monotonic()
    digest = (call.rehearsal or {}).get("digest")
    with limited(env.cr), record_errors(), rehearsal.held_open(env.cr):
        if digest is None:
            _reach, (answer, data) = _carry_out(env, call)
        else:
            recorder = rehearsal.Recorder(is_fenced=False)
            with rehearsal.recording(recorder):
                reach, (answer, data) = _carry_out(env, call)
                changes = Changes(reach, recorder)
            if changes.digest() != digest:
                raise RehearsalDiffers(_preview(changes, differs=True))
    return result_of(answer, data, begun)


def rehearse(env, call):
    """Carry out a call in a transaction that the caller rolls back, and that nothing leaves.

    :return: what the row keeps of it: ``shown`` to the person and the ``digest`` that is compared, or why it
        is ``impossible``
    :raises RecordError: it could not be carried out
    """
    recorder = rehearsal.Recorder(is_fenced=True)
    try:
        with (
            limited(env.cr),
            record_errors(),
            rehearsal.held_open(env.cr),
            rehearsal.recording(recorder),
        ):
            reach, _result = _carry_out(env, call)
            preview = _preview(Changes(reach, recorder))
    except RecordError:
        if not recorder.refused:
            raise
    if recorder.refused:  # also where the code that asked has passed over it
        return {"impossible": recorder.refused[0]}
    return preview


def _preview(changes, **more):
    return {"shown": {**changes.shown(), **more}, "digest": changes.digest()}


def _carry_out(env, call):
    turn, name = call.turn_id, call.tool_name
    tool = READS.get(name) or write.TOOLS[name]
    reach = Reach(env_of(env, turn), turn._record_access(), turn)
    result = tool(reach, call.arguments or {})
    if name in write.TOOLS:
        settle(env.cr)
    return reach, result


def settle(cr):
    """Have now what a commit would bring: what is still to be computed, mail tracking, deferred constraints."""
    cr.flush()
    cr.execute("SET CONSTRAINTS ALL IMMEDIATE")
    cr.flush()


def result_of(answer, data, begun):
    return CallResult(
        outcome="ok",
        text=answer,
        display={"records": data},
        duration_ms=int((time.monotonic() - begun) * 1000),
        bytes=text.weight(data, 10**7),
    )


@contextmanager
def limited(cr, statement=None):
    """No statement runs longer than so many ms (`STATEMENT_TIMEOUT`), none waits longer than `LOCK_TIMEOUT`."""
    cr.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
    before = cr.fetchone()
    _limit(cr, f"{statement or STATEMENT_TIMEOUT}ms", f"{LOCK_TIMEOUT}ms")
    yield
    _limit(cr, *before)


def _limit(cr, statement, lock):
    cr.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
        [statement, lock],
    )


@contextmanager
def record_errors():
    """Errors of the ORM and of PostgreSQL as sentences; what passes when it is repeated stays what it is."""
    try:
        yield
    except RecordError:
        raise
    except rehearsal.Refused as error:
        raise RecordError(f"This needs {error.what}, which an assistant cannot do.") from error
    except AccessError as error:  # Odoo's sentence may name what the person may not see
        raise RecordError(
            "The user has no right to do this with these records.", outcome="denied"
        ) from error
    except MissingError as error:
        raise RecordError("One of the records does not exist any more.") from error
    except (UserError, RedirectWarning) as error:
        raise RecordError(text.one_line(str(error.args[0]), MAX_SENTENCE)) from error
    except psycopg2.errors.QueryCanceled as error:
        seconds = STATEMENT_TIMEOUT // 1000
        raise RecordError(
            f"This took longer than {seconds} s and was ended. Ask for less: narrower filters, fewer groups.",
            outcome="timeout",
        ) from error
    except psycopg2.errors.LockNotAvailable as error:
        raise RecordError("Somebody else is changing these records just now. Try again.") from error
    except PG_CONCURRENCY_EXCEPTIONS_TO_RETRY:
        raise
    except psycopg2.errors.NotNullViolation as error:
        name = error.diag.column_name
        raise RecordError(
            f"“{name}” of {error.diag.table_name} must have a value.", outcome="invalid_args"
        ) from error
    except psycopg2.IntegrityError as error:
        raise RecordError(
            "The values do not fit: a required value is missing, or a record with them exists or is in use."
        ) from error
    except psycopg2.Error as error:
        if error.pgcode is None or error.pgcode.startswith(GONE):
            raise
        _logger.info("A record tool failed.", exc_info=True)
        raise RecordError("The database refused this.") from error
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        _logger.info("A record tool was refused.", exc_info=True)
        raise RecordError(
            "Odoo cannot do anything with these arguments. Describe the model and try again.",
            outcome="invalid_args",
        ) from error
    except Exception as error:
        _logger.exception("A record tool broke.")
        raise RecordError(
            "This failed inside Odoo. An administrator finds the details in the log."
        ) from error
