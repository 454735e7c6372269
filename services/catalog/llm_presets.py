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
