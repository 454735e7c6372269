"""What people and administrators do: they ask, stop, decide, answer, sign in, change their minds."""

import contextlib

from services.testing.model_store import FINAL, NotPossible, Server, Tool

RECORDS = (1, 2, 3)
ON_RECORDS = (  # number, name, what it does, whether it is an action
    (31, "read_record", "read", False),
    (32, "change_record", "write", False),
    (33, "run_action", "write", True),
)


class People:
    def __init__(self, world):
        self.world = world
        self.rng = world.rng
        self.approved = {}  # token -> [(when, what was allowed: (database, server, tool, arguments))]
        self.signed_in = {}  # (database, server) -> until when
        self.numbers = dict.fromkeys(world.databases, 0)

    def begin(self):
        for database in self.world.databases.values():
            self._furnish(database)
        names = sorted(self.world.databases)
        for _ in range(self.world.plan.turns):
            database = self.world.databases[self.rng.choice(names)]
            self.world.at(self.rng.uniform(0, 30), self._ask, database)
        for _ in range(self.rng.randint(0, 3)):
            database = self.world.databases[self.rng.choice(names)]
            self.world.at(self.rng.uniform(0, 60), self._administer, database)
        if self.world.plan.has_records:
            for database in self.world.databases.values():
                self._furnish_records(database)

    def _furnish(self, database):
        """The same servers in each database, as two tenants use the same public one."""
        for number in (1, 2):
            dice = self.world.definition_dice
            server = Server(
                id=number,
                trust=self.rng.choice(("none", "annotations")),
                is_reviewed=dice.random() < 0.6,
            )
            if dice.random() < 0.5:
                self.world.at(dice.uniform(0, 60), setattr, server, "is_reviewed", True)
            for index in range(2):
                tool_id = number * 10 + index
                database.add_tool(
                    Tool(
                        id=tool_id,
                        is_closed=self.world.taint_dice.random() < 0.7,
                        server=server,
                        name=f"tool{tool_id}",
                        alias=f"alias{tool_id}",
                        policy=self.rng.choice(("auto", "auto", "ask")),
                        is_harmless=self.rng.random() < 0.2,
                    )
                )

    def _furnish_records(self, database):
        dice = self.world.record_dice
        for number in RECORDS:
            database.add_record(number)
        for number, name, effect, is_action in ON_RECORDS:
            asks = 0.3 if self.world.plan.is_crowded else 0.7
            policy = "ask" if effect == "write" and dice.random() < asks else "auto"
            database.add_tool(
                Tool(
                    id=number,
                    server=None,
                    name=name,
                    alias=name,
                    policy=policy,
                    records=effect,
                    is_action=is_action,
                )
            )
        for _ in range(dice.randint(0, 6)):
            self.world.at(dice.uniform(0, 60), self._write, database, dice.choice(RECORDS))

    def _write(self, database, record):
        """Somebody else writes a record, or deletes it, when nobody keeps its row."""
        dice = self.world.record_dice
        if keeper := database.keeper(record):
            self.world.at(keeper.goes_on(), self._write, database, record)
        elif record in database.records:
            self.world.tell("somebody", f"writes in {database.name}", record)
            if dice.random() < 0.05:
                database.delete_record(record)
            else:
                database.write_record(record, f"by hand at {self.world.now:.3f}")

    # ------------------------------------------------------------ the person of a turn

    def next_number(self, database):
        self.numbers[database.name] += 1
        return self.numbers[database.name]

    def _ask(self, database):
        number = self.next_number(database)
        channel = number - 1 if number > 1 and self.rng.random() < 0.4 else number
        is_late = self.rng.random() < 0.2
        database.post(
            number,
            channel,
            self.rng.choice((1, 2)),
            is_visible=not is_late,
            steers=channel != number and number % 2 == 0,
        )
        self.world.tell("person", f"asks in {database.name}", number)
        if is_late:
            self.world.after(self.rng.uniform(0.01, 2), self._becomes_visible, database, number)
        if self.rng.random() < 0.25:
            self.world.after(self.rng.uniform(0, 30), self.stop, database, number)
        if self.rng.random() < 0.03:
            self.world.after(self.rng.uniform(0, 40), self.delete, database, number)
        self.world.after(self.rng.uniform(0.5, 10), self.look, database, number)

    def _becomes_visible(self, database, number):
        if turn := database.turns.get(number):
            turn.is_visible = True
            database.notify("queued", number)

    def stop(self, database, number):
        if number in database.turns:
            is_locked = self.world.luck() < 0.1
            if database.turns[number].state not in FINAL:
                self.world.stops.setdefault((database.name, number), self.world.now)
            state = database.request_stop(number, is_locked=is_locked)
            self.world.tell("person", f"stops in {database.name}", number, state)

    def delete(self, database, number):
        turn = database.turns.get(number)
        if any(tried.claim.turn_id == number for tried in database.tries):
            self.world.after(0.5, self.delete, database, number)
        elif turn and turn.state not in FINAL:
            self.world.tell("person", f"deletes in {database.name}", number)
            database.delete_conversation(turn.channel)

    def look(self, database, number):
        """Look at the turn from time to time, and do something about what it asks."""
        turn = database.turns.get(number)
        if turn is None or turn.state in FINAL:
            return
        self.world.after(self.rng.uniform(0.5, 10), self.look, database, number)
        questions = [q for call in turn.open_calls() for q in call.questions if not q.action]
        pending = [call for call in turn.calls if call.is_pending]
        try:
            if turn.state == "waiting" and turn.waiting_round:
                database.decide_round(number, self.rng.choice(("continue", "continue", "stop")))
            elif turn.state == "waiting" and pending and self.rng.random() < 0.8:
                self._decide(database, turn, self.rng.choice(pending))
            elif questions and self.rng.random() < 0.8:
                self._answer(database, turn, self.rng.choice(questions))
            elif turn.state == "waiting" and self.rng.random() < 0.1:
                turn.waiting_until = self.world.now - 1
                database.expire()
        except NotPossible:
            pass

    def _decide(self, database, turn, call):
        decision = self.rng.choice(("approve_once", "approve_once", "deny"))
        arguments = None
        if call.records and self.world.record_dice.random() < 0.2 and decision != "deny":
            decision = "approve_always"
        if call.records and self.world.record_dice.random() < 0.3:
            self._write(database, call.arguments["record"])
        if decision != "deny" and self.rng.random() < 0.2:
            arguments = {**call.arguments, "changed": True}
        shown = call.rehearsal or {}
        if call.records and self.world.record_dice.random() < 0.3:
            delay = self.world.record_dice.uniform(0, 10)
            self.world.after(delay, self._decide_late, database, call, decision, arguments, shown)
        else:
            self._allow(database, call, decision, arguments, shown)

    def _decide_late(self, *decision):
        """A second tab, or a request that was repeated: by now something else may be asked."""
        with contextlib.suppress(NotPossible):
            self._allow(*decision)

    def _allow(self, database, call, decision, arguments, shown):
        turn, tool, said = call.turn, call.tool, arguments or call.arguments
        database.decide_call(turn.id, call.id, decision, arguments, shown)
        self.world.observe_decision(database, call, decision, shown)
        self.world.tell("person", f"decides in {database.name}", call.id, decision)
        if decision != "deny" and tool is not None and tool.server and "token" in said:
            self.note_approval(said["token"], (database.name, tool.server.id, tool.name, said))

    def note_approval(self, token, what):
        self.approved.setdefault(token, []).append((self.world.now, what))

    def _answer(self, database, turn, question):
        action = self.rng.choice(("accept", "accept", "decline"))
        world, call = self.world, question.call
        if question.kind == "sign_in" and action == "accept":
            if call.tool is not None:
                self._sign_in(database.name, call.tool.server.id)
        else:
            database.answer(turn.id, question.id, action, {})
            if question.kind == "url" and action == "accept":
                world.visited.add(call.arguments["token"])
        world.tell("person", f"answers in {database.name}", question.id, action)

    def is_signed_in(self, name, server):
        return self.world.now < self.signed_in.get((name, server), -1)

    def hear_of_sign_in(self, name, server):
        """Some sign in elsewhere, before the turn that needs it has asked them."""
        if self.rng.random() < 0.5:
            self.world.after(self.rng.uniform(0, 3), self._sign_in, name, server)

    def _sign_in(self, name, server):
        """For a while, and for the calls of both people that wait for it."""
        self.world.tell("person", f"signs in in {name}", server)
        self.signed_in[name, server] = self.world.now + self.rng.uniform(1, 20)
        for user in (1, 2):
            self.world.databases[name].sign_in(server, user)

    # ------------------------------------------------------------ administrators

    def _administer(self, database):
        if self.world.is_calm or not database.tools:
            return
        act = self.rng.choice(ACTS)
        tool = database.tools[self.rng.choice(sorted(database.tools))]
        if tool.records and act not in OF_RECORDS:
            act = People.switch_tool
        self.world.tell("administrator", f"{act.__name__} in {database.name}", tool.id)
        act(self, database, tool)

    def switch_tool(self, database, tool):
        database.switch_tool(tool.id, not tool.is_active)

    def switch_server(self, database, tool):
        database.switch_server(tool.server.id, not tool.server.is_active)

    def change_definition(self, database, tool):
        database.change_definition(tool.id)

    def change_policy(self, database, tool):
        tool.policy = self.rng.choice(("auto", "ask", "never" if tool.server else "ask"))

    def swap_names(self, database, tool):
        """What one tool was called before another one is called now."""
        others = sorted(number for number, one in database.tools.items() if one.server)
        other = database.tools[self.rng.choice(others)]
        tool.alias, other.alias = other.alias, tool.alias

    def delete_tool(self, database, tool):
        database.delete_tool(tool.id)

    def delete_server(self, database, tool):
        database.delete_server(tool.server.id)


ACTS = (
    People.switch_tool,
    People.switch_server,
    People.change_definition,
    People.change_policy,
    People.swap_names,
    People.swap_names,
    People.delete_tool,
    People.delete_server,
)
OF_RECORDS = (People.switch_tool, People.change_definition)
