"""Requests to providers, and the budget in which they are reserved."""

from collections.abc import Sequence

from ...errors import BudgetExhausted
from ...money import prices
from ...specs import ModelRequest
from ...turn.ports import Claim
from .record_calls import RecordCalls
from .rows import Turn, copied


class Costs(RecordCalls):
    """Part of the `Store`. One hard budget in tokens limits all turns of the database.

    :ivar budget: tokens, None without one
    :ivar spent: tokens of requests that have ended
    :ivar holds: ``{(turn, key): tokens}`` of those that have not, of deleted turns, too
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.budget = None
        self.spent = 0
        self.holds = {}

    @property
    def used(self) -> int:
        return self.spent + sum(self.holds.values())

    def reserve(self, claim: Claim, request: ModelRequest, spent=()) -> None:
        turn = self.held(claim)
        self.settle(turn, spent)
        if request.key in turn.costs:
            return
        self.check_budget()
        turn.costs[request.key] = None
        expected = request.input_tokens + prices.expected_output(request.output_limit)
        self.holds[turn.id, request.key] = expected

    def check_budget(self) -> None:
        """Raise what a request meets when nothing is left.

        :raises BudgetExhausted: the budget is used up
        """
        if self.budget is not None and self.used >= self.budget:
            raise BudgetExhausted

    def settle(self, turn: Turn, spent: Sequence[dict]) -> None:
        """Put down what requests have taken.

        :param spent: see `services.specs.TurnProgress`
        """
        for one in spent:
            if turn.costs.get(one["key"], "") is None:
                usage = turn.costs[one["key"]] = copied(one["usage"])
                del self.holds[turn.id, one["key"]]
                self.spent += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)

    def give_up(self, turn: Turn) -> None:
        """Leave the rest of a turn's requests as they were estimated."""
        for key, used in turn.costs.items():
            if used is None:
                turn.costs[key] = {"is_estimated": True}
                self.spent += self.holds.pop((turn.id, key))

    def close_lost(self) -> None:
        """The cron: leave as estimated what nobody will tell of any more."""
        for turn in self.turns.values():
            if turn.state != "running":
                self.give_up(turn)
        for turn_id, key in list(self.holds):
            if turn_id not in self.turns:
                self.spent += self.holds.pop((turn_id, key))
