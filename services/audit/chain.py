"""Chain of the audit log: an entry names the digest of the one before it, so that none can be changed for itself.

Each shard of a day is a chain of its own, numbered from 1; its first entry names the checkpoint before it. Checkpoints
are one chain. Digests are of canonical JSON (RFC 8785).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Fields of an entry, in text but for numbers: `codes` is canonical JSON, `previous` the digest of the one before.
ENTRY = ("day", "shard", "seq", "at", "act", "model", "res_id", "person", "codes", "previous")
# Fields of a checkpoint. `heads`: {day: {shard: [number, digest] of its last entry}}, of shards that have grown;
# `cut`: last day whose entries are deleted, or empty; `first`: number of the first checkpoint that is kept.
CHECKPOINT = ("number", "at", "previous", "heads", "cut", "first")


def canonical(value: Any) -> str:
    """Canonical JSON of a value.

    >>> canonical({"b": [True, None], "a": "é"})
    '{"a":"é","b":[true,null]}'

    :raises ValueError: it holds a number that JSON does not keep, or what is no JSON
    """
    from rfc8785 import dumps  # noqa: PLC0415

    return dumps(value).decode()


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of an entry or a checkpoint, in hexadecimal digits."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def extend(
    head: tuple[int, str], origin: str, entries: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Number and link new entries of one shard.

    :param head: number and fingerprint of its last entry, ``(0, "")`` if there is none
    :param origin: digest of the latest checkpoint, for the first entry
    :param entries: fields of `ENTRY` but for ``seq`` and ``previous``
    :return: all fields, and the fingerprint, which is their digest
    """
    seq, previous = head
    for entry in entries:
        seq += 1
        content = {**entry, "seq": seq, "previous": previous or origin}
        previous = digest(content)
        yield {**content, "fingerprint": previous}
