"""Mentions: records that a person attaches to a question, found and read with that person's own rights."""

import time

from ...services import text
from ...services.records import mentions
from ...services.records.errors import RecordError
from ...tools import db, labels
from ...tools.refusals import NotThere, Refusal
from . import executor, read, values
from .record_scope import RecordScope

STATEMENT_TIMEOUT = 1.0  # s of one search while somebody types
SEARCH_TIME = 2.0  # s of all of them
TURN = "woow_paas_platform.ai_turn"


def search(user, assistant, query, companies=()):
    """Records that the assistant and this person may read, by what stands in their names.

    :return: ``[{"model", "id", "name", "label", "image"}]``, the best first
    """
    return offered(_scope(user, assistant, companies), query)


def offered(scope, query):
    query = text.one_line(query, mentions.QUERY_CHARS)
    until, found = time.monotonic() + SEARCH_TIME, []
    for name in scope.models() if query else ():
        if time.monotonic() > until:
            break
        try:
            with executor.record_errors(scope.env), scope.env.cr.savepoint(flush=False):
                found.append(_found(scope, scope.env[name], query))
        except RecordError:  # of this model nothing can be offered
            continue
    return mentions.best(found, query)


def _found(scope, model, query):
    with executor.limited(scope.env.cr, STATEMENT_TIMEOUT):
        records = scope.named(model, query, mentions.MAX_RECORDS)
        names = scope.names_of(records)
        return [
            {
                **_mention(one, names[one.id]),
                "label": labels.of_model(model),
                "image": values.picture(scope, one),
            }
            for one in records
        ]


def attached(channel, refs, companies=()):
    """Stored form of the records that a question in the caller's own conversation names.

    :raises Refusal: one is not there for this person and this assistant, or they are too many
    """
    _, named = channel.env._, mentions.distinct(refs)
    if not named:
        return []
    if len(named) > mentions.MAX_RECORDS:
        limit = mentions.MAX_RECORDS
        sentence = _("At most %(limit)s records can be attached to one message.", limit=limit)
        raise Refusal(sentence, "too_many_records", max_records=limit)
    scope = _scope(channel.env.user, channel.woow_assistant_id, companies)
    try:
        with (
            executor.record_errors(scope.env),
            scope.env.cr.savepoint(),
            executor.limited(scope.env.cr),
        ):
            return [kept(scope, *ref) for ref in named]
    except RecordError as error:
        sentence = _(
            "An attached record no longer exists, or it is not open to you and this assistant. Remove it and send"
            " the message again."
        )
        raise NotThere(sentence, "record_not_found") from error


def kept(scope, model, record_id):
    """:raises RecordError: it is not there for this person and this assistant"""
    record = scope.records(scope.model(model), [record_id])
    return _mention(record, scope.names_of(record)[record_id])


def contents(dbname, turn_id):
    """Content of the records of a turn's question now, for the model."""

    def work(env):
        turn = env[TURN].browse(turn_id).exists()
        return [(one, _sheet(env, turn, one)) for one in turn.mentions or ()]

    return mentions.told(db.read_only(dbname, work))


def _sheet(env, turn, mention):
    """Result of reading the record, None where it cannot be read."""
    try:
        with executor.record_errors(env), env.cr.savepoint(flush=False), executor.limited(env.cr):
            scope = RecordScope(executor.env_of(env, turn), turn._record_access())
            wanted = {"model": mention["model"], "ids": [mention["id"]]}
            return read.read_records(scope, wanted)[0]
    except RecordError:
        return None


def _scope(user, assistant, companies):
    env = executor.env_of_person(user.env, user, user._woow_ai_companies(companies))
    return RecordScope(env, assistant._record_access())


def _mention(record, name):
    return {
        "model": record._name,
        "id": record.id,
        "name": text.one_line(name, mentions.NAME_CHARS) or f"#{record.id}",
    }
