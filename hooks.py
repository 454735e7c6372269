"""What Odoo calls before and after the addon is installed, and before it is uninstalled."""

import logging
import sys

from odoo.exceptions import UserError
from odoo.fields import Domain

from .services import packages
from .services.errors import PackageMissing

_logger = logging.getLogger(__name__)

OLDEST_PYTHON = (3, 11)  # asyncio.timeout, tomllib


def can_be_imported() -> bool:
    """Whether the addon's code can be loaded. Where it cannot, the database lives on without it."""
    if sys.version_info < OLDEST_PYTHON:
        return False
    if names := packages.missing(packages.ALL):
        _logger.error("The AI is switched off. %s", PackageMissing(", ".join(names)))
    return not names


def pre_init_hook(env):
    """Refuse an older Python, which Odoo 19 itself still accepts.

    :raises UserError: Python is too old
    """
    if sys.version_info < OLDEST_PYTHON:
        raise UserError(
            env._(
                "This app needs Python 3.11 or newer, and Odoo runs on Python %(version)s here.",
                version=".".join(map(str, sys.version_info[:2])),
            )
        )


def uninstall_hook(env):
    """Remove the addon's rows in tables of other modules, which stay when its own are dropped.

    Assistants' contacts that something else needs are archived instead.
    """
    from .models.base.discuss_channel import CONVERSATION  # noqa: PLC0415 not on a Python that is too old
    from .models.base.res_users import MCP_SCOPE  # noqa: PLC0415
    from .tools.limits import PREFIX  # noqa: PLC0415

    env = env(context={**env.context, "active_test": False})
    conversations = env["discuss.channel"].search([("channel_type", "=", CONVERSATION)])
    contacts = env["ai.assistant"].search([]).partner_id
    # Of deleted assistants, which their conversations have kept.
    members = conversations.channel_member_ids.partner_id
    contacts |= members.filtered(lambda one: not one.active and not one.user_ids)
    conversations.unlink()
    env["ir.actions.server"].search([("woow_ai_chat", "=", True)]).unlink()
    env["ir.config_parameter"].search([("key", "=like", f"{PREFIX}%")]).unlink()
    compiled = [("url", "=like", "/web/assets/%/woow_paas_platform.%")]  # for a page that was shown
    env["ir.attachment"].search(compiled).unlink()
    env["ir.attachment"].search([("woow_unsent_by_id", "!=", False)]).unlink()
    env["res.users.apikeys"].sudo().search([("scope", "=", MCP_SCOPE)]).unlink()
    own = Domain("model_id", "=like", "woow_paas_platform.%")
    env["ir.filters"].search(own | Domain("model_id", "in", ("ai.assistant", "ai.config"))).unlink()
    env["woow_paas_platform.mail_address"].search([]).unlink()  # their aliases
    Data = env["woow_paas_platform.personal_data"]
    env["mail.message"].search(Data._told_by_mail()).unlink()
    Data.search([]).unlink()  # their files
    env["ai.assistant"].search([]).unlink()
    # Names that other modules gave to what they add to our models; Odoo would leave them.
    names = Domain("module", "!=", "woow_paas_platform") & Domain.OR(
        Domain("name", "=like", pattern)
        for pattern in ("selection__woow_paas_platform_%", "model_inherit__woow_paas_platform_%")
    )
    env["ir.model.data"].search(names).unlink()
    # Foreign keys of our columns in other modules' tables, which go with the columns.
    env.cr.execute(
        r"""
        DELETE FROM ir_model_constraint c USING ir_module_module m
         WHERE m.id = c.module AND m.name = 'woow_paas_platform'
           AND c.name ~ '^(?!woow_).*_woow_\w+_fkey$'
        """
    )
    env["ai.assistant"]._let_contacts_go(contacts.exists())
