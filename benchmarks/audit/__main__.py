"""What the audit log costs acts of many at once: ``make bench-audit``, or ``ARGS=10`` for seconds of each side.

Sixteen clients decide on tool calls, each in transactions of its own, as fast as one process can; in turns with the
log and without it.
"""

import statistics
import sys

from ..bed import deployment
from ..figures import none_of, row

CLIENTS = 16
SECONDS = 5
ROUNDS = 3
AIM = 10  # % of the commits that may be lost
SCRIPT = """
import threading, time
from odoo.api import Environment
from odoo.addons.woow_paas_platform.models.turn.ai_turn import Question

AUDIT = 'woow_paas_platform.audit_entry'
user = env.ref('woow_paas_platform.user_user')
Assistant = env['ai.assistant'].with_user(user)
channels = [
    env['discuss.channel'].with_user(user)._create_ai_conversation(Assistant.search([], limit=1))
    for _client in range({clients})
]
calls = []
for number, channel in enumerate(channels):
    turn = channel._ask(Question('Hi')).sudo()
    turn.write({{'state': 'done'}})
    calls.append(env['woow_paas_platform.tool_call'].create({{
        'turn_id': turn.id, 'user_id': user.id, 'call_id': f'bench_{{number}}_{{turn.id}}', 'tool_name': 'x',
    }}).id)
env.cr.commit()
Entry, failed = env.registry[AUDIT], []

def decide(call_id, until, done):
    while time.monotonic() < until:
        try:
            with env.registry.cursor() as cr:
                own = Environment(cr, user.id, {{}})
                own['woow_paas_platform.tool_call'].sudo().browse(call_id)._decide('deny')
            done.append(1)
        except Exception as error:
            failed.append(repr(error))
            return

def measure():
    done, until = [], time.monotonic() + {seconds}
    threads = [threading.Thread(target=decide, args=(one, until, done)) for one in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)

rounds = []
for _round in range({rounds}):
    with_log = measure()
    Entry._record_act = lambda *_args, **_codes: None
    try:
        without = measure()
    finally:
        del Entry._record_act
    rounds.append([with_log, without])
env.cr.rollback()
check, problems = env['woow_paas_platform.audit_checkpoint']._check()
found = [one.sentence for one in problems]
result = {{'rounds': rounds, 'failed': failed, 'problems': found, 'entries': check.entries}}
"""


def measure(odoo, seconds=SECONDS, rounds=ROUNDS):
    """Percent of the commits that the log costs.

    :raises Missed: an act failed, has no entry, or the log is not right
    """
    script = SCRIPT.format(clients=CLIENTS, seconds=seconds, rounds=rounds)
    told = odoo.shell(script)
    acts = sum(with_log for with_log, _without in told["rounds"])
    none_of(
        failed_acts=len(told["failed"]),
        problems=len(told["problems"]),
        acts_without_entry=max(0, acts - told["entries"]),
    )
    with_log, without = (
        statistics.median(side) / seconds for side in zip(*told["rounds"], strict=True)
    )
    lost = 100 * (1 - with_log / without)
    row(f"commits a second, {CLIENTS} clients", f"{with_log:.0f}", f"without the log {without:.0f}")
    row("  lost", f"{lost:.1f} %", "", f"at most {AIM} %")
    return lost


def main(arguments):
    seconds = int(arguments[0]) if arguments else SECONDS
    with deployment() as (_llm, new_odoo), new_odoo("audit") as odoo:
        measure(odoo, seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
