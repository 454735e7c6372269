"""A stream reads a log: it starts nothing, repeats nothing, and every reader gets the same."""

import concurrent.futures
import contextlib

from chat import Chat, calls, first, text_of, then

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})
LONG = " ".join(f"word{number}" for number in range(120))


def script(llm, question, **pace):
    llm.script(first(question, calls(TAIPEI)), then(question, {"content": LONG}, **pace))


def test_resume_from_every_position_gives_the_identical_rest(each_odoo, scripted_llm):
    script(scripted_llm, "resume")
    turn = Chat(each_odoo).ask("resume")
    whole = turn.numbered()
    assert [seq for seq, _payload in whole] == list(range(1, len(whole) + 1))
    assert len(whole) > 8
    for position in range(len(whole)):
        assert turn.numbered(after=position) == whole[position:]


def test_readers_that_join_while_it_runs_see_the_same(each_odoo, scripted_llm):
    script(scripted_llm, "together", latency=15, chunkSize=8)
    turn = Chat(each_odoo).ask("together")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(turn.numbered, http=each_odoo.login("user")) for _reader in range(3)]
        late = []
        for seq, _payload in turn.lines():
            if seq % 7 == 3 and len(late) < 3:
                late.append((seq, pool.submit(turn.numbered, seq, http=each_odoo.login("user"))))
        whole = turn.numbered()
        assert late, "the turn ended before anybody could join"
        for reader in readers:
            assert reader.result() == whole
        for seq, reader in late:
            assert reader.result() == whole[seq:]
    assert text_of([payload for _seq, payload in whole]) == LONG


def test_reading_starts_nothing(each_odoo, scripted_llm):
    script(scripted_llm, "harmless")
    turn = Chat(each_odoo).ask("harmless")
    whole = turn.events()
    asked = len(scripted_llm.requests())
    tables = ("ai_turn", "ai_turn_event", "tool_call")
    count = " UNION ALL ".join(f"SELECT COUNT(*) FROM woow_paas_platform_{t}" for t in tables)
    before = each_odoo.sql(count)
    for _time in range(3):
        assert turn.events() == whole
    assert each_odoo.sql(count) == before
    assert len(scripted_llm.requests()) == asked


def test_nothing_left_is_204(each_odoo, scripted_llm):
    script(scripted_llm, "over")
    turn = Chat(each_odoo).ask("over")
    last = turn.numbered()[-1][0]
    answer = turn.chat.http.get(turn.url, headers={"Last-Event-ID": str(last)})
    assert answer.status_code == 204
    assert turn.chat.http.get(f"{turn.url}?after={last}").status_code == 204


def test_a_turn_that_nobody_watches_finishes(each_odoo, scripted_llm):
    script(scripted_llm, "alone")
    chat = Chat(each_odoo)
    turn = chat.ask("alone")
    assert turn.wait_ended() == "done"
    answer = chat.page()["messages"][-1]
    assert LONG in answer["text"]
    assert answer["turn"]["tool_calls"][0]["outcome"] == "ok"


def test_a_stranger_gets_404(each_odoo, scripted_llm):
    script(scripted_llm, "mine")
    turn = Chat(each_odoo).ask("mine")
    turn.events()
    assert each_odoo.session("stranger").get(turn.url).status_code == 404


def test_a_bad_position_is_told(odoo, scripted_llm):
    script(scripted_llm, "position")
    turn = Chat(odoo).ask("position")
    answer = turn.chat.http.get(turn.url, headers={"Last-Event-ID": "x"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_last_event_id"
    turn.wait_ended()


def test_one_person_leaves_threads_for_the_others(odoo, scripted_llm):
    """A threaded server gives a thread to each stream."""
    script(scripted_llm, "generous", latency=60, chunkSize=8)
    turn = Chat(odoo).ask("generous")
    other = Chat(odoo, login="owner").ask("generous")
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(contextlib.closing(odoo.login("user")))
        statuses, open_ones = [], []
        while 503 not in statuses:
            assert len(statuses) < 50, "nobody said stop"
            answer = stack.enter_context(client.stream("GET", turn.url))
            statuses.append(answer.status_code)
            if answer.status_code == 200:
                open_ones.append(answer.iter_lines())  # one that is let go closes its stream
                assert next(open_ones[-1]).startswith("retry")
        assert statuses == [200] * (len(statuses) - 1) + [503]
        assert answer.headers["retry-after"]
        assert next(other.lines())
    assert turn.wait_ended() == "done"
