"""The first questions of `make bench-demo`, drawn by seed, and what is right.

A place (of 219), a wording (of 12 for each half) and a time, numbers or words make a question. Seeds of `BUILDING` are
there to choose examples, prompts and tools with. Seeds of `PUBLISHED` are only ever counted: their places, wordings and
greetings are others, and nobody who chooses looks at what was answered.

What is right is made of

* ``now``: the answer tells the time in this zone, and no other;
* ``at``: it tells ``(time, of this zone, in that zone)``, and no other but the one that was asked about, of ``place``;
* ``says``: it holds one of these words; ``called``: this tool was called; ``calls_nothing``: no tool was.
"""

import itertools
import random
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = ("en", "zh_TW", "zh_CN")
KINDS = ("time", "conversion", "tool", "talk")  # of seeds one after another
BUILDING = range(1000)
PUBLISHED = range(1_000_000, 1_001_000)
RANGES = {"building": BUILDING, "published": PUBLISHED}


class Question(NamedTuple):
    language: str
    kind: str
    seed: int
    text: str
    right: dict[str, Any]


def _rows(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


PLACES = [(dict(zip(LANGUAGES, names, strict=True)), zone) for *names, zone in _rows("places.tsv")]
WORDINGS: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("wordings.toml").read_text()
)


def questions(
    seeds: range, language: str, number: int, kinds: Collection[str] = KINDS
) -> list[Question]:
    """The first ``number`` questions of these kinds."""
    drawn: Iterator[Question] = (question(language, seed) for seed in seeds)
    return list(itertools.islice((one for one in drawn if one.kind in kinds), number))


def question(language: str, seed: int) -> Question:
    """The question of a seed, the same whenever it is drawn."""
    kind = KINDS[seed % len(KINDS)]
    half = 1 if seed in PUBLISHED else 0
    chance = random.Random(f"{language} {seed}")
    text, right = {"time": _now, "conversion": _elsewhere, "tool": _tool, "talk": _talk}[kind](
        language, half, chance
    )
    return Question(language, kind, seed, text, right)


def _half(of: Sequence[Any], half: int) -> Sequence[Any]:
    return of[half::2]


def _wording(language: str, kind: str, half: int, chance: random.Random) -> str:
    return chance.choice(_half(WORDINGS[language][kind], half))


def _now(language: str, half: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    names, zone = chance.choice(_half(PLACES, half))
    return _wording(language, "time", half, chance).format(place=names[language]), {"now": zone}


def _elsewhere(language: str, half: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    (here, source), (there, target) = chance.sample(_half(PLACES, half), 2)
    time = f"{chance.randrange(24):02}:{chance.randrange(0, 60, 5):02}"
    wording = _wording(language, "conversion", half, chance)
    text = wording.format(time=time, here=here[language], there=there[language])
    return text, {"at": (time, source, target), "place": there[language]}


def _tool(language: str, half: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    tool = chance.choice(("echo", "sum"))
    wording = _wording(language, tool, half, chance)
    if tool == "echo":
        words = chance.choice(_half(WORDINGS[language]["words"], half))
        return wording.format(words=words), {"called": "echo", "says": [words]}
    a, b = chance.randrange(2, 5000), chance.randrange(2, 5000)
    says = [str(a + b), f"{a + b:,}"]
    return wording.format(a=a, b=b), {"called": "get-sum", "says": says}


def _talk(language: str, half: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    return _wording(language, "talk", half, chance), {"calls_nothing": True}
