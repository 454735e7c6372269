"""Limits that an administrator may change in Settings; the engine's own stay the defaults."""

from ..services import const

PREFIX = "woow_paas_platform."
MEGABYTE = 1024 * 1024  # bytes of a limit that counts in megabytes

DEFAULTS = {
    "max_servers_per_assistant": const.MAX_SERVERS_PER_ASSISTANT,
    "max_tools_per_server": const.MAX_TOOLS_PER_SERVER,
    "max_assistants_per_service": 5,  # that those who manage a cloud service may add to it
    "max_rounds": const.MAX_ROUNDS,  # of assistants made from now on
    "confirm_round": 0,  # of assistants made from now on; 0: never
    "max_conversations_per_person": 1000,
    "max_program_conversations_per_person": 10000,  # kept; beyond them the one that was used longest ago goes
    "max_files_per_person": 2000,  # in all conversations of a person, those of tools too
    "max_file_megabytes_per_person": 500,  # MB of them together
    "file_characters_per_message": const.LLM_RESULT_CAP,  # of the files of one message, that a model reads
    "listed_tokens": 8000,  # of definitions of tools, up to which MCP clients are listed them; 0: any number
    "event_retention_days": 7,  # days after its end that a turn can be replayed
    "result_retention_days": 180,  # days that the results of tool calls are kept
    "conversation_retention_days": 0,  # days that an unused conversation of a person is kept; 0: for good
    "call_retention_days": 365,  # days before calls are only counted; 0: never
    "cost_retention_days": 0,  # days before costs are only added up by day; 0: never
    "audit_retention_days": 730,  # days that the audit log is kept; 0: for good
    "approval_hours": 24,  # hours that a turn waits for a person's decision
    "run_approval_hours": 72,  # the same for a turn that a server action has started
    "runs_at_once": 8,  # turns of server actions that are queued or running
    "runs_per_hour": 500,  # of one server action, before it switches itself off
    "mail_after_minutes": 15,  # minutes that a decision waits before its person gets a mail; 0: never
    "answer_mail_after_minutes": 15,  # minutes that nobody looks at an answer before its person gets a mail; 0: never
    "health_interval_minutes": 5,  # minutes between two checks of whether a server is well
    "sync_interval_hours": 24,  # hours after which the cron reads a server's tools again
}
MAY_BE_ZERO = frozenset(
    {
        "answer_mail_after_minutes",
        "audit_retention_days",
        "call_retention_days",
        "conversation_retention_days",
        "cost_retention_days",
        "confirm_round",
        "listed_tokens",
        "mail_after_minutes",
    }
)


def least(name: str) -> int:
    """The smallest number that this limit may be."""
    return 0 if name in MAY_BE_ZERO else 1


def most(name: str) -> int:
    """The largest number that this limit may be: a hundred years of a time, else what a column of integers holds."""
    return {"minutes": 52_560_000, "hours": 876_000, "days": 36_500}.get(
        name.rpartition("_")[2], 2**31 - 1
    )


def is_on(env, name: str) -> bool:
    """True if an administrator has switched this on."""
    # sudo: ir.config_parameter - one of our own switches, no secret
    return env["ir.config_parameter"].sudo().get_param(PREFIX + name) == "True"


def get(env, name: str) -> int:
    """The limit that holds now; what is missing or makes no sense is the default."""
    # sudo: ir.config_parameter - one of our own numbers, no secret
    text = env["ir.config_parameter"].sudo().get_param(PREFIX + name, "")
    try:
        value = int(text)
    except ValueError:
        return DEFAULTS[name]
    return value if least(name) <= value <= most(name) else DEFAULTS[name]
