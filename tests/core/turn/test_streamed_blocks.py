"""Text and blocks of a stream, as the reducer of the browser puts them together (static/src/turn/turn_events.js)."""

import pytest
from turns import turn

from services.render import markdown
from services.testing.scripted_llm import Reply, ScriptedLlm, chunk


def replayed(events):
    """What the browser has after each event: ``[(text of the item, whether it is a finished block)]``."""
    items, states = [], []
    for event in events:
        if event["type"] == "state" and "step" in event:
            items = []
        elif event["type"] == "text":
            if items and not items[-1][1]:
                items[-1] = (items[-1][0] + event["content"], False)
            else:
                items = [*items, (event["content"], False)]
        elif event["type"] == "text_block":
            whole = "".join(text for text, is_done in items if not is_done)
            items = [*(item for item in items if item[1]), (whole, True)]
        states.append(list(items))
    return states


async def answered(*deltas):
    reply = Reply(raw=tuple(chunk({"content": delta}) for delta in deltas))
    async with ScriptedLlm(reply) as llm:
        done = await turn(llm)
    assert done.result.text == "".join(deltas) and done.result.state == "done"
    return done.journal


@pytest.mark.parametrize(
    "deltas",
    [
        ("Para one.\n\nPara tw", "o goes on.\n\n- it", "em"),
        ("- a\n\n2024", " was", " good.\n\nEnd"),
        ("- a\n\n-", " b\n\n1", ". c\n\n**", "d**"),
        ("# Head\nText\n\n```\na\n\nb\n``", "`\nAf", "ter"),
        ("One\n\nTwo\n\nThree\n\nFo", "ur"),
        ("- a\n\n", "7"),
    ],
)
async def test_each_block_has_its_own_text(deltas):
    journal = await answered(*deltas)
    whole = "".join(deltas)
    assert journal.text == whole
    states = replayed(journal.events)
    sources = markdown.blocks(whole)
    assert [(text.strip(), is_done) for text, is_done in states[-1]] == [
        (source.strip(), True) for source in sources
    ]
    said = ""
    for event, items in zip(journal.events, states, strict=True):
        said += event.get("content", "") if event["type"] == "text" else ""
        assert "".join(text for text, _is_done in items) == said
        finished = [text.strip() for text, is_done in items if is_done]
        assert finished == [source.strip() for source in sources[: len(finished)]]


async def test_what_is_held_back_comes_with_the_next_delta_or_at_the_end():
    journal = await answered("- a\n\n1", "2", " apples")
    assert [one["content"] for one in journal.of("text")] == ["- a\n\n", "12 apples"]
    journal = await answered("- a\n\n12")
    assert [one["content"] for one in journal.of("text")] == ["- a\n\n", "12"]
