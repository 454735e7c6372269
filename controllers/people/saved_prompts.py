"""Prompts that people and workspaces keep, to be typed as `/name`."""

from odoo import http
from odoo.http import request

from ...models.conversation.saved_prompt import SAVED_PROMPT
from ...runtime.web.api_error import ApiError
from ..chat import READ, ROUTE, visible_or_404
from ..dispatcher import body

WORKSPACE = "woow_paas_platform.workspace"


def prompt_or_404(prompt_id):
    prompt = request.env[SAVED_PROMPT].browse(prompt_id)._prompt_of_caller()
    if not prompt:
        raise ApiError.not_found(request.env._("This prompt does not exist."))
    return prompt


class SavedPromptsController(http.Controller):
    @http.route("/api/ai/saved-prompts", **READ)
    def prompts(self):
        Prompt = request.env[SAVED_PROMPT]
        return {
            "prompts": [prompt._prompt_data() for prompt in Prompt._prompts_of_caller()],
            "workspaces": [
                {"id": workspace.id, "name": workspace.name}
                for workspace in Prompt._managed_workspaces()
            ],
        }

    @http.route("/api/ai/saved-prompts", methods=["POST"], **ROUTE)
    def add_prompt(self):
        values = body("NewPrompt")
        workspace = request.env[WORKSPACE]
        if values["workspace_id"]:
            sentence = request.env._("This workspace does not exist.")
            workspace = visible_or_404(WORKSPACE, values["workspace_id"], sentence)
        prompt = request.env[SAVED_PROMPT]._make_prompt(
            values["name"], values["content"], workspace
        )
        return request.make_json_response(prompt._prompt_data(), status=201)

    @http.route("/api/ai/saved-prompts/<int:prompt_id>", methods=["PATCH"], **ROUTE)
    def change_prompt(self, prompt_id):
        prompt, values = prompt_or_404(prompt_id), body("PromptChange")
        prompt._change_prompt(values["name"], values["content"])
        return prompt._prompt_data()

    @http.route("/api/ai/saved-prompts/<int:prompt_id>", methods=["DELETE"], **ROUTE)
    def delete_prompt(self, prompt_id):
        prompt_or_404(prompt_id)._delete_prompt()
        return request.make_response("", status=204)

    @http.route("/api/ai/saved-prompts/<int:prompt_id>/fill", methods=["POST"], **ROUTE)
    def fill_prompt(self, prompt_id):
        """Its text with the words of the caller in place of the fields, to be read and sent."""
        return {"content": prompt_or_404(prompt_id)._fill(body("SavedPromptFill")["fields"] or {})}
