"""Deny list of all assistants, whatever an administrator chooses: code, rights, credentials, our own tables."""

import re

# Their rows are code, rights, credentials, queues of messages or conversations.
DENIED = re.compile(
    r"(ir|res\.users|res\.groups|res\.config|res\.device|auth|auth_\w+|base|base_\w+|bus|mail|discuss|im_livechat"
    r"|fetchmail|google|google_\w+|microsoft|microsoft_\w+|payment|iap|certificate|cloud_storage|digest|sms|snailmail"
    r"|phone|html_field_history|iot|key|onboarding|privacy|report|spreadsheet|transifex|web|web_\w+|website|ai"
    r"|woow_paas_platform)(\.|$)"
)
ALLOWED = frozenset({"res.users", "mail.activity", "mail.activity.type"})
READ_ONLY = frozenset(
    {"res.users", "res.company", "res.currency", "mail.activity", "mail.activity.type"}
)
SECRET = re.compile(
    r"(^|_)(passwords?|passwd|pwd|passphrase|secrets?|tokens?|credentials?|totp|otp|pin|apikeys?"
    r"|(api|private|secret|access|auth|encryption|signing|client|web_?hook)_?keys?|key_password)(_|$)"
)
# Binary contents; what has another shape in each record; what hides a relation to any model.
UNREACHABLE_TYPES = frozenset(
    {"binary", "image", "properties", "properties_definition", "serialized", "json", "reference"}
)


def is_denied(model: str) -> bool:
    """
    >>> [is_denied(name) for name in ("ir.rule", "res.users.apikeys", "res.users", "ai.config", "sale.order")]
    [True, True, False, True, False]
    """
    return model not in ALLOWED and bool(DENIED.match(model))


def is_secret(field: str) -> bool:
    """
    >>> [is_secret(name) for name in ("access_token", "oauth_client_secret", "pin", "tokens_used_up", "shipping")]
    [True, True, True, True, False]
    """
    return bool(SECRET.search(field))
