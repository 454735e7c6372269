"""Endpoints of the authorization server for programs: registration, tokens, revocation."""

import functools
import time

from odoo import http
from odoo.http import request

from ...models.base.ir_http import GRANT
from ...services import jsonrpc
from ...services.oauth_server import (
    client_secret,
    const,
    exchange,
    id_jag,
    metadata,
    parameters,
    registration,
)
from ...services.oauth_server.errors import OAuthError
from . import identity_provider

CLIENT = "woow_paas_platform.oauth_client"
# No session counts here, so there is nothing that a page of another site could misuse.
OPEN = {
    "type": "http",
    "auth": "public",
    "methods": ["POST"],
    "csrf": False,
    "save_session": False,
    "max_content_length": const.MAX_BODY,
}
HEADERS = {"Cache-Control": "no-store", "Pragma": "no-cache"}


def _answered(endpoint):
    """A refusal is an answer, not an error: what has changed with it, such as a grant that ended, stays so."""

    @functools.wraps(endpoint)
    def answered(self, **_params):
        try:
            return endpoint(self)
        except OAuthError as error:
            headers = dict(HEADERS)
            if error.retry_after:
                headers["Retry-After"] = str(error.retry_after)
            if error.status == 401 and _authorization():
                headers["WWW-Authenticate"] = "Basic"  # RFC 6749, 5.2
            return request.make_json_response(error.body(), headers=headers, status=error.status)

    return answered


class OauthTokenController(http.Controller):
    @http.route(metadata.REGISTER, **OPEN)
    @_answered
    def register(self, **_params):
        """A client introduces itself (RFC 7591); nobody has allowed it anything by that."""
        wanted = registration.read(jsonrpc.parse(request.httprequest.get_data()))
        # sudo: oauth_client - any program may register, so many at a time
        client = request.env[CLIENT].sudo()._add_client(wanted, request.httprequest.remote_addr)
        told = registration.answer(client.client_id, int(time.time()), wanted)
        return request.make_json_response(told, headers=HEADERS, status=201)

    @http.route(metadata.TOKEN, **OPEN)
    @_answered
    def token(self, **_params):
        addresses, provider = request.env["ir.http"]._woow_addresses(), identity_provider.known()
        asked = exchange.read(_form(), addresses.resource, _authorization(), bool(provider))
        # sudo: oauth_grant - found by what the client shows: a code, a refresh token or an assertion
        grants = request.env[GRANT].sudo()
        if provider and asked.grant_type == id_jag.GRANT_TYPE:
            here = request.env["ir.http"]._woow_known_addresses()  # `Host` is the client's word
            told = grants._exchange_assertion(
                asked, provider, here.issuer, here.resource, _gateway_of
            )
        else:
            told = grants._exchange(asked)
        return request.make_json_response(told, headers=HEADERS)

    @http.route(metadata.REVOKE, **OPEN)
    @_answered
    def revoke(self, **_params):
        """A client signs out (RFC 7009): also for a token that is none, the answer is 200."""
        sent = parameters.single(_form(), ("token",))
        client = client_secret.read(_form(), _authorization())
        if not sent["token"]:
            raise OAuthError("invalid_request", "token is missing.")
        # sudo: oauth_grant - found by its token
        request.env[GRANT].sudo()._revoke(sent["token"], client)
        return request.make_response("", headers=HEADERS)


def _gateway_of(user, code):
    gateways = request.env["woow_paas_platform.gateway"].with_user(user)
    return gateways._of_caller(code) if code else gateways


def _authorization():
    return request.httprequest.headers.get("Authorization", "")


def _form():
    """Fields of the body, each with all its values; the query string counts for nothing."""
    if request.httprequest.mimetype != "application/x-www-form-urlencoded":
        raise OAuthError("invalid_request", "Send a form: application/x-www-form-urlencoded.")
    return dict(request.httprequest.form.lists())
