"""Slack on the loopback: a proxy that answers for slack.com itself, with a certificate of its own authority."""

import contextlib
import datetime
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOSTS = ("slack.com", "*.slack.com")
CHANNEL = {
    "id": "C1",
    "name": "harbour",
    "name_normalized": "harbour",
    "is_channel": True,
    "is_member": True,
    "num_members": 2,
    "topic": {"value": "Ships"},
    "purpose": {"value": "All about the harbour"},
}
MEMBER = {"id": "U1", "name": "olga", "real_name": "Olga", "profile": {"display_name": "olga"}}
ANSWERS = {
    "auth.test": {
        "url": "https://acme.slack.com/",
        "team": "Acme",
        "user": "bot",
        "team_id": "T1",
        "user_id": "U1",
        "bot_id": "B1",
    },
    "client.userBoot": {"self": MEMBER, "team": {"id": "T1"}, "channels": [], "ims": []},
    "users.list": {"members": [MEMBER], "response_metadata": {"next_cursor": ""}},
    "conversations.list": {"channels": [CHANNEL], "response_metadata": {"next_cursor": ""}},
}


class FakeSlack:
    """``asked`` are the methods of its API that were called with the right token."""

    def __init__(self, folder: Path, token: str) -> None:
        self.token = token
        self.asked: list[str] = []
        self.authority = folder / "authority.pem"
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(_certificate(folder, self.authority))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, headers, body: str) -> dict[str, object]:
        method = urlsplit(path).path.rpartition("/")[2]
        # In a header, in a form, or in one of several parts.
        if self.token not in headers.get("Authorization", "") + body:
            return {"ok": False, "error": "invalid_auth"}
        self.asked.append(method)
        known = ANSWERS.get(method)
        return {"ok": True, **known} if known else {"ok": False, "error": "unknown_method"}

    def _handler(self):
        slack = self

        class Inside(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = b"".join(self._parts()).decode(errors="replace")
                raw = json.dumps(slack.answer(self.path, self.headers, body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST

            def _parts(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
                    return
                while size := int(self.rfile.readline(), 16):
                    yield self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()

            def log_message(self, *_args):
                pass

        class Proxy(BaseHTTPRequestHandler):
            def do_CONNECT(self):
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    inner = slack._context.wrap_socket(self.connection, server_side=True)
                    Inside(inner, self.client_address, self.server)

            def log_message(self, *_args):
                pass

        return Proxy


def _certificate(folder: Path, authority: Path) -> Path:
    """One of :data:`HOSTS`, with its key; who issued it is written to ``authority``."""
    now = datetime.datetime.now(datetime.UTC)
    issuer_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of a test")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOSTS[0])])

    def signed(name, public_key, extension):
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=False)
            .sign(issuer_key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
        )

    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    authority.write_bytes(
        signed(issuer, issuer_key.public_key(), x509.BasicConstraints(ca=True, path_length=0))
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    whole = folder / "slack.pem"
    whole.write_bytes(private + signed(subject, key.public_key(), names))
    return whole
