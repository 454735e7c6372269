"""The addon's optional packages, apart from the environment: most tests run without them, as most people do."""

from pathlib import Path

from dev.cache import build_once, digest
from dev.commands import run
from dev.paths import VENV
from dev.progress import step
from dev.setup import venvs

PINS = (
    "googleapis-common-protos==1.76.0",
    "opentelemetry-api==1.45.2",
    "opentelemetry-exporter-http-transport==0.66b2",
    "opentelemetry-exporter-otlp-common==0.66b2",
    "opentelemetry-exporter-otlp-proto-common==1.45.2",
    "opentelemetry-exporter-otlp-proto-http==1.45.2",
    "opentelemetry-proto==1.45.2",
    "opentelemetry-sdk==1.45.2",
    "opentelemetry-semantic-conventions==0.66b2",
    "prometheus-client==0.26.0",
    "protobuf==7.36.2",
)


def folder() -> Path:
    """Folder for Python's path."""

    def build(entry: Path) -> None:
        command = [VENV / "bin/python", *venvs.PIP, "--no-deps", "--target", entry, *PINS]
        run(command, what="Installing the optional packages")

    with step("Fetching the addon's optional packages"):
        return build_once(f"extras-{digest(*PINS)}", build)
