"""Reciprocal rank fusion: one ranking of several (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from collections import defaultdict
from collections.abc import Sequence

# k: how little the first places count more than later ones. The paper has 60 for rankings of a thousand;
# of eight places that a model is shown, the first count more.
SMOOTHING = 10


def fused(rankings: Sequence[Sequence[int]], limit: int) -> list[int]:
    """
    >>> fused([[1, 2, 3], [3, 4]], 3), fused([[2, 1]], 5)
    ([3, 1, 2], [2, 1])
    """
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for place, number in enumerate(ranking, 1):
            scores[number] += 1 / (SMOOTHING + place)
    return sorted(scores, key=lambda number: (-scores[number], number))[:limit]
