"""What must hold in every world, each read off its final state and its log. See docs/simulation.md."""

from collections import Counter

from services.testing.model_store import FINAL
from services.testing.model_store.store import NOT_FINISHED

NOT_MADE = ("denied", "invalid_args", "unknown_tool")
TRIES = 5  # of a call on records
CHAIN = 3  # runs that may lead to one
STOP_TIME = 7.0  # s: a heartbeat, a retry and a flush, once nothing is in the way


def every_call_has_exactly_one_result(world):
    for database, turn in _turns(world):
        asked = Counter(event["id"] for event in _events(turn, "tool_call"))
        results = Counter(event["id"] for event in _events(turn, "tool_result"))
        if turn.state in FINAL and set(asked) - set(results):
            yield database, turn.id, "no result", sorted(set(asked) - set(results))
        twice = sorted(call_id for call_id, count in results.items() if count > 1)
        if twice or set(results) - set(asked):
            yield database, turn.id, "more results than calls", twice
        for call in turn.calls:
            said = [e["outcome"] for e in _events(turn, "tool_result") if e["id"] == call.id]
            if turn.state in FINAL and said != [call.outcome]:
                yield database, turn.id, "row and log differ", call.id, call.outcome, said


def no_call_is_executed_twice(world):
    executed = Counter(
        (arrival.database, arrival.token) for arrival in world.arrivals if arrival.executed
    )
    for (database, token), count in executed.items():
        if count > 1 and token not in world.repeatable:
            yield database, token, count


def what_did_not_run_is_not_told_as_done(world):
    executed = {(a.database, a.token) for a in world.arrivals if a.executed}
    for database, turn in _turns(world):
        for call in turn.calls:
            if call.records:  # of these the next ones speak
                continue
            done = (database, call.arguments.get("token")) in executed
            if call.outcome == "ok" and not done:
                yield database, call.id, "ok, but it was not executed"
            # A harmless one may be made twice: its last attempt says what became of it.
            is_harmless = call.arguments.get("token") in world.repeatable
            is_told_as_unmade = call.outcome in NOT_MADE or (
                call.outcome == "cancelled" and call.text == NOT_FINISHED
            )
            if is_told_as_unmade and done and not is_harmless:
                yield database, call.id, f"{call.outcome}, but it was executed"


def records_are_changed_once_with_the_result(world):
    """Rows, result and event are one transaction: where the result is, the change is, once, and nowhere else."""
    for name, database in world.databases.items():
        made = Counter(token for _, token in database.made)
        for token, count in made.items():
            if count > 1:
                yield name, token, f"changed {count} times"
        for turn in database.turns.values():
            for call in turn.calls:
                count = made[call.arguments.get("token")]
                if call.records == "write" and count != (call.outcome == "ok"):
                    yield name, call.id, call.outcome, f"changed {count} times"
                if call.outcome == "unknown" and call.is_one_transaction:
                    yield name, call.id, "nobody knows what became of rows"


def what_was_sent_is_not_sent_again(world):
    """What leaves a transaction has its start on disk before, and a death makes it unknown."""
    yield from world.sent_early
    for name, database in world.databases.items():
        sent = Counter(database.sent)
        for token, count in sent.items():
            if count > 1:
                yield name, token, f"sent {count} times"
        for turn in database.turns.values():
            for call in turn.calls:
                was_sent = sent[call.arguments.get("token")] > 0
                if was_sent and call.outcome not in ("", "ok", "unknown"):
                    yield name, call.id, f"{call.outcome}, but it was sent"
                if call.outcome == "ok" and call.arguments.get("sends") and not was_sent:
                    yield name, call.id, "ok, but nothing was sent"


def what_was_shown_is_what_is_changed(world):
    """What a person has allowed on a card is what happens, and each card shows it."""
    yield from world.unshown


def a_call_on_records_is_tried_a_few_times(world):
    """While it is wanted: no try begins after its Stop."""
    for call, count in world.failures.items():
        if count > TRIES:
            yield call, f"{count} tries have failed"
    yield from world.tried_in_vain


def one_writer_without_gaps(world):
    yield from world.conflicts
    for database, turn in _turns(world):
        numbers = sorted(turn.events)
        if numbers != list(range(1, len(numbers) + 1)):
            yield database, turn.id, "gap", numbers


def the_final_event_comes_once_and_last(world):
    for database, turn in _turns(world):
        kinds = [event["type"] for _, event in sorted(turn.events.items())]
        finals = sum(kind in ("done", "error") for kind in kinds)
        is_right = kinds[-1] in ("done", "error") and finals == 1
        if not is_right if turn.state in FINAL else finals:
            yield database, turn.id, turn.state, kinds[-3:]


def stop_is_never_lost(world):
    """After it nothing begins: no word is asked of the model once nothing is in the way of the news."""
    for database, turn in _turns(world):
        stopped = world.stops.get((database, turn.id))
        if stopped is None:
            continue
        heard = _heard_by(world, stopped)
        late = [
            (when, epoch)
            for when, name, number, epoch in world.asked
            if (name, number) == (database, turn.id) and when > heard
        ]
        if late or (turn.state == "done" and turn.ended_at > heard):
            yield database, turn.id, "stopped at", stopped, turn.state, late[:3]


def a_turn_stopped_before_its_claim_asks_nothing(world):
    """Whoever takes a turn whose Stop is on disk already asks the model nothing."""
    for when, name, number, epoch in world.asked:
        stopped = world.stops.get((name, number))
        if stopped is not None and stopped < world.given[name, number, epoch]:
            yield name, number, "stopped at", stopped, "asked at", when


def nobodys_question_answers_itself(world):
    """A server hears an answer only if a person, or the end of the wait, has given one."""
    for arrival in world.arrivals:
        if arrival.unanswered:
            yield arrival.database, arrival.token, arrival.unanswered
    for database, turn in _turns(world):
        for call in turn.calls:
            open_ = [q.id for q in call.questions if q.answered_at is None and not q.is_held]
            if call.outcome == "denied" and call.denied == "declined" and open_:
                yield database, call.id, "denied for what nobody has declined", open_


def nobody_is_asked_twice(world):
    """A question that a server has asked once is put once, whatever was lost on the way."""
    for database, turn in _turns(world):
        for call in turn.calls:
            asked = world.asks[database, call.arguments.get("token")]
            if call.ask_round > asked:
                yield (
                    database,
                    call.id,
                    f"asked {call.ask_round} times, the server did {asked} times",
                )


def one_turn_of_a_conversation_at_a_time(world):
    yield from world.side_by_side


def what_is_queued_comes_in_its_order(world):
    """Nothing overtakes a message of its conversation that was sent before, not while that waits for a word either."""
    yield from world.out_of_order


def what_is_sent_meanwhile_is_read_once(world):
    """It enters one turn, whose log and transcript have it once, or it is a turn of its own."""
    for name, database in world.databases.items():
        said = Counter(i for turn in database.turns.values() for i in turn.known_each())
        told = Counter(
            event["turn_id"]
            for turn in database.turns.values()
            for event in _events(turn, "steered")
        )
        for turn in database.turns.values():
            read = (said[turn.id], told[turn.id])
            is_over = turn.state in FINAL
            if turn.entered and is_over and (read != (1, 1) or turn.epoch):
                yield name, turn.id, "entered", turn.entered, read, turn.epoch
            if not turn.entered and is_over and read != (0, 0):
                yield name, turn.id, "has not entered, but was read", read


def capacity_holds_over_all_databases(world):
    if world.most_running > world.capacity:
        yield f"{world.most_running} turns run where {world.capacity} may"


def no_lease_is_kept_for_a_lost_journal(world):
    yield from world.kept_lost


def a_turn_that_ended_has_nothing_open(world):
    for database, turn in _turns(world):
        if turn.state not in FINAL:
            continue
        for call in turn.calls:
            if not call.outcome or call.is_pending:
                yield database, turn.id, "open call", call.id
            for question in call.questions:
                if not question.action or question.content:
                    yield database, turn.id, "open question", question.id


def what_was_approved_is_what_runs(world):
    """Asked or not, the tool that runs is the one of the call's row, with the arguments that were allowed last.

    A call that ran unasked may come back to be allowed: its server wanted a sign-in, and the tool asks by now.
    """
    for arrival in world.arrivals:
        runs = (arrival.database, arrival.server, arrival.tool, arrival.arguments)
        decided = world.people.approved.get(arrival.token, ())
        allowed = [what for when, what in decided if when <= arrival.at]
        if allowed and runs != allowed[-1]:
            yield "allowed", allowed[-1], "executed", runs
        asked = world.asked_for.get((arrival.database, arrival.token))
        if asked and (arrival.server, arrival.tool) != asked:
            yield "asked for", asked, "executed", runs


def databases_share_nothing(world):
    for session in world.opened:
        if len(session.databases) > 1:
            yield "one session for", sorted(session.databases)
    yield from world.dropped_for_others


def no_turn_is_taken_from_a_healthy_runner(world):
    yield from world.taken


def a_lease_without_a_runner_is_returned(world):
    yield from world.held_in_vain


def a_lost_turn_is_dropped(world):
    yield from world.run_in_vain


def no_event_is_written_without_a_lease(world):
    yield from world.overheard


def a_call_starts_fresh_and_allowed(world):
    """At that moment every switch is on, the tool is what was asked for, and the lease is whole."""
    yield from world.started_off
    yield from world.stale_starts


def a_call_keeps_its_first_result(world):
    yield from world.second_results


def nothing_acts_on_foreign_words(world):
    """After them a call that could do harm starts only with the yes of a person to it."""
    yield from world.unasked


def every_event_has_one_run(world):
    """What is told again starts nothing anew, and nothing comes of a trigger that was rolled back."""
    for name, database in world.databases.items():
        keys = Counter(run.key for run in database.runs.values())
        told = {key for of, key in world.triggers.told if of == name}
        for key in told:
            cause = world.triggers.causes.get((name, key))
            is_own = cause is not None and cause.key[:2] == key[:2]
            if keys[key] != (not is_own):
                yield name, key, f"{keys[key]} runs", "its own change" if is_own else ""
        for key in keys.keys() - told:
            yield name, key, "not told of"


def every_run_asks_once_and_ends(world):
    """But those that many others have led to, and those that somebody has stopped before."""
    for name, database in world.databases.items():
        for run in database.runs.values():
            begun, is_deep = world.triggers.begun[name, run.id], _led_to(world, name, run) > CHAIN
            if begun > 1 or (is_deep and begun) or (run.state in FINAL[:2] and not begun):
                yield name, run.id, run.state, f"asked {begun} times"
            if run.state not in (("refused",) if is_deep else FINAL):
                yield name, run.id, run.state


def an_answer_is_put_down_once(world):
    """Those of runs that are done, with the end of their turn."""
    for name, database in world.databases.items():
        put_down = Counter(database.put_down)
        for run in database.runs.values():
            if put_down[run.id] != (run.state == "done"):
                yield name, run.id, run.state, f"put down {put_down[run.id]} times"


def runs_leave_room(world):
    """No more are in progress than may be."""
    yield from world.triggers.crowded


def every_request_has_its_cost(world):
    """What the model was asked under a claim was put down before; a process that dies has put down one more at most."""
    asked = Counter(one[1:] for one in world.asked)
    for name, turn in _turns(world):
        kept = Counter(int(key.partition("-")[0]) for key in turn.costs)
        for epoch in range(1, turn.epoch + 1):
            count = asked[name, turn.id, epoch]
            if not count <= kept[epoch] <= count + 1:
                yield name, turn.id, epoch, f"{count} requests, {kept[epoch]} costs"
        if turn.state in FINAL and None in turn.costs.values():
            yield name, turn.id, "a cost was never closed"


def budgets_are_kept(world):
    """Nothing is spent twice, each request holds its share before it is sent, and at the end nothing is held."""
    yield from world.overspent
    yield from world.unheld
    for name, database in world.databases.items():
        if database.holds:
            yield name, "held for nobody", dict(database.holds)
        if database.spent < 0:
            yield name, "spent", database.spent
    for name, turn in _turns(world):
        code = next((event["code"] for event in _events(turn, "error")), "")
        is_refused = (name, turn.id) in world.refused or not turn.progress
        if code == "budget_exhausted" and not is_refused:
            yield name, turn.id, "ended for a budget that had something left"
        if (name, turn.id) in world.refused and turn.state == "done":
            yield name, turn.id, "answered without a budget"


def a_direct_call_is_made_as_written_down(world):
    """Once at most, after its start is on disk, and after the yes of its person where one is needed."""
    yield from world.direct_calls.started_off
    executed = {(a.database, a.token) for a in world.arrivals if a.executed}
    for name, row in _direct_calls(world):
        made = world.direct_calls.executions[name, row.id]
        if made > (row.started >= 0):
            yield name, row.id, f"made {made} times, started at {row.started}"
        if row.results and 0 <= row.results[0][0] < row.started:
            yield name, row.id, row.results, "but it started at", row.started
        if row.outcome == "ok" and (name, row.wanted.arguments["token"]) not in executed:
            yield name, row.id, "ok, but it was not executed"


def a_direct_call_keeps_its_first_result(world):
    for name, row in _direct_calls(world):
        if len(row.results) > 1:
            yield name, row.id, row.results


def every_direct_call_ends(world):
    """Whoever dies meanwhile, and whatever was lost."""
    for name, row in _direct_calls(world):
        if not row.outcome:
            yield name, row.id, row.approval, f"started at {row.started}"


def every_turn_ends(world):
    """Once faults end, every turn ends; people answer what it asks."""
    for database, turn in _turns(world):
        if turn.state not in FINAL:
            yield database, turn.id, turn.state, f"epoch {turn.epoch}"


def nothing_is_beyond_the_engine(world):
    """It logs no error: all that happens here it knows how to meet."""
    yield from world.broken


INVARIANTS = (
    every_call_has_exactly_one_result,
    no_call_is_executed_twice,
    what_did_not_run_is_not_told_as_done,
    records_are_changed_once_with_the_result,
    what_was_sent_is_not_sent_again,
    what_was_shown_is_what_is_changed,
    a_call_on_records_is_tried_a_few_times,
    one_writer_without_gaps,
    the_final_event_comes_once_and_last,
    stop_is_never_lost,
    nobodys_question_answers_itself,
    nobody_is_asked_twice,
    one_turn_of_a_conversation_at_a_time,
    what_is_queued_comes_in_its_order,
    what_is_sent_meanwhile_is_read_once,
    capacity_holds_over_all_databases,
    no_lease_is_kept_for_a_lost_journal,
    a_turn_that_ended_has_nothing_open,
    what_was_approved_is_what_runs,
    databases_share_nothing,
    a_turn_stopped_before_its_claim_asks_nothing,
    no_turn_is_taken_from_a_healthy_runner,
    a_lease_without_a_runner_is_returned,
    a_lost_turn_is_dropped,
    no_event_is_written_without_a_lease,
    a_call_starts_fresh_and_allowed,
    a_call_keeps_its_first_result,
    nothing_acts_on_foreign_words,
    every_event_has_one_run,
    every_run_asks_once_and_ends,
    an_answer_is_put_down_once,
    runs_leave_room,
    every_request_has_its_cost,
    budgets_are_kept,
    a_direct_call_is_made_as_written_down,
    a_direct_call_keeps_its_first_result,
    every_direct_call_ends,
    every_turn_ends,
    nothing_is_beyond_the_engine,
)


def broken_in(world):
    """``{name of the invariant: [what was seen]}``"""
    found = {invariant.__name__: list(invariant(world)) for invariant in INVARIANTS}
    return {name: seen for name, seen in found.items() if seen}


def _turns(world):
    for name, database in world.databases.items():
        for turn in database.turns.values():
            yield name, turn


def _direct_calls(world):
    for name, table in world.direct_calls.tables.items():
        for row in table.rows.values():
            yield name, row


def _events(turn, kind):
    return [event for event in turn.events.values() if event["type"] == kind]


def _led_to(world, name, run):
    cause = world.triggers.causes.get((name, run.key))
    return _led_to(world, name, cause) + 1 if cause else 0


def _heard_by(world, asked_at):
    """When a runner must have heard: what is in the way of the news gives it more time."""
    heard = asked_at + STOP_TIME
    for begin, end in sorted(world.troubles + world.locks):
        if begin <= heard and end > asked_at:
            heard = max(heard, end + STOP_TIME)
    return heard
