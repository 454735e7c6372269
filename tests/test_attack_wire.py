"""What must not come in by the wire: texts and numbers that PostgreSQL, parsers or pages refuse, and too much of it."""

import base64
import io
import zlib
from dataclasses import asdict
from types import SimpleNamespace

from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.turn import ai_turn
from ..models.turn.ai_turn import Question
from ..runtime.servers.server_store import ServerStore
from ..runtime.turns.store import OdooStore
from ..services.specs import (
    CallResult,
    DiscoveredTool,
    ServerSpec,
    ToolCall,
    ToolSpec,
    TurnProgress,
)
from ..services.turn.ports import Ending
from ..tools import settings
from .common import AiHttpCase

POISON = "a\0b\ud800c"  # PostgreSQL takes neither NUL nor a lone surrogate


def huge_png(side):
    """A valid picture of a few kB that takes ``side ** 2`` bytes once it is decoded."""

    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    size = side.to_bytes(4, "big") * 2
    file = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    file.seek(0, io.SEEK_END)
    file.write(chunk(b"IHDR", size + b"\x08\0\0\0\0"))
    file.write(chunk(b"IDAT", zlib.compress(b"")))
    file.write(chunk(b"IEND", b""))
    return base64.b64encode(file.getvalue()).decode()


@tagged("post_install", "-at_install")
class TestAttackOnTheStore(AiHttpCase):
    """What a model or a server can make the runner write."""

    def setUp(self):
        super().setUp()
        self.store = OdooStore(self.env.cr.dbname)
        self.turn = self._ask(self.member, service=self.service).sudo()
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        self.env.invalidate_all()

    def _call(self):
        tool = self.forecast
        return ToolCall(
            id="call_1",
            alias=tool.alias,
            round=1,
            tool=ToolSpec(id=tool.id, server_id=tool.server_id.id, name=tool.name, alias="a"),
            server=ServerSpec(id=tool.server_id.id, name=tool.server_id.name),
            arguments={POISON: [POISON, float("inf")]},
        )

    def test_what_postgresql_refuses_is_left_out(self):
        said = {"role": "assistant", "content": POISON, "tool_calls": []}
        progress = asdict(TurnProgress(step=1, messages=[said]))
        lost = self.store.append({self.claim: [(2, {"type": "text", "content": POISON})]})
        self.assertFalse(lost)
        tick = {"type": "tool_progress", "progress": float("inf"), "total": float("nan")}
        self.assertFalse(self.store.append({self.claim: [(3, tick)]}))
        self.store.save_step(
            self.claim, progress, (self._call(),), [(4, {"type": "x", "args": {POISON: POISON}})]
        )
        result = CallResult(outcome="ok", text=POISON, display={"deep": [POISON, float("nan")]})
        self.store.end_call(self.claim, "call_1", result, [(5, {"type": "x", "result": POISON})])
        ending = Ending(
            state="failed",
            progress=progress,
            error_code="server_error",
            error_message=POISON,
            next_seq=6,
        )
        self.store.finish(self.claim, ending, [])
        self.env.invalidate_all()
        self.assertEqual(self.turn.state, "failed")
        self.assertEqual(self.turn.error_message, "abc")
        self.assertEqual(self.turn.transcript["messages"][0]["content"], "abc")
        self.assertEqual(self.turn.call_ids.result, {"deep": ["abc", None]})

    def test_tools_that_cannot_be_stored_do_not_hold_up_other_servers(self):
        tool = DiscoveredTool(name="x", input_schema={"title": "\ud800"})
        discovery = SimpleNamespace(tools=[tool], protocol_version="", transport="sse")
        with mute_logger("odoo.addons.woow_paas_platform.runtime.servers.server_store"):
            ServerStore(self.env.cr.dbname).synced(self.server.id, discovery)
        self.env.invalidate_all()
        self.assertEqual(self.server.state, "error")
        self.assertTrue(self.server.last_attempt)

    def test_a_picture_is_never_decoded(self):
        self.store.save_step(self.claim, asdict(TurnProgress(step=1)), (self._call(),), [])
        file = {"name": "bomb.png", "mimetype": "image/png", "data": huge_png(100_000)}
        result = CallResult(outcome="ok", text="ok", attachments=(file,))
        self.store.end_call(self.claim, "call_1", result, [])
        self.env.invalidate_all()
        self.assertEqual(self.turn.call_ids.attachment_ids.mimetype, "image/png")

    def test_a_page_of_a_tool_is_kept_as_plain_text(self):
        self.store.save_step(self.claim, asdict(TurnProgress(step=1)), (self._call(),), [])
        page = base64.b64encode(b"<html><script>alert(1)</script></html>").decode()
        files = tuple(
            {"name": name, "mimetype": kind, "data": page}
            for name, kind in (("a.html", "text/html"), ("a.svg", "image/svg+xml"))
        )
        self.store.end_call(
            self.claim, "call_1", CallResult(outcome="ok", text="ok", attachments=files), []
        )
        self.env.invalidate_all()
        kinds = self.turn.call_ids.attachment_ids.mapped("mimetype")
        self.assertEqual(set(kinds), {"text/plain"})


@tagged("post_install", "-at_install")
class TestAttackOnTheApi(AiHttpCase):
    """Requests that no browser of ours sends."""

    def setUp(self):
        super().setUp()
        self.channel = self._conversation(self.member)
        self._sign_in(self.member)

    def test_ids_beyond_any_column(self):
        big = 10**30
        for method, path in (
            ("GET", f"/api/ai/conversations/{big}"),
            ("GET", f"/api/ai/turns/{big}/stream"),
            ("POST", f"/api/ai/turns/{big}/stop"),
            ("POST", f"/api/ai/turns/{big}/retry"),
            ("GET", f"/api/ai/attachments/{big}"),
        ):
            with self.subTest(path=path):
                self.assertEqual(self._call(method, path)[0], 404)
        for body in (
            {"assistant_id": big},
            {"assistant_id": -1},
            {"assistant_id": self.assistant.id, "cloud_service_id": big},
        ):
            with self.subTest(body=body):
                self.assertEqual(self._call("POST", "/api/ai/conversations", body)[0], 404)

    def test_a_last_event_id_that_is_no_number(self):
        turn = self.channel._ask(Question("Hello"))
        for header in ("\u00b2", "9" * 5000, "-1"):
            with self.subTest(header=header[:10]):
                response = self.opener.get(
                    f"{self.base_url()}/api/ai/turns/{turn.id}/stream",
                    headers={"Last-Event-ID": header.encode("latin-1")},
                    timeout=20,
                )
                self.assertEqual(response.status_code, 400)

    def test_bodies_that_break_parsers(self):
        path = f"{self.base_url()}/api/ai/conversations/{self.channel.id}/messages"
        for raw in (
            b'{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            b'{"content": ' + b"9" * 10_000 + b"}",
            b"\xff\xfe",
            b"[]",
            b"",
        ):
            with self.subTest(raw=raw[:20]):
                response = self.opener.post(
                    path, data=raw, headers={"Content-Type": "application/json"}, timeout=20
                )
                self.assertEqual(response.status_code, 413 if len(raw) > 200_000 else 400)

    def test_texts_that_postgresql_refuses(self):
        path = f"/api/ai/conversations/{self.channel.id}"
        self.assertEqual(self._call("PATCH", path, {"name": "a\0b\ud83d"})[0], 200)
        status, _data = self._call("POST", f"{path}/messages", {"content": "a\0b\ud83d"})
        self.assertEqual(status, 202)
        self.assertEqual(self._call("POST", f"{path}/messages", {"content": "\0"})[0], 400)
        body = {"assistant_id": self.assistant.id, "name": "a\0b" * 100_000}
        status, data = self._call("POST", "/api/ai/conversations", body)
        self.assertEqual(status, 201)
        self.assertLessEqual(len(data["name"]), 120)

    def test_ids_that_postgresql_refuses(self):
        prefix = "/api/agent-retrieval/in/v1"
        account = {"x-account-id": "1", "x-account-type": "user"}
        for path in (
            f"{prefix}/mcp/proxy/a%00/tools/b%00/call",
            f"{prefix}/tool/proxy/a%00/tools/b%00/call",
            f"{prefix}/kn/get_action_info?kn_id=a%00&at_id=b%00",
        ):
            with self.subTest(path=path):
                body = {"unique_identity": {"id": "a\0"}} if "kn_id" in path else {}
                self.assertEqual(self._call("POST", path, body, account)[0], 404)

    def test_a_token_that_no_index_takes(self):
        token = base64.b85encode(zlib.compress(bytes(range(256)) * 40, 0)).decode()
        status, data = self._call(
            "POST",
            f"/api/ai/conversations/{self.channel.id}/messages",
            {"content": "Hello", "client_token": token},
        )
        self.assertEqual(status, 400)
        self.assertEqual(data["error"]["code"], "invalid_field")

    def test_a_page_of_the_portal_with_odd_digits(self):
        response = self.url_open("/my/ai?assistant_id=%C2%B2&cloud_service_id=%C2%B2")
        self.assertEqual(response.status_code, 200)

    def test_one_person_queues_a_bounded_number_of_turns(self):
        codes = []
        self.patch(ai_turn, "MAX_OPEN_TURNS", 3)
        for _ in range(4):
            channel = self._conversation(self.member)
            status, data = self._call(
                "POST", f"/api/ai/conversations/{channel.id}/messages", {"content": "Hi"}
            )
            codes.append(status)
        self.assertEqual(codes, [202, 202, 202, 429])
        self.assertEqual(data["error"]["code"], "too_many_turns")

    def test_one_person_does_not_fill_the_runner(self):
        limit = settings.get().turns_per_person
        for _ in range(limit + 2):
            self._ask(self.member)
        other = self._ask(self.stranger)
        self.env.flush_all()
        store = OdooStore(self.env.cr.dbname)
        claims = store.claim("one", 2, 15.0)
        self.assertEqual(len(claims), 2)
        self.assertIn(other.id, [claim.turn_id for claim in claims], "before the second of one")
        self.assertEqual(len(store.claim("one", 99, 15.0)), limit - 1)
        self.assertEqual(store.claim("two", 99, 15.0), [])
