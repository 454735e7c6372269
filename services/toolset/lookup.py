"""Look-up of tools: what a model calls where the definitions of all tools would cost too much.

Instead of them it gets a catalogue of their servers and two tools of the host's: one that finds tools, which can be
called from the next step on, and one that shows all that a tool says of itself. What was found stands in the result,
so whoever takes the turn up offers the same.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .. import text
from ..specs import OWN_RECORDS, CallResult, ServerSpec, ToolSpec
from . import definition
from .index import ToolIndex
from .words import of_query, words

MAX_QUERIES = 8
MAX_FOUND = 8  # tools of one query
DEPTH = 100  # places of a ranking that is joined with another
# k: how little the first places count more than later ones. The paper has 60 for rankings of a thousand;
# of eight places that a model is shown, the first count more.
SMOOTHING = 10
MEANING = 1_200  # characters of a description that say what a tool means
ABOUT = 120  # characters of a description in a list
LINE = 200  # characters of a server's line in the catalogue at most

FIND = ToolSpec(
    id=0,
    server_id=0,
    name="find_tools",
    alias="find_tools",
    definition="find_tools",
    title="Find tools",
    description=(
        "Finds tools among those that are not shown here. Say in a few words what each one should do, one query for "
        "each step of the task. What is found can be called in your next step."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {"type": "string", "maxLength": 300},
                "minItems": 1,
                "maxItems": MAX_QUERIES,
                "description": 'For example ["create an issue in a repository", "send an e-mail"]',
            }
        },
        "required": ["queries"],
    },
)
DESCRIBE = ToolSpec(
    id=0,
    server_id=0,
    name="describe_tools",
    alias="describe_tools",
    definition="describe_tools",
    title="Describe tools",
    description="Shows the whole definition of tools. Definitions that end in … were cut.",
    input_schema={
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string", "maxLength": 64},
                "minItems": 1,
                "maxItems": MAX_FOUND,
            }
        },
        "required": ["names"],
    },
)
TOOLS = (FIND, DESCRIBE)
NAMES = {tool.name for tool in TOOLS}
NOTHING = "No tool fits these words. Try others, or the names of the servers."


class Lookup:
    """
    :param tools: those that can be found
    :param servers: by id
    """

    def __init__(self, tools: Sequence[ToolSpec], servers: Mapping[int, ServerSpec]):
        self._tools = tools
        self._servers = servers
        self._index: ToolIndex | None = None

    @property
    def servers(self) -> int:
        return len({tool.server_id for tool in self._tools if not tool.is_builtin})

    @property
    def function(self) -> dict[str, Any]:
        """Definition of `FIND`, with the catalogue."""
        room = definition.MAX_DESCRIPTION - len(FIND.description) - 2
        return definition.own(FIND, f"{FIND.description}\n\n{self.catalog(room)}")

    def catalog(self, room: int) -> str:
        """A line for each server, the host's own tools first; all of them in `room` characters."""
        owners: dict[str, list[ToolSpec]] = {}
        for tool in sorted(self._tools, key=lambda tool: not _is_own(tool)):
            owners.setdefault(self._owner(tool), []).append(tool)
        limit = min(LINE, room // max(1, len(owners)) - 1)
        return "\n".join(_line(name, tools, limit) for name, tools in owners.items())[:room]

    @property
    def meanings(self) -> list[str]:
        """Texts of the tools that are held against the meaning of a query."""
        return [
            f"{tool.name}: {text.one_line(f'{tool.title} {tool.description}', MEANING)}"
            for tool in self._tools
        ]

    def find(
        self,
        queries: Sequence[str],
        question: str = "",
        by_meaning: Sequence[Sequence[int]] | None = None,
    ) -> list[ToolSpec]:
        """Matching tools, of each query the best first, then the second of each.

        :param question: of the person; its words count a little
        :param by_meaning: of each query the numbers of `meanings` that mean the same, the best first
        """
        if self._index is None:
            self._index = ToolIndex(map(self._texts, self._tools))
        context = of_query(question)
        if by_meaning is None:
            ranked = [self._index.search(query, MAX_FOUND, context) for query in queries]
        else:
            ranked = [
                fused((self._index.search(query, DEPTH, context), near), MAX_FOUND)
                for query, near in zip(queries, by_meaning, strict=True)
            ]
        numbers = dict.fromkeys(
            found[rank] for rank in range(MAX_FOUND) for found in ranked if rank < len(found)
        )
        return [self._tools[number] for number in numbers]

    def _owner(self, tool: ToolSpec) -> str:
        server = self._servers.get(tool.server_id)
        return (server.title or server.name) if server and not tool.action_id else OWN_RECORDS

    def _texts(self, tool: ToolSpec) -> tuple[str, ...]:
        server = self._servers.get(tool.server_id)
        properties = tool.input_schema.get("properties")
        arguments = list(properties)[:50] if isinstance(properties, Mapping) else ()
        return (
            tool.name,
            f"{tool.title} {tool.description}",
            f"{server.name} {server.title} {server.description}" if server else "",
            " ".join(map(str, arguments)),
        )


def found(ready: Sequence[ToolSpec], more: Sequence[ToolSpec]) -> CallResult:
    """The answer of `FIND`.

    :param ready: tools that can be called from now on
    :param more: others that fit; their definitions do not
    """
    answer: dict[str, Any] = {"tools": [tool.alias for tool in ready]}
    if more:
        answer["more"] = [
            {
                "name": tool.alias,
                "description": text.one_line(definition.described(tool), ABOUT),
            }
            for tool in more
        ]
    if not ready:
        answer["note"] = NOTHING
    return _answer(json.dumps(answer, ensure_ascii=False))


def found_names(content: str) -> list[str]:
    """The tools that an answer of `FIND` has made known."""
    try:
        names = json.loads(content)["tools"]
    except (ValueError, LookupError, TypeError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def requested_names(arguments: Any) -> list[str]:
    """The tools that a call of `DESCRIBE` asks about.

    :param arguments: as the model has written them
    """
    names = arguments.get("names") if isinstance(arguments, Mapping) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def describe(
    tools: Sequence[ToolSpec], unknown: Sequence[str], handle: str, cap: int
) -> CallResult:
    """The answer of `DESCRIBE`.

    :param handle: what the model reads on by, see `text.cap`
    """
    definitions: list[dict[str, Any]] = [
        {
            "name": tool.alias,
            "description": definition.described(tool),
            "arguments": definition.parameters(tool) if tool.action_id else tool.input_schema,
        }
        for tool in tools
    ]
    definitions += [{"name": name, "problem": "There is no such tool."} for name in unknown]
    return _answer(json.dumps(definitions, ensure_ascii=False), handle, cap)


def _answer(whole: str, handle: str = "", cap: int = 0) -> CallResult:
    content = text.cap(whole, cap, handle) if cap else whole
    return CallResult(
        outcome="ok",
        text=content,
        display=content,
        bytes=len(content.encode("utf-8", "surrogatepass")),
        truncated=content != whole,
        whole=whole if content != whole else "",
    )


def _is_own(tool: ToolSpec) -> bool:
    return bool(tool.action_id or tool.is_builtin)


def _line(owner: str, tools: Sequence[ToolSpec], limit: int) -> str:
    """Number of a server's tools, and the words that their names have most."""
    line = f"{text.one_line(owner, 40)} ({len(tools)})"[: max(limit, 0)]
    counts = Counter(
        word for tool in tools for word in dict.fromkeys(words(tool.title or tool.name))
    )
    mark = ": "
    for word, _count in counts.most_common():
        if len(line) + len(mark) + len(word) > limit:
            break
        line, mark = f"{line}{mark}{word}", ", "
    return line


def fused(rankings: Sequence[Sequence[int]], limit: int) -> list[int]:
    """Reciprocal rank fusion: one ranking of several (Cormack, Clarke and Buettcher, SIGIR 2009).

    >>> fused([[1, 2, 3], [3, 4]], 3), fused([[2, 1]], 5)
    ([3, 1, 2], [2, 1])
    """
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for place, number in enumerate(ranking, 1):
            scores[number] += 1 / (SMOOTHING + place)
    return sorted(scores, key=lambda number: (-scores[number], number))[:limit]
