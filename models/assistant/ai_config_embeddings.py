from odoo import api, fields, models

from ...services import text
from ...tools import sentences

ASKED = {"api_base_url", "api_key", "embedding_model"}
"""Whom embeddings are asked of: with another value nothing is known any more."""


class AiConfig(models.Model):
    """Whether a provider's embedding model answers; where it does not, tools are found by words alone."""

    _inherit = "ai.config"

    embedding_problem = fields.Char(readonly=True, copy=False)
    embedding_sentence = fields.Char("Why Embeddings Fail", compute="_compute_embedding_sentence")
    embedding_detail = fields.Char("Details of the Embedding Problem", readonly=True, copy=False)
    embedding_problem_since = fields.Datetime("Embeddings Fail Since", readonly=True, copy=False)

    @api.depends("embedding_problem")
    @api.depends_context("lang")
    def _compute_embedding_sentence(self):
        for config in self:
            problem = config.embedding_problem
            config.embedding_sentence = problem and sentences.for_managers(self.env, problem)

    def write(self, vals):
        result = super().write(vals)
        if ASKED & vals.keys():
            for config in self.filtered("embedding_problem"):
                config._put_embedding_problem("", "")
        return result

    def _record_embeddings(self, model, problem="", detail=""):
        """What a turn has met that looked for tools by what they mean.

        :param model: that was asked; by now another one may be chosen
        :param problem: the engine's English sentence, none where it answers
        """
        if self.embedding_model and self.embedding_model.strip() == model:
            self._put_embedding_problem(text.storable(problem), text.storable(detail))

    def _put_embedding_problem(self, problem, detail):
        """Writes only what is news: each process tells of it by itself."""
        vals = {"embedding_problem": problem or False, "embedding_detail": detail or False}
        if bool(self.embedding_problem) != bool(problem):
            vals["embedding_problem_since"] = problem and fields.Datetime.now()
        if any(self[name] != value for name, value in vals.items()):
            self.write(vals)

    def _record_test(self, diagnosis):
        result = super()._record_test(diagnosis)
        if diagnosis.ok:
            self._put_embedding_problem("", "")
        elif any(step.name == "embeddings" and step.state == "failed" for step in diagnosis.steps):
            self._put_embedding_problem(
                text.storable(str(diagnosis.error)), text.storable(diagnosis.error.detail)
            )
        return result
