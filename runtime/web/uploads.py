"""Files that people attach: read after their request's transaction is over, and kept in one of its own."""

from ...services.llm import files
from ...tools import db
from ...tools.refusals import Refusal
from .after_commit import AfterCommit
from .api_error import ApiError, error_body


def respond(env, name, content, keep):
    """
    :param content: bytes, that the caller has checked the size of
    :param keep: ``keep(env, reading)`` keeps the file with the person's rights and gives what is told of it
    :return: a response of 201, or of why it is not taken
    """
    dbname, uid, lang = env.cr.dbname, env.uid, env.lang

    def work():
        reading = files.read(name, content, (dbname, uid))

        def kept(env):
            return keep(env(user=uid, su=False, context={"lang": lang}), reading)

        try:
            return db.transaction(dbname, kept), 201
        except Refusal as refusal:
            error = ApiError.of_refusal(refusal)
            return error_body(error), error.code

    return AfterCommit(env, work)
