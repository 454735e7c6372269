"""MCP prompts and resources of the servers of a conversation: for slash commands, and for reading along; prompts about
a record.

What there is, a new chat is told, too, which has no conversation before its first message or file.
"""

import base64
import itertools
from dataclasses import asdict

from odoo import http
from odoo.http import request

from ..models.conversation.discuss_channel_view import files_of, read_sent
from ..runtime.web import prompts_resources
from ..runtime.web.api_error import ApiError
from ..services import text
from ..services.errors import ConfigError
from ..services.llm import files
from ..services.mcp.features import uri_template
from ..tools import db, sentences
from .chat import (
    READ,
    ROUTE,
    assistant_or_404,
    conversation_or_404,
    visible_or_404,
    visible_service,
)
from .dispatcher import body, query_int, query_text

CONVERSATION = "/api/ai/conversations/<int:conversation_id>"
NAME_CHARS = 60  # of a record whose words a prompt holds
DEFAULT = "woow_paas_platform.default_prompt"
DELIVERED = "woow_paas_platform.delivered_prompt"
NEW_CHAT = "/api/ai/assistants/<int:assistant_id>"  # of this assistant; ?cloud_service_id=


def query_of(conversation_id=None, assistant_id=None):
    """:return: `ServerQuery`: the servers of a conversation, or of a new chat of the caller"""
    if conversation_id is not None:
        channel = conversation_or_404(conversation_id)
        return prompts_resources.ServerQuery(
            request.env, channel._mcp_servers(), channel.id, channel.id
        )
    assistant = assistant_or_404(assistant_id)
    service = visible_service(query_int("cloud_service_id"))
    servers = assistant._offered_mcp_servers(request.env.user, service)
    return prompts_resources.ServerQuery(request.env, servers, f"new-{request.env.uid}")


def server_or_404(query, server_id):
    server = query.servers.filtered(lambda s: s.id == server_id)
    if not server:
        raise ApiError.not_found(
            request.env._("This MCP server does not belong to the conversation.")
        )
    return server


class PromptsResourcesController(http.Controller):
    @http.route([f"{CONVERSATION}/prompts", f"{NEW_CHAT}/prompts"], **READ)
    def prompts(self, **where):
        return prompts_resources.list_response(
            query_of(**where), prompts=lambda server: server.prompts()
        )

    @http.route(
        [f"{CONVERSATION}/resources", f"{NEW_CHAT}/resources"],
        **READ,
    )
    def resources(self, **where):
        return prompts_resources.list_response(
            query_of(**where),
            resources=lambda server: server.resources(),
            templates=lambda server: server.templates(),
        )

    @http.route(
        [f"{CONVERSATION}/prompts/get", f"{NEW_CHAT}/prompts/get"], methods=["POST"], **ROUTE
    )
    def get_prompt(self, **where):
        """A prompt with its arguments, as messages to send or to change first, and files for the caller's next one."""
        query = query_of(**where)
        values = body("PromptFill")
        arguments = values["arguments"] or {}
        server = server_or_404(query, values["server_id"])
        dbname, person, lang = request.db, request.env.uid, request.env.lang
        server_name = server.name

        def shape(filled, _write):
            read = _files_of_prompt(filled.messages, (dbname, person))

            def keep(env):
                env[DELIVERED]._keep(person, server_name, [m.text for m in filled.messages])
                own = env["discuss.channel"].with_user(person).with_context(lang=lang)
                return [own._attach_of_prompt(sent)._ai_file_data() for sent in read]

            attached = db.transaction(dbname, keep)
            return {
                "description": filled.description,
                "messages": [
                    {"role": m.role, "text": m.text, "attachments": kept}
                    for m, kept in zip(filled.messages, attached, strict=True)
                ],
                "left_out": sum(len(m.files) for m in filled.messages) - sum(map(len, attached)),
            }

        return prompts_resources.single_response(
            query,
            server,
            lambda features: features.prompt(values["name"], arguments),
            shape,
        )

    @http.route(f"{CONVERSATION}/resources/read", methods=["POST"], **ROUTE)
    def read_resource(self, conversation_id):
        query = query_of(conversation_id)
        values = body("ResourceRead")
        _check_length(values["uri"])

        def shape(contents, write):
            parts = []
            for content in contents:
                data = asdict(content)
                data["attachments"] = _stored_files(data.pop("files"), write)
                parts.append(data)
            return {"contents": parts}

        return prompts_resources.single_response(
            query,
            server_or_404(query, values["server_id"]),
            lambda server: server.resource(values["uri"]),
            shape,
        )

    @http.route(f"{CONVERSATION}/resources/attach", methods=["POST"], **ROUTE)
    def attach_resource(self, conversation_id):
        """Keep a resource for a message that is about to be sent; with arguments, one of a template."""
        query = query_of(conversation_id)
        values = body("ResourceAttach")
        server = server_or_404(query, values["server_id"])
        uri = values["uri"]
        if values["arguments"] is not None:
            uri = _expanded(uri, values["arguments"] or {})
        _check_length(uri)
        source, name = {"server": server.name, "uri": uri}, values["name"] or ""
        dbname, person, lang = request.db, request.env.uid, request.env.lang

        def shape(contents, write):
            sent = files_of(source, name, contents[: files.MAX_FILES], (dbname, person))
            left_out = len(contents) - len(sent)
            return write(
                lambda channel: (
                    channel.with_user(person)
                    .with_context(lang=lang)
                    ._attach_resource(source, sent, left_out)
                )
            )

        return prompts_resources.single_response(
            query, server, lambda server: server.resource(uri, limit=files.MAX_BYTES), shape
        )

    @http.route(f"{NEW_CHAT}/default-prompts", **READ)
    def default_prompts(self, assistant_id):
        """Prompts of administrators for a new chat about a record of the model ?model=."""
        assistant = assistant_or_404(assistant_id)
        offered = request.env[DEFAULT]._offered(assistant, query_text("model"))
        return {"prompts": [{"id": prompt.id, "name": prompt.name} for prompt in offered]}

    @http.route("/api/ai/default-prompts/<int:prompt_id>/fill", methods=["POST"], **ROUTE)
    def fill_default_prompt(self, prompt_id):
        """One of them with the values of a record, to be changed and sent."""
        prompt = visible_or_404(DEFAULT, prompt_id, request.env._("This prompt does not exist."))
        sentence = request.env._("This record does not exist.")
        record = visible_or_404(prompt.model, body("DefaultPromptFill")["res_id"], sentence)
        content, foreign = prompt._filled(record)
        # In the message of the user, the words of others stay theirs.
        name = text.one_line(record.display_name or prompt.name, NAME_CHARS)
        request.env[DELIVERED]._keep(request.env.uid, name, foreign)
        return {"content": content}

    @http.route([f"{CONVERSATION}/complete", f"{NEW_CHAT}/complete"], methods=["POST"], **ROUTE)
    def complete(self, **where):
        """Completions for an argument, requested while a person types."""
        query = query_of(**where)
        values = body("Completion")
        if bool(values["prompt"]) == bool(values["uri"]):
            raise ApiError.invalid(
                "prompt", "Send either “prompt” or “uri”, the template of a resource."
            )
        given = values["arguments"] or {}
        return prompts_resources.single_response(
            query,
            server_or_404(query, values["server_id"]),
            lambda server: server.complete(
                argument=values["argument"],
                value=values["value"],
                given=given,
                prompt=values["prompt"] or "",
                uri=values["uri"] or "",
            ),
            lambda found, _write: asdict(found),
        )


def _files_of_prompt(messages, person):
    """Read the files of a prompt, as many as go with one message.

    :param person: as the result see `read_sent`
    :return: a list of each message
    """
    found = [file for message in messages for file in message.files][: files.MAX_FILES]
    contents = ((file["name"], "", base64.b64decode(file["data"])) for file in found)
    sent = iter(read_sent(contents, person))
    return [list(itertools.islice(sent, len(message.files))) for message in messages]


def _stored_files(files, write):
    """Keep the files of an answer in the conversation, and describe them."""
    if not files or not write:
        return []
    return write(lambda channel: channel._keep_files(files)._ai_file_data())


def _expanded(template, arguments):
    try:
        return uri_template.expand(template, arguments)
    except ConfigError as error:
        raise ApiError.invalid("uri", sentences.translated(request.env, str(error))) from error


def _check_length(uri):
    if len(uri) > uri_template.MAX_ADDRESS:
        raise ApiError.invalid("uri", sentences.translated(request.env, uri_template.TOO_LONG))
