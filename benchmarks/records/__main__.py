"""How well questions about Odoo's records are answered, beside `mcp-server-odoo`: ``make bench-records``.

For each seed one question of each kind in each of three languages, over the demo data of CRM and Sales; see
`questions`. Building seeds are for changing things, published ones for the figures. The model is the demo's embedded
one without its examples, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY`` any other. Answers are
kept in ``.dev/bench-records.jsonl`` and not asked for again until what they depend on changes, so it may be
interrupted; what was said and called stands in ``.dev/logs/bench-records``. Arguments: ``building`` or ``published``,
a number of seeds (10 otherwise), sides (``ours``, ``mcp-server-odoo``), languages (``zh_TW``), kinds (``write``).
"""

import hashlib
import json
import statistics
import sys
from collections.abc import Iterable
from typing import Any

from dev.paths import DEV, LOGS, REQUIREMENTS, ROOT

from ..interval import rate
from . import database
from .judge import problem
from .models import Llm, the_model
from .questions import BUILDING, KINDS, LANGUAGES, PUBLISHED, Question, questions
from .sides import ROUNDS, SECONDS, Ours, Theirs

KEPT = DEV / "bench-records.jsonl"
RAW = LOGS / "bench-records"
SIDES = (Ours.name, Theirs.name)
SEEDS = 10
Row = dict[str, Any]


def wanted(arguments: Iterable[str]) -> tuple[list[range], set[str], set[str]]:
    """:return: ranges of seeds, kinds, languages"""
    arguments = set(arguments)
    (count,) = [int(one) for one in arguments if one.isdecimal()] or [SEEDS]
    ranges = {"building": BUILDING[:count], "published": PUBLISHED[:count]}
    chosen = [seeds for name, seeds in ranges.items() if name in arguments]
    return (
        chosen or list(ranges.values()),
        arguments & set(KINDS) or set(KINDS),
        arguments & set(LANGUAGES) or set(LANGUAGES),
    )


def mark(side: str, llm: Llm, question: Question) -> str:
    """Changes with whatever an answer depends on."""
    files = {
        Ours.name: sorted((ROOT / "services/records").glob("*.py"))
        + sorted((ROOT / "runtime/records").glob("*.py"))
        + [ROOT / "models/assistant/record_access.py"]
        + [ROOT / "models/turn/ai_turn_request.py", ROOT / "models/turn/tool_call.py"],
        Theirs.name: [REQUIREMENTS / "benchmarks/records.txt"],
    }[side]
    parts = [side, llm.model, llm.template, database.PROMPT, SECONDS, ROUNDS, repr(question)]
    parts += [path.read_text() for path in files]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def known() -> dict[str, Row]:
    if not KEPT.exists():
        return {}
    return {row["mark"]: row for row in map(json.loads, KEPT.read_text().splitlines())}


def run(arguments: list[str]) -> None:
    sides = [side for side in SIDES if side in arguments] or list(SIDES)
    ranges, kinds, languages = wanted(arguments)
    seeds = [seed for range_ in ranges for seed in range_]
    rows: list[Row] = []
    with the_model() as llm, database.source() as made:
        for side in sides:
            with database.running(made, side.replace("-", "_")) as odoo:
                asker = (
                    Ours(odoo, database.prepare(odoo, llm.base_url, llm.model, llm.key))
                    if side == Ours.name
                    else Theirs(odoo, llm)
                )
                is_warm, kept = False, known()
                for question in questions(odoo.rpc, seeds):
                    if question.kind not in kinds or question.language not in languages:
                        continue
                    its_mark = mark(side, llm, question)
                    if (row := kept.get(its_mark)) is None:
                        if not is_warm:  # the model reads how every question begins
                            asker.ask("Hello.", lambda _entry: None)
                            is_warm = True
                        row = _ask(asker, odoo.rpc, question, its_mark)
                    rows.append(row)
                    _print(row)
    for range_ in ranges:
        table(range_, [row for row in rows if row["seed"] in range_])


def _ask(asker: Ours | Theirs, orm: Any, question: Question, its_mark: str) -> Row:
    RAW.mkdir(parents=True, exist_ok=True)
    raw = RAW / f"{asker.name}-{question.kind}-{question.language}-{question.seed}.jsonl"
    with raw.open("w") as file:
        answer = asker.ask(
            question.text,
            lambda entry: file.write(json.dumps(entry, ensure_ascii=False, default=str) + "\n"),
        )
    wrong = answer.error or problem(question, answer.text, orm)
    row = {
        "side": asker.name,
        "kind": question.kind,
        "language": question.language,
        "seed": question.seed,
        "question": question.text,
        "wrong": wrong,
        **answer.row(),
        "mark": its_mark,
    }
    with KEPT.open("a") as file:
        file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return row


def _print(row: Row) -> None:
    said = " ".join(row["text"].split())[:80]
    verdict = f"WRONG: {row['wrong']}" if row["wrong"] else "right"
    print(
        f"{row['side']:<16}{row['language']:<6}{row['seed']:>8} {row['seconds']:>6} s  "
        f"{row['question']}  →  {said}  [{verdict}]",
        flush=True,
    )


def table(seeds: range, rows: list[Row]) -> None:
    """Markdown: success by language and by kind, and what an answer costs."""
    print(
        f"\n| seeds {seeds.start} to {seeds.stop - 1} | right | tokens in | out | rounds | seconds |"
    )
    print("|---|---|---|---|---|---|")
    for side in SIDES:
        of_side = [row for row in rows if row["side"] == side]
        for name, part in (
            (side, of_side),
            *(
                (f"{side}, {one}", [r for r in of_side if r["language"] == one])
                for one in LANGUAGES
            ),
            *((f"{side}, {one}", [r for r in of_side if r["kind"] == one]) for one in KINDS),
        ):
            if part:
                _line(name, part)


def _line(name: str, rows: list[Row]) -> None:
    def middle(field: str) -> float:
        return statistics.median(row[field] for row in rows)

    right = rate(sum(not row["wrong"] for row in rows), len(rows))
    figures = [f"{middle(f):.0f}" for f in ("input_tokens", "output_tokens", "rounds", "seconds")]
    print(f"| {name} | {right} | {' | '.join(figures)} |")


if __name__ == "__main__":
    run(sys.argv[1:])
