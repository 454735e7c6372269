"""Runs: turns that a trigger starts without a person."""

from collections.abc import Collection

from .rows import FINAL, Run, Turn
from .store import ModelStore


class Runs(ModelStore):
    """
    :ivar runs: by id, those that exist
    :ivar put_down: runs whose answer is on their record, one for each time
    """

    AT_ONCE = 8
    MAX_DEPTH = 3

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.runs: dict[int, Run] = {}
        self.put_down: list[int] = []

    def schedule(self, key: tuple[int, int, str], user: int = 1, writer: int = 0) -> Run | None:
        """Schedule a run in the transaction of its trigger, unless the event has one.

        :param key: numbers of the action and the record, and the event
        :param writer: turn whose call is the trigger, 0 without one
        """
        cause = self.run_of(writer)
        if any(run.key == key for run in self.runs.values()) or self._is_own(key, cause):
            return None
        depth = cause.depth + 1 if cause else 0
        state = "refused" if depth > self.MAX_DEPTH else "scheduled"
        number = len(self.runs) + 1
        self.runs[number] = Run(id=number, key=key, user=user, depth=depth, state=state)
        return self.runs[number]

    def _is_own(self, key: tuple[int, int, str], cause: Run | None) -> bool:
        return cause is not None and cause.key[:2] == key[:2]

    def run_of(self, turn_id: int) -> Run | None:
        """The run of a turn's conversation.

        :param turn_id: 0 for none
        """
        return next((run for run in self.runs.values() if turn_id and run.turn == turn_id), None)

    def next_run(self, kept: Collection[int] = ()) -> Run | None:
        """The scheduled run that is started next, if there is room: of the user with the fewest turns of runs.

        :param kept: runs whose rows other transactions keep
        """
        users = [turn.user for turn in self.open_turns_of_runs()]
        waiting = [
            run for run in self.runs.values() if run.state == "scheduled" and run.id not in kept
        ]
        if len(users) >= self.AT_ONCE or not waiting:
            return None
        return min(waiting, key=lambda run: (users.count(run.user), run.id))

    def open_turns_of_runs(self) -> list[Turn]:
        return [
            turn
            for turn in self.turns.values()
            if turn.is_unattended and turn.state in ("queued", "running")
        ]

    def begin_run(self, run: Run, turn_id: int, channel: int = 0) -> None:
        """Make the conversation and the turn of a run.

        :param turn_id: number of the new turn
        :param channel: that of its conversation, 0 for the same
        """
        run.state, run.turn = "started", turn_id
        self.post(turn_id, channel or turn_id, run.user, is_unattended=True)

    def stop_run(self, run: Run) -> None:
        """A person stops a run."""
        if run.state == "scheduled":
            run.state = "stopped"
        elif run.state == "started":
            self.request_stop(run.turn)

    def delete_conversation(self, channel: int) -> None:
        """Delete all turns of a conversation; a run that goes on in it is over.

        :param channel: its number
        """
        for turn in [turn for turn in self.turns.values() if turn.channel == channel]:
            del self.turns[turn.id]
            self.leave_run(turn)

    def leave_run(self, turn: Turn) -> None:
        """The conversation of a run is deleted."""
        run = self.run_of(turn.id)
        if run and run.state == "started":
            run.state = "stopped"

    def _end(self, turn: Turn, state: str, last: list[dict], error: str = "", first: int = 0):
        ended = super()._end(turn, state, last, error, first)
        self.tell_run(turn)
        return ended

    def tell_run(self, turn: Turn) -> None:
        """In the transaction that ends a turn: its run ends, and its answer is put on the record."""
        run = self.run_of(turn.id)
        if run and turn.state in FINAL:
            run.state = turn.state
            if turn.state == "done":
                self.put_down.append(run.id)
