"""OAuth sign-in to MCP servers in the browser: redirect, callback, sign-out."""

from odoo import http
from odoo.http import Response, request

from ..models.mcp.mcp_server_secrets import CALLBACK, CLIENT, SIGN_IN, START
from ..runtime import process
from ..runtime.servers import background
from ..runtime.web.after_commit import LeadsTo
from ..services import const
from ..services.errors import AuthRequired, ConfigError, EngineError, SignInRequired
from ..tools import db
from ..tools.refusals import TooOften
from .chat import READ, ROUTE, visible_or_404
from .mcp_servers import SERVER

QUESTION = "woow_paas_platform.call_question"
REQUEST = "woow_paas_platform.mcp_sign_in_request"
PAGE = {"type": "http", "auth": "user", "methods": ["GET"], "website": True}
ANSWER = ("state", "code", "iss", "error")  # what counts of a callback's query
MAX_ANSWER = 4_000  # characters of each
CLIENT_AGE = 3600  # s, authorization servers may keep our document


class OAuthController(http.Controller):
    @http.route(f"{START}/<int:server_id>", **PAGE)
    def start(self, server_id):
        """Leads to the server's authorization server; from our own pages only."""
        if request.httprequest.headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
            return self._refused(403)
        # sudo: mcp_server - who may sign in to it is asked at once
        server = request.env[SERVER].sudo().browse(server_id).exists()
        if not server or not server._can_sign_in(request.env.user):
            return self._refused(404)
        if too_many := self._too_many():
            return too_many
        # sudo: mcp_sign_in_request - of the caller only
        Request = request.env[REQUEST].sudo()
        try:
            url = Request._begin_again(server._sign_in(), request.env.uid)
        except AuthRequired as error:
            server._sign_in().error = str(error)
            return _leads_to(_page_of(server._sign_in().id))
        if url:
            return _leads_to(url)
        if url is None and not server.sudo(False).has_access("write"):
            return self._refused(404)  # nobody asked this person to sign in
        sign_in = server._sign_in(make=True)
        if not (spec := self._spec(server, sign_in)):
            return _leads_to(_page_of(sign_in.id))
        dbname, sign_in_id = request.env.cr.dbname, sign_in.id

        def ask():
            try:
                process.discover(spec)
            except SignInRequired as wanted:
                return wanted.url
            except EngineError as error:
                _record_error(dbname, sign_in_id, error)
            return _page_of(sign_in_id)

        return LeadsTo(request.env, ask, headers=_HEADERS)

    @http.route([CALLBACK, f"{CALLBACK}/<string:issuer>"], **PAGE)
    def callback(self, issuer="", **query):
        """The browser is back: get the tokens, then let the calls go on that waited for them.

        :param issuer: `services.oauth.flow.callback_of`; none in the address that issuers of old share
        """
        answer = {name: query[name][:MAX_ANSWER] for name in ANSWER if name in query}
        answer["callback"] = issuer[:MAX_ANSWER]
        # sudo: mcp_sign_in_request - of the caller only
        begun = request.env[REQUEST].sudo()._of_state(request.env.uid, answer.get("state", ""))
        server = begun.sign_in_id.server_id
        if not begun or server._sign_in() != begun.sign_in_id:
            return self._refused(400)
        if too_many := self._too_many():
            return too_many
        if not (spec := self._spec(server, begun.sign_in_id)):
            return _leads_to(_page_of(begun.sign_in_id.id))
        dbname, uid = request.env.cr.dbname, request.env.uid
        sign_in_id, manages = begun.sign_in_id.id, server.sudo(False).has_access("write")

        def redeem():
            try:
                process.wait_for(
                    lambda engine: engine.complete_sign_in(spec, answer), spec.sync_timeout
                )
            except EngineError as error:
                _record_error(dbname, sign_in_id, error)
                return _page_of(sign_in_id)

            def go_on(env):
                env = env(user=uid, su=True)
                env[QUESTION]._go_on_after(env[SIGN_IN].browse(sign_in_id))

            db.transaction(dbname, go_on)
            if manages:
                background.sync_as_signed_in(dbname, spec)
            return _page_of(sign_in_id)

        return LeadsTo(request.env, redeem, headers=_HEADERS)

    @http.route("/my/ai/sign-ins", readonly=READ["readonly"], **PAGE)
    def page(self, id=None, **_query):
        """The page of the user's sign-ins; with an `id` also the result of that one."""
        if not id:
            return self._page({})
        sign_in = request.env[SIGN_IN].browse(int(id) if id.isdecimal() else 0).exists()
        if not sign_in or not sign_in.has_access("read"):
            return self._refused(404)
        # sudo: mcp_server - the name of a server that the person signs in to
        server = sign_in.sudo().server_id.display_name
        return self._page({"result": sign_in, "server": server})

    def _spec(self, server, sign_in):
        """The `ServerSpec`, None if the server cannot be asked: the sign-in says why."""
        try:
            return server._server_spec()
        except ConfigError as error:
            sign_in.error = str(error)
            return None

    def _refused(self, status):
        return self._page({"is_refused": True}, status)

    def _too_many(self):
        """Sign-ins ask other machines, so they count like tests: a page for who starts too many."""
        try:
            request.env["woow_paas_platform.mcp_check"]._count_one()
        except TooOften as error:
            page = self._page({"refusal": str(error)}, 429)
            page.headers["Retry-After"] = str(error.retry_after)
            return page
        return None

    def _page(self, values, status=200):
        values |= {"page_name": "ai_settings", "sign_ins": request.env[SIGN_IN]._own()}
        return request.render("woow_paas_platform.portal_sign_ins", values, status=status)

    @http.route("/my/ai/sign-ins/forget", type="http", auth="user", methods=["POST"])
    def forget_on_page(self, id, **_form):
        own = request.env[SIGN_IN]._own()
        own.filtered(lambda sign_in: str(sign_in.id) == id).unlink()
        return request.redirect("/my/ai/sign-ins")

    @http.route(
        CLIENT, type="http", auth="public", methods=["GET"], readonly=True, save_session=False
    )
    def client(self):
        """Metadata of this Odoo for authorization servers (OAuth Client ID Metadata Document)."""
        # sudo: ir.config_parameter - the address of this Odoo, which the caller knows
        base = request.env[SERVER].sudo().get_base_url()
        document = {
            "client_id": f"{base}{CLIENT}",
            "client_name": const.CLIENT_NAME,
            "client_uri": base,
            "redirect_uris": [f"{base}{CALLBACK}"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
        headers = {"Cache-Control": f"public, max-age={CLIENT_AGE}"}
        return request.make_json_response(document, headers=headers)

    # ------------------------------------------------------------ what was given out

    @http.route("/api/ai/sign-ins", **READ)
    def sign_ins(self):
        return {"sign_ins": request.env[SIGN_IN]._own()._sign_in_data()}

    @http.route("/api/ai/sign-ins/<int:sign_in_id>", methods=["DELETE"], **ROUTE)
    def forget(self, sign_in_id):
        """The tokens are forgotten here; the next call asks to sign in again."""
        visible_or_404(SIGN_IN, sign_in_id, request.env._("This sign-in does not exist.")).unlink()
        return request.make_response("", status=204)


_HEADERS = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


def _leads_to(url):
    return Response(status=303, headers={**_HEADERS, "Location": url})


def _page_of(sign_in_id):
    return f"/my/ai/sign-ins?id={sign_in_id}"


def _record_error(dbname, sign_in_id, error):
    db.transaction(
        dbname, lambda env: env[SIGN_IN].browse(sign_in_id).exists().write({"error": str(error)})
    )
