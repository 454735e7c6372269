from dataclasses import asdict

from odoo.exceptions import AccessError, ValidationError
from odoo.tests import Form, tagged

from ..runtime import process
from ..runtime.turns.store import OdooStore
from ..services.errors import ConfigError, LlmAuthFailed, LlmNoEmbeddings, LlmUnavailable
from ..services.llm.diagnose import Found
from ..services.net.diagnostic_steps import Diagnosis, Step
from ..services.specs import TurnProgress
from ..services.turn.ports import Ending
from .common import AiCase, AiHttpCase

TEST = "/api/ai/providers/{}/test"
MODELS = "/api/ai/providers/models"


@tagged("post_install", "-at_install")
class TestProviderState(AiCase):
    def setUp(self):
        super().setUp()
        self.provider = self.provider.with_user(self.admin)

    def _record(self, error=None, **found):
        self.provider._record_test(Diagnosis(error=error, found=Found(**found)))
        return self.provider.state

    def test_a_test_leaves_a_state_with_its_reason_and_what_it_has_found_out(self):
        self.assertEqual(self.provider.state, "draft")
        refused = LlmAuthFailed(detail="HTTP 401 bad key")
        self.assertEqual(self._record(refused), "auth_required")
        self.assertIn("API key", self.provider.state_sentence)
        self.assertEqual(self.provider.state_detail, "HTTP 401 bad key")
        self.assertEqual(self._record(LlmUnavailable()), "error")
        self.assertEqual(self._record(models=["a", "b"], protocol="prompt"), "connected")
        self.assertFalse(self.provider.state_sentence)
        self.assertEqual(self.provider.model_names, ["a", "b"])
        self.assertEqual(self.provider.found_protocol, "prompt")

    def test_another_model_address_or_key_has_not_been_tested(self):
        for change in (
            {"model": "another"},
            {"api_base_url": "http://127.0.0.1:10/v1"},
            {"api_key": "sk-another"},
            {"supports_vision": True},
            {"embedding_model": "embedder"},
            {"active": False},
        ):
            with self.subTest(change):
                self._record()
                self.provider.write(change)
                self.assertEqual(self.provider.state, "draft")
        self._record()
        self.provider.write({"name": "Another", "model": self.provider.model})
        self.assertEqual(self.provider.state, "connected")

    def test_a_test_says_of_embeddings_what_it_has_met(self):
        self.provider.embedding_model = "embedder"
        error = LlmNoEmbeddings(detail="HTTP 404")
        failed = Diagnosis(error=error, found=Found())
        failed.steps.append(Step(name="embeddings", state="failed"))
        self.provider._record_test(failed)
        self.assertEqual(self.provider.embedding_sentence, str(error))
        self._record(LlmUnavailable())
        self.assertTrue(self.provider.embedding_problem, "they were not asked")
        self._record()
        self.assertFalse(self.provider.embedding_problem)

    def test_the_engine_is_told_the_embedding_model(self):
        self.assertEqual(self.provider._llm_spec().embedding_model, "")
        self.provider.embedding_model = " embedder "
        self.assertEqual(self.provider._llm_spec().embedding_model, "embedder")

    def test_a_preset_fills_in_the_address_and_is_recognised(self):
        with Form(self.env["ai.config"].with_user(self.admin)) as form:
            form.preset = "mistral"
            self.assertEqual(form.api_base_url, "https://api.mistral.ai/v1")
            self.assertEqual(form.name, "Mistral AI")
            form.preset = "ollama"
            self.assertEqual(
                (form.name, form.api_base_url), ("Ollama", "http://localhost:11434/v1")
            )
            form.name = "Ours"
            form.preset = "openai"
            self.assertEqual(form.name, "Ours")
            form.model = "gpt-4o-mini"
        self.assertEqual(form.record.preset, "openai")
        self.assertFalse(self.provider.preset)

    def test_the_stored_key_is_sent_only_where_it_was_entered_for(self):
        own = self.provider._listing_spec(f"{self.provider.api_base_url}/other")
        self.assertEqual(own.api_key, "sk-provider-secret")
        self.assertEqual(self.provider._listing_spec("https://evil.example.com/v1").api_key, "")
        with self.assertRaises(ConfigError):
            self.provider._listing_spec("file:///etc/passwd")


@tagged("post_install", "-at_install")
class TestProviderApi(AiHttpCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What talks to models takes seconds to import, which are no request's.
        process.wait_for(lambda engine: engine._with(engine._models), 120)

    def _told(self, *answer):
        status, data = answer
        return status, data["error"]["code"]

    def test_it_is_for_administrators(self):
        for user in (self.internal, self.member):
            self._sign_in(user)
            self.assertEqual(self._call("POST", TEST.format(self.provider.id), {})[0], 404)
            status, _data = self._call("POST", MODELS, {"api_base_url": "http://127.0.0.1:9/v1"})
            self.assertEqual(status, 403)

    def test_a_test_tells_its_steps_and_the_record_keeps_what_came_of_it(self):
        self._sign_in(self.admin)
        status, data = self._call("POST", TEST.format(self.provider.id), {})
        self.assertEqual((status, data["ok"]), (200, False))
        self.assertEqual(
            [step["name"] for step in data["steps"] if step["state"] == "failed"], ["connection"]
        )
        self.provider.invalidate_recordset()
        self.assertEqual(self.provider.state, "error")

    def test_an_administrator_is_not_sent_to_an_administrator(self):
        self._sign_in(self.admin)
        self.provider.api_base_url = "https://nowhere.invalid/v1"
        _status, data = self._call("POST", TEST.format(self.provider.id), {})
        said = "The host of the language model is unknown."
        (failed,) = [step for step in data["steps"] if step["state"] == "failed"]
        self.assertEqual((failed["message"], data["error"]["message"]), (said, said))
        self.provider.invalidate_recordset()
        self.assertEqual(self.provider.state_sentence, said)

    def test_what_cannot_be_asked_is_refused_with_a_sentence(self):
        self._sign_in(self.admin)
        self.provider.active = False
        self.assertEqual(
            self._told(*self._call("POST", TEST.format(self.provider.id), {})),
            (422, "llm_switched_off"),
        )
        self.assertEqual(
            self._told(*self._call("POST", MODELS, {"api_base_url": "nonsense"})),
            (422, "config_error"),
        )
        self.assertEqual(
            self._told(*self._call("POST", MODELS, {"api_base_url": "http://127.0.0.1:9/v1"})),
            (502, "llm_unavailable"),
        )


@tagged("post_install", "-at_install")
class TestFallback(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.other = self.provider.create(
            {"name": "Other", "api_base_url": "http://127.0.0.1:10/v1", "model": "other"}
        )
        self.provider.fallback_id = self.other
        self.store = OdooStore(self.env.cr.dbname)

    def _claimed(self):
        turn = self._ask(self.member).sudo()
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        return turn, claim

    def _fallen_back(self):
        turn, claim = self._claimed()
        fault = {"id": self.provider.id, "code": "llm_unavailable"}
        fault |= {"message": "It is down.", "detail": "ConnectError: refused"}
        progress = TurnProgress(llm=self.other.id, found_protocol="prompt", llm_faults=[fault])
        self.store.save_step(claim, asdict(progress), [], [])
        self.env.invalidate_all()
        return turn, claim, progress

    def _end(self, claim, progress, **ending):
        ending = {"state": "done", "progress": asdict(progress), "next_seq": 50, **ending}
        self.store.finish(claim, Ending(**ending), [])
        self.env.invalidate_all()

    def test_who_is_asked_instead_is_part_of_the_request_unless_nobody_may_ask_it(self):
        turn = self._ask(self.member).sudo()
        self.assertEqual(turn._turn_request().llm.fallback.id, self.other.id)
        self.assertIsNone(turn._turn_request().llm.fallback.fallback)
        self.other.active = False
        self.assertIsNone(turn._turn_request().llm.fallback)
        with self.assertRaises(ValidationError):
            self.provider.fallback_id = self.provider

    def test_the_turn_and_both_providers_keep_what_happened(self):
        turn, claim, progress = self._fallen_back()
        self.assertEqual(turn._provider(), self.other)
        self.assertEqual(turn.config_id, self.other)
        self.assertEqual((self.provider.state, self.provider.found_protocol), ("error", False))
        self.assertEqual(self.provider.state_detail, "ConnectError: refused")
        self.assertEqual(self.other.found_protocol, "prompt")
        progress.messages.append({"role": "assistant", "content": "Sunny."})
        self._end(claim, progress)
        self.assertEqual((self.provider.state, self.other.state), ("error", "connected"))
        self.assertEqual(turn.technical_cause, "llm_unavailable: ConnectError: refused")
        with self.assertRaises(AccessError):
            turn.with_user(self.member).read(["technical_cause"])

    def test_a_turn_that_asked_no_model_says_nothing_of_its_provider(self):
        self.provider.state = "error"
        _turn, claim = self._claimed()
        call = {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1_1"}]}
        self._end(claim, TurnProgress(messages=[call, {"role": "tool", "content": "Sunny."}]))
        self.assertEqual(self.provider.state, "error")

    def test_a_turn_that_fails_tells_administrators_the_cause(self):
        turn, claim = self._claimed()
        ending = {
            "error_code": "llm_auth_failed",
            "error_message": "No.",
            "error_detail": "HTTP 401",
        }
        self._end(claim, TurnProgress(), state="failed", **ending)
        self.assertEqual(turn.technical_cause, "llm_auth_failed: HTTP 401")
        self.assertEqual(self.provider.state, "auth_required")
        turn, claim = self._claimed()
        ending = {"error_code": "llm_rejected", "error_message": "No.", "error_detail": "HTTP 400"}
        self.provider.state = "connected"
        self._end(claim, TurnProgress(), state="failed", **ending)
        self.assertEqual(self.provider.state, "connected", "what one question did wrong")

    def test_switching_a_provider_off_stops_the_turns_that_it_answers(self):
        turn, _claim, _progress = self._fallen_back()
        self.provider.active = False
        self.assertFalse(turn.stop_requested)
        self.provider.active = True
        self.other.active = False
        self.assertTrue(turn.stop_requested)
