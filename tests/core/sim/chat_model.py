"""A language model that says and calls what the seed wants."""

import asyncio
import json
from types import SimpleNamespace

import langchain_core.messages  # noqa: F401 here, because in a world its import would take dice
import langsmith  # noqa: F401

from services.errors import LlmUnavailable


class ChatModel:
    """What the loop of a turn needs of a LangChain chat model. `box` says what a name means."""

    def __init__(self, process, journal, box, functions=()):
        self._world = process.world
        self._process = process
        self._journal = journal
        self._box = box
        self._functions = functions

    def bind_tools(self, functions):
        return ChatModel(self._process, self._journal, self._box, functions)

    async def astream(self, messages):
        world = self._world
        world.asked_model(self._process, self._journal)
        await asyncio.sleep(self._silence())
        if world.luck() < 0.02:
            raise LlmUnavailable
        for _ in range(world.rng.randint(1, 4)):
            yield _chunk("word ")
            await asyncio.sleep(self._silence())
        if world.luck() < 0.02:
            return  # cut: without a reason to have finished
        calls = self._calls(sum(message.type == "ai" for message in messages))
        for index, (name, arguments) in enumerate(calls):
            yield _chunk(call={"name": name, "args": arguments, "index": index, "id": f"c{index}"})
        yield _chunk(finish_reason="tool_calls" if calls else "stop")

    def _silence(self):
        rng = self._world.rng
        return rng.uniform(5, 40) if rng.random() < 0.02 else rng.uniform(0.01, 0.6)

    def _calls(self, step):
        world = self._world
        if not self._functions or step >= world.max_steps:
            return []
        offered = [function["function"]["name"] for function in self._functions]
        on_records = [name for name in offered if self._box.resolve(name)[0].records]
        of_servers = [name for name in offered if name not in on_records]
        wanted = world.rng.choice((0, 1, 2, 2, 3)) if of_servers else 0
        calls = [self._call(of_servers) for _ in range(wanted)]
        if on_records:
            dice = world.record_dice
            calls += [self._on_record(on_records) for _ in range(dice.choice((0, 1, 1, 2)))]
            dice.shuffle(calls)
        return calls

    def _call(self, names):
        world, odd = self._world, self._world.rng.random()
        name = world.rng.choice(names)
        if odd < 0.02:
            return "no_such_tool", "{}"
        if odd < 0.04:
            return name, "{"
        return name, json.dumps({"token": self._token(name)})

    def _on_record(self, names):
        dice = self._world.record_dice
        name = dice.choice(names)
        tool, _ = self._box.resolve(name)
        sends = tool.records == "write" and dice.random() < (0.6 if "action" in name else 0.1)
        record = 1 if self._world.plan.is_crowded else dice.choice((1, 1, 2, 3))
        return name, json.dumps({"token": self._token(name), "record": record, "sends": sends})

    def _token(self, name):
        return self._world.new_token(self._journal.store.name, *self._box.resolve(name))


def _chunk(text="", call=None, finish_reason=None):
    return SimpleNamespace(
        content=text,
        tool_call_chunks=[call] if call else [],
        additional_kwargs={},
        response_metadata={"finish_reason": finish_reason} if finish_reason else {},
        usage_metadata=None,
    )
