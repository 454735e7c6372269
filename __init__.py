import sys

if sys.version_info >= (3, 11):  # noqa: UP036 see pre_init_hook
    from . import controllers
    from . import models
    from . import wizards


def pre_init_hook(env):
    """Refuse Python 3.10 with a sentence: the engine needs `asyncio.timeout` and `tomllib`.

    :raises UserError: this Python is too old
    """
    if sys.version_info < (3, 11):  # noqa: UP036 that is the question
        from odoo.exceptions import UserError  # noqa: PLC0415 nothing of Odoo is needed otherwise

        raise UserError(
            env._(
                "This app needs Python 3.11 or newer, and Odoo runs on Python %(version)s here.",
                version=".".join(map(str, sys.version_info[:2])),
            )
        )
