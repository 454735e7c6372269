"""Acts of people, administrators and crons in the database."""

from .rows import FINAL, NotPossible, Question, Record, Server, Tool, Turn
from .runs import Runs
from .store import decided


class Database(Runs):
    """:ivar wishes: turns whose Stop met a locked row"""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.wishes = set()

    # ------------------------------------------------------------ the person of a turn

    def request_stop(self, turn_id: int, *, is_locked: bool = False) -> str:
        """:param is_locked: somebody keeps the row, so the wish is written beside it
        :return: the state after the request
        """
        turn = self.turns[turn_id]
        if turn.state in FINAL:
            return turn.state
        if is_locked or self.is_locked(turn_id):
            self.wishes.add(turn_id)
            self.notify("stop", turn_id)
            return "running"
        is_entering = turn.state == "queued" and turn.entered
        if turn.state == "running" or is_entering:  # what enters may be read after all
            turn.stop = True
            self.notify("stop", turn_id)
        else:
            self.stop_at_rest(turn)
        return turn.state

    def is_stop_requested(self, turn: Turn) -> bool:
        return turn.stop or turn.id in self.wishes

    def apply_stops(self) -> None:
        """A turn that is locked keeps its wish for the next time."""
        for turn in self.turns.values():
            is_asked = turn.id in self.wishes or (turn.stop and turn.state in ("queued", "waiting"))
            if is_asked and not self.is_locked(turn.id):
                self.wishes.discard(turn.id)
                self.request_stop(turn.id)
        self.wishes &= self.turns.keys()

    def decide_call(
        self, turn_id: int, call_id: str, decision: str, arguments=None, shown=None
    ) -> None:
        """:param decision: approve_once, approve_always or deny
        :param shown: the rehearsal that the person has seen, None where the decision does not say it
        """
        turn = self._waiting(turn_id)
        call = next((call for call in turn.calls if call.id == call_id and call.is_pending), None)
        if call is None:
            raise NotPossible
        if decision != "deny" and not call.is_as_shown(shown):
            raise NotPossible
        if decision == "approve_always" and call.is_tainted:
            raise NotPossible
        call.approval = "denied" if decision == "deny" else "approved"
        if arguments is not None and arguments != call.arguments:
            call.is_changed, call.arguments = True, arguments
        if decision == "approve_always":
            self.grants.add(self.grant_of(call))
        self.add(turn, [decided(call_id, decision)])
        self.go_on_when_decided(turn)

    def decide_round(self, turn_id: int, decision: str) -> None:
        """:param decision: continue or stop"""
        turn = self._waiting(turn_id)
        if not turn.waiting_round:
            raise NotPossible
        self._settle_round(turn, decision)
        self.go_on_when_decided(turn)

    def _settle_round(self, turn: Turn, decision: str) -> None:
        change = {"confirmed": turn.waiting_round} if decision == "continue" else {"sum_up": True}
        turn.progress = {**turn.progress, **change}
        self.add(turn, [decided(f"round-{turn.waiting_round}", decision)])
        turn.waiting_round = 0

    def answer(self, turn_id: int, question_id: str, action: str, content=None) -> None:
        """:param action: accept, decline or cancel; that somebody has signed in is not said but done"""
        turn = self.turns[turn_id]
        question = self.question(turn, question_id)
        is_asked = turn.state == ("running" if question.is_held else "waiting")
        if question.action or not is_asked or question.call.outcome:
            raise NotPossible
        if question.kind == "sign_in" and action != "decline":
            raise NotPossible
        self._answer(question, action, content)
        self.go_on_when_decided(turn)

    def _answer(self, question: Question, action: str, content=None) -> None:
        """The log of a turn that runs belongs to its runner, so only the answer itself is recorded there."""
        turn = question.call.turn
        question.action, question.answered_at = action, self.now()
        question.content = (content or {}) if action == "accept" else {}
        if turn.state == "waiting":
            self.add(turn, [decided(question.id, action)])
        else:
            self.notify("answered", turn.id)

    def question(self, turn: Turn, question_id: str) -> Question:
        """A question of a turn.

        :raises NotPossible: there is none
        """
        for call in turn.calls:
            for question in call.questions:
                if question.id == question_id:
                    return question
        raise NotPossible

    def sign_in(self, server_id: int, user: int = 1) -> None:
        """The person has signed in: whatever waits for it goes on.

        :param user: number of the person
        """
        for turn in list(self.turns.values()):
            for question in turn.open_questions():
                server = question.call.server
                is_it = question.kind == "sign_in" and server and server.id == server_id
                if is_it and turn.user == user:
                    self._answer(question, "accept")
            self.go_on_when_decided(turn)

    def _waiting(self, turn_id: int) -> Turn:
        turn = self.turns.get(turn_id)
        if turn is None or turn.state != "waiting":
            raise NotPossible
        return turn

    # ------------------------------------------------------------ administrators and crons

    def add_tool(self, tool: Tool) -> Tool:
        """Add a tool, with its server."""
        if tool.server is not None:
            self.servers[tool.server.id] = tool.server
        self.tools[tool.id] = tool
        return tool

    def add_record(self, number: int) -> None:
        """Add a record without a value.

        :param number: its id
        """
        self.records[number] = Record(id=number)

    def switch_tool(self, tool_id: int, is_active: bool) -> None:
        """Switch a tool on or off."""
        self.tools[tool_id].is_active = is_active

    def set_policy(self, tool_id: int, policy: str) -> None:
        """Set the policy of a tool: auto, ask or never."""
        self.tools[tool_id].policy = policy

    def switch_server(self, server_id: int, is_active: bool) -> None:
        """Switch a server on or off; turns that run are told."""
        self.servers[server_id].is_active = is_active
        if not is_active:
            self.notify("server_off", server_id)

    def change_definition(self, tool_id: int) -> None:
        """The server describes the tool in other words: what was asked for before is not made any more."""
        tool = self.tools[tool_id]
        tool.definition = str(int(tool.definition) + 1)

    def write_record(self, number: int, value: str) -> None:
        """Write a record by hand: a call that was to change it would make another change now.

        :param number: its id
        :param value: any text
        """
        self.records[number].put(value)

    def delete_record(self, number: int) -> None:
        """Delete a record by hand.

        :param number: its id
        """
        del self.records[number]

    def delete_tool(self, tool_id: int) -> None:
        """Delete a tool; its calls stay without it."""
        tool = self.tools.pop(tool_id)
        for turn in self.turns.values():
            for call in turn.calls:
                if call.tool is tool:
                    call.tool = None

    def delete_server(self, server_id: int) -> None:
        """Delete a server with its tools; turns that run are told."""
        server: Server = self.servers.pop(server_id)
        for tool in [tool for tool in self.tools.values() if tool.server is server]:
            self.delete_tool(tool.id)
        for turn in self.turns.values():
            for call in turn.calls:
                call.server = None if call.server is server else call.server
        self.notify("server_off", server_id)

    def expire(self) -> None:
        """Deny decisions that were not made in time; a round that was not confirmed ends the turn's calls."""
        for turn in self.turns.values():
            until = turn.waiting_until
            if turn.state != "waiting" or until is None or until >= self.now():
                continue
            for question in turn.open_questions():
                self._answer(question, "expired")
            if turn.waiting_round:
                self._settle_round(turn, "expired")
            for call in turn.calls:
                if call.is_pending:
                    call.approval = "expired"
                    self.add(turn, [decided(call.id, "expired")])
            self.go_on_when_decided(turn)
