"""Tests of providers, and the names of their models; for administrators."""

from odoo import http
from odoo.http import request

from ..runtime import process
from ..runtime.web.api_error import ApiError, error_body
from ..runtime.web.checks import Check, diagnosis_data, error_data
from ..runtime.web.slots import at_most
from ..services.errors import EngineError
from .chat import ROUTE, visible_or_404
from .dispatcher import body

PROVIDER = "ai.config"
TEST_TIMEOUT = 90.0  # s; models on slow machines need most of it for their first word
NAMES_TIMEOUT = 20.0  # s


class ProviderController(http.Controller):
    @http.route("/api/ai/providers/<int:provider_id>/test", methods=["POST"], **ROUTE)
    def test_provider(self, provider_id):
        """Step by step up to the first that fails: ``{ok, steps, error}``."""
        provider = _managed_or_404(provider_id)
        try:
            check = Check(provider, provider._llm_spec())
        except EngineError as error:
            raise _refused(error) from error

        def test():
            limit = at_most(TEST_TIMEOUT)
            diagnosis = process.wait_for(
                lambda engine: engine.diagnose_provider(check.spec, limit), limit
            )

            def keep(env, provider):
                provider._record_test(diagnosis)
                return diagnosis_data(env, diagnosis)

            return check.in_new_cursor(keep), 200

        return check.response(test)

    @http.route("/api/ai/providers/models", methods=["POST"], **ROUTE)
    def list_models(self):
        """Names that the provider of a form offers, as it would be saved: ``{models}``."""
        values = body("ProviderAddress")
        provider_id = values.get("provider_id")
        provider = _managed_or_404(provider_id) if provider_id else request.env[PROVIDER]
        provider.check_access("create")
        try:
            check = Check(
                provider, provider._listing_spec(values["api_base_url"], values.get("api_key"))
            )
        except EngineError as error:
            raise _refused(error) from error

        def listed():
            try:
                names = process.wait_for(
                    lambda engine: engine.model_names(check.spec), NAMES_TIMEOUT
                )
            except EngineError as error:
                problem = error
                told = check.in_new_cursor(lambda env, _provider: error_data(env, problem))
                return error_body(ApiError(502, told["code"], told["message"])), 502
            return {"models": names or []}, 200

        return check.response(listed)


def _managed_or_404(provider_id):
    missing = request.env._("This provider does not exist.")
    provider = visible_or_404(PROVIDER, provider_id, missing)
    provider.check_access("write")
    return provider


def _refused(error):
    told = error_data(request.env, error)
    return ApiError(422, told["code"], told["message"])
