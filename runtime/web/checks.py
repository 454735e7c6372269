"""Tests that a person asks for: they wait for the other side after the commit, without a cursor."""

from ...services.errors import EngineError
from ...tools import db, sentences
from ...tools.sentences import Reader
from .. import process
from . import api_error
from .after_commit import AfterCommit


class Check:
    """One question to what a record connects to; the caller may change the record.

    :param make_spec: ``make_spec()`` tells how it is asked
    :raise ApiError: it cannot be asked
    """

    def __init__(self, record, make_spec):
        env = record.env
        self.reader = Reader.manager(env)
        try:
            self.spec = make_spec()
        except EngineError as error:
            raise api_error.of(error, self.reader) from error
        process.runner()  # where nothing can be asked, nothing is counted
        env["woow_paas_platform.mcp_check"]._count_one()
        self.env = env
        self.model, self.id = record._name, record.id
        self.dbname, self.uid, self.context = env.cr.dbname, env.uid, dict(env.context)

    def response(self, work):
        return AfterCommit(self.env, work, reader=self.reader)

    def in_new_cursor(self, work):
        """``work(env, record)`` as the caller, in the caller's language."""

        def run(env):
            env = env(user=self.uid, context=self.context, su=False)
            return work(env, env[self.model].browse(self.id))

        return db.transaction(self.dbname, run)


def diagnosis_data(env, diagnosis):
    """``{ok, steps, error}`` of a `services.net.diagnostic_steps.Diagnosis`."""
    error = diagnosis.error
    return {
        "ok": diagnosis.ok,
        "steps": [_step(env, step, error) for step in diagnosis.steps],
        "error": api_error.of(error, Reader.manager(env)).item() if error else None,
    }


def _step(env, step, error):
    message = sentences.for_managers(env, step.message) if step.message else ""
    if step.state == "failed":
        message = sentences.with_network_detail(env, message, error.network_detail)
    return {
        "name": step.name,
        "state": step.state,
        "message": message,
        "advice": sentences.translated(env, step.advice) if step.advice else "",
        "duration_ms": step.duration_ms,
    }
