"""Dispatcher: reads a request's JSON and turns exceptions into a status and a body."""

from datetime import date

from odoo.exceptions import AccessError
from odoo.http import Json2Dispatcher, Response, request
from odoo.tools import config

from ..models.base.ir_http import LANGUAGE_HEADER, CrossSite
from ..runtime.web import api_error, client_line
from ..runtime.web.api_error import ApiError
from ..services import jsonrpc, large, text
from ..services.errors import EngineError, ResultTooLarge
from ..services.gateway import messages
from .schemas import SCHEMAS, misfit

MAX_BODY = messages.MAX_BODY  # bytes of one JSON body, where the route names no `max_body`
NO_KEY = (
    "Sign in as WWW-Authenticate says, or send an Odoo API key for MCP clients as a bearer token."
)


class AiDispatcher(Json2Dispatcher):
    """Routes of ``type="woow_ai"``: path parameters are the arguments, `body()` and the query stay apart."""

    routing_type = "woow_ai"

    @classmethod
    def is_compatible_with(cls, request):
        return True

    def dispatch(self, endpoint, args):
        http, env = self.request.httprequest, self.request.env
        client_line.limit(http._HTTPRequest__environ)
        if (http.content_length or 0) > endpoint.routing.get("max_body", MAX_BODY):
            raise ApiError(413, "body_too_large", env._("The request's body is too large."))
        if endpoint.routing.get("takes_form"):
            self._check_form(http)
        elif http.content_length:
            self._read_json(http, env)
        self.request.params = text.storable(dict(args))
        try:
            result = self.request.registry["ir.http"]._dispatch(endpoint)
        except (AccessError, EngineError) as error:
            # here and not in `handle_error`, because Odoo logs them as warnings and tracebacks
            raise self._logged(error) from error
        if isinstance(result, Response):
            return result
        return self.request.make_json_response(result)

    def _read_json(self, http, env):
        if http.mimetype != "application/json":
            raise ApiError(415, "not_json", "Send the body as application/json.")
        try:
            large.check(http.get_data())
            self.jsonrequest = self.request.get_json_data()
        except ResultTooLarge as error:
            raise ApiError(
                413, "body_too_large", env._("The request's body is too large.")
            ) from error
        except (ValueError, RecursionError) as error:
            raise ApiError(400, "bad_json", "The body is not valid JSON.") from error
        if not isinstance(self.jsonrequest, dict):
            raise ApiError(400, "bad_json", "The body must be a JSON object.")

    def _check_form(self, http):
        """A page of another site can send a form without asking first, but no header of ours with it.

        `_is_same_origin` refuses it where the browser says where it comes from, which an old one may not.
        """
        if http.mimetype != "multipart/form-data":
            raise ApiError(415, "not_form", "Send the body as multipart/form-data.")
        if "Authorization" not in http.headers and LANGUAGE_HEADER not in http.headers:
            raise CrossSite

    def handle_error(self, exc):
        error = self._logged(exc)
        return self.request.make_json_response(
            error.body(), headers=list(error.headers.items()), status=error.code
        )

    def _logged(self, exc):
        return api_error.logged(exc, api_error.request_reader(), self.request.httprequest.path)


class McpDispatcher(AiDispatcher):
    """Routes of ``type="woow_mcp"``: the body is JSON-RPC, which the route reads, and so are errors."""

    routing_type = "woow_mcp"

    def _read_json(self, http, env):
        if http.mimetype != "application/json":
            raise ApiError(415, "not_json", "Send the body as application/json.")

    def handle_error(self, exc):
        error = self._logged(exc)
        if error.code == 401:
            error.description = NO_KEY
            is_sent = "Authorization" in self.request.httprequest.headers
            addresses = self.request.env["ir.http"]._woow_addresses()
            error.headers["WWW-Authenticate"] = addresses.challenge("invalid_token" * is_sent)
        return self.request.make_json_response(
            rpc_error(error), headers=list(error.headers.items()), status=error.code
        )


def rpc_error(error):
    """The JSON-RPC message of an `ApiError`, which stays in its `data`."""
    code = jsonrpc.INVALID_REQUEST if error.code < 500 else jsonrpc.INTERNAL_ERROR
    data = {**error.details, "code": error.error_code}
    return jsonrpc.error(None, error.description, code, data)


def writes_nothing(*_args):
    """True if a replica may answer: none that may lag, as a page asks for what it has just written. Without one, Odoo's
    tests refuse what a GET would write."""
    return not config["db_replica_host"]


def body(name):
    """Read the JSON body against one of `schemas.SCHEMAS`; what is optional and left out is None."""
    schema, data = SCHEMAS[name], request.dispatcher.jsonrequest or {}
    if unknown := sorted(data.keys() - schema["properties"].keys()):
        raise ApiError(
            400,
            "unknown_field",
            f"Unknown fields: {', '.join(unknown)}.",
            details={"fields": unknown},
        )
    values = {}
    for field, kind in schema["properties"].items():
        value = data.get(field)
        if value is None and field not in schema["required"]:
            values[field] = None
        elif must := misfit(value, kind):
            raise ApiError.invalid(field, f"The field “{field}” must be {must}.")
        else:
            values[field] = text.storable(value)
    return values


def query_int(name, default=None, low=0, high=2**31 - 1):
    """An integer of the query string, within its bounds."""
    given = request.httprequest.args.get(name)
    if given is None or given == "":
        return default
    try:
        value = int(given)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise ApiError(400, "invalid_parameter", f"“{name}” must be a number from {low} to {high}.")
    return value


def query_text(name):
    """A text of the query string that PostgreSQL takes, empty without one."""
    return text.storable(request.httprequest.args.get(name, ""))


def query_day(name):
    """A day of the query string, required."""
    try:
        return date.fromisoformat(request.httprequest.args.get(name, ""))
    except ValueError as error:
        raise ApiError(
            400, "invalid_parameter", f"“{name}” must be a day, such as 2026-11-30."
        ) from error


def check_is_signed_in(refusal):
    """Refuse a caller that has only a key, where a person has to be at the keyboard.

    :param refusal: sentence for the caller
    :raises ApiError: the request is not of a session
    """
    if request.session.uid != request.env.uid:
        raise ApiError(403, "forbidden", refusal)
