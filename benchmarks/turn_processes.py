"""What processes cost and bring: the memory of a worker, the throughput of two runners over one."""

import signal
import time

import psutil

from services.testing.scripted_llm import Reply

from .bed import TIME, TURN_TABLE, Person, page, wait_for
from .figures import none_of, row

OPEN = "'queued', 'running'"
PROCESSES = (1, 2)
TURNS = 60  # of the comparison of one runner with two
# What turns are asked with: seconds of each of the model's two answers, turns of a process at a time.
KINDS = {"a model that answers at once": (0, 24), "2 s a turn": (1, 4)}


def runners(odoo, llm):
    """Throughput of one and two `odoo-bin ai_runner` processes: short turns with one call each.

    Once with a model that answers at once, so that turns cost processor time only, and once with one that
    takes its time as real ones do, so that the places of a process are what limits it.
    """
    people = [Person(odoo) for _person in range(TURNS)]
    for what, (wait, places) in KINDS.items():
        llm.answer = lambda body, wait=wait: (
            Reply("Late.", wait=wait)
            if body["messages"][-1]["role"] == "tool"
            else Reply(calls=[TIME], wait=wait)
        )
        for number in PROCESSES:
            rate = throughput(odoo, people, number, places)
            row(f"{number} ai_runner, {what}", f"{rate:.1f} turns/s", f"{places} slots each")


def throughput(odoo, people, number, places):
    """Turns a second of `number` processes that are warm and find a full queue."""
    started = [
        odoo.start_runner(f"bench{number}{places}{index}", runner_capacity=places)
        for index in range(number)
    ]
    for process in started:
        process.wait_until(lambda p=process: "serves" in p.log.read_text(), timeout=60)
    for person in people[: number * 4]:  # each loads LangChain once
        person.ask()
    wait_for(odoo, OPEN, lambda left: left == 0)
    for process in started:
        process.popen.send_signal(signal.SIGSTOP)
    asked = [person.ask()["turn_id"] for person in people]
    begun = time.monotonic()
    for process in started:
        process.popen.send_signal(signal.SIGCONT)
    wait_for(odoo, OPEN, lambda left: left == 0)
    rate = len(people) / (time.monotonic() - begun)
    for process in started:
        process.stop()
    of_these = f"FROM {TURN_TABLE} WHERE id IN ({', '.join(map(str, asked))})"
    done = int(odoo.sql(f"SELECT COUNT(*) {of_these} AND state = 'done'"))
    none_of(turns_not_done=len(asked) - done)
    return rate


def memory(odoo, _llm):
    """Workers that have served pages and no chat; another one after its first turn."""
    workers = [
        process
        for process in psutil.Process(odoo.process._odoo.pid).children()
        if "gevent" not in process.cmdline()
    ]
    page(odoo)
    quiet = min(process.memory_info().rss for process in workers) >> 20
    person = Person(odoo)
    list(person.events(person.ask()))
    chatted = max(process.memory_info().rss for process in workers) >> 20
    row(
        "memory of a process that has not chatted",
        f"{quiet} MB",
        f"after its first turn {chatted} MB",
    )
