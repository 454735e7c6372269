"""Record executor: carries out one call with a person's rights, within its limits, and says what went wrong.

The caller owns the transaction: what raises here has to roll it back.
"""

import logging
import time
from contextlib import contextmanager
from typing import Any

import psycopg2
from odoo.exceptions import AccessError, MissingError, RedirectWarning, UserError
from odoo.service.model import PG_CONCURRENCY_EXCEPTIONS_TO_RETRY

from ...services import const, text
from ...services.records import actions
from ...services.records.errors import RecordError, RehearsalDiffers
from ...services.sentence import _lt
from ...services.specs import CallResult
from ...tools import db, rehearsal
from . import aggregate, chatter, read, write
from .changes import Changes
from .record_scope import RecordScope

_logger = logging.getLogger(__name__)

STATEMENT_TIMEOUT = 10.0  # s of one statement
LOCK_TIMEOUT = 2.0  # s that a statement waits for a lock
MAX_SENTENCE = 1_000  # characters of what Odoo says about an error
READS = {**read.TOOLS, **aggregate.TOOLS, **chatter.READS}
NOTHING = _lt("Nothing was changed, and nobody was asked: the records are like this already.")
NOBODY_TO_ASK = _lt(
    "What this does cannot be known in advance, and nobody can be asked here, so it was not done."
)


def env_of(env, turn):
    """The environment of the turn's person."""
    return env_of_person(env, turn.user_id, turn._allowed_companies())


def env_of_person(env, user, companies):
    """A person's rights, companies, language and time zone; never sudo."""
    context = {
        "lang": user.lang,
        "tz": user.tz,
        "allowed_company_ids": companies.ids,
        "force_report_rendering": True,  # a report is a PDF or an error, never HTML instead
        **db.SEND_LATER,
    }
    return env(user=user.id, su=False, context=context)


def read_for(env, user, companies, access, name, arguments):
    """Carry out a call of a user's MCP client that only reads.

    :param companies: of the user, in which it reads
    :param access: of the client, by model
    :param name: of one of `catalog.OF_CLIENTS`
    :return: the `CallResult`
    :raises RecordError: it was not carried out
    """
    begun = time.monotonic()
    with limited(env.cr), record_errors(env), rehearsal.held_open(env.cr):
        scope = RecordScope(env_of_person(env, user, companies), access)
        answer, data = READS[name](scope, arguments)
    return result_of(answer, data, begun)


def perform(env, call):
    """:param call: the row of the call; its tool and its arguments are what is carried out
    :return: the `CallResult`
    :raises RecordError: it was not carried out; with a rehearsal behind it, also a `RehearsalDiffers`
    """
    begun = time.monotonic()
    found = call.rehearsal or {}
    with limited(env.cr), record_errors(env), rehearsal.held_open(env.cr):
        if call.tool_name not in write.TOOLS or "impossible" in found:  # the person was told so
            _scope, (answer, data) = _carry_out(env, call)
        else:
            answer, data = _carry_out_as_shown(env, call, found)
    return result_of(answer, data, begun)


def _carry_out_as_shown(env, call, found):
    """Nothing is done that nobody can know in advance, nor anything else than was shown.

    :param found: what was, where a person was asked
    :raises RehearsalDiffers: the person is to be asked
    """
    recorder = _recorder(call, is_kept=True, is_shown=bool(found))
    shown = None
    try:
        changes, result = _watched(env, call, recorder)
        if found:
            now = _preview(changes, differs=True)
            shown = now if now.get("digest") != found["digest"] else None
        elif changes is None or changes.is_open or _asks(call, changes):
            shown = _preview(changes)
    except Exception as error:  # whatever the code that was refused something has made of it
        if not recorder.refused or db.passes(error):
            raise
    if recorder.refused:
        shown = _impossible(recorder)
    if shown and not call.turn_id._is_private():
        raise RecordError(NOBODY_TO_ASK, outcome="denied")
    if shown:
        raise RehearsalDiffers(shown)
    if call._changes_after():
        call.made = recorder.created
    return result


def _recorder(call, **more):
    return rehearsal.Recorder(prints=call._only_prints(), **more)


def _asks(call, changes):
    """True if somebody is asked all the same: about what is sent, and about a print that changes something."""
    if (call.arguments or {}).get("action") in actions.ASKS:
        return True
    return call._only_prints() and call._record_line().asks and changes.are_some


def rehearse(env, call):
    """Carry out a call in a transaction that the caller rolls back, and that nothing leaves.

    Changes of the same answer that wait before it are carried out, too: it builds on them.

    :return: what the row keeps of it: ``shown`` to the person and the ``digest`` that is compared, or why it
        is ``impossible``
    :raises RecordError: it could not be carried out, or there is nothing to be done
    """
    recorder = _recorder(call)
    try:
        with limited(env.cr), record_errors(env), rehearsal.held_open(env.cr):
            made = [
                one
                for earlier in call._changes_before()
                for one in _foreseen(env, earlier, recorder)
            ]
            changes, _result = _watched(env, call, recorder, made)
            preview = _preview(changes)
    except RecordError:
        if not recorder.refused:
            raise
    if recorder.refused:  # also where the code that asked has passed over it
        return _impossible(recorder)
    if "shown" in preview and not any(preview["shown"].values()):
        raise RecordError(NOTHING, outcome="ok")
    return preview


def _foreseen(env, call, recorder):
    """Carry out a call that waits before the one that is rehearsed, as far as that is known.

    :param recorder: of that one, which goes on with the numbers of sequences
    :return: ``[(model, id)]`` of what the call has made, now or when it was carried out
    """
    if call.outcome:
        return [tuple(one) for one in call.made or ()]
    own = rehearsal.Recorder(after=recorder)
    try:
        with record_errors(env), env.cr.savepoint(), rehearsal.recording(own):
            _carry_out(env, call)
            if own.refused:
                raise rehearsal.Refused(own.refused[0])
    except RecordError:  # its own question says so
        return []
    return own.created


def _watched(env, call, recorder, made=None):
    """
    :param made: of the calls before it, see `_foreseen`
    :return: the `Changes`, None if they cannot be found out, and what the tool has answered
    """
    if made is None:
        made = [tuple(one) for earlier in call._changes_before() for one in earlier.made or ()]
    env.flush_all()  # what the call itself has not done
    with rehearsal.recording(recorder):
        with recorder.statements.watched(env):
            scope, result = _carry_out(env, call)
        try:
            return Changes(scope, recorder, call.arguments, made), result
        except Exception as error:
            if db.passes(error):
                raise
            _logger.exception("What a call would change could not be found out.")
            return None, result


def _preview(changes, **more) -> dict[str, Any]:
    """Stored form of a rehearsal; an error here is ours, and never the fault of the arguments."""
    try:
        if changes is not None:
            found: dict[str, Any] = {
                "shown": {**changes.shown(), **more},
                "digest": changes.digest(),
            }
            if further := changes.further():
                found["further"] = further
            return found
    except Exception as error:
        if db.passes(error):
            raise
        _logger.exception("What a call would change could not be shown.")
    return {"impossible": ""}


def _impossible(recorder):
    return {"impossible": recorder.refused[0]}


def _carry_out(env, call):
    turn, name = call.turn_id, call.tool_name
    tool = READS.get(name) or write.TOOLS[name]
    scope = RecordScope(env_of(env, turn), turn._record_access(), turn)
    if call.call_id.startswith(const.CLOSING):  # the answer itself
        scope.author = turn.assistant_id.partner_id
    if recorder := rehearsal.current():
        recorder.person = scope.of_person()
    result = tool(scope, call.arguments or {})
    if name in write.TOOLS:
        settle(env.cr)
    return scope, result


def settle(cr):
    """Have now what a commit would bring: what is still to be computed, mail tracking, deferred constraints."""
    cr.flush()
    cr.execute("SET CONSTRAINTS ALL IMMEDIATE")
    cr.flush()


def result_of(answer, data, begun):
    """:param data: for people; files under “files” become the call's own"""
    made = data.pop("files", ())
    return CallResult(
        outcome="ok",
        text=answer,
        display={"records": data},
        duration_ms=int((time.monotonic() - begun) * 1000),
        bytes=text.weight(data, 10**7),
        attachments=tuple(made),
    )


def limited(cr, statement=None):
    """No statement runs longer than so many s (`STATEMENT_TIMEOUT`), none waits longer than `LOCK_TIMEOUT`."""
    return db.timeouts(cr, statement=statement or STATEMENT_TIMEOUT, lock=LOCK_TIMEOUT)


@contextmanager
def record_errors(env):
    """Errors of the ORM and of PostgreSQL as sentences; what passes when it is repeated stays what it is."""
    try:
        yield
    except RecordError:
        raise
    except rehearsal.Refused as error:
        raise RecordError(
            _lt("This needs %(what)s, which an assistant cannot do.", what=error.what)
        ) from error
    except AccessError as error:  # Odoo's sentence may name what the person may not see
        raise RecordError(
            _lt("The user has no right to do this with these records."), outcome="denied"
        ) from error
    except MissingError as error:
        raise RecordError(_lt("One of the records does not exist any more.")) from error
    except (UserError, RedirectWarning) as error:
        raise RecordError(text.one_line(str(error.args[0]), MAX_SENTENCE)) from error
    except psycopg2.errors.QueryCanceled as error:
        seconds = int(STATEMENT_TIMEOUT)
        raise RecordError(
            _lt(
                "This took longer than %(seconds)s s and was ended. Ask for less: narrower filters, fewer groups.",
                seconds=seconds,
            ),
            outcome="timeout",
        ) from error
    except psycopg2.errors.IdleInTransactionSessionTimeout as error:
        raise RecordError(
            _lt(
                "This did something outside the database for longer than the database allows, and was ended."
            ),
            outcome="timeout",
        ) from error
    except psycopg2.errors.LockNotAvailable as error:
        raise RecordError(
            _lt("Somebody else is changing these records just now. Try again.")
        ) from error
    except PG_CONCURRENCY_EXCEPTIONS_TO_RETRY:
        raise
    except psycopg2.errors.NotNullViolation as error:
        name = error.diag.column_name
        raise RecordError(
            _lt(
                "“%(field)s” of %(model)s must have a value.",
                field=name,
                model=error.diag.table_name,
            ),
            outcome="invalid_args",
        ) from error
    except psycopg2.IntegrityError as error:
        raise RecordError(_broken(env, error)) from error
    except psycopg2.Error as error:
        if error.pgcode is None or db.passes(error):
            raise
        _logger.info("A record tool failed.", exc_info=True)
        raise RecordError(_lt("The database refused this.")) from error
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        _logger.info("A record tool was refused.", exc_info=True)
        raise RecordError(
            _lt("Odoo cannot do anything with these arguments. Describe the model and try again."),
            outcome="invalid_args",
        ) from error
    except Exception as error:
        _logger.exception("A record tool broke.")
        raise RecordError(
            _lt("This failed inside Odoo. An administrator can find the details in the log.")
        ) from error


def _broken(env, error):
    """Message of a constraint by the model of its table, else its name. Nothing more can be read."""
    table, name = error.diag.table_name, error.diag.constraint_name
    model = next((one for one in env.values() if one._auto and one._table == table), None)
    constraint = model._table_objects.get(name) if model is not None else None
    said = constraint and constraint.get_error_message(model, error.diag)
    if said:
        return text.one_line(str(said), MAX_SENTENCE)
    of = model._name if model is not None else table
    if isinstance(error, psycopg2.errors.ForeignKeyViolation | psycopg2.errors.RestrictViolation):
        return _lt(
            "Records of %(model)s still refer to this one, or what they refer to is not there (%(name)s).",
            model=of,
            name=name,
        )
    return _lt(
        "The values do not fit: %(model)s has a record with them already, or does not take them (%(name)s).",
        model=of,
        name=name,
    )
