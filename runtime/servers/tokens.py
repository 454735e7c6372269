"""OAuth token store in Odoo: one short transaction a method, nothing held while a server is awaited."""

import asyncio
import contextlib
import logging
import time
import uuid
from contextvars import ContextVar

from odoo.api import SUPERUSER_ID

from ...services.errors import AuthRequired, ServerError
from ...services.oauth.flow import RENEWAL
from ...services.sentence import _lt
from ...services.turn.ports import StoreGone
from ...tools import db

SIGN_IN = "woow_paas_platform.mcp_sign_in"
REQUEST = "woow_paas_platform.mcp_sign_in_request"
AWAY = _lt("The sign-in for this MCP server cannot be checked right now. Try again in a moment.")
RENEWAL_POLL = 0.1  # s between two tries to be the one who renews

_logger = logging.getLogger(__name__)
_owner: ContextVar[str] = ContextVar("owner")  # of the lock that the running task holds


class OdooTokens:
    """A credential's key is `mcp_server._credential_key`: ``database/server/user/signer/address``.

    :param write: ``await write(function, *args)`` runs a blocking function in the executor
    """

    def __init__(self, write):
        self._write = write

    async def load(self, key):
        return await self._of(key, lambda found: found._token_set() if found else None)

    async def save(self, key, token_set):
        """Store the tokens, but not of who held the lock for too long, and lost it to somebody else."""
        owner = _owner.get()

        def keep(found):
            if not found or self._is_held(found, owner):  # `lock` has made the row
                return found._keep(token_set)
            return _logger.info("A token for %s arrived too late and was discarded.", found.address)

        await self._of(key, keep)

    async def put_pending(self, key, state, pending):
        signer = int(key.split("/")[3])
        if signer == SUPERUSER_ID:
            return  # a cron has no browser
        await self._of(
            key,
            lambda found: found.env[REQUEST]._put(found, signer, state, pending) and None,
            make=True,
        )

    async def take_pending(self, key, state):
        signer = int(key.split("/")[3])
        return await self._of(key, lambda found: found.env[REQUEST]._take(found, signer, state))

    @contextlib.asynccontextmanager
    async def lock(self, key):
        """A lease on the row, not a row lock: no transaction stays open while the server is asked.

        Who renews a token for longer than `RENEWAL` has died.
        """
        owner, until = uuid.uuid4().hex, time.monotonic() + RENEWAL
        while not await self._of(key, lambda found: self._lease(found, owner), make=True):
            if time.monotonic() > until:
                raise AuthRequired(detail="nobody finished renewing the token")
            await asyncio.sleep(RENEWAL_POLL)
        token = _owner.set(owner)
        try:
            yield
        finally:
            _owner.reset(token)
            await self._of(key, lambda found: found and self._release(found, owner))

    async def _of(self, key, work, make=False):
        dbname, server_id, user_id, _signer, address = key.split("/")

        def transaction(env):
            found = env[SIGN_IN]._of(int(server_id), int(user_id), address, make=make)
            if make and not found:
                raise AuthRequired(detail="the server was deleted")
            return work(found)

        try:
            return await self._write(db.transaction, dbname, transaction)
        except (ConnectionError, StoreGone) as error:
            raise ServerError(AWAY, detail=str(error)) from error

    def _lease(self, sign_in, owner):
        sign_in.env.cr.execute(
            """
            UPDATE woow_paas_platform_mcp_sign_in
               SET renewed_by = %s, renewed_until = now() AT TIME ZONE 'UTC' + %s * interval '1 s'
             WHERE id = %s AND (renewed_until IS NULL OR renewed_until < now() AT TIME ZONE 'UTC')
            """,
            [owner, RENEWAL, sign_in.id],
        )
        return bool(sign_in.env.cr.rowcount)

    def _is_held(self, sign_in, owner):
        sign_in.env.cr.execute(
            "SELECT renewed_by = %s FROM woow_paas_platform_mcp_sign_in"
            " WHERE id = %s FOR NO KEY UPDATE",
            [owner, sign_in.id],
        )
        return bool(sign_in.env.cr.fetchone()[0])

    def _release(self, sign_in, owner):
        sign_in.env.cr.execute(
            "UPDATE woow_paas_platform_mcp_sign_in SET renewed_until = NULL"
            " WHERE id = %s AND renewed_by = %s",
            [sign_in.id, owner],
        )
