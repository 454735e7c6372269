"""The model that is asked: the demo's embedded one, or the one that `OPENAI_BASE_URL` names."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dev import processes
from dev.demo import llm as demo_llm


@dataclass(frozen=True)
class Llm:
    """:ivar template: how the embedded model is told of what it reads"""

    base_url: str
    model: str
    key: str
    template: str = ""


@contextlib.contextmanager
def the_model(*, with_examples: bool = False) -> Iterator[Llm]:
    if base_url := os.environ.get("OPENAI_BASE_URL"):
        yield Llm(base_url, os.environ["OPENAI_MODEL"], os.environ.get("OPENAI_API_KEY", ""))
        return
    port = processes.free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = demo_llm.start(port, Path(folder), Path(folder) / "llm.log", with_examples)
        try:
            if not demo_llm.warm_up(port, {"messages": [{"role": "user", "content": "Hi"}]}):
                raise SystemExit("The model does not answer.")
            template = (Path(folder) / demo_llm.TEMPLATE).read_text()
            yield Llm(f"http://127.0.0.1:{port}/v1", demo_llm.MODEL, "none", template)
        finally:
            server.stop()
