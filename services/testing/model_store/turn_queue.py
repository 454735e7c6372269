"""The queue and the lease."""

from collections import Counter
from collections.abc import Callable, Collection

from ...errors import LeaseLost, TurnGone
from ...turn.ports import Claim
from .rows import OPEN, Turn


class TurnQueue:
    """:param now: s, the database's own clock
    :param notify: called with "queued", "stop", "answered" or "server_off", and an id
    """

    def __init__(
        self,
        name: str,
        *,
        now: Callable[[], float],
        notify: Callable[[str, int], None] = lambda _kind, _id: None,
        per_person: int = 100,
    ):
        self.name = name
        self.now = now
        self.notify = notify
        self.per_person = per_person
        self.turns: dict[int, Turn] = {}

    def is_locked(self, turn_id: int) -> bool:
        """Row lock of another transaction; a host may add some."""
        return False

    def request_stop(self, turn_id: int) -> str:
        """An act of a person, see `Database`."""
        raise NotImplementedError

    def is_stop_requested(self, turn: Turn) -> bool:
        """True if a person has stopped the turn, see `Database`."""
        raise NotImplementedError

    def apply_stops(self) -> None:
        """Carry out the stops that met a locked row, see `Database`."""
        raise NotImplementedError

    def held(self, claim: Claim) -> Turn:
        """The turn of a claim.

        :raises LeaseLost: another runner has it
        :raises TurnGone: it exists no more
        """
        turn = self.turns.get(claim.turn_id)
        if turn is None:
            raise TurnGone
        if (turn.state, turn.epoch) != ("running", claim.epoch):
            raise LeaseLost
        return turn

    def claim(self, runner_id: str, limit: int, lease: float) -> list[Claim]:
        """Claim turns: users with the fewest turns first; of a conversation one turn at a time, in its order."""
        busy = Counter(turn.user for turn in self.turns.values() if turn.state == "running")
        line = []
        for turn in sorted(self.turns.values(), key=lambda turn: turn.id):
            if turn.state == "queued" and not self.is_locked(turn.id) and self._is_next(turn):
                busy[turn.user] += 1
                line.append((busy[turn.user], turn.id))
        taken = [turn_id for rank, turn_id in sorted(line) if rank <= self.per_person][:limit]
        return [self._give(self.turns[turn_id], runner_id, lease) for turn_id in sorted(taken)]

    def _is_next(self, turn: Turn) -> bool:
        """A turn that becomes visible late does not run beside a younger one that runs already."""
        others = [t for t in self.turns.values() if t.channel == turn.channel and t is not turn]
        return turn.is_visible and not any(
            other.is_visible
            and (other.state == "running" or (other.id < turn.id and other.state in OPEN))
            for other in others
        )

    def _give(self, turn: Turn, runner_id: str, lease: float) -> Claim:
        turn.state, turn.owner = "running", runner_id
        turn.epoch += 1
        turn.until = self.now() + lease
        tries = turn.epoch - turn.progress.get("epoch", 0)
        return Claim(turn.id, turn.epoch, turn.last_seq + 1, lease, turn.user, tries)

    def heartbeat(self, runner_id: str, claims: list[Claim]) -> tuple[set[Claim], set[Claim]]:
        """Extend these leases; the claims that are lost, and those whose stop was asked for."""
        lost, stops = set(), set()
        for claim in claims:
            try:
                turn = self.held(claim)
            except (LeaseLost, TurnGone):
                lost.add(claim)
                continue
            if not self.is_locked(turn.id):
                self.renew(turn, claim)
                turn.owner = runner_id
            if self.is_stop_requested(turn):
                stops.add(claim)
        return lost, stops

    def renew(self, turn: Turn, claim: Claim) -> None:
        """Extend the lease by the time of `claim`."""
        turn.until = self.now() + claim.lease

    def release(self, runner_id: str, keep: Collection[Claim] = ()) -> int:
        """:return: how many stay, since another transaction keeps their rows"""
        kept = {(claim.turn_id, claim.epoch) for claim in keep}
        locked = 0
        for turn in self.turns.values():
            is_held = (turn.state, turn.owner) == ("running", runner_id)
            if not is_held or (turn.id, turn.epoch) in kept:
                continue
            if self._requeue(turn):
                tried = turn.progress.get("epoch", 0) + 1  # this try does not count
                turn.progress = {**turn.progress, "epoch": min(turn.epoch, tried)}
            else:
                locked += 1
        return locked

    def sweep(self) -> None:
        """Requeue the turns of dead runners, and carry out each Stop that nobody has heard."""
        for turn in self.turns.values():
            until = turn.until if turn.state == "running" else None
            if until is not None and until < self.now():
                self._requeue(turn)
        self.apply_stops()
        if any(turn.state == "queued" for turn in self.turns.values()):
            self.notify("queued", 0)

    def _requeue(self, turn: Turn) -> bool:
        """:return: False if another transaction keeps its row"""
        if self.is_locked(turn.id):
            return False
        turn.state, turn.owner, turn.until = "queued", "", None
        self.notify("queued", turn.id)
        return True
