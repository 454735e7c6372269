"""What is written down of a world for the invariants, beside its databases."""

from collections import Counter, defaultdict

from services.testing import model_store
from services.turn.queue.queue_worker import GIVING_BACK

WATCH = 1.0  # s between two looks at what is held
NEWS = 6.0  # s in which a runner hears from its heartbeat, or looks for what it was not told of
SOON = 0.5  # s between two tries, with their ways
DENIED = {"shown": "denied"}  # instead of a rehearsal
SLOWEST = 4.0  # s of a way while all ways are slow


class Record:
    def __init__(self):
        self.arrivals, self.opened = [], []  # requests at servers; sessions
        self.asked = []  # of the model: (when, database, turn, epoch)
        self.asked_for = {}  # (database, token) -> (server, name of the tool) that the model has called
        self.database_of, self.token_wants, self.repeatable = {}, {}, set()  # by token
        self.visited = set()  # tokens whose page somebody has seen
        self.troubles = []  # (from, to) in which the news may not get through
        self.locks = []  # (from, to) the same, of one turn
        self.lost_since, self.kept_lost = {}, []
        self.most_running = 0
        self.asks = Counter()  # (database, token): how often the server has asked a person
        self.side_by_side = []
        self.begun, self.out_of_order = set(), []  # claims (database, turn, epoch) that were seen
        self.conflicts = []  # of two writers
        self.broken = []  # what the engine itself has called an error
        self.dropped_for_others = []  # (of whom, server, whose session was closed)
        self.given = {}  # (database, turn, epoch) -> when it was claimed
        self.losses = []  # (when, database) of requests and answers that were lost
        self.taken = []  # from runners that were well
        self.overheard = []  # events of claims that were over
        self.started_off = []  # calls that started although something was against it
        self.second_results = []
        self.foreign = defaultdict(list)  # (database, channel) -> (turn, round) of foreign words
        self.read_of = defaultdict(
            list
        )  # (database, channel) -> (turn, server) of definitions nobody accepted
        self.unasked = []  # calls that could do harm after foreign words, without a yes
        self.stale_starts = []
        self.stops = {}  # (database, turn) -> when somebody has stopped it
        self._seen, self.held_in_vain, self.run_in_vain = {}, [], []
        self.giving_back = set()  # (process, database) of runners that end
        self.failures = Counter()  # of tries of calls on records: (database, call, epoch, method)
        self.tried_in_vain = []  # after their Stop
        self.shown = {}  # (database, call) -> the rehearsal that its person has allowed
        self.unshown = []  # changes that nobody has seen like this
        self.reserved = set()  # (database, turn, key) of requests in a budget
        self.overspent = []  # requests that went beyond a budget, or were refused within it
        self.unheld = []  # requests that the model got without a reservation
        self.refused = set()  # (database, turn) for which nothing was left
        self.sent_early = []  # before their start was on disk

    def asked_model(self, process, journal):
        self.asked.append(
            (self.now, journal.store.name, journal.claim.turn_id, journal.claim.epoch)
        )
        self.tell(process, "asks the model", journal.claim)

        database = self.databases[journal.store.name]
        turn = database.turns.get(journal.claim.turn_id)
        is_held = any(number == journal.claim.turn_id for number, _ in database.holds)
        if turn and (turn.state, turn.epoch) == ("running", journal.claim.epoch) and not is_held:
            self.unheld.append((database.name, turn.id, turn.epoch))

    def observe_reservation(self, database, claim, request, used):
        """:param used: tokens of the budget before it"""
        key = (database.name, claim.turn_id, request.key)
        is_beyond = database.budget is not None and used >= database.budget
        if is_beyond and key not in self.reserved:
            self.overspent.append((*key, f"{used} of {database.budget}"))
        self.reserved.add(key)

    def observe_refusal(self, database, claim, used):
        """:param used: tokens of the budget before it"""
        self.refused.add((database.name, claim.turn_id))
        if used < database.budget:
            self.overspent.append((database.name, claim.turn_id, "refused", used))

    def observe_beat(self, process, database, claims):
        """Leases that are extended although nothing is written under them any more, not just in that moment."""
        for claim in claims:
            turn = database.turns.get(claim.turn_id)
            is_held = turn and (turn.state, turn.epoch) == ("running", claim.epoch)
            if is_held and not process.runs(database.name, claim):
                key = (process.name, database.name, claim.turn_id, claim.epoch)
                if self.now > self.lost_since.setdefault(key, self.now) + 1:
                    self.kept_lost.append(key)

    def observe_loss(self, database):
        self.losses.append((self.now, database.name))

    def is_troubled(self, database, since, with_locks=True):
        """Whether something was in the way since then."""
        # A lock may be gone when what it has held is seen first.
        locks = [(begin, end + WATCH) for begin, end in self.locks] if with_locks else []
        troubles = self.troubles + locks
        return any(end > since for begin, end in troubles if begin <= self.now) or any(
            when >= since for when, name in self.losses if name == database.name
        )

    def observe_giving_back(self, process, database):
        """A runner that ends has begun; rows that are unlocked soon after are given back, too."""
        if (process.name, database.name) not in self.giving_back:
            self.giving_back.add((process.name, database.name))
            self.after(GIVING_BACK + 1, self._look_for_kept, process, database, self.now)

    def _look_for_kept(self, process, database, since):
        is_troubled = self.is_troubled(database, since - SLOWEST, with_locks=False)
        if is_troubled or not process.is_alive:
            return
        for turn in database.turns.values():
            is_kept = (turn.state, turn.owner) == ("running", process.name)
            until = database.locked.get(turn.id, -1.0)
            if is_kept and until < since + GIVING_BACK - SOON:
                self.held_in_vain.append((process.name, database.name, turn.id, "locked to", until))

    def observe_requeue(self, database, turn, is_given_back):
        """Only what its runner has lost, or does not run, is for another."""
        owner = self._process(turn.owner)
        if owner is None or owner.is_leaving or not owner.runs_turn(database.name, turn):
            return
        if is_given_back or not self.is_troubled(database, self.now - 1.5 * self.lease):
            self.taken.append((database.name, turn.id, turn.epoch, owner.name))

    def observe_start(self, database, turn, row, claim):
        """A call starts with every switch on, and under a whole lease."""
        tool = row.tool
        if tool and not (tool.is_usable and tool.policy != "never"):
            self.started_off.append((database.name, row.id, "switched off"))
        if tool and row.origin and tool.definition != row.origin[1]:
            self.started_off.append((database.name, row.id, "differs"))
        # What is deleted with its conversation tells nobody anything.
        has_read = any(
            of.id in database.turns and (turn is not of or round_ < row.round)
            for of, round_ in self.foreign[database.name, turn.channel]
        ) or any(
            of.id in database.turns and tool and server is not tool.server
            for of, server in self.read_of[database.name, turn.channel]
        )
        is_asked = tool and database.has_taint and has_read and self._could_harm(tool)
        if is_asked and row.approval != "approved":
            self.unasked.append((database.name, row.id, "after foreign words"))
        if turn.until < self.now + claim.lease - 1e-6:
            self.started_off.append((database.name, row.id, "under the rest of a lease"))

    def _could_harm(self, tool):
        """As it is told in docs/security.md: all but reads inside a trusted server, or of records."""
        if tool.records:
            return tool.records == "write"
        return not (tool.is_harmless and tool.is_closed and tool.server.trust == "annotations")

    def observe_definitions(self, database, turn, tools):
        """The model reads what each of these tools is said to be for."""
        self.read_of[database.name, turn.channel] += [
            (turn, tool.server)
            for tool in tools
            if tool.server and tool.server.trust == "none" and not tool.server.is_reviewed
        ]

    def observe_result(self, database, turn, call):
        """The model reads it: whatever a stranger may have written counts from now on."""
        tool = call.tool
        is_safe = tool and tool.server and tool.is_closed and tool.server.trust == "annotations"
        if call.outcome == "ok" and not is_safe:
            self.foreign[database.name, turn.channel].append((turn, call.round))

    def observe_try(self, tried):
        """It has begun: the store has looked for an interrupt."""
        queue = tried.process.runner.queues.get(tried.database.name)
        running = queue and queue.running.get(tried.claim)
        if running and running.stop.is_set():
            self.tried_in_vain.append(tried.key)

    def observe_failure(self, tried):
        """It may be tried again; one that was carried out, and of which only that was not heard, has not failed."""
        self.failures[tried.key] += 1

    def observe_decision(self, database, call, decision, shown):
        """:param shown: the rehearsal that the person has seen"""
        if call.records and not shown:
            self.unshown.append((database.name, call.id, "nothing was shown"))
        self.shown[database.name, call.id] = DENIED if decision == "deny" else shown

    def observe_sending(self, database, change):
        if change.call.started != change.claim.epoch:
            self.sent_early.append((database.name, change.call.id, change.call.started))

    def observe_change(self, database, change):
        """Compare what a call writes with what its person has allowed, if anybody was asked."""
        call = change.call
        seen = self.shown.get((database.name, call.id))
        was, now = database.records[change.record].value, change.value
        made = {"record": change.record, "from": was, "to": now}
        if call.rehearsal != seen or (seen and seen.get("shown", made) != made):
            self.unshown.append((database.name, call.id, "shown", seen, "made", made))

    def observe(self):
        """What is held for nobody, and what runs although another has it, longer than the news takes."""
        seen = {}
        for name, database in self.databases.items():
            for turn in database.turns.values():
                owner = self._process(turn.owner)
                if not any(process.sweeps() for process in self.processes):
                    continue
                if turn.state == "running" and owner and not owner.runs_turn(name, turn):
                    seen["held", owner, name, turn.id, turn.epoch] = self.held_in_vain
            for process in self.alive():
                queue = process.runner.queues.get(name)
                for claim in queue.running if queue and not process.is_paused() else ():
                    turn = database.turns.get(claim.turn_id)
                    if not turn or (turn.state, turn.epoch) != ("running", claim.epoch):
                        seen["run", process, name, claim.turn_id, claim.epoch] = self.run_in_vain
        self._seen = {key: self._seen.get(key, self.now) for key in seen}
        for key, found in seen.items():
            since = self._seen[key]
            if self.now > since + NEWS and not self.is_troubled(self.databases[key[2]], since):
                found.append((key[0], key[1].name, *key[2:]))

    def _process(self, name):
        """The process of this name, if it is well."""
        found = [p for p in self.processes if p.name == name and p.is_alive and not p.is_paused()]
        return found[0] if found else None

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
