"""Measures: what a process counts of its work, for whoever watches it; nobody does unless the host says so.

Kinds and numbers only: no person, tenant, server, tool or model has a name here.
"""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Measure:
    """
    :param kind: a counter only grows, a level goes up and down, a histogram counts how long something took
    :param labels: names of what parts it, each with few values
    """

    kind: Literal["counter", "level", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # s
LONG = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)  # s
MEASURES = {
    "claims": Measure("counter", "Turns that processes have taken from the queue"),
    "turns": Measure(
        "counter", "Turns that processes have let go, by the state after it", ("state",)
    ),
    "turn_seconds": Measure(
        "histogram", "From a claim to the end of the turn or its wait", (), LONG
    ),
    "turns_running": Measure("level", "Turns that run now"),
    "calls": Measure("counter", "Tool calls, by outcome", ("outcome",)),
    "call_seconds": Measure("histogram", "Tool calls", (), LONG),
    "model_requests": Measure("counter", "Requests to language models", ("outcome",)),
    "model_seconds": Measure(
        "histogram", "Requests to language models, to the last word", (), LONG
    ),
    "embedding_requests": Measure(
        "counter", "Requests for embeddings of tools and of look-ups", ("outcome",)
    ),
    "tokens": Measure("counter", "Tokens as the providers count them", ("kind",)),
    "streams": Measure("level", "Streams of answers that are open now"),
    "sessions": Measure("level", "MCP sessions that are open now"),
    "breaker_changes": Measure("counter", "MCP servers left alone, and asked again", ("state",)),
    "loop_lag_seconds": Measure("histogram", "What waits for the loop that runs turns", (), SHORT),
    "wakeup_deaf": Measure("level", "Processes that do not hear the wake-up channel"),
    "databases": Measure("level", "Databases of a runner of all of them", ("state",)),
}


class Sink(Protocol):
    def add(self, name: str, value: float, labels: dict[str, str]) -> None:
        """Add to a counter or a level of `MEASURES`.

        :param value: negative for a level that falls
        :param labels: a value for each label of the measure
        """

    def set(self, name: str, value: float, labels: dict[str, str]) -> None:
        """Set a level of `MEASURES`.

        :param labels: a value for each label of the measure
        """

    def observe(self, name: str, value: float) -> None:
        """Add an observation to a histogram of `MEASURES`.

        :param value: in the unit of its name, seconds as a rule
        """
        ...


_sink: Sink | None = None


def install(sink: Sink) -> None:
    """Send all measures to `sink` for the rest of the process, and its children."""
    global _sink  # noqa: PLW0603 the one sink of a process
    _sink = sink


def add(name: str, value: float = 1, **labels: str) -> None:
    """Add to a counter or a level of `MEASURES`.

    :param value: negative for a level that falls
    :param labels: a value for each label of the measure
    """
    if _sink is not None and value:
        _sink.add(name, value, labels)


def level(name: str, value: float, **labels: str) -> None:
    """Set a level of `MEASURES`.

    :param labels: a value for each label of the measure
    """
    if _sink is not None:
        _sink.set(name, value, labels)


def observe(name: str, seconds: float) -> None:
    """Add a duration in `seconds` to a histogram of `MEASURES`."""
    if _sink is not None:
        _sink.observe(name, seconds)
