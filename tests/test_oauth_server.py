"""Sign-in to /mcp in the browser, from outside: a client, its person, and those who are neither."""

import base64
import hashlib
import ipaddress
import json
import re
import secrets
import ssl
import tempfile
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import lxml.html
import requests.auth
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from odoo import fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.base import oauth_client, oauth_grant
from ..services.net import transport
from ..services.oauth_server import client_document, const, id_jag
from ..tools import settings
from .test_gateway import TAIPEI, GatewayCase

CLIENT = "woow_paas_platform.oauth_client"
GRANT = "woow_paas_platform.oauth_grant"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SERVER = "/.well-known/oauth-authorization-server/woow/oauth"
AUTHORIZE, TOKEN, REVOKE, REGISTER = (
    f"/woow/oauth/{end}" for end in ("authorize", "token", "revoke", "register")
)
EGRESS = "odoo.addons.woow_paas_platform.services.net.egress"
CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = "a-verifier-that-is-long-enough-for-the-rfc-7636"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().strip("=")


class DocumentServer:
    """A site that shows a client's description over https, with a certificate that this process trusts.

    :ivar document: shown, None for an answer 404
    :ivar asked: number of requests
    """

    def __init__(self):
        self.document, self.asked = None, 0

    def __enter__(self):
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked += 1
                body = json.dumps(site.document).encode()
                self.send_response(200 if site.document is not None else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = _context().wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}/client.json"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self._server.shutdown()
        self._server.server_close()


def _context():
    """A server's context, whose certificate the process trusts from now on."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=True,
        )
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    transport.ssl_context().load_verify_locations(cadata=certificate.decode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        plain = serialization.NoEncryption(), serialization.PrivateFormat.PKCS8
        file.write(certificate + key.private_bytes(serialization.Encoding.PEM, *plain[::-1]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


class OauthCase(GatewayCase):
    def setUp(self):
        super().setUp()
        self.client_id = self._registered()["client_id"]

    def _send(self, method, path, **options):
        options = {"timeout": 20, "allow_redirects": False} | options
        return self.opener.request(method, self.base_url() + path, **options)

    def _registered(self, **more):
        document = {"client_name": "Claude Code", "redirect_uris": [CALLBACK], **more}
        answer = self._send("POST", REGISTER, json=document)
        self.assertEqual(answer.status_code, 201, answer.text)
        return answer.json()

    def _asked(self, **more):
        """Parameters of an authorization request; None leaves one out."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s&1",
            "resource": f"{self.base_url()}/mcp",
            **more,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def _page(self, **more):
        return self._send("GET", f"{AUTHORIZE}?{urlencode(self._asked(**more))}")

    def _form(self, page):
        """Hidden fields of the page's form."""
        self.assertEqual(page.status_code, 200, page.headers)
        (form,) = lxml.html.fromstring(page.content).xpath(f"//form[@action='{AUTHORIZE}']")
        return {field.name: field.value for field in form.xpath(".//input[@type='hidden']")}

    def _decided(self, decision="allow", page=None, chosen=(), **more):
        """The person presses a button of the page.

        :param chosen: fields that the person fills in
        :return: parameters that the client gets
        """
        sent = self._form(page or self._page(**more)) | {"decision": decision} | dict(chosen)
        return self._told(self._send("POST", AUTHORIZE, data=sent))

    def _told(self, answer):
        self.assertEqual(answer.status_code, 303, answer.text)
        self.assertTrue(answer.headers["Location"].startswith(f"{CALLBACK}?"), answer.headers)
        query = parse_qs(urlsplit(answer.headers["Location"]).query, strict_parsing=True)
        told = {name: value for name, (value,) in query.items()}
        self.assertEqual(told.pop("iss"), f"{self.base_url()}/woow/oauth")
        self.assertEqual(told.pop("state"), "s&1")
        return told

    def _exchange(self, headers=None, **more):
        """:return: status and JSON of the token endpoint"""
        sent = {"client_id": self.client_id, "resource": f"{self.base_url()}/mcp", **more}
        sent = {name: value for name, value in sent.items() if value is not None}
        answer = self._send("POST", TOKEN, data=sent, headers=headers)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return answer.status_code, answer.json()

    def _redeem(self, code, **more):
        shown = {"redirect_uri": CALLBACK, "code_verifier": VERIFIER, **more}
        return self._exchange(grant_type="authorization_code", code=code, **shown)

    def _refresh(self, token, **more):
        return self._exchange(grant_type="refresh_token", refresh_token=token, **more)

    def _connected(self, user=None, **more):
        """A client that a person has signed in to.

        :return: its tokens
        """
        self._sign_in(user or self.member)
        status, told = self._redeem(self._decided(**more)["code"])
        self.assertEqual(status, 200, told)
        return told

    def _opens(self, token):
        return self._rpc(token, "ping")[0] == 200

    def _grants(self):
        self.env.invalidate_all()
        return self.env[GRANT].search([("user_id", "=", self.member.id)])

    def _set(self, **values):
        self._grants().write(values)
        self.env.flush_all()

    def _vacuum(self):
        for name in (CLIENT, GRANT):
            self.env[name]._gc_over()


@tagged("post_install", "-at_install")
class TestOauthServer(OauthCase):
    # ------------------------------------------------------------ the way in

    def test_a_client_finds_the_way_from_the_address_alone(self):
        self._served()
        refused = self._send("POST", "/mcp", json={})
        self.assertEqual(refused.status_code, 401)
        challenge = refused.headers["WWW-Authenticate"]
        leads_to = re.search(r'resource_metadata="([^"]+)"', challenge)[1]
        self.assertEqual(leads_to, self.base_url() + RESOURCE)
        self.assertNotIn("error=", challenge)
        resource = self._send("GET", RESOURCE).json()
        self.assertEqual(resource["resource"], f"{self.base_url()}/mcp")
        (issuer,) = resource["authorization_servers"]
        self.assertEqual(issuer, f"{self.base_url()}/woow/oauth")
        found = self._send("GET", SERVER)
        self.assertEqual(found.headers["Cache-Control"], "no-store")
        self.assertEqual(found.json()["issuer"], issuer)
        ends = [url for name, url in found.json().items() if name.endswith("_endpoint")]
        expected = {self.base_url() + end for end in (AUTHORIZE, TOKEN, REVOKE, REGISTER)}
        self.assertEqual(set(ends), expected)

        page = self._page()
        self.assertEqual((page.status_code, page.headers["Location"][:10]), (303, "/web/login"))
        self._sign_in(self.member)
        to = parse_qs(urlsplit(page.headers["Location"]).query)["redirect"][0]
        page = self._send("GET", to)
        for shown in ("Claude Code", "127.0.0.1", self.member.login, "this computer"):
            self.assertIn(shown, page.text)
        told = self._decided(page=page)
        status, given = self._redeem(told["code"])
        self.assertEqual(status, 200, given)
        self.assertEqual((given["token_type"], given["expires_in"]), ("Bearer", 3600))
        self.assertEqual(given["scope"], "tools:read tools:call")
        self.logout()
        token = given["access_token"]
        self.assertIn("weather__forecast", self._names(token))
        self.assertFalse(self._result(TAIPEI, token)["isError"])
        row = self._rows()
        self.assertEqual((row.outcome, row.client_name), ("ok", "Claude Code"))

    def test_a_proxy_may_hide_that_it_speaks_https(self):
        here = self.base_url().replace("http:", "https:")
        self.env["ir.config_parameter"].set_param("web.base.url", here)
        self.env.flush_all()
        self.assertEqual(self._send("GET", RESOURCE).json()["resource"], f"{here}/mcp")
        self.env["ir.config_parameter"].set_param("web.base.url", "https://other.example.com")
        self.env.flush_all()
        self.assertEqual(self._send("GET", RESOURCE).json()["resource"], f"{self.base_url()}/mcp")

    def test_the_page_is_shown_in_no_frame_and_kept_by_nobody(self):
        self._sign_in(self.member)
        headers = self._page().headers
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Cache-Control"], "no-store")

    def test_another_person_can_sign_in_instead(self):
        self._sign_in(self.guest)
        page = lxml.html.fromstring(self._page().content)
        (link,) = page.xpath("//a[contains(@href, '/web/session/logout')]/@href")
        login = self._send("GET", link).headers["Location"]
        self.assertEqual(urlsplit(login).path, "/web/login")
        back = parse_qs(urlsplit(login).query)["redirect"][0]
        self._sign_in(self.member)
        self._decided(page=self._send("GET", back))
        self.assertEqual(len(self._grants()), 1)

    def test_a_person_says_no(self):
        self._sign_in(self.member)
        for decision in ("deny", "", "yes"):
            self.assertEqual(self._decided(decision)["error"], "access_denied")
        self.assertFalse(self._grants())

    def test_a_wish_that_is_wrong_goes_back_to_the_client(self):
        self._sign_in(self.member)
        for more, code in (
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"resource": "https://other.example.com/mcp"}, "invalid_target"),
            ({"scope": "admin"}, "invalid_scope"),
        ):
            with self.subTest(more):
                self.assertEqual(self._told(self._page(**more))["error"], code)

    def test_no_site_gets_a_visitor_without_a_click(self):
        site = "https://evil.example.com/callback"
        self.client_id = self._registered(redirect_uris=[site])["client_id"]
        self._sign_in(self.member)
        page = self._page(redirect_uri=site, response_type="token")
        self.assertEqual((page.status_code, page.headers["X-Frame-Options"]), (400, "DENY"))
        (link,) = lxml.html.fromstring(page.content).xpath(f"//a[starts-with(@href, '{site}?')]")
        self.assertIn("Back to evil.example.com", link.text_content())

    def test_nothing_goes_to_an_address_that_is_not_the_clients(self):
        self._sign_in(self.member)
        for more in (
            {"redirect_uri": "https://evil.example.com/callback"},
            {"redirect_uri": "http://127.0.0.1:33418/other"},
            {"redirect_uri": None},
            {"client_id": "unknown"},
            {"client_id": "a\0b"},
            {"client_id": None},
        ):
            for method, sent in (("GET", "params"), ("POST", "data")):
                with self.subTest(more, method=method):
                    token = self._token_of_page() if method == "POST" else {}
                    asked = {sent: self._asked(**more) | token | {"decision": "allow"}}
                    answer = self._send(method, AUTHORIZE, **asked)
                    self.assertEqual(answer.status_code, 400)
                    self.assertNotIn("Location", answer.headers)
                    self.assertEqual(answer.headers["X-Frame-Options"], "DENY")
        self.assertFalse(self._grants())

    def _token_of_page(self):
        fields_of_page = lxml.html.fromstring(self._page().content)
        (value,) = fields_of_page.xpath("//form//input[@name='csrf_token']/@value")
        return {"csrf_token": value}

    def test_a_page_of_another_site_decides_nothing(self):
        self._sign_in(self.member)
        for token in ({}, {"csrf_token": "0o9999999999"}):
            sent = self._asked() | {"decision": "allow"} | token
            headers = {"Origin": "https://evil.example.com"}
            with self.assertLogs("odoo.http", "WARNING"):
                answer = self._send("POST", AUTHORIZE, data=sent, headers=headers)
            self.assertEqual(answer.status_code, 400)
        self.assertFalse(self._grants())

    def test_the_port_on_ones_own_computer_may_be_another(self):
        self._sign_in(self.member)
        page = self._page(redirect_uri="http://127.0.0.1:9/callback")
        self.assertEqual(page.status_code, 200)

    # ------------------------------------------------------------ codes and tokens

    def test_a_code_is_for_one_client_once(self):
        self._sign_in(self.member)
        other = self._registered()["client_id"]
        code = self._decided()["code"]
        for more in (
            {"code_verifier": "another-verifier-that-is-long-enough-for-it"},
            {"code_verifier": None},
            {"redirect_uri": "http://127.0.0.1:1/callback"},
            {"client_id": other},
        ):
            with self.subTest(more):
                status, told = self._redeem(code, **more)
                self.assertEqual((status, told["error"]), (400, "invalid_grant"))
        for more, code_of_error, status in (
            ({"resource": "https://other.example.com/mcp"}, "invalid_target", 400),
            ({"client_id": "unknown"}, "invalid_client", 401),
        ):
            answer = self._redeem(code, **more)
            self.assertEqual((answer[0], answer[1]["error"]), (status, code_of_error))
        given = self._redeem(code)[1]
        self.assertTrue(self._opens(given["access_token"]))
        self.assertEqual(self._redeem(code)[1]["error"], "invalid_grant")
        self.assertFalse(self._opens(given["access_token"]), "used twice, so it was stolen")
        self.assertEqual(self._refresh(given["refresh_token"])[1]["error"], "invalid_grant")

    def test_a_code_is_valid_for_a_minute(self):
        self._sign_in(self.member)
        code = self._decided()["code"]
        self._set(expires_at=fields.Datetime.now())
        self.assertEqual(self._redeem(code)[1]["error"], "invalid_grant")

    def test_tokens_are_replaced_by_new_ones(self):
        first = self._connected()
        status, second = self._refresh(first["refresh_token"])
        self.assertEqual(status, 200, second)
        self.assertFalse(self._opens(first["access_token"]))
        self.assertTrue(self._opens(second["access_token"]))
        self.assertEqual(self._refresh(first["refresh_token"])[1]["error"], "invalid_grant")
        self.assertFalse(self._opens(second["access_token"]), "shown twice, so it was stolen")
        self.assertEqual(self._refresh(second["refresh_token"])[1]["error"], "invalid_grant")

    def test_a_refresh_token_is_its_clients(self):
        token = self._connected()["refresh_token"]
        other = self._registered()["client_id"]
        for more in ({"client_id": other}, {"resource": "https://other.example.com/mcp"}):
            self.assertEqual(self._refresh(token, **more)[0], 400)
        self.assertEqual(self._refresh(token)[0], 200)

    def test_tokens_are_over_one_day(self):
        given = self._connected()
        now = fields.Datetime.now()
        self._set(access_expires_at=now)
        self.assertFalse(self._opens(given["access_token"]))
        self._set(expires_at=now)
        self.assertEqual(self._refresh(given["refresh_token"])[1]["error"], "invalid_grant")
        self._set(expires_at=now - timedelta(minutes=1))
        self._vacuum()
        self.assertFalse(self._grants())

    def test_a_token_is_for_this_address(self):
        token = self._connected()["access_token"]
        self._set(resource="https://other.example.com/mcp")
        refused = self._send("POST", "/mcp", headers={"Authorization": f"Bearer {token}"}, json={})
        self.assertEqual(refused.status_code, 401)
        self.assertIn('error="invalid_token"', refused.headers["WWW-Authenticate"])

    def test_a_token_opens_nothing_else(self):
        given = self._connected()
        self.logout()
        for token in (given["refresh_token"], f"{given['access_token']}x", "woow_at.", "woow_at.x"):
            self.assertFalse(self._opens(token))
        headers = {"Authorization": f"Bearer {given['access_token']}"}
        for path in ("/api/ai/assistants", "/api/mcp/keys"):
            self.assertEqual(self._call("GET", path, headers=headers)[0], 401)
        self.assertEqual(self._call("GET", "/v1/models", headers=headers)[0], 403)
        foreign = {"Origin": "https://evil.example.com"}
        self.assertEqual(self._rpc(given["access_token"], "ping", **foreign)[0], 403)

    def test_no_token_is_kept(self):
        given = self._connected()
        kept = str(self._grants().read() + self._grants().sudo().read(["access_digest"]))
        for token in (given["access_token"], given["refresh_token"]):
            self.assertNotIn(token, kept)
            self.assertNotIn(token.rpartition(".")[2], kept)

    def test_a_scope_that_is_missing_is_told(self):
        token = self._connected(scope="tools:read offline_access")["access_token"]
        self.assertIn("weather__forecast", self._names(token))
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": TAIPEI}
        headers = {"Authorization": f"Bearer {token}"}
        answer = self._send("POST", "/mcp", json=message, headers=headers)
        self.assertEqual(answer.status_code, 403)
        self.assertEqual(answer.json()["error"]["data"]["code"], "insufficient_scope")
        challenge = answer.headers["WWW-Authenticate"]
        self.assertIn('error="insufficient_scope"', challenge)
        self.assertIn('scope="tools:call"', challenge)
        self.assertFalse(self._rows())

    def test_assistants_are_a_scope_of_their_own(self):
        """No client gets it without having asked, and it opens no tools."""
        token = self._connected()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        answer = self._send("GET", "/v1/models", headers=headers)
        self.assertEqual(answer.status_code, 403)
        self.assertEqual(answer.json()["error"]["code"], "insufficient_scope")
        self.assertIn('scope="assistants"', answer.headers["WWW-Authenticate"])
        told = self._connected(scope="assistants")
        self.assertEqual(told["scope"], "assistants")
        headers = {"Authorization": f"Bearer {told['access_token']}"}
        self.assertEqual(self._call("GET", "/v1/models", headers=headers)[0], 200)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answer = self._send("POST", "/mcp", json=message, headers=headers)
        self.assertEqual(answer.status_code, 403)
        self._grants().filtered("last_used_at").unlink()
        self.env.flush_all()
        self.assertEqual(self._call("GET", "/v1/models", headers=headers)[0], 401)

    def test_the_person_reads_what_is_allowed(self):
        self._sign_in(self.member)
        for scope, sentence in (
            ("tools:read", "see which tools you have"),
            ("assistants", "ask the assistants that you may use"),
        ):
            page = self._page(scope=scope).text
            self.assertEqual(
                [said in page for said in ("see which tools", "ask the assistants")],
                [sentence.startswith("see"), sentence.startswith("ask")],
            )

    # ------------------------------------------------------------ the end

    def test_whatever_ends_it_counts_at_the_next_request(self):
        admin_view = self.env[GRANT].with_user(self.admin)
        for end in (
            lambda _given: self._grants().with_user(self.member).sudo(False).unlink(),
            lambda _given: admin_view.search([("user_id", "=", self.member.id)]).unlink(),
            lambda given: self._send(
                "POST", REVOKE, data={"token": given["access_token"], "client_id": self.client_id}
            ),
            lambda given: self._send(
                "POST", REVOKE, data={"token": given["refresh_token"], "client_id": self.client_id}
            ),
            lambda _given: self._call("DELETE", f"/api/mcp/clients/{self._grants().id}"),
            lambda _given: self.env[CLIENT].search([("client_id", "=", self.client_id)]).unlink(),
        ):
            given = self._connected()
            self.assertTrue(self._opens(given["access_token"]))
            end(given)
            self.env.flush_all()
            self.assertFalse(self._opens(given["access_token"]))
            self.assertIn(self._refresh(given["refresh_token"])[0], (400, 401))

    def test_a_person_who_is_archived_has_no_clients(self):
        given = self._connected()
        self.member.active = False
        self.env.flush_all()
        self.assertFalse(self._opens(given["access_token"]))
        self.assertEqual(self._refresh(given["refresh_token"])[1]["error"], "invalid_grant")

    def test_the_public_user_has_no_clients(self):
        given = self._connected()
        self.public.active = True
        self._grants().user_id = self.public
        self.env.flush_all()
        self.assertFalse(self._opens(given["access_token"]))
        self.assertEqual(self._refresh(given["refresh_token"])[1]["error"], "invalid_grant")

    def test_only_its_own_client_revokes_a_token(self):
        given = self._connected()
        other = self._registered()["client_id"]
        for sent in (
            {"token": given["access_token"], "client_id": other},
            {"token": given["access_token"]},
            {"token": "nonsense", "client_id": self.client_id},
        ):
            self.assertEqual(self._send("POST", REVOKE, data=sent).status_code, 200)
        self.assertEqual(self._send("POST", REVOKE, data={}).status_code, 400)
        self.assertTrue(self._opens(given["access_token"]))

    # ------------------------------------------------------------ what people see

    def test_people_see_and_end_their_own_clients(self):
        self._connected(self.internal)
        self._connected()
        listed = self._call("GET", "/api/mcp/keys")[1]
        self.assertEqual(listed["url"], f"{self.base_url()}/mcp")
        (mine,) = listed["clients"]
        self.assertEqual((mine["name"], mine["place"]), ("Claude Code", "127.0.0.1"))
        self.assertTrue(mine["can_call"])
        self.assertEqual(self._call("DELETE", f"/api/mcp/clients/{mine['id']}")[0], 204)
        self.assertEqual(self._call("DELETE", f"/api/mcp/clients/{mine['id']}")[0], 404)
        self.assertEqual(self._call("GET", "/api/mcp/keys")[1]["clients"], [])
        self.assertTrue(self.env[GRANT].search([("user_id", "=", self.internal.id)]))

    def test_signing_in_again_replaces_what_was_before(self):
        first, second = self._connected(), self._connected()
        self.assertEqual(len(self._grants()), 1)
        self.assertFalse(self._opens(first["access_token"]))
        self.assertTrue(self._opens(second["access_token"]))

    def test_nobody_connects_endless_clients(self):
        self._connected()
        with patch.object(oauth_grant, "MAX_OF_PERSON", 1):
            self.assertEqual(self._page().status_code, 200, "the same client again")
            self.client_id = self._registered()["client_id"]
            page = self._page()
        self.assertEqual(page.status_code, 409)
        self.assertIn("connected 1 MCP clients already", page.text)

    # ------------------------------------------------------------ clients of an administrator

    def _added(self, **values):
        """A client that an administrator has added, and its secret."""
        values = {
            "name": "Connector",
            "redirect_uris": f"https://claude.ai/cb\n{CALLBACK}",
        } | values
        client = self.env[CLIENT].with_user(self.admin).create(values)
        secret = client.action_new_secret()["params"]["message"].split()[-1]
        self.client_id = client.client_id
        self.env.flush_all()
        return client, secret

    def test_a_client_with_a_secret_shows_it(self):
        client, secret = self._added()
        self._sign_in(self.member)
        page = self._page()
        self.assertIn("An administrator has added it.", page.text)
        code = self._decided(page=page)["code"]
        for more in ({}, {"client_secret": f"{secret}x"}):
            status, told = self._redeem(code, **more)
            self.assertEqual((status, told["error"]), (401, "invalid_client"))
        given = self._redeem(code, client_secret=secret)[1]
        basic = requests.auth.HTTPBasicAuth
        for shown, status in (("wrong", 401), (secret, 200)):
            answer = self._send(
                "POST",
                TOKEN,
                data={"grant_type": "refresh_token", "refresh_token": given["refresh_token"]},
                auth=basic(self.client_id, shown),
            )
            self.assertEqual(answer.status_code, status, answer.text)
            self.assertEqual("WWW-Authenticate" in answer.headers, status == 401)
        token = answer.json()["access_token"]
        revoke = {"token": token, "client_id": self.client_id}
        self.assertEqual(self._send("POST", REVOKE, data=revoke).status_code, 401)
        self.assertTrue(self._opens(token))
        revoke["client_secret"] = secret
        self.assertEqual(self._send("POST", REVOKE, data=revoke).status_code, 200)
        self.assertFalse(self._opens(token))
        self.assertNotIn(secret, str(client.sudo().read()))

    def test_a_new_secret_ends_the_old_one(self):
        client, secret = self._added()
        token = self._connected_with(secret)["refresh_token"]
        client.action_new_secret()
        self.env.flush_all()
        self.assertEqual(self._refresh(token, client_secret=secret)[0], 401)

    def _connected_with(self, secret):
        self._sign_in(self.member)
        status, told = self._redeem(self._decided()["code"], client_secret=secret)
        self.assertEqual(status, 200, told)
        return told

    def test_administrators_change_what_they_have_added(self):
        client, _secret = self._added()
        client.name = "Another"
        theirs = self.env[CLIENT].search([("kind", "=", "registered")], limit=1)
        for refused in (
            lambda: theirs.with_user(self.admin).write({"name": "Mine"}),
            lambda: theirs.with_user(self.admin).action_new_secret(),
            lambda: client.write({"client_id": "chosen"}),
            lambda: client.write({"kind": "document"}),
        ):
            with self.assertRaises(AccessError):
                refused()
        for uris in ("http://evil.example.com/cb", "javascript:alert(1)", " "):
            with self.assertRaises(ValidationError):
                client.redirect_uris = uris
                client.flush_recordset()

    def test_a_client_of_an_administrator_is_kept(self):
        client, _secret = self._added()
        self._send_back(CLIENT, days=oauth_client.UNUSED_DAYS + 1)
        self._vacuum()
        self.assertTrue(client.exists())

    # ------------------------------------------------------------ clients that describe themselves

    def test_a_client_describes_itself_at_its_address(self):
        self._sign_in(self.member)
        with DocumentServer() as server:
            self.client_id = server.url
            server.document = {
                "client_id": server.url,
                "client_name": "Described",
                "redirect_uris": [CALLBACK],
            }
            read = self._page()
            self.assertEqual((read.status_code, server.asked), (303, 1), read.text)
            page = self._send("GET", read.headers["Location"])
            for shown in ("Described", "It is described at <strong"):
                self.assertIn(shown, page.text)
            status, given = self._redeem(self._decided(page=page)["code"])
            self.assertEqual(status, 200, given)
            self.assertTrue(self._opens(given["access_token"]))
            self._page()
            self.assertEqual(server.asked, 1, "read a moment ago")
            server.document["redirect_uris"] = ["https://app.example.com/cb"]
            self.env[CLIENT].search([("client_id", "=", server.url)]).described_at = False
            self.env.flush_all()
            page = self._send("GET", self._page().headers["Location"])
            self.assertEqual((page.status_code, server.asked), (400, 2))

    def test_a_description_that_is_not_valid_is_none(self):
        self._sign_in(self.member)
        with DocumentServer() as server:
            self.client_id = server.url
            good = {"client_id": server.url, "redirect_uris": [CALLBACK]}
            for document in (
                {**good, "client_id": "https://other.example.com/client.json"},
                {**good, "redirect_uris": ["http://evil.example.com/cb"]},
                {**good, "token_endpoint_auth_method": "client_secret_post"},
                {**good, "client_secret": "s"},
                {**good, "client_name": "x" * client_document.MAX_BYTES},
                [],
                None,
            ):
                server.document = document
                page = self._send("GET", self._page().headers["Location"])
                self.assertEqual(page.status_code, 400)
                self.assertIn("description of this program could not be read", page.text)
        self.assertFalse(self.env[CLIENT].search([("kind", "=", "document")]))

    def test_an_address_inside_is_not_read(self):
        self._sign_in(self.member)
        self.client_id = "https://10.0.0.1/client.json"
        with self.assertLogs(EGRESS, "WARNING"):
            page = self._send("GET", self._page().headers["Location"])
        self.assertEqual(page.status_code, 400)

    # ------------------------------------------------------------ registration

    def test_a_client_registers_as_what_it_can_be_here(self):
        told = self._registered(token_endpoint_auth_method="client_secret_post", scope="all")
        self.assertEqual(told["token_endpoint_auth_method"], "none")
        self.assertNotIn("client_secret", told)
        for document, code in (
            ({"redirect_uris": ["http://evil.example.com/cb"]}, "invalid_redirect_uri"),
            ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
            ({"client_name": "x"}, "invalid_redirect_uri"),
            ([], "invalid_client_metadata"),
        ):
            answer = self._send("POST", REGISTER, json=document)
            self.assertEqual((answer.status_code, answer.json()["error"]), (400, code))
            self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_a_name_is_text(self):
        self.client_id = self._registered(client_name="<script>alert(1)</script>")["client_id"]
        self._sign_in(self.member)
        self.assertNotIn("<script>alert(1)", self._page().text)

    def test_nobody_registers_endless_clients(self):
        document = {"redirect_uris": [CALLBACK]}
        with patch.object(oauth_client, "MAX_OF_NETWORK", 1):
            answer = self._send("POST", REGISTER, json=document)
            self.assertEqual(answer.status_code, 429)
            self.assertEqual(answer.headers["Retry-After"], "3600")
        with patch.object(oauth_client, "MAX_UNUSED", 1):
            self.assertEqual(self._send("POST", REGISTER, json=document).status_code, 429)
            self._send_back(CLIENT, hours=2)
            self.assertEqual(self._send("POST", REGISTER, json=document).status_code, 201)
        ours = self.env[CLIENT].search([("client_id", "=", self.client_id)])
        self.assertFalse(ours, "the oldest unused one made room")

    def test_clients_that_nobody_uses_are_deleted(self):
        used = self._registered()["client_id"]
        unused, self.client_id = self.client_id, used
        self._connected()
        self._send_back(CLIENT, days=oauth_client.UNUSED_DAYS + 1)
        self._vacuum()
        left = self.env[CLIENT].search([("client_id", "in", (used, unused))])
        self.assertEqual(left.mapped("client_id"), [used])
        self.assertFalse(left.sudo().network)

    def _send_back(self, model, **delta):
        self.env.flush_all()
        table = self.env[model]._table
        moment = fields.Datetime.now() - timedelta(**delta)
        self.env.cr.execute(f"UPDATE {table} SET create_date = %s", [moment])
        self.env.invalidate_all()

    def test_nothing_large_is_read(self):
        large = "x" * (const.MAX_BODY + 1)
        self._sign_in(self.member)
        for path, sent in (
            (REGISTER, {"json": {"client_name": large, "redirect_uris": [CALLBACK]}}),
            (TOKEN, {"data": {"code": large}}),
            (REVOKE, {"data": {"token": large}}),
            (AUTHORIZE, {"data": {"state": large}}),
        ):
            with self.subTest(path):
                self.assertEqual(self._send("POST", path, **sent).status_code, 413)

    def test_a_token_request_is_a_form(self):
        for sent in ({"json": {"grant_type": "authorization_code"}}, {"params": {"code": "x"}}):
            answer = self._send("POST", TOKEN, **sent)
            self.assertEqual((answer.status_code, answer.json()["error"]), (400, "invalid_request"))
        twice = [("grant_type", "authorization_code"), ("code", "a"), ("code", "b")]
        answer = self._send("POST", TOKEN, data=twice)
        self.assertEqual(answer.json()["error"], "invalid_request")


IDP = "https://idp.example.com"


@tagged("post_install", "-at_install")
class TestAssertions(OauthCase):
    """The identity provider of a company signs its people in, without a page (ID-JAG)."""

    def setUp(self):
        super().setUp()
        self.idp_key = ec.generate_private_key(ec.SECP256R1())
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.idp_key.public_key()))
        self.keys = Path(self.enterContext(tempfile.TemporaryDirectory())) / "keys.json"
        self.keys.write_text(json.dumps({"keys": [{**public, "kid": "one"}]}))
        values = {"name": "Company", "redirect_uris": CALLBACK}
        client = self.env[CLIENT].with_user(self.admin).create(values)
        self.secret = client.action_new_secret()["params"]["message"].split()[-1]
        self.client_id = client.client_id
        self.client = client
        self.member.email = "ann@idp.example.com"
        self.env.flush_all()

    def _set_up(self, **more):
        given = {"id_jag_issuer": IDP, "id_jag_keys": str(self.keys), **more}
        options = replace(settings.get(), **given)
        self.enterContext(patch.object(settings, "get", lambda: options))

    def _assertion(self, **more):
        now = int(datetime.now().timestamp())
        claims = {
            "iss": IDP,
            "sub": "u1",
            "email": "Ann@idp.example.com",
            "aud": f"{self.base_url()}/woow/oauth",
            "client_id": self.client_id,
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + 300,
            "scope": "tools:read tools:call",
            **more,
        }
        header = {"typ": id_jag.TYPE, "kid": "one"}
        return jwt.encode(claims, self.idp_key, "ES256", headers=header)

    def _shown(self, assertion=None, **more):
        sent = {"client_secret": self.secret, "assertion": assertion or self._assertion(), **more}
        return self._exchange(grant_type=id_jag.GRANT_TYPE, **sent)

    def test_off_unless_it_is_set_up(self):
        self.assertEqual(self._shown()[1]["error"], "unsupported_grant_type")
        self.assertNotIn("authorization_grant_profiles_supported", self._send("GET", SERVER).json())
        self._set_up()
        described = self._send("GET", SERVER).json()
        self.assertIn(id_jag.PROFILE, described["authorization_grant_profiles_supported"])
        with mute_logger(
            "odoo.addons.woow_paas_platform.controllers.oauth_server.identity_provider"
        ):
            for wrong in ("", "[]", "{}", "x" * (id_jag.MAX_KEYS + 1)):
                self.keys.write_text(wrong)
                self.assertEqual(self._shown()[1]["error"], "unsupported_grant_type")
            self.keys.unlink()
            self.assertEqual(self._shown()[1]["error"], "unsupported_grant_type")

    def test_a_person_is_signed_in_without_a_page(self):
        self._served()
        self._set_up()
        assertion = self._assertion()
        status, told = self._shown(assertion)
        self.assertEqual((status, told["scope"]), (200, "tools:read tools:call"))
        self.assertNotIn("refresh_token", told)
        self.assertTrue(self._opens(told["access_token"]))
        self.assertIn(TAIPEI["name"], self._names(told["access_token"]))
        again = self._shown(assertion)
        self.assertEqual((again[0], again[1]["error"]), (400, "invalid_grant"))
        second = self._shown(scope="tools:read")[1]
        self.assertEqual(second["scope"], "tools:read")
        self.assertFalse(self._opens(told["access_token"]), "the newer token has replaced it")
        grant = self._grants()
        self.assertEqual((len(grant), grant.redirect_uri), (1, IDP))
        self.assertEqual(grant._data()[0]["place"], "idp.example.com")
        refreshed = self._refresh(second["access_token"], client_secret=self.secret)
        self.assertEqual(refreshed[1]["error"], "invalid_grant")
        self.member.active = False
        self.env.flush_all()
        self.assertFalse(self._opens(second["access_token"]))
        self.assertEqual(self._shown()[1]["error"], "invalid_grant")

    def test_who_gets_nothing(self):
        self._set_up()
        public = self.env.ref("base.public_user")
        public.email = "public@idp.example.com"
        self.env.flush_all()
        other = self._registered()["client_id"]
        base = self.base_url()
        for error, shown in (
            ("invalid_client", {"client_secret": "wrong"}),
            ("unauthorized_client", {"client_id": other, "client_secret": None}),
            ("invalid_grant", {"assertion": self._assertion(email="nobody@idp.example.com")}),
            ("invalid_grant", {"assertion": self._assertion(email="public@idp.example.com")}),
            ("invalid_grant", {"assertion": self._assertion(client_id=other)}),
            ("invalid_scope", {"scope": "tools:read records:write"}),
            ("invalid_target", {"assertion": self._assertion(resource="https://other/mcp")}),
            ("invalid_target", {"assertion": self._assertion(resource=f"{base}/mcp/none")}),
            ("invalid_target", {"resource": f"{base}/mcp/none"}),
        ):
            said = self._shown(**shown)
            self.assertEqual(said[1].get("error"), error, shown)
        self.patch(oauth_grant, "MAX_OF_PERSON", 0)
        self.assertEqual(self._shown()[1]["error"], "invalid_grant")
        self.assertFalse(self._grants())

    def test_an_assertion_for_another_server_does_not_count_by_naming_it_as_the_host(self):
        self._set_up()
        there = {"Host": "other.example.com"}
        for audience in ("http://other.example.com", "https://other.example.com"):
            assertion = self._assertion(aud=f"{audience}/woow/oauth")
            said = self._shown(assertion, headers=there, resource=None)[1]
            self.assertEqual(said.get("error"), "invalid_grant")
        self.assertFalse(self._grants())
        described = self._send("GET", SERVER, headers=there).json()
        self.assertEqual(described["issuer"], "http://other.example.com/woow/oauth")
        self.assertNotIn(id_jag.PROFILE, str(described))
        self.assertEqual(self._shown(headers=there, resource=None)[0], 200)
        self.assertEqual(self._grants().resource, f"{self.base_url()}/mcp")

    def test_the_claim_is_the_operators_choice(self):
        self._set_up(id_jag_claim="sub")
        self.assertEqual(self._shown()[1]["error"], "invalid_grant")
        self.assertEqual(self._shown(self._assertion(sub=self.member.login))[0], 200)
        self.assertEqual(len(self._grants()), 1)

    def test_a_login_counts_before_an_address_that_another_user_chose(self):
        self._set_up()
        self.member.login = "ann@idp.example.com"
        self.admin.email = "ann@idp.example.com"
        self.env.flush_all()
        self.assertEqual(self._shown(self._assertion(email="ann@idp.example.com"))[0], 200)
        self.assertEqual(self._grants().user_id, self.member)

    def test_used_assertions_are_forgotten_after_their_time(self):
        self._set_up()
        self.assertEqual(self._shown()[0], 200)
        used = self.env["woow_paas_platform.oauth_assertion"].search([])
        used._gc_over()
        self.assertEqual(len(used.exists()), 1)
        used.expires_at = fields.Datetime.now() - timedelta(seconds=1)
        used._gc_over()
        self.assertFalse(used.exists())
