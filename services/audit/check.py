"""Check of an audit log: finds entries that were changed, deleted or reordered, and ends that were cut off."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from . import chain

MAX_PROBLEMS = 100  # that one check tells of

Row = Mapping[str, Any]  # fields of `chain.ENTRY` or `chain.CHECKPOINT`, and the digest


class Problem(NamedTuple):
    """One finding: a stable code, and a sentence for the operator's terminal."""

    code: str
    sentence: str


class Check:
    """One check of a whole log; `problems` yields the findings, the counts are right once it has ended.

    :param is_signed: tells for ``(digest, signature)`` if the signature is the operator's
    :param known: ``(number, digest)`` of a checkpoint that was written down elsewhere
    """

    def __init__(
        self, is_signed: Callable[[str, str], bool], known: tuple[int, str] | None = None
    ) -> None:
        self.entries = self.unsealed = self.checkpoints = 0
        self.head: tuple[int, str] = (0, "")
        self._is_signed = is_signed
        self._known = known
        self._origins: dict[str, int] = {}
        self._heads: dict[tuple[str, str], dict[int, str]] = {}
        self._cut = ""

    def problems(self, checkpoints: Iterable[Row], entries: Iterable[Row]) -> Iterator[Problem]:
        """Findings of the checkpoints, then of the entries.

        :param checkpoints: by number
        :param entries: by day, shard and number
        """
        yield from self._of_checkpoints(list(checkpoints))
        yield from self._of_entries(entries)

    # ------------------------------------------------------------ checkpoints

    def _of_checkpoints(self, rows: list[Row]) -> Iterator[Problem]:
        first = max((row["first"] for row in rows), default=1)
        self._cut = max((row["cut"] for row in rows), default="")
        number, previous = first - 1, ""
        for row in rows:
            yield from self._of_checkpoint(row, number + 1, previous)
            number, previous = row["number"], row["fingerprint"]
            self._origins[row["fingerprint"]] = number
            for day, shards in row["heads"].items():
                for shard, (seq, digest) in shards.items():
                    if day > self._cut:
                        self._heads.setdefault((day, shard), {})[seq] = digest
        self.checkpoints, self.head = len(rows), (number, previous)
        if self._known and self._known not in {(row["number"], row["fingerprint"]) for row in rows}:
            yield Problem(
                "unknown_checkpoint",
                f"Checkpoint {self._known[0]} is not here as it was written down: the log was cut or replaced.",
            )

    def _of_checkpoint(self, row: Row, number: int, previous: str) -> Iterator[Problem]:
        name = f"Checkpoint {row['number']}"
        if row["number"] != number:
            yield Problem(
                "checkpoint_missing",
                f"{name} comes where {number} is due: checkpoints are missing.",
            )
        elif previous and row["previous"] != previous:
            yield Problem("checkpoint_changed", f"{name} does not follow the one before it.")
        if chain.digest({field: row[field] for field in chain.CHECKPOINT}) != row["fingerprint"]:
            yield Problem("checkpoint_changed", f"{name} was changed.")
        elif not self._is_signed(row["fingerprint"], row["signature"]):
            yield Problem(
                "checkpoint_unsigned",
                f"{name} is not signed with the secret key of this installation.",
            )

    # ------------------------------------------------------------ entries

    def _of_entries(self, rows: Iterable[Row]) -> Iterator[Problem]:
        before: Row = {}
        for row in rows:
            if before and _place(before) != _place(row):
                yield from self._end(before)
                before = {}
            yield from self._of_entry(row, before)
            self.entries += 1
            before = row
        if before:
            yield from self._end(before)
        for (day, shard), heads in self._heads.items():
            yield Problem(
                "cut", f"{day} {shard}: all entries are missing, of which there were {max(heads)}."
            )

    def _of_entry(self, row: Row, before: Row) -> Iterator[Problem]:
        day, shard = _place(row)
        seq, due = row["seq"], before.get("seq", 0) + 1
        name = f"{day} {shard}: entry {seq}"
        if day <= self._cut:
            yield Problem("back", f"{name} is of a day that was deleted.")
            return
        if seq != due:
            missing = f"entry {due} is" if seq == due + 1 else f"entries {due} to {seq - 1} are"
            yield Problem("missing", f"{day} {shard}: {missing} missing.")
        elif before and row["previous"] != before["fingerprint"]:
            yield Problem("reordered", f"{name} does not follow the one before it.")
        elif not before and row["previous"] not in self._origins and row["previous"]:
            yield Problem("reordered", f"{name} names a checkpoint that is not here.")
        stated = self._heads.get((day, shard), {}).get(seq, row["fingerprint"])
        if not _is_intact(row) or stated != row["fingerprint"]:
            yield Problem("changed", f"{name} was changed.")

    def _end(self, row: Row) -> Iterator[Problem]:
        """End of a shard of which `row` is the last entry."""
        (day, shard), seq = _place(row), row["seq"]
        last = max(self._heads.pop((day, shard), {0: ""}))
        if last > seq:
            yield Problem(
                "cut",
                f"{day} {shard}: the end is missing, entries {seq + 1} to {last}.",
            )
        self.unsealed += max(0, seq - last)


def _place(row: Row) -> tuple[str, str]:
    return row["day"], row["shard"]


def _is_intact(row: Row) -> bool:
    """True if the digest is that of the content, and the codes are as they were written."""
    try:
        is_canonical = chain.canonical(json.loads(row["codes"])) == row["codes"]
        return (
            is_canonical
            and chain.digest({field: row[field] for field in chain.ENTRY}) == row["fingerprint"]
        )
    except ValueError:
        return False
