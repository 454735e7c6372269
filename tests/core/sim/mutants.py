"""The product and the model with one rule broken each: a simulation that does not notice proves nothing.

``python -m sim --mutants 300`` says how many worlds it takes to notice.
"""

import contextlib
from dataclasses import replace
from unittest import mock

from services import specs
from services.errors import BudgetExhausted
from services.records.errors import TryAgain
from services.testing.model_store import Call, Database, store, turn_queue
from services.turn import calls, event_log, journal, tools
from services.turn.journal import TurnJournal
from services.turn.ports import Loaded
from services.turn.queue import heartbeat, queue_worker, runner

from . import database as sim_database
from . import direct_calls, run


def _leaves_calls_open(self, turn, _close=Database._close):
    return [] if turn.state == "running" else _close(self, turn)


def _counts_open_questions_as_dismissed(self, row, _answers=Database._answers):
    for question in row.asked_now():
        question.action = question.action or "cancel"
    return _answers(self, row)


def _notifies_without_storing(self, turn_id, is_locked=False, _stop=Database.request_stop):
    state = _stop(self, turn_id)
    self.turns[turn_id].stop = False
    return state


def _writes_into_a_running_log(self, question, action, content=None, _answer=Database._answer):
    _answer(self, question, action, content)
    if question.call.turn.state == "running" and not question.is_held:
        self.add(question.call.turn, [store.decided(question.id, action)])


def _drops_the_stop_of_an_entered_message(
    self, turn_id, *, is_locked=False, _stop=Database.request_stop
):
    turn = self.turns[turn_id]
    return turn.state if turn.entered else _stop(self, turn_id, is_locked=is_locked)


def _reports_calls_in_flight_as_cancelled(self, turn, _close=Database._close):
    for call in turn.open_calls():
        call.started = 0
    return _close(self, turn)


def _forgets_what_was_spent(self, turn, progress, _keep=Database._keep_progress):
    _keep(self, turn, {**progress, "spent": []})


def _counts_only_what_is_spent(self):
    if self.budget is not None and self.spent >= self.budget:
        raise BudgetExhausted


def _holds_what_has_ended(self, turn, spent, _settle=Database.settle):
    held = dict(self.holds)
    _settle(self, turn, spent)
    self.holds = held


async def _sends_what_is_refused(self, request, spent, _reserve=TurnJournal.reserve):
    try:
        return await _reserve(self, request, spent)
    except BudgetExhausted:
        return f"{self.claim.epoch}-{request.key}"


def _keeps_the_first_arguments(
    self, turn, call, decision, _arguments, shown, _decide=Database.decide_call
):
    _decide(self, turn, call, decision, None, shown)


def _asks_nobody_about_a_direct_call(self, wanted, _look=direct_calls.Table.look_for_direct):
    seen = _look(self, wanted)
    is_asking = seen.said in ("ask", "wait")
    return replace(seen, said="run", row=None, version=0) if is_asking else seen


@contextlib.contextmanager
def _counts_capacity_before_the_wait(self, _name, _is_doubtful=False):
    yield max(0, self.capacity - self.count())


def _ignores_the_epoch(self, claim):
    turn = self.turns.get(claim.turn_id)
    if turn is None or turn.state != "running":
        raise store.LeaseLost
    return turn


def _runs_lost_calls_again(self, claim, call, _begin=Database.begin_call):
    verdict = _begin(self, claim, call)
    return specs.Verdict(kind="run") if verdict.kind == "lost" else verdict


def _asks_after_a_start(self, claim, call_id, wanted, events, _suspend=Database.suspend_call):
    row = self.call(self.held(claim), call_id)
    row.started = row.started or claim.epoch
    return _suspend(self, claim, call_id, wanted, events)


def _resumes_by_name(self, origin, _find=tools.TurnTools.find):
    """The alias that this tool had in the beginning."""
    return self.resolve(f"alias{origin[1]}") or _find(self, origin)


def _compares_the_call_with_itself(self, row, _origin, _may_start=Database._may_start):
    return _may_start(self, row, row.origin)


def _runs_beside_a_younger(self, turn):
    return turn.is_visible and not any(
        other.is_visible
        and other.channel == turn.channel
        and other.id < turn.id
        and other.state in turn_queue.OPEN
        for other in self.turns.values()
    )


def _starts_before_waiting_turns(self, turn):
    others = [t for t in self.turns.values() if t.channel == turn.channel and t.is_visible]
    return turn.is_visible and not any(
        other.state == "running" or (other.id < turn.id and other.state == "queued")
        for other in others
    )


def _leaves_steering_messages_open(self, _turn):
    pass


def _keeps_the_lease(self, _claim):
    pass


def _schedules_again(self, key, user=1, writer=0, _schedule=Database.schedule):
    return _schedule(self, (*key[:2], f"{key[2]} "), user, writer) and _schedule(
        self, key, user, writer
    )


def _begins_before_it_is_kept(self, run, turn_id, channel=0, _begin=Database.begin_run):
    is_first = not run.turn
    _begin(self, run, turn_id, channel)
    if is_first:
        run.state = "scheduled"


def _locks_no_row(self, _kept, _next=Database.next_run):
    return _next(self)


def _takes_no_count(self, kept):
    waiting = (run for run in self.runs.values() if run.state == "scheduled")
    return next((run for run in waiting if run.id not in kept), None)


def _puts_the_answer_down_first(self, claim, ending, events, _finish=Database.finish):
    run = self.run_of(claim.turn_id)
    if run and ending.state == "done":
        self.put_down.append(run.id)
    _finish(self, claim, ending, events)


async def _tries_only_once(self, method, *args, is_over=None, stop=None, **share):
    try:
        return await self._once(method, *args, **share)
    except ConnectionError as error:
        raise store.LeaseLost from error


def _sweeps_nothing(self):
    pass


async def _starts_on_an_old_verdict(self, call):
    verdict = await self._call_store(self.store.begin_call, call)
    if verdict.kind == "lost":
        result = specs.CallResult(outcome="unknown", text=journal.UNKNOWN_TEXT)
        await self.end_call(call, result)
        return specs.Verdict(kind="done", result=result)
    return verdict


def _drops_drained_events(self, _drained):
    self._pending.clear()


def _leaves_the_task_running(self, claim):
    if running := self.running.get(claim):
        running.journal.lose()


def _releases_running_turns(self, runner_id, keep=(), _release=Database.release):
    return _release(self, runner_id, ())


def _releases_nothing(self, runner_id, keep=()):
    pass


async def _releases_without_a_retry(self):
    try:
        await self._once(self.store.release, self._runner.id)
    except ConnectionError:
        return False
    return True


def _extends_nothing(self, turn, claim):
    pass


def _starts_under_the_old_lease(self, claim, call, _begin=Database.begin_call):
    until = self.held(claim).until
    verdict = _begin(self, claim, call)
    self.held(claim).until = until
    return verdict


def _suspends_twice(self, claim, call_id, wanted, events, _suspend=Database.suspend_call):
    call = self.call(self.held(claim), call_id)
    call.started = call.started or claim.epoch
    return _suspend(self, claim, call_id, wanted, events)


def _reports_no_stop(self, runner_id, claims, _heartbeat=Database.heartbeat):
    return _heartbeat(self, runner_id, claims)[0], set()


def _reports_no_lost_lease(self, runner_id, claims, _heartbeat=Database.heartbeat):
    return set(), _heartbeat(self, runner_id, claims)[1]


async def _keeps_the_numbers(self, method, arguments, db=None, **lane):
    async with self.lock:
        if self.lost:
            raise store.LeaseLost
        earlier = self.drain()
        try:
            async with self._row:
                return await (db or self._db)(
                    method, self.claim, *arguments(earlier), is_over=self._is_lost, **lane
                )
        except (store.LeaseLost, store.TurnGone):
            self.lose()
            raise


async def _forgets_a_lost_claim(self):
    with self._runner.reserve(self.store.name, False) as slots:
        if not slots or self._runner.is_stopping:
            return
        claims = await self._once(self.store.claim, self._runner.id, slots, self._runner.lease)
        for claim in claims if not self._runner.is_stopping else ():
            self._begin(claim)
    if len(claims) == slots:
        self.wakeup.set()


def _loads_without_the_stop(self, claim, _load=Database.load):
    loaded = _load(self, claim)
    return Loaded(loaded.request, loaded.progress)


def _forgets_stops_on_locked_rows(self):
    self.wishes.clear()


def _starts_any_approved_call(self, row, origin, _may_start=Database._may_start):
    is_approved = row.approval == "approved"
    return specs.Verdict(kind="run") if is_approved else _may_start(self, row, origin)


def _skips_the_rehearsal_comparison(self, call, found, _differs=Database._differs):
    return call.rehearsal is None and _differs(self, call, found)


def _writes_rows_before_the_result(self, claim, call_id, interrupt, _begin=Database.begin_change):
    change = _begin(self, claim, call_id, interrupt)
    if not change.is_over:
        Database.write_rows(self, change)
    return change


def _writes_no_rows(self, change):
    pass


def _keeps_rehearsed_rows(self, claim, call_id, interrupt, _begin=Database.begin_rehearsal):
    found = _begin(self, claim, call_id, interrupt)
    call = self.call(self.turns[claim.turn_id], call_id)
    self.made.append((call.arguments["record"], call.arguments["token"]))
    return found


def _forgets_the_result(self, claim, call_id, interrupt, _begin=Database.begin_change):
    call = self.call(self.held(claim), call_id)
    call.outcome, outcome = "", call.outcome
    try:
        return _begin(self, claim, call_id, interrupt)
    finally:
        call.outcome = outcome


def _finds_no_result(self, claim, call_id, _lose=Database.lose_call):
    return None, _lose(self, claim, call_id)[1]


def _keeps_the_decision(self, claim, call_id, found, _ask_again=Database.ask_again):
    call = self.call(self.held(claim), call_id)
    approval = call.approval
    _ask_again(self, claim, call_id, found)
    call.approval = approval


def _forgets_external_effects(self, *, has_left=False, detail="", _init=TryAgain.__init__):
    _init(self, detail=detail)


class _NotDone(Exception):
    """Instead of an `OutcomeUnknown`: nothing is on disk."""


def _lets_a_grant_replace_the_decision(self, row, origin, _may_start=Database._may_start):
    rehearsal, row.rehearsal = row.rehearsal, None
    try:
        return _may_start(self, row, origin)
    finally:
        row.rehearsal = rehearsal


async def _ignores_a_stop_between_tries(
    self, call, _interrupt, write, method, _tried=TurnJournal._tried, **own
):
    return await _tried(self, call, calls.Interrupt(10**3), write, method, **own)


def _writes_without_a_lease(self, batch):
    for claim, events in batch.items():
        if turn := self.turns.get(claim.turn_id):
            turn.events.update({seq: event for seq, event in events if seq not in turn.events})
    return set()


def _finds_no_foreign_words(self, row):
    return False


def _counts_foreign_words_of_its_turn_only(self, row):
    return any(call.is_foreign and call.round < row.round for call in row.turn.calls)


def _reads_definitions_unseen(self, claim, _load=Database.load):
    loaded = _load(self, claim)
    self.turns[claim.turn_id].unreviewed = set()
    return loaded


def _counts_definitions_of_its_turn_only(self, row, _comes=Database._comes_after_foreign_words):
    others = [turn for turn in self.turns.values() if turn is not row.turn]
    kept = [(turn, turn.unreviewed) for turn in others]
    try:
        for turn in others:
            turn.unreviewed = set()
        return _comes(self, row)
    finally:
        for turn, unreviewed in kept:
            turn.unreviewed = unreviewed


def _lets_a_grant_lift_the_question(self, row, origin, _may_start=Database._may_start):
    if row.tool and self.grant_of(row) in self.grants and row.approval != "approved":
        self.has_taint, had = False, self.has_taint
        try:
            return _may_start(self, row, origin)
        finally:
            self.has_taint = had
    return _may_start(self, row, origin)


MUTANTS = {
    "foreign words are not looked for": (
        "nothing_acts_on_foreign_words",
        2,
        (Database, "_comes_after_foreign_words", _finds_no_foreign_words),
    ),
    "foreign words of earlier turns are forgotten": (
        "nothing_acts_on_foreign_words",
        5,
        (Database, "_comes_after_foreign_words", _counts_foreign_words_of_its_turn_only),
    ),
    "definitions that nobody has accepted are not noted": (
        "nothing_acts_on_foreign_words",
        5,
        (Database, "load", _reads_definitions_unseen),
    ),
    "definitions shown in earlier turns are forgotten": (
        "nothing_acts_on_foreign_words",
        327,
        (Database, "_comes_after_foreign_words", _counts_definitions_of_its_turn_only),
    ),
    "“always” lifts the question after foreign words": (
        "nothing_acts_on_foreign_words",
        36,
        (Database, "_may_start", _lets_a_grant_lift_the_question),
    ),
    "the end of a turn leaves its calls open": (
        "a_turn_that_ended_has_nothing_open",
        0,
        (Database, "_close", _leaves_calls_open),
    ),
    "an open question counts as dismissed": (
        "nobodys_question_answers_itself",
        10,
        (Database, "_answers", _counts_open_questions_as_dismissed),
    ),
    "Stop is notified but not stored": (
        "stop_is_never_lost",
        23,
        (Database, "request_stop", _notifies_without_storing),
    ),
    "a Stop of an entered message is dropped": (
        "stop_is_never_lost",
        99,
        (Database, "request_stop", _drops_the_stop_of_an_entered_message),
    ),
    "a call in flight is reported as cancelled": (
        "what_did_not_run_is_not_told_as_done",
        50,
        (Database, "_close", _reports_calls_in_flight_as_cancelled),
    ),
    "a sign-in writes into a running log": (
        "one_writer_without_gaps",
        2,
        (Database, "_answer", _writes_into_a_running_log),
    ),
    "capacity is counted before the wait": (
        "capacity_holds_over_all_databases",
        19,
        (runner.Runner, "reserve", _counts_capacity_before_the_wait),
    ),
    "the lease of a lost journal is kept": (
        "no_lease_is_kept_for_a_lost_journal",
        0,
        (heartbeat.Heartbeat, "let_go", _keeps_the_lease),
        (queue_worker.QueueWorker, "_held_db", _tries_only_once),
    ),
    "the epoch is not compared": (
        "one_writer_without_gaps",
        7,
        (Database, "held", _ignores_the_epoch),
    ),
    "a call in flight runs again": (
        "no_call_is_executed_twice",
        1,
        (Database, "begin_call", _runs_lost_calls_again),
    ),
    "a question that was asked is asked again": (
        "nobody_is_asked_twice",
        41,
        (Database, "suspend_call", _asks_after_a_start),
    ),
    "a call is resumed by its name": (
        "what_was_approved_is_what_runs",
        14,
        (tools.TurnTools, "find", _resumes_by_name),
        (Database, "_may_start", _compares_the_call_with_itself),
    ),
    "a turn runs beside a younger one": (
        "one_turn_of_a_conversation_at_a_time",
        43,
        (Database, "_is_next", _runs_beside_a_younger),
    ),
    "a queued message starts before a waiting turn": (
        "what_is_queued_comes_in_its_order",
        2,
        (Database, "_is_next", _starts_before_waiting_turns),
    ),
    "a steering message is answered twice": (
        "what_is_sent_meanwhile_is_read_once",
        2,
        (Database, "_close_entered", _leaves_steering_messages_open),
    ),
    "leases of dead runners are not swept": (
        "every_turn_ends",
        0,
        (Database, "sweep", _sweeps_nothing),
    ),
    "a call starts on a verdict older than a lease": (
        "a_call_starts_fresh_and_allowed",
        30,
        (journal.TurnJournal, "begin_call", _starts_on_an_old_verdict),
    ),
    "a call starts under the rest of a lease": (
        "a_call_starts_fresh_and_allowed",
        0,
        (Database, "begin_call", _starts_under_the_old_lease),
    ),
    "an approval outlives switches and definitions": (
        "a_call_starts_fresh_and_allowed",
        5,
        (Database, "_may_start", _starts_any_approved_call),
    ),
    "events that met a locked turn are dropped": (
        "one_writer_without_gaps",
        1,
        (event_log.EventLog, "put_back", _drops_drained_events),
    ),
    "events of a lost COMMIT reuse their numbers": (
        "one_writer_without_gaps",
        247,
        (journal, "OutcomeUnknown", _NotDone),
    ),
    "a refused write keeps its numbers": (
        "one_writer_without_gaps",
        0,
        (event_log.EventLog, "_locked", _keeps_the_numbers),
    ),
    "the task of a lost turn goes on": (
        "a_lost_turn_is_dropped",
        14,
        (queue_worker.QueueWorker, "_lose", _leaves_the_task_running),
    ),
    "a heartbeat reports no lost lease": (
        "a_lost_turn_is_dropped",
        14,
        (Database, "heartbeat", _reports_no_lost_lease),
    ),
    "a heartbeat reports no Stop": (
        "stop_is_never_lost",
        124,
        (Database, "heartbeat", _reports_no_stop),
    ),
    "a turn is loaded without its Stop": (
        "a_turn_stopped_before_its_claim_asks_nothing",
        236,
        (Database, "load", _loads_without_the_stop),
    ),
    "a Stop on a locked row is forgotten": (
        "stop_is_never_lost",
        25,
        (Database, "apply_stops", _forgets_stops_on_locked_rows),
    ),
    "a runner releases turns that it still runs": (
        "no_turn_is_taken_from_a_healthy_runner",
        7,
        (Database, "release", _releases_running_turns),
    ),
    "no lease is extended": (
        "no_turn_is_taken_from_a_healthy_runner",
        1,
        (Database, "renew", _extends_nothing),
    ),
    "a stopping runner releases no leases": (
        "a_lease_without_a_runner_is_returned",
        11,
        (Database, "release", _releases_nothing),
    ),
    "a drain does not retry locked rows": (
        "a_lease_without_a_runner_is_returned",
        364,
        (queue_worker.QueueWorker, "_give_back", _releases_without_a_retry),
    ),
    "a claim whose answer was lost is kept": (
        "a_lease_without_a_runner_is_returned",
        17,
        (queue_worker.QueueWorker, "_claim", _forgets_a_lost_claim),
    ),
    "events are written without a lease": (
        "no_event_is_written_without_a_lease",
        270,
        (Database, "append", _writes_without_a_lease),
    ),
    "a change runs without comparing its rehearsal": (
        "what_was_shown_is_what_is_changed",
        2,
        (Database, "_differs", _skips_the_rehearsal_comparison),
    ),
    "a decision counts for the next rehearsal": (
        "what_was_shown_is_what_is_changed",
        1,
        (Database, "ask_again", _keeps_the_decision),
    ),
    "a decision on an earlier question counts for the current one": (
        "what_was_shown_is_what_is_changed",
        110,
        (Call, "is_as_shown", lambda self, shown: True),
    ),
    "a grant replaces the decision on a rehearsal": (
        "what_was_shown_is_what_is_changed",
        504,
        (Database, "_may_start", _lets_a_grant_replace_the_decision),
    ),
    "rows are on disk before their result": (
        "records_are_changed_once_with_the_result",
        0,
        (Database, "begin_change", _writes_rows_before_the_result),
        (sim_database.Database, "write_rows", _writes_no_rows),
    ),
    "a rehearsal is not undone": (
        "records_are_changed_once_with_the_result",
        1,
        (Database, "begin_rehearsal", _keeps_rehearsed_rows),
    ),
    "a change with a lost COMMIT answer runs again": (
        "records_are_changed_once_with_the_result",
        21,
        (Database, "begin_change", _forgets_the_result),
        (Database, "lose_call", _finds_no_result),
    ),
    "external effects run again after a crash": (
        "what_was_sent_is_not_sent_again",
        1,
        (Database, "begin_call", _runs_lost_calls_again),
    ),
    "an external effect starts unrecorded": (
        "what_was_sent_is_not_sent_again",
        0,
        (Call, "is_one_transaction", property(lambda _call: True)),
    ),
    "a failed try with external effects runs again": (
        "what_was_sent_is_not_sent_again",
        69,
        (TryAgain, "__init__", _forgets_external_effects),
    ),
    "a call on records is tried without end": (
        "a_call_on_records_is_tried_a_few_times",
        60,
        (journal, "RECORD_TRIES", 1000),
    ),
    "a Stop between two tries is not heard": (
        "a_call_on_records_is_tried_a_few_times",
        39,
        (TurnJournal, "_tried", _ignores_a_stop_between_tries),
    ),
    "an event that is told again starts another run": (
        "every_event_has_one_run",
        1,
        (Database, "schedule", _schedules_again),
    ),
    "a run's own change starts it again": (
        "every_event_has_one_run",
        1,
        (Database, "_is_own", lambda *_: False),
    ),
    "a chain of runs has no end": (
        "every_run_asks_once_and_ends",
        130,
        (Database, "MAX_DEPTH", 1000),
    ),
    "a run that was begun is begun again": (
        "every_run_asks_once_and_ends",
        1,
        (Database, "begin_run", _begins_before_it_is_kept),
    ),
    "two crons begin the same run": (
        "every_run_asks_once_and_ends",
        5,
        (Database, "next_run", _locks_no_row),
    ),
    "the run of a deleted conversation stays in progress": (
        "every_run_asks_once_and_ends",
        1,
        (Database, "leave_run", _keeps_the_lease),
    ),
    "an answer is put down before its turn ends": (
        "an_answer_is_put_down_once",
        1,
        (Database, "finish", _puts_the_answer_down_first),
    ),
    "runs begin without room": ("runs_leave_room", 5, (Database, "next_run", _takes_no_count)),
    "a request is sent that nobody has put down": (
        "every_request_has_its_cost",
        0,
        (Database, "reserve", lambda *_: None),
    ),
    "a turn ends with requests that are reserved": (
        "every_request_has_its_cost",
        0,
        (Database, "_keep_progress", _forgets_what_was_spent),
        (Database, "give_up", lambda *_: None),
    ),
    "what other requests have reserved can be spent, too": (
        "budgets_are_kept",
        53,
        (Database, "check_budget", _counts_only_what_is_spent),
    ),
    "a request that has ended stays reserved": (
        "budgets_are_kept",
        0,
        (Database, "settle", _holds_what_has_ended),
    ),
    "a request that the budget refuses is sent": (
        "budgets_are_kept",
        10,
        (TurnJournal, "reserve", _sends_what_is_refused),
    ),
    "a yes to a client's call starts it as often as it comes": (
        "a_direct_call_is_made_as_written_down",
        59,
        (direct_calls.Table, "is_as_seen", lambda *_: True),
    ),
    "a client's call that is over starts again": (
        "a_direct_call_is_made_as_written_down",
        266,
        (
            direct_calls.Row,
            "is_undone",
            property(lambda row: row.started < 0 and row.approval in ("pending", "approved")),
        ),
    ),
    "nobody is asked about a client's call": (
        "a_direct_call_is_made_as_written_down",
        11,
        (direct_calls.Table, "look_for_direct", _asks_nobody_about_a_direct_call),
    ),
    "a late result of a client's call replaces the first": (
        "a_direct_call_keeps_its_first_result",
        15,
        (direct_calls.Row, "end", direct_calls.Row.put_result),
    ),
    "a client's call of a dead process stays open": (
        "every_direct_call_ends",
        23,
        (direct_calls.Table, "sweep", lambda _table: None),
    ),
    "other arguments run than were allowed": (
        "what_was_approved_is_what_runs",
        0,
        (Database, "decide_call", _keeps_the_first_arguments),
    ),
    "a call is suspended twice by one question": (
        "nobody_is_asked_twice",
        41,
        (Database, "suspend_call", _suspends_twice),
    ),
}
"""``what is wrong: (the invariant that it breaks, a seed that has shown it, what is replaced by what …)``"""


def worlds_until_noticed(name, seeds):
    """How many worlds it takes; 0 if it goes unnoticed."""
    invariant, _, *patches = MUTANTS[name]
    with contextlib.ExitStack() as stack:
        for owner, attribute, broken in patches:
            stack.enter_context(mock.patch.object(owner, attribute, broken))
        for count, seed in enumerate(seeds, 1):
            if invariant in run.simulate([seed]).broken:
                return count
    return 0


def is_noticed(name):
    """The seed that once showed it is tried first; where the product has changed since, others show it."""
    return bool(worlds_until_noticed(name, (MUTANTS[name][1], *range(600))))
