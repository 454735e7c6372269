"""Tests that a person asks for: they wait for the other side after the commit, without a cursor."""

from ...tools import db, sentences
from .. import process
from .after_commit import AfterCommit


class Check:
    """One question to what a record connects to; the caller may change the record.

    :param spec: how it is asked
    """

    def __init__(self, record, spec):
        env = record.env
        process.runner()  # where nothing can be asked, nothing is counted
        env["woow_paas_platform.mcp_check"]._count_one()
        self.env = env
        self.spec = spec
        self.model, self.id = record._name, record.id
        self.dbname, self.uid, self.context = env.cr.dbname, env.uid, dict(env.context)

    def response(self, work):
        return AfterCommit(self.env, work)

    def in_new_cursor(self, work):
        """``work(env, record)`` as the caller, in the caller's language."""

        def run(env):
            env = env(user=self.uid, context=self.context, su=False)
            return work(env, env[self.model].browse(self.id))

        return db.transaction(self.dbname, run)


def diagnosis_data(env, diagnosis):
    """``{ok, steps, error}`` of a `services.net.course.Diagnosis`."""
    error = diagnosis.error
    return {
        "ok": diagnosis.ok,
        "steps": [_step(env, step, error) for step in diagnosis.steps],
        "error": error_data(env, error) if error else None,
    }


def error_data(env, error):
    return {"code": error.code, "message": sentences.of_error(env, error)}


def _step(env, step, error):
    message = sentences.for_managers(env, step.message) if step.message else ""
    if step.state == "failed":
        message = sentences.with_inside(env, message, error.inside)
    return {
        "name": step.name,
        "state": step.state,
        "message": message,
        "advice": sentences.translated(env, step.advice) if step.advice else "",
        "duration_ms": step.duration_ms,
    }
