"""Consent page: a person allows a client to use the person's tools, or does not."""

import logging
from urllib.parse import urlencode, urlsplit

from markupsafe import Markup
from odoo import http
from odoo.http import Response, request

from ...models.base.ir_http import GRANT
from ...runtime import process
from ...runtime.web.after_commit import LeadsTo
from ...services import jsonrpc
from ...services.errors import EngineError
from ...services.oauth_server import (
    authorization,
    client_document,
    const,
    metadata,
    parameters,
    redirects,
)
from ...services.oauth_server.errors import OAuthError
from ...tools import db
from ...tools.refusals import Refusal, TooOften
from .tokens import CLIENT

_logger = logging.getLogger(__name__)

PAGE = {
    "type": "http",
    "auth": "user",
    "website": True,
    "multilang": False,
    "sitemap": False,
    "max_content_length": const.MAX_BODY,
}
UNREAD = "unread"  # parameter: the document of the client could not be read just now
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class OauthConsentController(http.Controller):
    @http.route(metadata.AUTHORIZE, methods=["GET"], **PAGE)
    def ask(self, **query):
        """Changes nothing: the person is asked each time."""
        client_id = query.get("client_id", "")
        # sudo: oauth_client - when the document of a client was read
        client = request.env[CLIENT].sudo()._of(client_id)
        if client._is_to_be_read(client_id):
            return _page({"is_unread": True}, 400) if UNREAD in query else self._read(client_id)
        return self._checked(request.httprequest.args, self._question)

    def _read(self, client_id):
        """Read the document of a client, without a cursor, then ask again."""
        try:
            request.env["woow_paas_platform.mcp_check"]._count_one()
        except TooOften as refusal:
            return _page({"refusal": str(refusal)}, 429)
        process.runner()
        dbname = request.db
        back = f"{metadata.AUTHORIZE}?{request.httprequest.query_string.decode(errors='replace')}"

        def read():
            try:
                document = process.wait_for(
                    lambda engine: engine.fetch(
                        client_id, client_document.TIMEOUT, cap=client_document.MAX_BYTES
                    ),
                    client_document.TIMEOUT,
                )
                found = client_document.read(client_id, jsonrpc.parse(bytes(document)))
                db.transaction(dbname, lambda env: env[CLIENT]._keep_described(client_id, found))
            except (EngineError, OAuthError) as error:
                _logger.info("The MCP client at %r cannot be read: %s", client_id, error)
                return f"{back}&{UNREAD}=1"
            return back

        return LeadsTo(request.env, read, headers=HEADERS)

    @http.route(metadata.AUTHORIZE, methods=["POST"], **PAGE)
    def decide(self, **_form):
        return self._checked(request.httprequest.form, self._decided)

    def _checked(self, sent, act):
        """Check all that the client has sent, then `act`.

        An answer goes to nothing but a redirect URI of a client that is known; else the person is told.

        :param sent: query or form, the page's own form holds what the client has sent
        :param act: of (client, `Asked`, the client's parameters, gateway), gives the response
        """
        given = dict(sent.lists())
        try:
            told = parameters.single(given, authorization.NAMES)
        except OAuthError:
            return _page({"is_refused": True}, 400)
        # sudo: oauth_client - its name and addresses, for the person whom it has sent here
        client = request.env[CLIENT].sudo()._of(told["client_id"])
        if not client or not redirects.is_registered(told["redirect_uri"], client._uris()):
            return _page({"is_refused": True}, 400)
        addresses = request.env["ir.http"]._woow_addresses()
        try:
            asked = authorization.read(given, told["redirect_uri"], addresses.resource)
        except OAuthError as error:
            return self._wrong(told, error)
        # A website narrows the companies of a page to its own.
        gateways = request.env["woow_paas_platform.gateway"].with_context(
            allowed_company_ids=_companies().ids
        )
        gateway = gateways._of_caller(asked.gateway) if asked.gateway else gateways
        if asked.gateway and not gateway:
            return self._wrong(told, OAuthError("invalid_target", "There is no such gateway."))
        try:
            request.env[GRANT]._check_room(client, gateway)
        except Refusal as refusal:
            return _page({"refusal": str(refusal)}, 409)
        return act(client, asked, told, gateway)

    def _wrong(self, told, error):
        """Tell the client; to a site the person goes by a click, since anybody can register one (RFC 9700, 4.11.2)."""
        kind, place = redirects.place(told["redirect_uri"])
        answer = _refused(told, error)
        if kind != "site":
            return answer
        to_client = request.env._("Back to %(place)s", place=place)
        return _page({"to_client": to_client, "back": answer.location}, 400)

    def _question(self, client, asked, told, gateway):
        back = f"{metadata.AUTHORIZE}?{urlencode({k: v for k, v in told.items() if v})}"
        to_sign_in = f"/web/login?{urlencode({'redirect': back})}"
        values = {
            "title": request.env._("Connect “%(client)s”?", client=client.name),
            "where": _where(*redirects.place(asked.redirect_uri)),
            "whence": _whence(client),
            "who": _who(request.env.user),
            "scopes": asked.scope.split(),
            "gateway": gateway and _through(gateway),
            "companies": _companies() if len(_companies()) > 1 else (),
            "told": told,
            "other_account": f"/web/session/logout?{urlencode({'redirect': to_sign_in})}",
        }
        return _page(values)

    def _decided(self, client, asked, told, gateway):
        if request.httprequest.form.get("decision") != "allow":
            return _refused(told, OAuthError("access_denied", "The user did not allow it."))
        chosen = request.httprequest.form.get("company", "")
        company = _companies().filtered(lambda one: str(one.id) == chosen)
        if chosen and not company:
            return _page({"refusal": request.env._("You do not belong to this company.")}, 400)
        code = request.env[GRANT]._allow(client, asked, gateway, company)
        return _leads_to(authorization.allowed(asked, code, _issuer()))


def _companies():
    """Companies of which the person may choose one for the client."""
    # sudo: res.company - names of the person's own
    return request.env.user.sudo().company_ids


def _where(kind, place):
    """Sentence about the place that gets the answer."""
    shown = Markup('<strong class="text-break">%s</strong>') % place
    if kind == "site":
        return request.env._("It runs at %(host)s.", host=shown)
    if kind == "computer":
        return request.env._("It runs on this computer (%(host)s).", host=shown)
    return request.env._("It is an app on this device (%(scheme)s).", scheme=shown)


def _whence(client):
    """Sentence about who tells its name."""
    if client.kind == "administrator":
        return request.env._("An administrator has added it.")
    if client.kind == "document":
        host = urlsplit(client.client_id).hostname
        shown = Markup('<strong class="text-break">%s</strong>') % host
        return request.env._("It is described at %(host)s.", host=shown)
    return request.env._("It has chosen its name itself.")


def _through(gateway):
    shown = Markup('<strong class="text-break">%s</strong>') % gateway.name
    return request.env._("It sees what the gateway %(gateway)s shows.", gateway=shown)


def _who(user):
    name = Markup('<strong class="text-break">%s</strong>') % user.name
    login = Markup('<span class="text-break">%s</span>') % user.login
    return request.env._("Signed in as %(name)s (%(login)s).", name=name, login=login)


def _page(values, status=200):
    page = request.render("woow_paas_platform.oauth_consent", values, status=status)
    page.headers.update(HEADERS)
    return page


def _refused(told, error):
    return _leads_to(authorization.refused(told["redirect_uri"], told["state"], error, _issuer()))


def _leads_to(url):
    return Response(status=303, headers={**HEADERS, "Location": url})


def _issuer():
    return request.env["ir.http"]._woow_addresses().issuer
