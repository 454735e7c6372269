"""What an administrator lets an assistant do with one model."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """:ivar operations: see `catalog.Operation`
    :ivar hidden: names of fields that are left out
    :ivar asks: whether the person is asked before each change
    :ivar actions: ids of the released server actions by their names; 0 for a standard one, see `actions.ACTIONS`
    """

    model: str
    operations: frozenset[str] = frozenset({"read"})
    hidden: frozenset[str] = frozenset()
    asks: bool = True
    actions: Mapping[str, int] = field(default_factory=dict)
