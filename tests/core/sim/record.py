"""What is written down of a world for the invariants, beside its databases."""

from collections import Counter

from services.testing import model_store


class Record:
    def __init__(self):
        self.arrivals, self.opened = [], []  # requests at servers; sessions
        self.asked = []  # of the model: (when, database, turn, epoch)
        self.asked_for = {}  # (database, token) -> (server, name of the tool) that the model has called
        self.realms, self.token_wants, self.repeatable = {}, {}, set()  # by token
        self.visited = set()  # tokens whose page somebody has seen
        self.troubles = []  # (from, to) in which the news may not get through
        self.lost_since, self.kept_lost = {}, []
        self.most_running = 0
        self.asks = Counter()  # (database, token): how often the server has asked a person
        self.side_by_side = []
        self.begun, self.out_of_order = set(), []  # claims (database, turn, epoch) that were seen
        self.conflicts = []  # of two writers
        self.broken = []  # what the engine itself has called an error
        self.dropped_for_others = []  # (of whom, server, whose session was closed)

    def asked_model(self, process, journal):
        self.asked.append(
            (self.now, journal.store.name, journal.claim.turn_id, journal.claim.epoch)
        )
        self.tell(process, "asks the model", journal.claim)

    def observe_beat(self, process, database, claims):
        """Leases that are extended although nothing is written under them any more, not just in that moment."""
        for claim in claims:
            turn = database.turns.get(claim.turn_id)
            is_held = turn and (turn.state, turn.epoch) == ("running", claim.epoch)
            if is_held and not process.runs(database.name, claim):
                key = (process.name, database.name, claim.turn_id, claim.epoch)
                if self.now > self.lost_since.setdefault(key, self.now) + 1:
                    self.kept_lost.append(key)

    def observe_claims(self, database):
        running = Counter(t.channel for t in database.turns.values() if t.state == "running")
        self.side_by_side += [(database.name, c) for c, count in running.items() if count > 1]
        for turn in [turn for turn in database.turns.values() if turn.state == "running"]:
            claim = (database.name, turn.id, turn.epoch)
            if claim not in self.begun:
                self.begun.add(claim)
                self.out_of_order += [
                    (*claim, "before", older.id)
                    for older in database.turns.values()
                    if older.channel == turn.channel and older.id < turn.id
                    if older.is_visible and older.state in model_store.rows.OPEN
                ]

    def blame(self, database, error):
        if isinstance(error, model_store.NumberTaken):
            self.conflicts.append((database, str(error)))

    def unanswered(self, name, token):
        """The questions of a call that wait for an answer although the server has it."""
        return [
            question.id
            for turn in self.databases[name].turns.values()
            for call in turn.calls
            if call.arguments.get("token") == token
            for question in call.asked_now()
            if question.answered_at is None
        ]
