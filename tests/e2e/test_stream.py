"""A stream reads a log: it starts nothing, repeats nothing, and every reader gets the same."""

import concurrent.futures
import contextlib
import http.client
import json
import re
import signal
import socket
import time

import httpx
import psutil
import pytest
from chat import Chat, calls, first, text_of, then
from counter import SERVERS
from waiting import PATIENCE, eventually

from dev.servers.odoo_server import answers

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
    script(scripted_llm, "generous", latency=500, chunkSize=8)  # lasts until it is stopped
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
    for each in (turn, other):
        each.stop()
        assert each.wait_ended() == "stopped"


LIMIT = 10  # s that a request may take
LOG = "woow_paas_platform_ai_turn_event"


def lengthen(turn, number, size):
    """Events of so many bytes before the final one of a turn that is over."""
    last = int(turn.value(f"(SELECT MAX(seq) FROM {LOG} WHERE turn_id = {turn.id})"))
    turn.chat.odoo.sql(
        f"UPDATE {LOG} SET seq = {last + number} WHERE turn_id = {turn.id} AND seq = {last}"
    )
    turn.chat.odoo.sql(
        f"""
        INSERT INTO {LOG} (turn_id, seq, payload)
        SELECT {turn.id}, {last} + n, jsonb_build_object('type', 'noise', 'content', (
               SELECT string_agg(md5(n::text || part), '') FROM generate_series(1, {size // 32}) part))
          FROM generate_series(0, {number - 1}) n
        """
    )


def unread(odoo, turn, number, after=0, room=4096, port=None):
    """Connections that ask for this stream and take nothing of it.

    :param room: bytes that the client's side of each keeps
    """
    cookie = odoo.session("user").cookies["session_id"]
    asked = []
    for _stream in range(number):
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        line.connect(("127.0.0.1", port or odoo.process.port))
        line.sendall(
            f"GET {turn.url}?after={after} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: session_id={cookie}\r\n\r\n".encode()
        )
        asked.append(line)
    return asked


def is_held(process, line):
    """Whether the server still has its side of a connection."""
    port = line.getsockname()[1]
    return any(
        other.raddr and other.raddr.port == port and other.status == psutil.CONN_ESTABLISHED
        for other in process.net_connections("tcp")
    )


class TestSlowReaders:
    @pytest.fixture(scope="class")
    def hurried(self, new_odoo):
        options = {"limit_time_real": LIMIT, "limit_time_real_cron": 600}
        return new_odoo("hurried", options=options)

    @pytest.fixture
    def long_turn(self, hurried, scripted_llm):
        script(scripted_llm, "long")
        turn = Chat(hurried).ask("long")
        turn.wait_ended()
        lengthen(turn, 40, 256 * 1024)
        return turn

    def test_who_reads_nothing_is_let_go_before_odoo_reloads(self, hurried, long_turn):
        process = psutil.Process(hurried.process.pid)
        lines = unread(hurried, long_turn, 3)
        eventually(lambda: any(is_held(process, line) for line in lines))
        eventually(lambda: not any(is_held(process, line) for line in lines))
        assert httpx.get(f"{hurried.url}/web/login", timeout=PATIENCE).status_code == 200
        assert "time limit" not in hurried.log_text()
        assert "Exception happened" not in hurried.log_text()
        for line in lines:
            line.close()

    def test_odoo_starts_itself_anew(self, hurried):
        """As after a reload, with the Python that it had."""
        log = len(hurried.log_text())
        hurried.process.signal(signal.SIGHUP)
        eventually(lambda: "HTTP service (werkzeug) running" in hurried.log_text()[log:])
        eventually(lambda: answers(hurried.process.port, "/web/login"))

    def test_who_reads_slowly_gets_everything(self, hurried, long_turn):
        seen, connections = [], 0
        while not seen or seen[-1][1]["type"] != "done":
            connections += 1
            seen += slowly(hurried, long_turn, seen[-1][0] if seen else 0)
        assert seen == long_turn.numbered()
        assert connections > 1
        assert "time limit" not in hurried.log_text()


class TestUnreadStreams:
    STREAMS = 60
    MEMORY = 100  # MB that they may take together
    LENGTH = 250_000  # characters of four bytes of an event that all of them are shown live
    LIVE = 20  # MB that they may take together then

    @pytest.fixture
    def gevent(self, odoo_prefork):
        return next(
            child
            for child in psutil.Process(odoo_prefork.process.pid).children()
            if "gevent" in child.cmdline()
        )

    def test_they_take_little_memory_and_nobody_elses_stream(
        self, odoo_prefork, gevent, scripted_llm
    ):
        odoo = odoo_prefork
        script(scripted_llm, "unread")
        turn, other = Chat(odoo).ask("unread"), Chat(odoo, login="owner").ask("unread")
        for each in (turn, other):
            each.wait_ended()
        lengthen(turn, 80, 256 * 1024)
        turn.numbered()
        before = gevent.memory_info().rss
        with contextlib.ExitStack() as stack:
            for line in unread(odoo, turn, self.STREAMS, port=odoo.process.gevent_port):
                stack.enter_context(line)
                line.settimeout(PATIENCE)
                assert b" 200 " in line.recv(16)
            assert other.numbered()[-1][1]["type"] == "done"
            taken = (gevent.memory_info().rss - before) >> 20
        assert gevent.is_running()
        assert taken <= self.MEMORY, f"{taken} MB"

    def test_those_of_a_turn_that_runs_share_an_event(
        self, odoo_prefork, gevent, scripted_llm, counter
    ):
        odoo = odoo_prefork
        wanted = {"id": "shown", "until": "shown.go", "length": self.LENGTH}
        scripted_llm.script(
            first("shown", calls((f"{counter.name}__count", wanted))),
            then("shown", {"content": "Shown."}),
        )
        server = counter.register(odoo)
        try:
            turn = Chat(odoo).ask("shown")
            turn.until("tool_call")
            with contextlib.ExitStack() as stack:
                lines = unread(odoo, turn, self.STREAMS, port=odoo.process.gevent_port)
                for line in lines:
                    stack.enter_context(line)
                    line.settimeout(PATIENCE)
                    read_to(line, b"tool_call")
                before = gevent.memory_info().rss
                counter.release("shown.go")
                for line in lines:
                    read_to(line, "🐢".encode())
                taken = (gevent.memory_info().rss - before) >> 20
                assert turn.numbered()[-1][1]["type"] == "done"
        finally:
            odoo.rpc(SERVERS, "unlink", [server])
        assert taken <= self.LIVE, f"{taken} MB"


def read_to(line, mark):
    """The first bytes of a stream, up to this mark."""
    seen = b""
    while mark not in seen:
        received = line.recv(1024)
        assert received, seen[-200:]
        seen += received


def slowly(odoo, turn, after, rate=500_000):
    """The whole events of one request, at so many bytes a second."""
    (line,) = unread(odoo, turn, 1, after, 64 * 1024)
    received = b""
    with line, contextlib.closing(http.client.HTTPResponse(line)) as answer:
        answer.begin()
        assert answer.status == 200
        while data := answer.read1():
            received += data
            time.sleep(len(data) / rate)
    return [
        (int(block.split(b"\n")[0][4:]), json.loads(block.split(b"data: ", 1)[1]))
        for block in received.split(b"\n\n")[:-1]
        if block.startswith(b"id: ")
    ]


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "found"])
def test_the_first_stream_after_a_start_waits_for_no_registry(new_odoo, is_named):
    """The gevent process has the database before anybody asks it for a stream: from the start where Odoo's settings
    name it, else from the first page on."""
    # Its crons would run in the databases of all tests.
    options = {} if is_named else {"db_name": "", "max_cron_threads": 0}
    odoo = new_odoo("warm", workers=2, options=options)
    if not is_named:
        odoo.instance.database = ""
        odoo.restart()  # it waits until the first page was shown
    master = psutil.Process(odoo.process.pid)

    def has_loaded():
        [gevent] = [one for one in master.children() if "gevent" in one.cmdline()]
        return re.search(rf" {gevent.pid} INFO .*Registry loaded", odoo.log_text())

    eventually(has_loaded)
