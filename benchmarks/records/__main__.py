"""How well questions about Odoo's records are answered, beside `mcp-server-odoo`: ``make bench-records``.

Sixty questions, twenty in each of three languages, over the demo data of CRM and Sales; see `questions`. The model is
the demo's embedded one without its examples, or with ``OPENAI_BASE_URL``, ``OPENAI_MODEL`` and ``OPENAI_API_KEY`` any
other. Answers are kept in ``.dev/bench-records.jsonl`` and not asked for again until what they depend on changes, so it
may be interrupted; what was said and called stands in ``.dev/logs/bench-records``. Arguments: sides (``ours``,
``mcp-server-odoo``), languages (``zh_TW``), kinds (``write``) or numbers of questions (``3``) narrow it.
"""

import hashlib
import json
import statistics
import sys
from collections.abc import Iterable
from typing import Any

from dev.paths import DEV, LOGS, REQUIREMENTS, ROOT

from . import database
from .judge import problem
from .models import Llm, the_model
from .questions import KINDS, LANGUAGES, Question, questions
from .sides import ROUNDS, SECONDS, Ours, Theirs

KEPT = DEV / "bench-records.jsonl"
RAW = LOGS / "bench-records"
SIDES = (Ours.name, Theirs.name)
Row = dict[str, Any]


def wanted(found: Iterable[Question], arguments: Iterable[str]) -> list[Question]:
    arguments = set(arguments)
    numbers = {int(one) for one in arguments if one.isdecimal()}
    kinds, languages = arguments & set(KINDS), arguments & set(LANGUAGES)
    return [
        one
        for one in found
        if (not numbers or one.number in numbers)
        and (not kinds or one.kind in kinds)
        and (not languages or one.language in languages)
    ]


def mark(side: str, llm: Llm, question: Question) -> str:
    """Changes with whatever an answer depends on."""
    files = {
        Ours.name: sorted((ROOT / "services/records").glob("*.py"))
        + sorted((ROOT / "runtime/records").glob("*.py"))
        + [ROOT / "models/assistant/record_access.py"]
        + [ROOT / "models/turn/ai_turn_request.py", ROOT / "models/turn/tool_call.py"],
        Theirs.name: [REQUIREMENTS / "records.txt"],
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
    rows: list[Row] = []
    with the_model() as llm, database.source() as made:
        for side in sides:
            with database.running(made, side.replace("-", "_")) as odoo:
                asker = (
                    Ours(odoo, database.prepare(odoo, llm.base_url, llm.model, llm.key))
                    if side == Ours.name
                    else Theirs(odoo, llm)
                )
                is_warm = False
                for question in wanted(questions(odoo.rpc), arguments):
                    row = known().get(mark(side, llm, question))
                    if row is None:
                        if (
                            not is_warm
                        ):  # the model reads how every question begins; none waits for that
                            asker.ask("Hello.", lambda _entry: None)
                            is_warm = True
                        row = _ask(asker, odoo.rpc, question, mark(side, llm, question))
                    rows.append(row)
                    _print(row)
    table(rows)


def _ask(asker: Ours | Theirs, orm: Any, question: Question, its_mark: str) -> Row:
    RAW.mkdir(parents=True, exist_ok=True)
    raw = RAW / f"{asker.name}-{question.language}-{question.number:02}.jsonl"
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
        "number": question.number,
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
        f"{row['side']:<16}{row['language']:<6}{row['number']:>3} {row['seconds']:>6} s  "
        f"{row['question']}  →  {said}  [{verdict}]",
        flush=True,
    )


def table(rows: list[Row]) -> None:
    """Markdown: success by language and by kind, and what an answer costs."""
    print("\n| | questions | right | tokens in | tokens out | rounds | seconds |")
    print("|---|---|---|---|---|---|---|")
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

    right = sum(not row["wrong"] for row in rows)
    figures = [f"{middle(f):.0f}" for f in ("input_tokens", "output_tokens", "rounds", "seconds")]
    print(f"| {name} | {len(rows)} | {right} | {' | '.join(figures)} |")


if __name__ == "__main__":
    run(sys.argv[1:])
