"""Two users with two conversations each, all at once on one server that remembers: nobody sees another's state."""

import asyncio
import random

import pytest
from conftest import spec_of

CALLS = 1_000
USERS = ("key of Ann", "key of Bob")
CONVERSATIONS = (1, 2)


@pytest.mark.parametrize("kind", ["json", "stream"])
async def test_interleaved_calls_see_their_own_state_only(kind, fake, pool):
    fake.stream = kind == "stream"
    owners: dict[str, set] = {}

    async def remember(call):
        """Counts per session, and says who it thinks is calling."""
        who = (call.headers["authorization"], call.arguments["conversation"])
        owners.setdefault(call.session, set()).add(who)
        call.fake.counts[call.session] = call.fake.counts.get(call.session, 0) + 1
        await asyncio.sleep(0)
        count = call.fake.counts[call.session]
        return {"content": [{"type": "text", "text": f"{call.arguments['token']} {count}"}]}

    fake.tools["remember"] = (remember, {"type": "object"})
    chats = [(key, conversation) for key in USERS for conversation in CONVERSATIONS]
    work = chats * (CALLS // len(chats))
    random.Random(7).shuffle(work)
    seen: dict[tuple, list[int]] = {chat: [] for chat in chats}
    at_once = asyncio.Semaphore(12)

    async def one(number, chat):
        key, conversation = chat
        token = f"{key}/{conversation}/{number}"
        async with at_once:
            arguments = {"token": token, "conversation": conversation}
            spec = spec_of(fake, api_key=key)
            result = await pool.call(spec, conversation, "remember", arguments, timeout=60)
        said, _, count = result["content"][0]["text"].rpartition(" ")
        assert said == token
        seen[chat].append(int(count))

    await asyncio.gather(*(one(number, chat) for number, chat in enumerate(work)))
    assert pool.opened == len(chats) and len(owners) == len(chats)
    assert all(len(who) == 1 for who in owners.values())
    for counts in seen.values():
        assert max(counts) == CALLS // len(chats)
