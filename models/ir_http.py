import re

from odoo import models
from odoo.http import request

from ..runtime import process
from ..runtime.api_error import ApiError

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class IrHttp(models.AbstractModel):
    _inherit = "ir.http"

    @classmethod
    def _auth_method_woow_ai(cls):
        """An Odoo API key (stateless) or the session; never a guest.

        `auth="bearer"` falls back to the session for page navigations only, not for `fetch` and
        `EventSource`, so this is our own.
        """
        headers = request.httprequest.headers
        if match := re.match(r"^bearer\s+(\S+)$", headers.get("Authorization", ""), re.IGNORECASE):
            # "rpc" stands for global keys, as in Odoo's own bearer authentication
            uid = request.env["res.users.apikeys"]._check_credentials(
                scope="rpc", key=match.group(1)
            )
            if not uid:
                raise ApiError.unauthenticated()
            request.update_env(user=uid)
            request.session.can_save = False
            return
        if request.env.uid in [None, *cls._get_public_users()]:
            raise ApiError.unauthenticated()
        site = headers.get("Sec-Fetch-Site")
        if request.httprequest.method not in SAFE_METHODS and site not in (
            None,
            "same-origin",
            "none",
        ):
            raise ApiError(403, "cross_site", "Requests from other sites are not accepted.")

    @classmethod
    def _get_translation_frontend_modules_name(cls):
        """The portal's pages load our JavaScript's translations, too."""
        return [*super()._get_translation_frontend_modules_name(), "woow_paas_platform"]

    @classmethod
    def _pre_dispatch(cls, rule, args):
        process.ensure_listening(request.db)
        return super()._pre_dispatch(rule, args)
