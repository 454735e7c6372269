"""Questions of people beside runs of server actions, and without them: ``make bench-runs``.

A real Odoo with two workers and a scripted model that takes its time. Twenty people ask, read the answer for a while
and ask again; measured is how long each waits until a runner has claimed the question. Argument: seconds of each half
(60).
"""

import random
import statistics
import sys
import threading
import time

from services.testing.scripted_llm import Reply

from .bed import deployment, new_people
from .figures import ms, none_of, row, run
from .recall import percentile

PEOPLE = 20
SECONDS = 60.0
READING = (3.0, 9.0)  # s between an answer and the next question, drawn for each
RUNS_A_MINUTE = 100
BATCH = 5  # runs that one trigger starts
ANSWER = Reply("word " * 20, gap=0.05)  # 1 s
AIM = 1.0  # s until a runner has claimed a person's question, of 99 %
RUNS = "woow_paas_platform.ai_run"
SCHEDULED = "SELECT COUNT(*) FROM woow_paas_platform_ai_run WHERE state IN ('scheduled', 'started')"
NOTES = "SELECT COUNT(*) FROM mail_message WHERE model = 'res.partner' AND body LIKE '%word word%'"


def report(odoo, llm) -> None:
    """Print both halves, and check that each run has ended once."""
    llm.answer = lambda _body: ANSWER
    people = new_people(odoo, PEOPLE)
    alone = _claims(people)
    action = _action(odoo)
    triggered = 0
    over = threading.Event()

    def trigger():
        nonlocal triggered
        begun = time.monotonic()
        while not over.wait(max(0.0, begun + triggered * 60 / RUNS_A_MINUTE - time.monotonic())):
            names = [{"name": f"Bench {triggered + one}"} for one in range(BATCH)]
            contacts = odoo.rpc("res.partner", "create", names)
            on = {"active_model": "res.partner", "active_ids": contacts}
            odoo.rpc("ir.actions.server", "run", [action], context=on)
            triggered += BATCH

    thread = threading.Thread(target=trigger)
    thread.start()
    beside = _claims(people)
    over.set()
    thread.join()
    waiting = int(odoo.sql(SCHEDULED))
    until = time.monotonic() + 120
    while int(odoo.sql(SCHEDULED)) and time.monotonic() < until:
        time.sleep(0.2)
    for name, claims in (("without runs", alone), ("beside runs", beside)):
        row(
            f"a question is claimed, {name}",
            ms(statistics.median(claims)),
            f"P99 {ms(percentile(claims, 0.99))} of {len(claims)}",
            f"aim of P99 ≤ {ms(AIM)}: {percentile(claims, 0.99) <= AIM}",
        )
    row("runs", str(triggered), f"{waiting} open when the people had ended")
    states = odoo.rpc(RUNS, "search_read", [("action_id", "=", action)], ["state"])
    notes = int(odoo.sql(NOTES))
    none_of(
        lost_runs=triggered - sum(run["state"] == "done" for run in states),
        doubled_runs=len(states) - triggered,
        wrong_notes=abs(notes - triggered),
    )


def _action(odoo) -> int:
    (partner,) = odoo.rpc("ir.model", "search", [("model", "=", "res.partner")])
    (admin,) = odoo.rpc("res.users", "search", [("login", "=", "admin")])
    values = {
        "name": "Bench",
        "state": "woow_ask_assistant",
        "model_id": partner,
        "woow_assistant_id": odoo.rpc("ai.assistant", "search", [], limit=1, order="id")[0],
        "woow_instruction": "Look.",
        "woow_run_as_id": admin,
        "woow_answer_to": "note",
    }
    return odoo.rpc("ir.actions.server", "create", [values])[0]


def _claims(people) -> list[float]:
    """Seconds until a runner has claimed each question that these people ask meanwhile."""
    until, found = time.monotonic() + SECONDS, []

    def live(person, chance):
        while time.monotonic() < until:
            time.sleep(chance.uniform(*READING))
            asked = time.monotonic()
            for when, event in person.events(person.ask()):
                if event["type"] == "state" and event["state"] == "running":
                    found.append(when - asked)

    chances = [random.Random(number) for number in range(len(people))]
    threads = [
        threading.Thread(target=live, args=each) for each in zip(people, chances, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main(arguments: list[str]) -> int:
    global SECONDS  # noqa: PLW0603 as the argument says
    SECONDS = float(arguments[0]) if arguments else SECONDS
    with deployment() as (llm, new_odoo), new_odoo("runs") as odoo:
        return len(run({"runs": lambda: report(odoo, llm)}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
