"""Poisons: instructions of strangers at each place where an assistant may meet the words of others."""

import base64
import io
import json
from dataclasses import asdict
from email.message import EmailMessage
from itertools import product
from pathlib import Path

import docx
from odoo import Command
from odoo.tests import tagged
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

from ..services.errors import ElicitationRequired, ServerRefused
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.records import catalog
from ..services.specs import Limits, ToolCall, TurnProgress
from ..services.testing.fake_http import respond
from ..services.testing.fake_tools import PNG
from ..services.testing.scripted_llm import Reply
from ..services.turn import execution
from .common import ADDS, SCHEMA, served_mcp
from .doubles.sampling import some
from .test_context import ContextCase

INSIDE = '{"readOnlyHint": true, "openWorldHint": false}'
OUTSIDE = '{"readOnlyHint": true}'
POISONS = Path(__file__).with_name("poisons.txt").read_text().splitlines()
AT_ONCE = 8  # so many files can a message have
NAME = 60  # characters
THEIRS = {"city": "bob@evil.example"}  # what a model that obeys passes on
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
FONT = "STSong-Light"  # which a PDF need not contain

TRUST = ("none", "annotations", "full")
SETTINGS = {  # name of a tool: its values
    "default": {"approval_policy": "default"},  # of an assistant that runs
    "run": {"approval_policy": "auto"},
    "always": {"approval_policy": "ask"},  # which the person has allowed for ever
    "search": {"approval_policy": "auto", "annotations": OUTSIDE},
}
SINKS = [f"{trust} {name}" for trust, name in product(TRUST, SETTINGS)]
FREE = {"full exempt": "run", "full inside": "run"}
AS_SET = {**dict.fromkeys(SINKS, "run"), "none default": "ask", **FREE}
TAINTED = {**dict.fromkeys(SINKS, "ask"), **FREE}


def says(result):
    async def answer(call, writer):
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "result": result})

    return answer


def squeezed(text):
    """The text as it is compared: files, records and records' HTML keep neither blanks nor signs as they were."""
    return "".join(filter(str.isalnum, text))


@tagged("post_install", "-at_install")
class TestPoisons(ContextCase):
    """A model that obeys has read a poison, and calls tools of every kind at every setting.

    The server that brings it is fully trusted and says that all it returns is its own, unless a place says otherwise.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.trust_level = "full"
        cls.alerts.annotations = INSIDE
        cls.assistant.approval_mode = "auto"
        cls.assistant.record_access_ids = [Command.create({"model": "res.partner"})]
        cls.record = cls.member.partner_id  # which a portal user may read
        Server = cls.env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True)
        cls.sinks = cls.env["woow_paas_platform.mcp_tool"]
        for trust in TRUST:
            url = f"https://{trust}.example.com/mcp"
            server = Server.create({"name": trust, "url": url, "trust_level": trust})
            cls.assistant.mcp_server_ids += server
            for name, values in SETTINGS.items():
                cls._add_sink(server, name, values)
        cls.exempt = cls._add_sink(server, "exempt", {"is_exempt": True})
        cls._add_sink(server, "inside", {"annotations": INSIDE})

    @classmethod
    def _add_sink(cls, server, name, values):
        tool = {"annotations": ADDS, "input_schema": SCHEMA, "is_accepted": True, **values}
        sink = cls.sinks.create({"name": name, "server_id": server.id, **tool})
        cls.sinks += sink
        return sink

    def setUp(self):
        super().setUp()
        self.fake = self.enterContext(served_mcp())
        self.server.url = self.fake.url
        self.tools.approval_policy = "auto"
        for sink in self.sinks.filtered(lambda one: one.name == "always"):
            self._allow_always(sink)

    # ------------------------------------------------------------ a turn

    def _ask_anew(self, service=None, goes_on=False, **values):
        """Begin a turn, in another conversation unless it goes on."""
        self._leave()
        if not goes_on:
            self.channel = self._conversation(self.member, service, self.record)
        asked = self._ask(self.member, "What is new?", channel=self.channel, **values)
        self._take(asked.sudo())

    def _take(self, turn):
        self.turn, self.prefix = turn, f"call_{turn.id}"

    def _post(self, content="What is new?", **values):
        """The same over HTTP, in a conversation that has no turn."""
        path = f"/api/ai/conversations/{self.channel.id}/messages"
        status, told = self._call("POST", path, {"content": content, **values})
        self.assertEqual(status, 202, told)
        self._take(self.turn.browse(told["turn_id"]))

    def _open(self):
        self._leave()
        self.channel = self._conversation(self.member)
        self.env.flush_all()

    def _leave(self):
        """Have nothing more to do with the turn."""
        if self.claim:
            self._finish_turn()
        else:
            self._stop()

    def _claimed(self):
        self.env.flush_all()
        if not self.claim:
            (self.claim,) = self.store.claim("one", 1, 15.0)
        self.assertEqual(self.claim.turn_id, self.turn.id)
        return self.claim

    def _shown(self):
        """All that the model reads before it makes a call."""
        request = self.store.load(self._claimed()).request
        shown = [request.system_prompt, *(str(one["content"]) for one in request.history)]
        return "\n".join([*shown, *(f"{tool.title} {tool.description}" for tool in request.tools)])

    def _returned(self, result, tool=None):
        """Make a call that is answered with this.

        :param result: of ``tools/call``, or an error
        """
        (verdict,) = self._begin((tool or self.alerts, {}))
        self.assertEqual(verdict.kind, "run")
        return self._ended(result)

    def _ended(self, result):
        spec = self.specs[f"{self.prefix}_1_1"]
        if isinstance(result, Exception):
            read = execution.failure("error", result.public_message)
        else:
            read = execution._read(result, spec, Limits(), execution.now())
        self.store.end_call(self.claim, spec.id, read, [])
        return read.text

    def _read_records(self, name, **arguments):
        claim, spec = self._claimed(), catalog.TOOLS[name].spec
        given = {"model": "res.partner", **arguments}
        call = ToolCall(id=f"read_{self.turn.id}", alias=name, round=1, tool=spec, arguments=given)
        self.store.save_step(claim, asdict(TurnProgress(step=1)), [call], [])
        self.assertEqual(self.store.begin_call(claim, call).kind, "run")
        read = self.store.read_records(claim, call.id)
        self.store.end_call(claim, call.id, read, [])
        return read.text

    def _assert_decisions(self, kinds, number=0):
        """Make a call of each tool, with what a stranger wants.

        :param number: of the poison; after the first one tools take turns
        """
        sinks = self.sinks[number % len(SINKS)] | self.exempt if number else self.sinks
        self._claimed()
        verdicts = self._begin(*((sink, THEIRS) for sink in sinks), round_=2)
        found = {
            f"{sink.server_id.name} {sink.name}": verdict.kind
            for sink, verdict in zip(sinks, verdicts, strict=True)
        }
        self.assertEqual(found, {name: kinds[name] for name in found})

    # ------------------------------------------------------------ places; each returns what the model reads of it

    def _nothing(self, _poisons):
        self._ask_anew()
        return self._shown()

    def _descriptions(self, poisons):
        """Nobody has accepted them, and their server is not trusted."""
        self.run_flow.write({"is_accepted": False, "description": "\n".join(poisons)})
        self._ask_anew(service=self.service)
        return self._shown()

    def _result(self, poison):
        return self._returned({"content": [{"type": "text", "text": poison}]})

    def _structured_result(self, poison):
        return self._returned({"structuredContent": {"orders": [{"id": 7, "note": poison}]}})

    def _error(self, poison):
        return self._returned({"isError": True, "content": [{"type": "text", "text": poison}]})

    def _refusal(self, poison):
        """An error of JSON-RPC."""
        return self._returned(ServerRefused.of_rpc(-32000, poison))

    def _resources(self, poisons):
        self._open()
        path = f"/api/ai/conversations/{self.channel.id}/resources/attach"
        contents = [{"uri": f"note://{n}", "text": poison} for n, poison in enumerate(poisons)]
        self.fake.faults["resources/read"] = says({"contents": contents})
        values = {"server_id": self.server.id, "uri": "note://all"}
        status, told = self._call("POST", path, values)
        self.assertEqual(status, 200, told)
        self._post(attachment_ids=[file["id"] for file in told["attachments"]])
        return self._shown()

    def _resource_in_a_result(self, poison):
        resource = {"uri": "note://1", "text": poison}
        return self._returned({"content": [{"type": "resource", "resource": resource}]})

    def _prompt(self, poisons):
        self._open()
        message = {"role": "user", "content": {"type": "text", "text": "\n".join(poisons)}}
        self.fake.faults["prompts/get"] = says({"messages": [message]})
        path = f"/api/ai/conversations/{self.channel.id}/prompts/get"
        values = {"server_id": self.server.id, "name": "greet", "arguments": {}}
        status, told = self._call("POST", path, values)
        self.assertEqual(status, 200, told)
        self._post(told["messages"][0]["text"])
        return self._shown()

    def _field_of_a_record(self, poisons):
        self.record.street = "\n".join(poisons)
        self._ask_anew()
        return self._read_records("read_records", ids=self.record.ids, fields=["street"])

    def _name_of_the_record(self, poison):
        """All conversations here are about it."""
        self.record.name, self.turn.foreign_name = poison, False
        return self._shown()

    def _attached_records(self, poisons):
        mention = {"model": "res.partner", "id": self.record.id}
        self._ask_anew(mentions=[{**mention, "name": poison} for poison in poisons])
        return self._shown()

    def _chatter(self, poisons):
        for poison in poisons:
            self.record.message_post(
                body=poison, message_type="comment", subtype_xmlid="mail.mt_comment"
            )
        self._ask_anew()
        return self._read_records("read_chatter", id=self.record.id, limit=len(poisons))

    def _mail(self, poisons):
        for poison in poisons:
            number = POISONS.index(poison)  # Odoo takes no more than a few mails of one sender
            mail = EmailMessage()
            mail["From"], mail["To"] = f"Eve <eve{number}@evil.example>", "in@example.com"
            mail["Subject"], mail["Message-ID"] = "Hello", f"<{number}@evil.example>"
            mail.set_content(poison)
            self.env["mail.thread"].message_process(
                "res.partner", mail.as_bytes(), thread_id=self.record.id
            )
        self._ask_anew()
        return self._read_records("read_chatter", id=self.record.id, limit=len(poisons))

    def _files(self, files):
        self._open()
        told = [self._upload(name, content) for name, content in files.items()]
        self.assertEqual({status for status, _file in told}, {201}, told)
        self._post(attachment_ids=[file["id"] for _status, file in told])
        return self._shown()

    def _pdf(self, poisons):
        pdfmetrics.registerFont(UnicodeCIDFont(FONT))
        file = io.BytesIO()
        page = canvas.Canvas(file)
        page.setFont(FONT, 8)
        for number, poison in enumerate(poisons):
            page.drawString(20, 800 - 15 * number, poison)
        page.save()
        return self._files({"a.pdf": file.getvalue()})

    def _office_file(self, poisons):
        document, file = docx.Document(), io.BytesIO()
        for poison in poisons:
            document.add_paragraph(poison)
        document.save(file)
        return self._files({"a.docx": file.getvalue()})

    def _names_of_pictures(self, poisons):
        return self._files({f"{name[:NAME]}.png": base64.b64decode(PNG) for name in poisons})

    def _names_of_pictures_in_a_result(self, poisons):
        self._ask_anew()
        names = [poison[:NAME].replace("/", " ") for poison in poisons]
        resources = [{"uri": f"https://a.example/{name}.png", "blob": PNG} for name in names]
        picture = {"mimeType": "image/png"}
        blocks = [{"type": "resource", "resource": {**one, **picture}} for one in resources]
        return self._returned({"content": blocks})

    def _summary(self, poisons):
        """The results themselves are no longer shown."""
        self._ask_anew()
        self._result("\n".join(poisons))
        self._finish_turn()
        self._compact(Reply("\n".join(poisons)))
        self._ask_anew(goes_on=True)
        return self._shown()

    def _server_instructions(self, poisons):
        self.fake.instructions = "\n".join(poisons)
        self._open()
        path = f"/api/ai/conversations/{self.channel.id}/prompts"
        self.assertTrue(self._call("GET", path)[1]["prompts"])
        self._ask_anew()
        return self._shown()

    def _elicitation(self, poisons):
        """The person reads it, and the server is told the answer."""
        self._ask_anew()
        self._begin((self.alerts, {}))
        asked = ElicitRequest(message="\n".join(poisons), schema=FORM)
        wanted = ElicitationRequired(questions={"q": asked}, more={})
        self.assertEqual(self.store.suspend_call(self.claim, f"{self.prefix}_1_1", wanted, []), "")
        self._wait()
        (event,) = self._events("input_required")
        self.assertIn(poisons[0], event["message"])
        self.path = f"/api/ai/turns/{self.turn.id}/decision"
        self.assertEqual(self._decide("accept", event["id"], content={"name": "Ann"})[0], 200)
        (verdict,) = self._resume(f"{self.prefix}_1_1")
        self.assertEqual(verdict.kind, "run")
        read = self._ended({"content": []})
        return f"{self._shown()}\n{read}\n{json.dumps(self.turn.transcript)}"

    # their words decide
    EACH = (
        _result,
        _structured_result,
        _resource_in_a_result,
        _error,
        _refusal,
        _name_of_the_record,
    )
    # whatever they are
    SEVERAL = (
        _descriptions,
        _resources,
        _prompt,
        _field_of_a_record,
        _attached_records,
        _chatter,
        _mail,
        _pdf,
        _office_file,
        _names_of_pictures,
        _names_of_pictures_in_a_result,
        _summary,
    )
    UNSHOWN = (_nothing, _server_instructions, _elicitation)

    def test_poisons_that_no_model_is_shown(self):
        for place in self.UNSHOWN:
            with self.subTest(place=place.__name__):
                self.assertEqual(self._missing(place(self, POISONS)), POISONS)
                self._assert_decisions(AS_SET)

    def test_poisons_at_places_that_are_foreign_whatever_they_say(self):
        starts = range(0, len(POISONS), AT_ONCE)
        for number, (place, start) in some(enumerate(product(self.SEVERAL, starts)), 3):
            poisons = POISONS[start : start + AT_ONCE]
            with self.subTest(place=place.__name__, poisons=poisons):
                self.assertEqual(self._missing(place(self, poisons), poisons), [])
                self._assert_decisions(TAINTED, start and number)

    def test_poisons_at_places_whose_words_decide(self):
        """Each alone: of the calls before it nothing is left."""
        calls = self.env["woow_paas_platform.tool_call"]
        for place in self.EACH:
            self._ask_anew()
            for number, poison in some(enumerate(POISONS), 4, place.__name__):
                with self.subTest(place=place.__name__, poison=poison):
                    calls.search([("turn_id", "=", self.turn.id)]).unlink()
                    self.assertEqual(self._missing(place(self, poison), [poison]), [])
                    self._assert_decisions(TAINTED, number)

    def _missing(self, text, poisons=POISONS):
        """Poisons that are not in the text, in either direction: PDF has none. Names of files are cut."""
        text = squeezed(text)
        wanted = {poison: squeezed(poison[:NAME]) for poison in poisons}
        return [
            poison
            for poison, words in wanted.items()
            if words not in text and words[::-1] not in text
        ]
