"""Metadata of the authorization server, where clients begin."""

from dataclasses import replace

from odoo import http
from odoo.http import request

from ...services.oauth_server import const, metadata
from . import identity_provider

OPEN = {"type": "http", "auth": "public", "methods": ["GET"], "readonly": True}
NO_STORE = {"Cache-Control": "no-store"}


class OauthMetadataController(http.Controller):
    @http.route(metadata.OF_RESOURCE, save_session=False, **OPEN)
    def of_resource(self, **_query):
        return request.make_json_response(_addresses().of_resource(), headers=NO_STORE)

    @http.route(f"{metadata.OF_RESOURCE}/<string:gateway>", save_session=False, **OPEN)
    def of_gateway(self, gateway, **_query):
        """The same for any code, whether or not there is such a gateway: only its users know that."""
        if not const.CODE.fullmatch(gateway):
            raise request.not_found()
        addresses = replace(_addresses(), gateway=gateway)
        return request.make_json_response(addresses.of_resource(), headers=NO_STORE)

    @http.route(metadata.OF_SERVER, save_session=False, **OPEN)
    def of_server(self, **_query):
        addresses, known = _addresses(), request.env["ir.http"]._woow_known_addresses()
        takes_assertions = addresses.issuer == known.issuer and bool(identity_provider.known())
        described = addresses.of_server(takes_assertions)
        return request.make_json_response(described, headers=NO_STORE)


def _addresses():
    return request.env["ir.http"]._woow_addresses()
