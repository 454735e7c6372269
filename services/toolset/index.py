"""Index of tools by words: BM25F (Robertson and Zaragoza, 2009) over what a tool and its server are called."""

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import words
from .words import of_query

SATURATION = 1.2  # k1: how soon more of the same word says nothing more
SYNONYM = 0.3  # weight of a word that means the same
STAND_IN = 0.6  # the same where no tool says the word itself
CONTEXT = 0.4  # weight of a word that stands beside the query
GENERIC = 0.4  # weight of a word that each second question has
MAX_QUERY = 40  # words of a query
MAX_CONTEXT = 100  # words beside it


@dataclass(frozen=True, slots=True)
class Field:
    """:ivar weight: of a word in this field
    :ivar length: how much a longer field counts less, 0 to 1
    :ivar reach: of a text that says first what it is about: words until one counts a third
    """

    weight: float
    length: float
    reach: float = math.inf


FIELDS = (
    Field(4.0, 0.3),  # name
    Field(1.0, 0.5, reach=12),  # title and description
    Field(1.0, 0.3, reach=12),  # server and its description
    Field(0.5, 0.5),  # names of arguments
)


class ToolIndex:
    """:param texts: of each tool, one for each of `FIELDS`"""

    def __init__(self, texts: Iterable[Sequence[str]]):
        fields = [[*map(_counted, of_tool, FIELDS)] for of_tool in texts]
        self._count = len(fields)
        lengths = [[sum(counts.values()) for counts in of_tool] for of_tool in fields]
        usual = [max(1.0, sum(column) / len(lengths)) for column in zip(*lengths, strict=True)]
        self._found: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, of_tool in enumerate(fields):
            weights: dict[str, float] = defaultdict(float)
            for field, counts, length, mean in zip(
                FIELDS, of_tool, lengths[number], usual, strict=True
            ):
                shrink = 1 - field.length + field.length * length / mean
                for word, count in counts.items():
                    weights[word] += field.weight * count / shrink
            for word, weight in weights.items():
                self._found[word].append((number, weight / (SATURATION + weight)))

    def search(self, query: str, limit: int, context: Sequence[str] = ()) -> list[int]:
        """Numbers of the tools that fit the query best, the best first.

        :param context: words that tell what it is about, see `of_query`
        """
        scores: dict[int, float] = defaultdict(float)
        asked = self._weighted(query, context[:MAX_CONTEXT])
        for word, weight in asked.items():
            postings = self._found.get(word, ())
            rarity = math.log(1 + (self._count - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, share in postings:
                scores[number] += weight * rarity * share
        return heapq.nsmallest(limit, scores, key=lambda number: (-scores[number], number))

    def _weighted(self, query: str, context: Sequence[str]) -> dict[str, float]:
        """Weighted words to look for; none where the query itself has no words."""
        asked = of_query(query)[:MAX_QUERY]
        weights: dict[str, float] = dict.fromkeys(asked, 1.0)
        for term, others in itertools.islice(words.same(query), MAX_QUERY):
            weight = SYNONYM if any(word in self._found for word in term) else STAND_IN
            for other in others:
                weights.setdefault(other, weight)
        for word in context if asked else ():
            weights.setdefault(word, CONTEXT)
        return {
            word: weight * (GENERIC if word in words.GENERIC else 1.0)
            for word, weight in weights.items()
        }


def _counted(text: str, field: Field) -> dict[str, float]:
    counts: dict[str, float] = defaultdict(float)
    for place, word in enumerate(words.words(text)):
        counts[word] += math.exp(-place / field.reach)
    return counts
