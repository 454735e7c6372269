import contextlib
import json

import psycopg2
from odoo import http
from odoo.exceptions import AccessError, ConcurrencyError, UserError
from odoo.http import request

from ..models.conversation.conversation_folder import FOLDER
from ..models.turn.ai_turn import Question
from ..runtime import process
from ..runtime.records import mentions
from ..runtime.turns import listeners
from ..runtime.web import api_error
from ..runtime.web.api_error import ApiError
from ..runtime.web.slots import SEARCH
from ..services.render import conversation_file
from ..tools.refusals import Refusal
from .dispatcher import body, query_day, query_int, query_text, writes_nothing

ROUTE = {"type": "woow_ai", "auth": "woow_ai"}


def _exports_no_pdf(*_args):
    """True if the export writes nothing: a report may keep the styles that it makes."""
    return writes_nothing() and request.httprequest.args.get("format") != "pdf"


READ = {"methods": ["GET"], "readonly": writes_nothing, **ROUTE}
SERVICE = "woow_paas_platform.cloud_service"
PAGE = 30
MAX_BATCH = 100
MAX_COMPANIES = 1_000  # that a browser may name
EXPORTS = {  # ending of the file, and type
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json; charset=utf-8"),
    "pdf": ("pdf", "application/pdf"),
}
SEARCH_CHARS = 200  # of the words to find a conversation by


def conversation_or_404(conversation_id):
    channel = request.env["discuss.channel"].browse(conversation_id)._own_conversation()
    if not channel:
        raise ApiError.not_found(request.env._("This conversation does not exist."))
    return channel


def folder_or_404(folder_id):
    """The caller's own folder."""
    folder = request.env[FOLDER].browse(folder_id)._own_folder()
    if not folder:
        raise ApiError.not_found(request.env._("This folder does not exist."))
    return folder


def chosen_folder(folder_id):
    """:return: see `folder_or_404`; an empty recordset without an id"""
    return folder_or_404(folder_id) if folder_id else request.env[FOLDER]


def visible_or_404(model, record_id, sentence):
    record = request.env[model].browse(record_id).exists()
    if not record or not record.has_access("read"):
        raise ApiError.not_found(sentence)
    return record


def record_or_404(model, res_id):
    """A record by its model and id; a model that the caller may not read does not exist.

    :return: None without either
    """
    if not model and not res_id:
        return None
    sentence = request.env._("This record does not exist.")
    if model not in request.env or request.env[model]._abstract:
        raise ApiError.not_found(sentence)
    return visible_or_404(model, res_id or 0, sentence)


def turn_or_404(turn_id):
    return visible_or_404(
        "woow_paas_platform.ai_turn", turn_id, request.env._("This turn does not exist.")
    )


def own_turn_or_404(turn_id):
    """The caller's own turn: others may see it, too."""
    turn = turn_or_404(turn_id)
    if turn.user_id != request.env.user:
        raise ApiError.not_found(request.env._("This turn does not exist."))
    return turn


def assistant_or_404(assistant_id):
    return visible_or_404(
        "ai.assistant", assistant_id, request.env._("This assistant does not exist.")
    )


def service_or_404(service_id):
    sentence = request.env._("This cloud service does not exist.")
    return visible_or_404(SERVICE, service_id, sentence)


def visible_service(service_id):
    """:return: the cloud service, an empty recordset without an id"""
    return service_or_404(service_id) if service_id else request.env[SERVICE]


def message_text(content, *, may_be_empty=False):
    """The text of a message; only files and commands may come without one."""
    content = content.strip()
    if not content and not may_be_empty:
        raise ApiError(400, "empty_message", request.env._("Write a message first."))
    return content


def active_companies():
    """Companies that the browser has switched on; their use checks that they are the person's."""
    return [int(i) for i in request.cookies.get("cids", "").split("-") if i.isdecimal()]


def is_in_browser():
    """True if a browser asks, where a person sees the answers and reports it; programs have a key."""
    return "Authorization" not in request.httprequest.headers


def batch_results(field, ids, act):
    """Do the same to each of several records; one that fails costs the others nothing.

    :param field: of the body, which holds the ids
    :param act: takes an id
    """
    ids = dict.fromkeys(ids)
    if not 0 < len(ids) <= MAX_BATCH:
        raise ApiError.invalid(field, f"Send from 1 to {MAX_BATCH} ids.")
    return {"results": [_one_of_batch(act, record_id) for record_id in ids]}


def _one_of_batch(act, record_id):
    try:
        with request.env.cr.savepoint():
            act(record_id)
    except (ApiError, UserError, Refusal) as error:
        problem = api_error.of(error, api_error.request_reader())
        return {"id": record_id, "ok": False, "error": problem.item()}
    return {"id": record_id, "ok": True, "error": None}


@contextlib.contextmanager
def one_at_a_time():
    """Let a request of the caller that takes seconds begin only when none other of that kind is under way."""
    with listeners.slots(request.db).hold(request.env.uid, SEARCH) as has_slot:
        if not has_slot:
            raise ApiError.too_many_waits(request.env.lang)
        yield


@contextlib.contextmanager
def starting_a_turn():
    """Let the second of two requests that start the same turn at once find it when it is repeated."""
    try:
        with request.env.cr.savepoint():
            yield
    except AccessError as error:
        raise ApiError(
            403, "assistant_unavailable", request.env._("This assistant is not available.")
        ) from error
    except psycopg2.errors.UniqueViolation as error:
        raise ConcurrencyError("The same turn was started twice at once.") from error


def accepted(turn):
    return request.make_json_response(
        {
            "turn_id": turn.id,
            "stream_url": turn._stream_url(),
            "message_id": turn.message_id.id,
        },
        status=202,
    )


class ChatController(http.Controller):
    @http.route("/api/ai/assistants", **READ)
    def assistants(self):
        """Assistants of the caller; a cloud service adds its own, for chats about it."""
        service = visible_service(query_int("cloud_service_id"))
        return {
            "assistants": [
                {
                    "id": assistant.id,
                    "name": assistant.name,
                    "description": assistant.description or "",
                    "tools": assistant.tool_count,
                    **assistant._api_face(),
                }
                for assistant in request.env["ai.assistant"]._offered(service)
            ],
            "can_create": request.env["ai.assistant"].has_access("create"),
        }

    @http.route("/api/ai/assistants/<int:assistant_id>/mcp-config", **READ)
    def mcp_config(self, assistant_id):
        """The servers that a new chat with this assistant may use."""
        assistant = assistant_or_404(assistant_id)
        service = visible_service(query_int("cloud_service_id"))
        offered = assistant._offered_mcp_servers(request.env.user, service)
        return assistant._mcp_config(offered, offered.filtered("is_on_for_me"))

    @http.route("/api/ai/cloud-services", **READ)
    def cloud_services(self):
        services = request.env["woow_paas_platform.cloud_service"].search([])
        return {
            "cloud_services": [
                {
                    "id": service.id,
                    "name": service.name,
                    "state": service.state,
                    "starters": service._starters(),
                    "workspace": {
                        "id": service.workspace_id.id,
                        "name": service.workspace_id.name,
                    },
                }
                for service in services
            ]
        }

    @http.route("/api/ai/conversations", **READ)
    def conversations(self):
        limit = query_int("limit", PAGE, 1, 100)
        part = {
            "limit": limit + 1,
            "before": query_int("before"),
            "cloud_service": visible_service(query_int("cloud_service_id")),
            "is_archived": bool(query_int("archived", 0, 0, 1)),
            "since": query_day("since") if request.httprequest.args.get("since") else None,
            "has_files": bool(query_int("has_files", 0, 0, 1)),
        }
        res_model, res_id = query_text("res_model"), query_int("res_id")
        if bool(res_model) != bool(res_id):
            raise ApiError(400, "invalid_parameter", "“res_model” and “res_id” belong together.")
        if res_id:
            part["record"] = res_model, res_id
        if assistant_id := query_int("assistant_id"):
            part["assistant"] = assistant_or_404(assistant_id)
        if (folder_id := query_int("folder_id")) is not None:
            part["folder"] = chosen_folder(folder_id)
        Channel = request.env["discuss.channel"]
        excerpts, is_whole = {}, True
        if words := " ".join(query_text("q").split())[:SEARCH_CHARS]:
            with one_at_a_time():
                channels, excerpts, is_whole = Channel._ai_conversations_with(words, **part)
        else:
            channels = Channel._ai_conversations(**part)
        unseen = request.env["woow_paas_platform.ai_turn"]._unseen_in(channels[:limit])
        return {
            "conversations": [
                {
                    **channel._conversation_data(),
                    "excerpt": excerpts.get(channel.id, ""),
                    "unseen": channel in unseen,
                }
                for channel in channels[:limit]
            ],
            "has_more": len(channels) > limit,
            "incomplete": not is_whole,
        }

    @http.route("/api/ai/conversations/records", **READ)
    def records_of_conversations(self):
        return {"records": request.env["discuss.channel"]._counts_by_record()}

    @http.route("/api/ai/conversations", methods=["POST"], **ROUTE)
    def create_conversation(self):
        values = body("NewConversation")
        assistant = assistant_or_404(values["assistant_id"])
        service = visible_service(values["cloud_service_id"])
        folder = chosen_folder(values["folder_id"])
        record = record_or_404(values["res_model"], values["res_id"])
        channel = request.env["discuss.channel"]._create_ai_conversation(
            assistant,
            service,
            values["name"],
            record or folder._record_for(assistant, service),
            is_temporary=bool(values["temporary"]),
        )
        if values["enabled_servers"] is not None:
            channel._select_servers(values["enabled_servers"])
        if folder:
            channel._keep("move", folder)
        data = {
            **channel._conversation_data(),
            "can_post": channel._can_post(),
            "assistants": channel._assistants_to_retry(),
        }
        return request.make_json_response(data, status=201)

    @http.route("/api/ai/conversations/batch", methods=["POST"], **ROUTE)
    def keep_conversations(self):
        """The same act on several conversations; one that fails costs the others nothing."""
        values = body("ConversationBatch")
        folder = chosen_folder(values["folder_id"])
        return batch_results(
            "conversation_ids",
            values["conversation_ids"],
            lambda number: conversation_or_404(number)._keep(values["action"], folder),
        )

    @http.route("/api/ai/conversations/<int:conversation_id>", **READ)
    def conversation(self, conversation_id):
        return conversation_or_404(conversation_id)._conversation_page(
            limit=query_int("limit", PAGE, 1, 100), before=query_int("before")
        )

    @http.route(
        "/api/ai/conversations/<int:conversation_id>/export",
        **{**READ, "readonly": _exports_no_pdf},
    )
    def export_conversation(self, conversation_id):
        """The whole conversation as a file; one at a time, since a long one takes seconds."""
        channel = conversation_or_404(conversation_id)
        kind = request.httprequest.args.get("format") or "markdown"
        if kind not in EXPORTS:
            raise ApiError(
                400, "invalid_parameter", "“format” must be “markdown”, “json” or “pdf”."
            )
        ending, mimetype = EXPORTS[kind]
        with one_at_a_time():
            if kind == "pdf":
                name, content = channel._exported_pdf()
            else:
                exported = channel._exported()
                name = exported["name"]
        if kind == "json":
            content = json.dumps(exported, ensure_ascii=False, indent=1)
        elif kind == "markdown":
            content = conversation_file.markdown(exported, channel._words_of_export())
        return request.make_response(
            content,
            headers=[
                ("Content-Type", mimetype),
                ("Content-Disposition", http.content_disposition(f"{name}.{ending}")),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ],
        )

    @http.route("/api/ai/conversations/<int:conversation_id>", methods=["PATCH"], **ROUTE)
    def rename_conversation(self, conversation_id):
        channel = conversation_or_404(conversation_id)
        channel._rename_ai_conversation(body("NewName")["name"])
        return channel._conversation_data()

    @http.route("/api/ai/conversations/<int:conversation_id>", methods=["DELETE"], **ROUTE)
    def delete_conversation(self, conversation_id):
        conversation_or_404(conversation_id)._delete_ai_conversation()
        return request.make_response("", status=204)

    @http.route("/api/ai/conversations/<int:conversation_id>/seen", methods=["POST"], **ROUTE)
    def see_conversation(self, conversation_id):
        """The answers are in view: nobody is told of them any more."""
        channel = conversation_or_404(conversation_id)
        request.env["woow_paas_platform.ai_turn"]._see(channel)
        return request.make_response("", status=204)

    @http.route("/api/ai/conversations/<int:conversation_id>/messages", methods=["POST"], **ROUTE)
    def post_message(self, conversation_id):
        channel = conversation_or_404(conversation_id)
        values = body("Question")
        companies = values["company_ids"] or active_companies()
        may_be_empty = bool(values["attachment_ids"] or values["compact"])
        content = message_text(values["content"], may_be_empty=may_be_empty)
        turn = channel._turn_of_token(values["client_token"])
        if not turn:
            # another wording needs a conversation at rest
            channel._refuse_while_busy(values["when"] if values["edit_of"] is None else None)
            with starting_a_turn():
                refs = [] if values["compact"] else values["records"]
                # without a word on records, another wording keeps those of the former one
                attached = None if refs is None else mentions.attached(channel, refs, companies)
                turn = channel._ask(
                    Question(
                        content,
                        client_token=values["client_token"],
                        edits=self._edited(channel, values["edit_of"]),
                        attachments=None
                        if values["compact"]
                        else channel._files_to_send(values["attachment_ids"] or []),
                        mentions=attached,
                        prompt_server=values["prompt_server"],
                        companies=companies[:MAX_COMPANIES],
                        steers=values["when"] == "steer" and bool(channel._running_turn()),
                        compacts=bool(values["compact"]),
                        in_browser=is_in_browser(),
                    )
                )
        return accepted(turn)

    def _edited(self, channel, message_id):
        """The turn of the question that is worded anew, None if none is."""
        if message_id is None:
            return None
        if turn := channel._question_turn(message_id):
            return turn
        raise ApiError.not_found(request.env._("This question does not exist."))

    @http.route("/api/ai/turns/<int:turn_id>", **READ)
    def turn(self, turn_id):
        """State and result of a turn, with its calls."""
        turn = turn_or_404(turn_id)
        return turn._ended_data()

    @http.route("/api/ai/turns/<int:turn_id>/show", methods=["POST"], **ROUTE)
    def show_version(self, turn_id):
        """Show another wording of a question, and what followed it."""
        turn = turn_or_404(turn_id)
        channel = conversation_or_404(turn.channel_id.id)
        channel._refuse_while_busy()
        turn._show_version()
        return channel._conversation_data()

    @http.route("/api/ai/turns/<int:turn_id>/continue", methods=["POST"], **ROUTE)
    def continue_turn(self, turn_id):
        """A conversation of the caller's own that begins with the text of this one until the answer."""
        turn = own_turn_or_404(turn_id)
        conversation_or_404(turn.channel_id.id)
        with one_at_a_time():
            channel = request.env["woow_paas_platform.conversation_share"]._continue_from(turn)
        return request.make_json_response(channel._conversation_data(), status=201)

    @http.route("/api/ai/turns/<int:turn_id>/retry", methods=["POST"], **ROUTE)
    def retry_turn(self, turn_id):
        """Answer the same question once more, by another assistant if one is named; no call is repeated."""
        turn = turn_or_404(turn_id)
        other = body("Retry")["assistant_id"]
        channel = conversation_or_404(turn.channel_id.id)
        channel._refuse_while_busy()
        if turn != channel._last_turn():
            raise ApiError(
                409, "turn_outdated", request.env._("Only the last answer can be retried.")
            )
        with starting_a_turn():
            chosen = None if other is None else assistant_or_404(other)
            retry = turn._retry(chosen, in_browser=is_in_browser())
        return accepted(retry)

    @http.route("/api/ai/turns/<int:turn_id>/rating", methods=["PUT"], **ROUTE)
    def rate_turn(self, turn_id):
        """Rate the answer, or change the rating."""
        turn = own_turn_or_404(turn_id)
        values = body("NewRating")
        rating = request.env["woow_paas_platform.answer_rating"]._rate(
            turn,
            values["value"],
            values["reason"],
            values["text"],
            is_shared=values["share"],
            is_report=values["report"],
        )
        return rating._rating_data()

    @http.route("/api/ai/turns/<int:turn_id>/rating", methods=["DELETE"], **ROUTE)
    def take_rating_back(self, turn_id):
        own_turn_or_404(turn_id)._own_rating()._take_back()
        return request.make_response("", status=204)

    @http.route("/api/ai/preferences", **READ)
    def preferences(self):
        return request.env.user._woow_ai_preferences()

    @http.route("/api/ai/preferences", methods=["PATCH"], **ROUTE)
    def set_preferences(self):
        values = body("PreferencesChange")
        request.env.user._set_woow_ai_preferences(**values)
        if language := values["language"]:
            # Odoo reads the language of a page from the cookie, that of other requests from the session.
            request.future_response.set_cookie("frontend_lang", language)
            request.session.context = {**request.session.context, "lang": language}
        return request.env.user._woow_ai_preferences()

    @http.route("/api/ai/turns/<int:turn_id>/stop", methods=["POST"], **ROUTE)
    def stop_turn(self, turn_id):
        turn = turn_or_404(turn_id)
        return {"state": process.store(request.db).request_stop(turn.id)}
