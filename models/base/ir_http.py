import logging
import re
import threading
from urllib.parse import urlsplit

import psycopg2
from odoo import api, models
from odoo.addons.base.models.res_users import INDEX_SIZE
from odoo.exceptions import AccessDenied
from odoo.http import request
from werkzeug.exceptions import Forbidden

from ...services import text
from ...services.oauth_server import tokens
from ...services.oauth_server.metadata import Addresses, gateway_in
from ...tools import db, host
from .res_users import MCP_SCOPE

_logger = logging.getLogger(__name__)

LANGUAGE_HEADER = "X-Woow-Language"  # code of the language of the page that asks, such as zh_TW
DEFAULT_PORTS = {"http": 80, "https": 443}
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
GRANT = "woow_paas_platform.oauth_grant"
MAX_ORIGIN = 200  # characters of an address in the log

_told_of_proxy = threading.Event()


class CrossSite(Forbidden):
    """A page of another site has sent the request."""


def _is_same_origin(headers, *, is_host_trusted=True):
    """True if no page of another site has sent this request with the person's session.

    :param is_host_trusted: False: only web.base.url says where this Odoo is, since a name that a stranger has bound to
        its address is the host of a request, too

    Browsers leave out `Sec-Fetch-Site` over plain http, and then still name the `Origin` of what is no GET.
    Programs send neither.
    """
    site = headers.get("Sec-Fetch-Site")
    if site is not None and (is_host_trusted or site not in ("same-origin", "none")):
        return site in ("same-origin", "none")
    if (origin := headers.get("Origin")) is None:
        return True
    # sudo: ir.config_parameter - the address of this Odoo, which the caller knows
    base = request.env["ir.config_parameter"].sudo().get_param("web.base.url", "")
    asked = request.httprequest.host_url if is_host_trusted else base
    here = {_origin_of(asked), _origin_of(base)} - {None}
    found = _origin_of(origin)
    if found not in here and found and found[1] in {host for _scheme, host, _port in here}:
        _tell_of_proxy(origin, request.httprequest.host_url)
    return found in here


def _tell_of_proxy(origin, here):
    """A proxy at another port that leaves it out of the host locks every browser out; said once for a process."""
    if _told_of_proxy.is_set():
        return
    _told_of_proxy.set()
    _logger.warning(
        "A request from a page of %s was refused as one of another site, because Odoo was asked as %s. If a proxy"
        " stands before Odoo, let it pass the port on: `proxy_set_header Host $http_host;` and the same for"
        " X-Forwarded-Host. Else set the system parameter web.base.url to the address that people use.",
        text.one_line(origin, MAX_ORIGIN),
        text.one_line(here, MAX_ORIGIN),
    )


def _origin_of(address):
    """Scheme, host and port of an address, None where it has none (RFC 6454, 4)."""
    try:
        parts = urlsplit(address)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname and port else None


class IrHttp(models.AbstractModel):
    _inherit = "ir.http"

    @classmethod
    def _authenticate_explicit(cls, auth):
        """Odoo denies access to whoever asks while its database fails; here the database is what fails."""
        try:
            return super()._authenticate_explicit(auth)
        except AccessDenied as denied:
            if auth in ("woow_ai", "woow_mcp") and isinstance(denied.__context__, psycopg2.Error):
                raise denied.__context__ from None
            raise

    @classmethod
    def _auth_method_woow_ai(cls):
        """An Odoo API key (stateless) or the session; never a guest.

        `auth="bearer"` falls back to the session for page navigations only, not for `fetch` and
        `EventSource`, so this is our own.
        """
        headers = request.httprequest.headers
        # "rpc" stands for global keys, as in Odoo's own bearer authentication
        if cls._woow_sign_in_by_key("rpc"):
            return
        if request.env.uid in [None, *cls._get_public_users()]:
            raise AccessDenied
        if request.httprequest.method not in SAFE_METHODS and not _is_same_origin(headers):
            raise CrossSite
        # A page of the portal has a language of its own, which is not always that of its person.
        if lang := request.env["res.lang"]._get_code(headers.get(LANGUAGE_HEADER, "")):
            request.update_context(lang=lang)

    @classmethod
    def _auth_method_woow_mcp(cls):
        """A token of a sign-in or an Odoo API key, and nothing else: no session, so no page can call with one."""
        if not _is_same_origin(request.httprequest.headers, is_host_trusted=False):
            raise CrossSite
        if not cls._woow_sign_in_by_grant() and not cls._woow_sign_in_by_key(MCP_SCOPE):
            raise cls._woow_denied()

    @classmethod
    def _woow_denied(cls):
        """The refusal of a client that may ask without a key, or with an old one, to learn what it needs."""
        denied = AccessDenied()
        denied.loglevel = logging.INFO
        return denied

    @classmethod
    def _woow_addresses(cls):
        """Addresses of this Odoo as the client reaches it, and of the gateway that the request is for.

        A proxy may leave out that it is reached by https; then web.base.url tells.
        """
        base = request.httprequest.url_root.rstrip("/")
        known = cls._woow_known_addresses().base
        is_same_host = urlsplit(known).netloc == urlsplit(base).netloc
        base = known if is_same_host and known.startswith("https:") else base
        return Addresses(base, gateway_in(request.httprequest.path))

    def _woow_base(self):
        """Address of this Odoo as the client reaches it, or as it is set up where a stream has outlived its request."""
        return self._woow_addresses().base if request else self.get_base_url().rstrip("/")

    @classmethod
    def _woow_known_addresses(cls):
        """Addresses of this Odoo as it is set up, whatever host the request names."""
        # sudo: ir.config_parameter - the address of this Odoo, which the caller knows
        base = request.env["ir.config_parameter"].sudo().get_param("web.base.url", "")
        return Addresses(base.rstrip("/"))

    @classmethod
    def _woow_sign_in_by_grant(cls):
        """Let the request be that of the person who has allowed the client of its access token.

        The token's scopes are in `request.woow_scopes` then, the client's name in `request.woow_client`. The company
        that the person has chosen for it is the only one of the request.

        :return: False, and nothing is done, without such a token
        :raises AccessDenied: the token is not valid, or for another address
        """
        if not tokens.is_access(token := cls._woow_bearer()):
            return False
        # sudo: oauth_grant - found by its token; Odoo caches groups only in an environment with a user
        grants = request.env(user=api.SUPERUSER_ID)[GRANT]
        grant = grants._authenticate(token, cls._woow_addresses().resource)
        if not grant:
            raise cls._woow_denied()
        request.update_env(user=grant.user_id.id)
        if grant.company_id:
            request.update_context(allowed_company_ids=grant.company_id.ids)
        request.session.can_save = False
        request.woow_scopes = grant.scope.split()
        request.woow_client = grant.client_id.name
        request.woow_credential = "grant", str(grant.id)
        return True

    @classmethod
    def _woow_bearer(cls):
        """The bearer token of the request, empty without one."""
        authorization = request.httprequest.headers.get("Authorization", "")
        match = re.match(r"^bearer\s+(\S+)$", authorization, re.IGNORECASE)
        return match[1] if match else ""

    @classmethod
    def _woow_sign_in_by_key(cls, scope):
        """Let the request be that of the owner of its bearer token.

        :param scope: of the key, or it has none
        :return: False, and nothing is done, without such a token
        :raises AccessDenied: the key is not valid, or not for this
        """
        if not (key := cls._woow_bearer()):
            return False
        uid = request.env["res.users.apikeys"]._check_credentials(scope=scope, key=key)
        if not uid or uid in cls._get_public_users():
            raise AccessDenied
        request.update_env(user=uid)
        request.session.can_save = False
        request.woow_credential = "key", key[:INDEX_SIZE]
        return True

    @classmethod
    def _handle_error(cls, exception):
        """Connections to what is a replica by now are not kept; a new one leads to the primary."""
        try:
            return super()._handle_error(exception)
        finally:
            if isinstance(exception, psycopg2.Error) and db.is_of_replica(exception):
                db.leave_replica(request.env.cr)

    @classmethod
    def _pre_dispatch(cls, rule, args):
        host.current().listen(request.db)
        return super()._pre_dispatch(rule, args)
