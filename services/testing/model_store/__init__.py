"""The store as the design has it, in memory: what a runner and people may rely on, one plain step a transaction.

Written to the specification (docs/architecture.md and `ports.Store`), not after the SQL. The simulation runs the
engine against it, and a test plays the same acts on it and on PostgreSQL and compares the two.
"""

from .database import Database
from .rows import FINAL, Call, NotPossible, NumberTaken, Question, Record, Run, Server, Tool, Turn
