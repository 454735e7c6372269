"""Inventory of people's data: each stored column that refers to a person or can hold words, and what erasure does.

The columns `create_uid` and `write_uid`, which Odoo itself keeps in every table, stay: ids without words.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..sentence import Sentence, _lt

CASCADE, ANONYMISE, KEEP = "cascade", "anonymise", "keep"
ADDON = "woow_paas_platform."

CHATS = _lt("Conversations with assistants, with all messages, files, calls and results.")
OF_CHATS = _lt("Part of a conversation or a call, and deleted with it.")
OWN = _lt("Settings and secrets of the person alone.")
ASKED = _lt("Who asked for an export or an erasure. The request stays, without a name.")
AUDIT = _lt("The user behind each entry of the audit log. The entries stay, without a name.")
BUDGETS = _lt("Budgets for this person alone.")
COSTS = _lt("Costs of requests to providers. They stay, without a name.")
EXPORTS = _lt("Exports of the person's data.")
OF_OWN = _lt("Part of a personal server, and deleted with it.")
TESTS = _lt("Tests that run with the person's rights or hold the person's questions.")
RUNS = _lt("Runs with the person's rights or from the person's mails.")
DECIDED = _lt("Who decided about a call or tool of others. The decision stays, without a name.")
STATISTICS = _lt("Number of calls. The sums stay, without a name.")
MEMBERS = _lt("Memberships of workspaces.")
SHARED = _lt("Configuration that others use. Change it before the person leaves.")
NO_WORDS = _lt("Codes, ids and digests, or words of servers and programs; none of a person.")
BUSINESS = _lt("Business data of a workspace or company.")


@dataclass(frozen=True)
class Entry:
    """Columns of one model with the same fate.

    :ivar model: without the addon's prefix, if it is one of the addon's
    :ivar fate: `CASCADE` (the row goes), `ANONYMISE` (the column is emptied) or `KEEP`
    :ivar people: columns that refer to a person
    :ivar words: columns that can hold words
    :ivar of: for words to be emptied, the column of the person who wrote them
    :ivar only: domain of the rows, if it is not all of the person's
    """

    model: str
    fate: str
    reason: Sentence
    people: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    of: str = ""
    only: tuple[tuple[str, str, object], ...] = ()

    @property
    def model_name(self) -> str:
        return self.model if "." in self.model else ADDON + self.model


def _entry(model, fate, reason, people="", words="", of="", only=()):
    return Entry(model, fate, reason, tuple(people.split()), tuple(words.split()), of, only)


# In the order of erasure.
INVENTORY = (
    _entry(
        "assistant_test",
        CASCADE,
        TESTS,
        "user_id asked_by_id",
        "name questions recordings rubric exchange_id",
    ),
    _entry("assistant_test_result", CASCADE, TESTS, "user_id", "failures verdict answer calls"),
    _entry("test_expectation", CASCADE, TESTS, "", "tool arguments text domain field_name"),
    _entry("answer_rating", CASCADE, OF_CHATS, "user_id", "text tool_names"),
    _entry("answer_rating", ANONYMISE, DECIDED, "seen_by_id", "reply", "seen_by_id"),
    _entry(
        "tool_call",
        ANONYMISE,
        DECIDED,
        "decided_by_id",
        "decision_reason",
        "decided_by_id",
    ),
    _entry("call_question", ANONYMISE, DECIDED, "answered_by_id"),
    _entry("ai_run", CASCADE, RUNS, "user_id", "name problem mail_from mail mail_answer_id event"),
    _entry("ai_run", ANONYMISE, RUNS, "requester_ids"),
    _entry("discuss.channel", CASCADE, CHATS, "woow_user_id", "woow_mcp_config woow_beginning"),
    _entry("conversation_share", CASCADE, OWN, "user_id", "name token_digest content"),
    _entry(
        "ai_turn",
        CASCADE,
        CHATS,
        "user_id",
        "prompt mentions client_messages given_call foreign_name transcript error_message technical_cause client_token",
    ),
    _entry("ai_turn_event", CASCADE, OF_CHATS, "", "payload"),
    _entry(
        "tool_call",
        CASCADE,
        OF_CHATS,
        "user_id",
        "client_name title arguments fixed result llm_text whole_text approval_reason approval_choices trace"
        " asked_arguments ask_state task rehearsal made",
    ),
    _entry("call_question", CASCADE, OF_CHATS, "", "key message schema url host content_encrypted"),
    _entry(
        "ir.attachment",
        CASCADE,
        OF_CHATS,
        "woow_unsent_by_id",
        "woow_source_server woow_source_uri woow_reading woow_text",
    ),
    _entry("tool_grant", CASCADE, OWN, "user_id", "name records definition"),
    _entry("person_rule", CASCADE, OWN, "owner_id"),
    _entry("person_rule", ANONYMISE, SHARED, "user_ids"),
    _entry("server_credential", CASCADE, OWN, "user_id", "api_key_encrypted"),
    _entry("server_opt_out", CASCADE, OWN, "user_id"),
    _entry("conversation_folder", CASCADE, OWN, "user_id", "name instructions res_model"),
    _entry("saved_prompt", CASCADE, OWN, "user_id", "name content"),
    _entry("memory", CASCADE, OWN, "user_id", "text"),
    _entry(
        "mcp_sign_in",
        CASCADE,
        OWN,
        "user_id",
        "address issuer scope error grant_encrypted renewed_by",
    ),
    _entry("mcp_sign_in_request", CASCADE, OWN, "user_id", "state_hash pending_encrypted"),
    _entry(
        "oauth_grant",
        CASCADE,
        OWN,
        "user_id",
        "scope redirect_uri resource family_digest code_digest code_challenge access_digest refresh_digest",
    ),
    _entry("client_session", CASCADE, OWN, "user_id", "key log_level"),
    _entry("delivered_prompt", CASCADE, OF_CHATS, "user_id", "server_name content"),
    _entry("mcp_check", CASCADE, NO_WORDS, "user_id"),
    _entry(
        "mcp_server",
        CASCADE,
        OWN,
        "owner_user_id",
        "name title description url api_key_encrypted headers_json_encrypted header_names env_config"
        " template_values_encrypted oauth_client_id oauth_client_secret_encrypted oauth_issuer oauth_scope"
        " tools_at_first state_message state_inside",
    ),
    _entry("mcp_server_version", CASCADE, OF_OWN, "", "configuration changed"),
    _entry("mcp_server_process", CASCADE, OF_OWN, "", "name reason stderr"),
    _entry("webhook", CASCADE, SHARED, "user_id", "name url secret_encrypted old_secret_encrypted"),
    _entry("mcp_server", ANONYMISE, DECIDED, "locked_by_id", "lock_reason", "locked_by_id"),
    _entry("mcp_tool", ANONYMISE, DECIDED, "locked_by_id", "lock_reason", "locked_by_id"),
    _entry("ai.assistant", ANONYMISE, DECIDED, "locked_by_id", "lock_reason", "locked_by_id"),
    _entry("mcp_tool_review", ANONYMISE, DECIDED, "user_id", "user_name", "user_id"),
    _entry("ai.assistant", ANONYMISE, SHARED, "responsible_id"),
    _entry("tool_call_sum", ANONYMISE, STATISTICS, "user_id"),
    _entry("cost", ANONYMISE, COSTS, "user_id"),
    _entry("budget_period", CASCADE, BUDGETS, "user_id"),
    _entry("budget", CASCADE, BUDGETS, "user_id", "name"),
    _entry("budget", ANONYMISE, SHARED, "owner_id"),
    _entry("workspace_access", CASCADE, MEMBERS, "user_id", only=(("role", "!=", "owner"),)),
    _entry("personal_data", CASCADE, EXPORTS, "user_id", only=(("kind", "=", "export"),)),
    _entry("personal_data", ANONYMISE, ASKED, "asked_by_id"),
    _entry("audit_person", CASCADE, AUDIT, "user_id", "key pseudonym"),
    _entry("audit_entry", KEEP, NO_WORDS, "", "shard model person codes previous fingerprint"),
    _entry("audit_checkpoint", KEEP, NO_WORDS, "", "content fingerprint signature"),
    _entry("oauth_assertion", KEEP, NO_WORDS, "", "digest"),
    _entry("workspace", KEEP, BUSINESS, "owner_id", "name folder"),
    _entry("mail_address", KEEP, SHARED, "user_id", "domain"),
    _entry("ir.actions.server", KEEP, SHARED, "woow_run_as_id", "woow_instruction woow_off_reason"),
    _entry("webhook", KEEP, NO_WORDS, "", "off_reason"),
    _entry("webhook_delivery", KEEP, NO_WORDS, "", "event message_id payload problem"),
    _entry("ai.assistant", KEEP, NO_WORDS, "partner_id", "exchange_id"),
    _entry(
        "ai.assistant",
        KEEP,
        SHARED,
        "",
        "name description image greeting starters system_prompt draft_note",
    ),
    _entry("assistant_version", KEEP, SHARED, "", "content content_digest note"),
    _entry("assistant_test_run", KEEP, SHARED, "", "draft_content draft_digest"),
    _entry(
        "ai.config",
        KEEP,
        SHARED,
        "",
        "exchange_id api_key_encrypted name api_base_url model embedding_model embedding_problem embedding_detail"
        " state_message state_detail model_names",
    ),
    _entry("cloud_service", KEEP, BUSINESS, "", "name description starters reference_id"),
    _entry("approval_rule", KEEP, SHARED, "", "exchange_id condition"),
    _entry("record_access", KEEP, SHARED, "", "hidden_fields"),
    _entry("gateway", KEEP, SHARED, "", "name code"),
    _entry("default_prompt", KEEP, SHARED, "", "name prompt_text model"),
    _entry("oauth_client", KEEP, SHARED, "", "name client_id redirect_uris secret_digest network"),
    _entry("knowledge_network", KEEP, SHARED, "", "name kn_id description"),
    _entry("action_type", KEEP, SHARED, "", "name at_id description model identity_fields domain"),
    _entry("action_parameter", KEEP, SHARED, "", "name field_path constant description"),
    _entry(
        "toolbox",
        KEEP,
        SHARED,
        "",
        "name description box_id document_url version base_url credential_name credential_encrypted",
    ),
    _entry(
        "toolbox_operation",
        KEEP,
        NO_WORDS,
        "",
        "name title description method path input_schema content_type joined problem",
    ),
    _entry("mcp_template", KEEP, SHARED, "", "code name description icon website url"),
    _entry("mcp_template_field", KEEP, SHARED, "", "name label placeholder help header"),
    _entry(
        "mcp_tool",
        KEEP,
        NO_WORDS,
        "",
        "name title description input_schema output_schema annotations definition_hash pending_definition"
        " warning_codes exempt_definition",
    ),
    _entry("mcp_tool_review", KEEP, NO_WORDS, "", "tool_name definition definition_hash"),
    _entry("tool_call_sum", KEEP, NO_WORDS, "", "key server_name tool_name"),
    _entry("cost", KEEP, NO_WORDS, "", "key provider_name model tool_names budget_holds"),
    _entry("price", KEEP, NO_WORDS, "", "model source"),
    _entry("tool_call_report", KEEP, STATISTICS, "user_id", "server_name tool_name"),
    _entry("cost_of_tool", KEEP, COSTS, "user_id", "tool_name provider_name model"),
    _entry("request_slot", KEEP, NO_WORDS, "", "holder"),
    _entry("discuss.channel", KEEP, NO_WORDS, "", "woow_res_model"),
    _entry("ai_run", KEEP, NO_WORDS, "", "res_model"),
    _entry(
        "ai_turn",
        KEEP,
        NO_WORDS,
        "",
        "prompt_server unreviewed_servers companies lang usage error_code lease_owner",
    ),
    _entry("tool_call", KEEP, NO_WORDS, "", "call_id tool_name server_name definition"),
    _entry(
        "mcp_server",
        KEEP,
        NO_WORDS,
        "",
        "exchange_id mcp_id api_key_env file_digest file_form template_code protocol_version detected_transport",
    ),
)


def of_people(fate: str) -> Iterator[Entry]:
    """Entries with this fate that refer to people."""
    return (entry for entry in INVENTORY if entry.fate == fate and entry.people)


def reviewed() -> dict[str, set[str]]:
    """Columns of the inventory by model."""
    found: dict[str, set[str]] = {}
    for entry in INVENTORY:
        found.setdefault(entry.model_name, set()).update(entry.people, entry.words)
    return found
