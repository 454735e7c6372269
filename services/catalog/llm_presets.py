"""Presets of providers: where their OpenAI-compatible APIs answer."""

from ..net import egress

PRESETS = {
    "openai": ("OpenAI", "https://api.openai.com/v1"),
    "azure": ("Azure OpenAI", "https://RESOURCE.openai.azure.com/openai/v1"),
    "anthropic": ("Anthropic", "https://api.anthropic.com/v1"),
    "gemini": ("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "mistral": ("Mistral AI", "https://api.mistral.ai/v1"),
    "deepseek": ("DeepSeek", "https://api.deepseek.com/v1"),
    "groq": ("Groq", "https://api.groq.com/openai/v1"),
    "openrouter": ("OpenRouter", "https://openrouter.ai/api/v1"),
    "ollama": ("Ollama", "http://localhost:11434/v1"),
    "llama_cpp": ("llama.cpp", "http://localhost:8080/v1"),
    "lm_studio": ("LM Studio", "http://localhost:1234/v1"),
    "vllm": ("vLLM", "http://localhost:8000/v1"),
}
"""``{code: (name, address)}``; in Azure's address people put their resource."""

CONTEXT_LENGTHS = {
    "openai": 128_000,
    "azure": 128_000,
    "anthropic": 200_000,
    "gemini": 1_000_000,
    "mistral": 128_000,
    "deepseek": 64_000,
    "groq": 128_000,
    "ollama": 16_384,
    "llama_cpp": 16_384,
    "lm_studio": 16_384,
}
"""Tokens that the usual models of a provider take, or with which one's own servers run; brokers and vLLM list
it for each model."""


def of_url(url: str) -> str:
    """The preset whose address this is, ``""`` if there is none.

    >>> of_url("https://api.mistral.ai/v1/"), of_url("https://acme.openai.azure.com/openai/v1"), of_url("x")
    ('mistral', 'azure', '')
    """
    origin = egress.origin(url)
    if origin is None:
        return ""
    if origin[1].endswith(".openai.azure.com"):
        return "azure"
    return next(
        (code for code, (_, known) in PRESETS.items() if egress.origin(known) == origin), ""
    )


def context_length(url: str) -> int:
    """Usual context length of the provider at this address in tokens, 0 if there is none.

    >>> context_length("https://api.mistral.ai/v1"), context_length("http://localhost:11434/v1")
    (128000, 16384)
    """
    return CONTEXT_LENGTHS.get(of_url(url), 0)
