"""A world's story in lines that a person reads."""

import dataclasses

MAX_LINE = 240  # characters


def lines(world, broken):
    yield f"seed {world.seed}: {world.plan}"
    for when, who, what, more in world.trace:
        said = " ".join(_said(part) for part in more)
        yield f"{when:9.3f} {who:<10} {what} {said}".rstrip()[:MAX_LINE]
    yield from outcome(world, broken)


def outcome(world, broken):
    for name, database in world.databases.items():
        for turn in database.turns.values():
            yield f"{name} turn {turn.id}: {turn.state} after {turn.epoch} claims"
            for seq, event in sorted(turn.events.items()):
                yield f"    {seq:3} {_said(event)}"[:MAX_LINE]
            for call in turn.calls:
                asked = " ".join(f"{q.id}={q.action or 'open'}" for q in call.questions)
                yield f"    {call.id} {call.outcome or 'open'} {call.approval} {asked}".rstrip()
    for invariant, seen in broken.items():
        for what in seen:
            yield f"BROKEN {invariant.replace('_', ' ')}: {_said(what)}"[: 2 * MAX_LINE]


def _said(part):
    if dataclasses.is_dataclass(part):
        values = (getattr(part, field.name) for field in dataclasses.fields(part) if field.repr)
        return (
            f"{type(part).__name__}({', '.join(_said(v) for v in values if v not in ('', None))})"
        )
    if isinstance(part, dict):
        return "{" + ", ".join(f"{key}: {_said(value)}" for key, value in part.items()) + "}"
    if isinstance(part, set | frozenset):
        return "{" + ", ".join(sorted(_said(value) for value in part)) + "}"
    if isinstance(part, list | tuple):
        return "[" + ", ".join(_said(value) for value in part) + "]"
    return f"{part:.3f}" if isinstance(part, float) else str(part)
