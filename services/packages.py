"""Dependency check: packages that are gone though Odoo checked them at the installation, as after a renewed machine.

Each costs what it is imported for. Top-level module -> the name that pip knows.
"""

from collections.abc import Mapping
from importlib.util import find_spec

from .errors import PackageMissing

# Without these nothing of the addon can be imported.
ALL = {
    "anyio": "anyio",
    "certifi": "certifi",
    "cryptography": "cryptography",
    "httpcore": "httpcore",
    "httpx": "httpx",
    "rfc8785": "rfc8785",
}
PROTOCOLS = {
    "jsonschema": "jsonschema",
    "jwt": "PyJWT",
    "langchain_mcp_adapters": "langchain-mcp-adapters",
    "mcp": "mcp",
    "pydantic_core": "pydantic-core",
    "referencing": "referencing",
    "yaml": "PyYAML",
}
MODELS = {
    "langchain_core": "langchain-core",
    "langchain_openai": "langchain-openai",
    "langsmith": "langsmith",
    "markdown_it": "markdown-it-py",
    "openai": "openai",
}
# Each reads one kind of the files that people attach.
DOCUMENTS = {
    "docx": "python-docx",
    "openpyxl": "openpyxl",
    "pptx": "python-pptx",
    "pypdfium2": "pypdfium2",
}
# Without it formulas stay as their source.
FORMULAS = {"latex2mathml": "latex2mathml"}
# Without these a feature of the operator's is not there; see requirements-extras.txt.
METRICS = {"prometheus_client": "prometheus-client"}
TRACES = {
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry.trace": "opentelemetry-api",
}


def missing(*groups: Mapping[str, str]) -> list[str]:
    """The names that pip knows of what is not installed; imports nothing.

    :param groups: such as `DOCUMENTS`, ``{module: distribution}``
    """
    return sorted(
        name for group in groups for module, name in group.items() if not _is_here(module)
    )


def check(group: Mapping[str, str]) -> None:
    """:raises PackageMissing: something of the group is not installed"""
    if names := missing(group):
        raise PackageMissing(", ".join(names))


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
