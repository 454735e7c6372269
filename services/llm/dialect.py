"""Dialects: where OpenAI-compatible endpoints differ from each other, in what they are sent and in what they stream.

Each difference is told by the provider's own documentation; `tests/core/llm/test_providers.py` has their streams.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from . import thinking

EXTRAS = "extra_content"  # of a streamed call, and of a LangChain message's `additional_kwargs`
MAX_EXTRA = 64 * 1024  # bytes of it, as JSON
# What OpenTelemetry calls whoever answers there; see `gen_ai.provider.name` of its conventions.
PROVIDERS = {
    ".openai.azure.com": "azure.ai.openai",
    ".anthropic.com": "anthropic",
    ".cohere.ai": "cohere",
    ".cohere.com": "cohere",
    ".deepseek.com": "deepseek",
    ".groq.com": "groq",
    ".mistral.ai": "mistral_ai",
    ".moonshot.ai": "moonshot_ai",
    ".perplexity.ai": "perplexity",
    ".x.ai": "x_ai",
    "-aiplatform.googleapis.com": "gcp.vertex_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
}
RENAMED = (".openai.com", ".azure.com")  # take `max_completion_tokens`, everyone else the old name


def host_of(base_url: str) -> str:
    """Host name of an endpoint's address, empty for none."""
    return urlsplit(base_url).hostname or ""


def provider_of(base_url: str) -> str:
    """Provider as the conventions name it, "openai" also for those that only speak like it.

    >>> provider_of("https://api.mistral.ai/v1"), provider_of("http://localhost:11434/v1")
    ('mistral_ai', 'openai')
    """
    host = "." + host_of(base_url)
    return next((name for end, name in PROVIDERS.items() if host.endswith(end)), "openai")


def length(base_url: str, max_tokens: int | None) -> dict[str, Any]:
    """The limit of an answer, as an argument of `ChatOpenAI`, which sends `max_tokens` under OpenAI's new name.

    https://platform.openai.com/docs/api-reference/chat/create#chat-create-max_completion_tokens
    """
    if not max_tokens:
        return {}
    if host_of(base_url).endswith(RENAMED):
        return {"max_tokens": max_tokens}
    return {"extra_body": {"max_tokens": max_tokens}}


def wants_thoughts(base_url: str) -> bool:
    """True if the thinking before a call of a tool has to be sent back; without it DeepSeek answers 400.

    https://api-docs.deepseek.com/guides/thinking_mode
    """
    return host_of(base_url).endswith(".deepseek.com")


def extra_of(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Data that has to come back with a call exactly as it came: Gemini's signature of a thought.

    https://ai.google.dev/gemini-api/docs/thought-signatures

    :param call: a ``tool_call`` of the raw answer
    :return: None for a call without such data
    """
    extra = call.get(EXTRAS)
    if not isinstance(extra, dict) or len(json.dumps(extra)) > MAX_EXTRA:
        return None
    return extra


def completed(
    message: dict[str, Any], extra_fields: Mapping[str, Any], *, with_thoughts: bool
) -> None:
    """Put into a message of a request what LangChain leaves out.

    :param extra_fields: `additional_kwargs` of the LangChain message
    """
    if not message.get("tool_calls"):
        return
    if with_thoughts:
        message["reasoning_content"] = extra_fields.get(thinking.KEY, "")
    extras = extra_fields.get(EXTRAS) or {}
    for call in message["tool_calls"]:
        if extra := extras.get(call["id"]):
            call[EXTRAS] = extra


def even_usage(usage: Any) -> None:
    """DeepSeek counts cached tokens under a name of its own.

    https://api-docs.deepseek.com/guides/kv_cache

    :param usage: of the raw answer, changed in place
    """
    if isinstance(usage, dict) and isinstance(hit := usage.get("prompt_cache_hit_tokens"), int):
        usage["prompt_tokens_details"] = {
            **(usage.get("prompt_tokens_details") or {}),
            "cached_tokens": hit,
        }
