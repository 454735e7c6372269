"""What a random play on `StorePair` remembers: claims, their numbers, calls, and the last write."""

from hypothesis.stateful import RuleBasedStateMachine

from ..runtime.turns.store import OdooStore
from .store_pair import StorePair


class PairMachine(RuleBasedStateMachine):
    """:ivar case: the test case, set in a class made for it"""

    case = None

    def __init__(self):
        super().__init__()
        self.point = self.case.env.cr.savepoint()
        self.pair = StorePair(self.case, OdooStore(self.case.env.cr.dbname))
        self.claims, self.numbers = [], {}  # all that were ever given; the next number of each
        self.calls = {}  # turn -> [(for the real one, for the model)]
        self.last = None

    def teardown(self):
        self.point.rollback()
        self.case.env.invalidate_all()
        self.case.env.registry.clear_all_caches()

    def _both(self, method, *args):
        """:param args: one that is a function gives each side its own, see `StorePair.call`"""

        def of(side):
            return [arg(side) if callable(arg) else arg for arg in args]

        real, model = getattr(self.pair.real, method), getattr(self.pair.model, method)
        return self.pair.both(lambda: real(*of(0)), lambda: model(*of(1)))

    def _write(self, claim, method, arguments, events):
        """:return: whether it was written"""
        first = self.numbers[claim]
        numbered = list(enumerate(events, first))
        sides = [arguments(side, numbered) for side in (0, 1)]
        count = len(sides[0])
        self.last = (method, claim, *[lambda side, n=n: sides[side][n] for n in range(count)])
        before = self.pair.model.turns.get(claim.turn_id)
        if before is None or (before.state, before.epoch) != ("running", claim.epoch):
            self._both(*self.last)
            return False
        self._both(*self.last)
        self.numbers[claim] = first + len(events)
        return True

    def _known(self, claim):
        turn = self.pair.model.turns.get(claim.turn_id)
        return turn.known() if turn else set()

    def _entered(self, claim):
        """Messages that the transcript has, with those that have been taken since."""
        turns = self.pair.model.turns.values()
        taken = {turn.id for turn in turns if turn.entered == claim.turn_id}
        return [
            {"role": "user", "content": "And this.", "turn": turn_id}
            for turn_id in sorted(taken | self._known(claim))
        ]

    def _claim(self, which):
        """One that holds, mostly."""
        turns = self.pair.model.turns
        held = [c for c in self.claims if c.turn_id in turns and turns[c.turn_id].epoch == c.epoch]
        chosen = held if which and held else self.claims
        return chosen[which % len(chosen)] if chosen else None

    def _call(self, which, call):
        claim = self._claim(which)
        calls = self.calls.get(claim.turn_id) if claim else None
        return (claim, calls[call % len(calls)]) if calls else None

    def _on_call(self, which, call, method, argument, *more):
        if found := self._call(which, call):
            claim, pair = found
            self._both(method, claim, lambda side: argument(side, pair), *more)

    def _turn(self, which):
        turns = sorted(self.pair.model.turns)
        return turns[which % len(turns)] if turns else None

    def _questions(self, turn_id):
        """``[(public id, the model's)]`` of a turn."""
        turn = self.pair.model.turns.get(turn_id)
        mine = {q.id: q for call in turn.calls for q in call.questions} if turn else {}
        return [(name, mine[i]) for name, i in self.pair.questions.items() if i in mine]

    def _existing(self, which):
        tools = self.pair.tools.exists()
        return tools[which % len(tools)] if tools else None

    def _tool(self, which, change, method, *args):
        if found := self._existing(which):
            number = found.id
            model = getattr(self.pair.model, method)
            self.pair.both(lambda: change(found) and None, lambda: model(number, *args))
