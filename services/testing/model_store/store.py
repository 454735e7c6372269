"""Writes of a runner while it holds a turn."""

from dataclasses import replace

from ...errors import ElicitationRequired, LeaseLost, SignInRequired, TurnGone
from ...mcp.session import elicitation
from ...mcp.session.elicitation import ElicitRequest, ElicitResult
from ...specs import CallResult, ToolCall, TurnProgress, Verdict
from ...turn.ports import Claim, Loaded
from .costs import Costs
from .rows import Call, NumberTaken, Question, Turn, copied

APPROVAL_TIME = 24 * 3600.0  # s that a turn waits for its person
NOT_FINISHED = "The call was not finished."


class ModelStore(Costs):
    """Implements `ports.Store`.

    :ivar tools: by id, those that exist
    :ivar has_taint: foreign words count
    :ivar grants: ``(user, tool, definition)`` of what a person has allowed for always
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.tools = {}
        self.servers = {}
        self.grants = set()
        self.has_taint = True
        self._asked = 0

    def close(self) -> None:
        """It has no connection."""

    def post(
        self,
        turn_id: int,
        channel: int,
        user: int = 1,
        *,
        is_visible: bool = True,
        steers: bool = False,
        is_unattended: bool = False,
    ) -> Turn:
        """Add a turn to the queue.

        :param is_visible: False while the transaction that asks has not committed
        :param steers: it may enter the turn that is under way
        """
        turn = Turn(
            id=turn_id,
            channel=channel,
            user=user,
            is_visible=is_visible,
            steers=steers,
            is_unattended=is_unattended,
        )
        self.turns[turn_id] = turn
        self.add(turn, [{"type": "state", "state": "queued"}])
        self.notify("queued", turn_id)
        return turn

    def request_of(self, turn: Turn):
        """Request of a turn, as the engine gets it; for tests that run an engine on the model."""
        raise NotImplementedError

    def load(self, claim: Claim) -> Loaded:
        turn = self.held(claim)
        if not turn.progress:
            self.check_budget()
        progress = TurnProgress(**copied(turn.progress))
        shown = (tool for tool in self.tools.values() if tool.is_usable and tool.is_unreviewed)
        turn.unreviewed |= {tool.server.id for tool in shown}
        return Loaded(self.request_of(turn), progress, self.is_stop_requested(turn))

    def read_files(self, claim: Claim) -> None:
        self.held(claim)

    def append(self, batch: dict[Claim, list]) -> set[Claim]:
        lost = set()
        for claim, events in batch.items():
            try:
                self.insert(self.held(claim), events)
            except (LeaseLost, TurnGone):
                lost.add(claim)
        return lost

    def insert(self, turn: Turn, numbered) -> None:
        """Write events; the same one again is what a repeated write does.

        :param numbered: ``[(number, event)]``
        :raises NumberTaken: another event has the number: two write
        """
        for seq, event in numbered:
            if turn.events.get(seq, event) != event:
                raise NumberTaken(f"{seq} of turn {turn.id}: {event}, there is {turn.events[seq]}")
        turn.events.update(numbered)

    def save_step(self, claim: Claim, progress: dict, calls: tuple, events: list) -> None:
        turn = self.held(claim)
        self.insert(turn, events)
        self._keep_progress(turn, progress)
        self._close_entered(turn)
        known = {call.id for call in turn.calls}
        for call in calls:
            if call.id not in known:
                tool = self.tools.get(call.tool.id) if call.tool else None
                turn.calls.append(
                    Call(
                        id=call.id,
                        turn=turn,
                        tool=tool,
                        server=call.server and self.servers.get(call.server.id),
                        origin=call.tool and (call.tool.id, call.tool.definition),
                        arguments=copied(call.arguments or {}),
                        round=call.round,
                        records=call.tool.records if call.tool else "",
                    )
                )

    def _keep_progress(self, turn: Turn, progress: dict) -> None:
        turn.progress = copied({**progress, "spent": []})
        self.settle(turn, progress.get("spent", ()))

    def take_steering(self, claim: Claim, known) -> list[dict]:
        turn = self.held(claim)
        entering = [
            one
            for one in self._steering(turn)
            if one.id not in known and not self.is_stop_requested(one)
        ]
        for one in entering:
            one.entered = turn.id
        return [{"turn": one.id, "message_id": None, "content": "And this."} for one in entering]

    def _steering(self, turn: Turn) -> list[Turn]:
        """Messages that are to enter it, or were taken and are not closed."""
        return [
            one
            for _, one in sorted(self.turns.items())
            if (one.channel, one.user) == (turn.channel, turn.user) and one.id > turn.id
            if one.steers and one.state == "queued" and not one.epoch and one.is_visible
            if one.entered in (0, turn.id)
        ]

    def _close_entered(self, turn: Turn) -> None:
        known = turn.known()
        for one in self._steering(turn):
            if one.entered and one.id in known:
                one.state, one.ended_at = "done", self.now()
                self.add(
                    one, [{"type": "state", "state": "done"}, {"type": "done", "state": "done"}]
                )

    def call(self, turn: Turn, call_id: str) -> Call:
        """A call of a turn.

        :raises TurnGone: the turn has no such call
        """
        for call in turn.calls:
            if call.id == call_id:
                return call
        raise TurnGone

    def begin_call(self, claim: Claim, call: ToolCall) -> Verdict:
        turn = self.held(claim)
        self.renew(turn, claim)
        row = self.call(turn, call.id)
        if row.outcome:
            return Verdict(kind="done", result=row.result)
        is_cut = row.started not in (0, claim.epoch)
        if is_cut and not (row.tool and row.tool.may_repeat):
            return Verdict(kind="lost")
        verdict = self._may_start(row, call.tool and (call.tool.id, call.tool.definition))
        if is_cut and verdict.kind == "deny":
            return Verdict(kind="lost")
        if verdict.kind == "run" and call.is_behind:
            return Verdict(kind="held")
        if verdict.kind == "run":
            if not row.is_one_transaction:
                row.started = claim.epoch
            return replace(verdict, arguments=copied(row.arguments) if row.is_changed else None)
        return verdict

    def _may_start(self, row: Call, origin: tuple[int, str] | None) -> Verdict:
        """Every switch and the decision, as they are now; a call of anything else than was asked for is denied."""
        tool = row.tool
        if row.origin is None and origin is None:  # there is no such tool, which the engine says
            return self._answers(row)
        if tool is None or row.origin is None:
            return self._denied(row, "differs")
        if origin != row.origin or tool.definition != row.origin[1]:
            return self._denied(row, "differs")
        if not tool.is_usable:
            return self._denied(row, "switched off")
        if tool.policy == "never" or row.approval in ("denied", "expired"):
            return self._denied(row, "not allowed")
        row.is_tainted = not tool.is_inside and self._comes_after_foreign_words(row)
        is_asked = tool.policy == "ask" or row.rehearsal or row.is_tainted
        if is_asked and row.approval != "approved":
            # Shown once, or after foreign words, it is not done on the strength of an earlier “always”.
            if row.rehearsal or row.is_tainted or self.grant_of(row) not in self.grants:
                row.approval = "pending"
                return Verdict(kind="ask")
            row.approval = "granted"
        return self._answers(row)

    def _comes_after_foreign_words(self, row: Call) -> bool:
        own = {row.tool.server.id} if row.tool and row.tool.server else set()
        return self.has_taint and any(
            turn.unreviewed - own
            or any(
                call.is_foreign and (turn is not row.turn or call.round < row.round)
                for call in turn.calls
            )
            for turn in self.turns.values()
            if turn.channel == row.turn.channel
        )

    def grant_of(self, row: Call) -> tuple:
        """Subject of an “always”."""
        return (row.turn.user, *(row.origin or ()))

    def _answers(self, row: Call) -> Verdict:
        """Start of a call that had ended with questions. An unanswered one is asked again."""
        asked = row.asked_now()
        if any(not question.action for question in asked):
            return Verdict(kind="ask")
        if asked and row.more is None and any(q.action != "accept" for q in asked):
            return self._denied(row, "declined")
        if not asked or row.more is None:
            return Verdict(kind="run")
        wanted = ElicitationRequired(questions={q.key: q.asked for q in asked}, more=row.more)
        answers = {question.key: as_answer(question) for question in asked}
        return Verdict(kind="run", resume=elicitation.retry_params(wanted, answers))

    def _denied(self, row: Call, why: str) -> Verdict:
        row.denied = why
        return Verdict(kind="deny", reason=f"This call is denied: {why}.")

    def suspend_call(self, claim: Claim, call_id: str, wanted, events: list) -> str:
        turn = self.held(claim)
        self.insert(turn, events)
        call = self.call(turn, call_id)
        if not call.started:  # it is suspended: this is the same word again
            return ""
        if isinstance(wanted, SignInRequired) and call.server is None:
            return "The server is gone."
        if call.ask_round >= elicitation.MAX_ROUNDS:
            return "The MCP server keeps asking questions."
        call.ask_round += 1
        call.started = 0
        if isinstance(wanted, SignInRequired):
            call.more = None
            self._put(call, "sign_in", "sign_in", ElicitRequest(message="", url=wanted.url))
        else:
            call.more = None if wanted.more is None else dict(wanted.more)
            for key, asked in wanted.questions.items():
                self._put(call, key, "url" if asked.url else "form", asked)
        return ""

    def _put(self, call: Call, key: str, kind: str, asked, is_held: bool = False) -> Question:
        self._asked += 1
        question = Question(
            id=f"question-{self._asked}",
            call=call,
            key=key,
            kind=kind,
            ask_round=0 if is_held else call.ask_round,
            is_held=is_held,
            asked=asked,
        )
        call.questions.append(question)
        return question

    def ask(self, claim: Claim, call_id: str, request, seconds: float) -> dict | None:
        call = self.call(self.held(claim), call_id)
        held = [question for question in call.questions if question.is_held]
        same = [q for q in held if not q.action and q.asked == request]
        if not same and len(held) >= elicitation.MAX_ROUNDS:
            return None
        question = same[0] if same else self._put(call, "", "form", request, is_held=True)
        return question_event(question)

    def take_answer(self, claim: Claim, question_id: str, is_late: bool):
        turn = self.held(claim)
        found = next(q for call in turn.calls for q in call.questions if q.id == question_id)
        if is_late and not found.action:
            found.action, found.answered_at = "expired", self.now()
        if not found.action:
            return None, None
        return as_answer(found), decided(found.id, found.action)

    def end_call(self, claim: Claim, call_id: str, result: CallResult, events: list) -> None:
        """A call keeps its first result, and what is told is what it has kept."""
        turn = self.held(claim)
        call = self.call(turn, call_id)
        if not call.outcome:
            call.outcome, call.text = result.outcome, result.text
            is_read = call.records or call.started
            call.is_foreign = bool(is_read) and (call.tool is None or call.tool.is_foreign)
            close_questions(call)
        self.insert(turn, call.told(events))

    def finish(self, claim: Claim, ending, events: list) -> None:
        turn = self.held(claim)
        if any(seq >= ending.next_seq for seq in turn.events):
            raise NumberTaken(f"{ending.next_seq} of turn {turn.id}")
        self.insert(turn, events)
        if ending.progress:
            self._keep_progress(turn, ending.progress)
        self.give_up(turn)
        if ending.state == "waiting" and not self.is_stop_requested(turn):
            self._wait(turn, ending.confirm, ending.next_seq)
        else:
            state = "stopped" if ending.state == "waiting" else ending.state
            last = [*self._close(turn), {"type": "usage", **ending.usage}]
            self._end(turn, state, last, ending.error_code, ending.next_seq)
        self.notify("queued", 0)

    def _wait(self, turn: Turn, confirm: int, first: int) -> None:
        """Nothing is held while a person thinks; what was answered meanwhile is not waited for."""
        turn.state, turn.owner, turn.until = "waiting", "", None
        turn.waiting_round, turn.waiting_until = confirm, self.now() + APPROVAL_TIME
        if not turn.is_undecided:
            self.go_on_when_decided(turn, first)
            return
        asked = [question_event(question) for question in turn.open_questions()]
        calls = [
            {"type": "approval_required", "id": call.id} for call in turn.calls if call.is_pending
        ]
        rounds = [{"type": "confirm_required", "id": f"round-{confirm}"}] if confirm else []
        self.add(turn, [*(rounds or calls), *asked, {"type": "state", "state": "waiting"}], first)

    def add(self, turn: Turn, events: list[dict], first: int = 0) -> None:
        """Write events behind the last.

        :param first: number of the first one, where it is known
        """
        self.insert(turn, list(enumerate(events, first or turn.last_seq + 1)))

    def go_on_when_decided(self, turn: Turn, first: int = 0) -> None:
        """Queue a waiting turn for which nothing is left to decide.

        :param first: number of the event that tells of it, where it is known
        """
        if turn.state == "waiting" and not turn.is_undecided:
            turn.state, turn.waiting_until = "queued", None
            self.add(turn, [{"type": "state", "state": "queued"}], first)
            self.notify("queued", turn.id)

    def stop_at_rest(self, turn: Turn) -> None:
        """End a turn that nobody runs."""
        self._end(turn, "stopped", self._close(turn))

    def _close(self, turn: Turn) -> list[dict]:
        """Close all that is open at a turn's end: each call has its result, and no question stays."""
        events = []
        for call in turn.open_calls():
            if call.is_pending:
                call.approval = "cancelled"
            close_questions(call)
            call.outcome = "unknown" if call.started else "cancelled"
            call.text = NOT_FINISHED
            events.append({"type": "tool_result", "id": call.id, "outcome": call.outcome})
        return events

    def _end(self, turn: Turn, state: str, last: list[dict], error: str = "", first: int = 0):
        turn.state, turn.owner, turn.until, turn.ended_at = state, "", None, self.now()
        turn.waiting_round, turn.waiting_until = 0, None
        final = {"type": "done", "state": state}
        if state == "failed":
            final = {"type": "error", "code": error}
        self.add(turn, [*last, {"type": "state", "state": state}, final], first)
        self._close_entered(turn)
        for one in self._steering(turn):
            one.entered = 0
            if one.stop:
                self.request_stop(one.id)


def close_questions(call: Call) -> None:
    for question in call.questions:
        question.action = question.action or "cancel"
        question.content = {}


def as_answer(question: Question) -> ElicitResult:
    action = question.action if question.action in ("accept", "decline") else "cancel"
    return ElicitResult(action=action, content=question.content)


def question_event(question: Question) -> dict:
    return {
        "type": "input_required",
        "id": question.id,
        "call_id": question.call.id,
        "kind": question.kind,
    }


def decided(what: str, decision: str) -> dict:
    return {"type": "decided", "id": what, "decision": decision}
