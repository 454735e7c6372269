"""Price of cost rows: ``make bench-money``, or ``ARGS='turns'`` for one part.

`ledger` folds the rows of many old turns and compares all sums before and after; `pages` opens pages of a year of rows
beside empty ones in a real browser, and asks for their data alone; `update` updates the addon without rows and with
them; `turns` asks with and without cost rows, in turns, in one process.
"""

import statistics
import sys
from functools import partial

from services.testing.scripted_llm import Reply

from .bed import deployment, median_of, took
from .chat import chromium, tab
from .figures import ms, none_of, row, run

TURNS = 100_000  # of the ledger, of two requests each
ROWS = 1_000_000  # of a year
ROUNDS = 15  # of each page
PAIRS = 200  # of turns
CHAT = 25  # pairs of one conversation
PAGES_AIM, TURN_AIM = 1.2, 1.02
SHOWN = {  # address of a page: what is seen when its data are there
    "/odoo/ai-overview": ".o_woow_overview",
    "/odoo/ai-costs": ".o_pivot td, .o_view_nocontent",
    "/odoo/ai-costs?view_type=list": ".o_data_row, .o_view_nocontent",
    "/odoo/ai-costs?view_type=graph": ".o_graph_renderer canvas, .o_view_nocontent",
    "/odoo/ai-costs-by-tool": ".o_pivot td, .o_view_nocontent",
    "/my/ai/usage": "#wrap h1, #wrap h2, #wrap h3",
}
COST = "woow_paas_platform.cost"
TABLE = "woow_paas_platform_cost"
PLACE = 1_000_000_000  # parts of an amount
FILL = f"""
    INSERT INTO {TABLE} (
           key, date, kind, is_retry, is_fallback, user_id, assistant_id, company_id, config_id, provider_name, model,
           step, tool_names, request_count, input_tokens, cached_tokens, output_tokens, amount, currency_id,
           company_amount, has_no_price, is_estimated, state)
    SELECT '{{name}}-' || n,
           now() AT TIME ZONE 'UTC' - interval '{{age}} days' - n * interval '{{days}} days' / {{count}},
           CASE n % 9 WHEN 0 THEN 'summary' WHEN 1 THEN 'test' ELSE 'answer' END, n % 50 = 0, FALSE,
           u[1 + n % cardinality(u)], a[1 + n % cardinality(a)], company, config, 'Test', 'model-' || n % 3,
           n % 4, CASE WHEN n % 2 = 0 THEN 'search' END, 1, n * 37 % 9001, n % 100, n * 17 % 811,
           ROUND((n * 7919::bigint % 1000003)::numeric / {PLACE}, 9), currency,
           ROUND((n * 104729::bigint % 10000019)::numeric / {PLACE}, 9), n % 97 = 0, n % 31 = 0, 'settled'
      FROM generate_series(1, {{count}}) n,
           (SELECT (SELECT array_agg(id) FROM res_users) AS u, (SELECT array_agg(id) FROM ai_assistant) AS a,
                   (SELECT MIN(id) FROM res_company) AS company, (SELECT MIN(id) FROM ai_config) AS config,
                   (SELECT MIN(currency_id) FROM res_company) AS currency) AS known
"""
LEDGER = f"""
    SELECT md5(string_agg(line::text, ' ' ORDER BY line)) FROM (
        SELECT date::date, kind, user_id, assistant_id, model, is_retry, has_no_price, is_estimated, state,
               SUM(request_count), SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), SUM(amount),
               SUM(company_amount)
          FROM {TABLE} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS line
"""
TOTAL = f"SELECT COUNT(*) || ' ' || SUM(request_count) || ' ' || SUM(company_amount) FROM {TABLE}"
FOLD = f"""
import time
env['ir.config_parameter'].set_param('woow_paas_platform.cost_retention_days', '90')
begun, longest = time.monotonic(), 0
while True:
    at = time.monotonic()
    more = env['{COST}']._gc_old()[1]
    env.cr.commit()
    longest = max(longest, time.monotonic() - at)
    if not more:
        break
result = [time.monotonic() - begun, longest]
"""
ASK = """
import time
from odoo.api import Environment
from odoo.addons.woow_paas_platform.models.turn.ai_turn import Question
from odoo.addons.woow_paas_platform.runtime import process
from odoo.addons.woow_paas_platform.runtime.turns.turn_calls import TurnCalls
from odoo.addons.woow_paas_platform.tools import copies

copies.settle(env.cr)  # else the runner and the first question do it at once
env.cr.commit()
user = env.ref('woow_paas_platform.user_user')
Cost, reserve = env.registry['{cost}'], TurnCalls.reserve
process.dedicate()
runner = process.run_turns(env.cr.dbname)

def nothing(*_arguments):
    pass

def switch(is_on):
    TurnCalls.reserve = reserve if is_on else nothing
    for name in ('_settle_for', '_give_up_for'):
        if is_on and name in vars(Cost):
            delattr(Cost, name)
        elif not is_on:
            setattr(Cost, name, nothing)

def conversation():
    with env.registry.cursor() as cr:
        own = Environment(cr, user.id, {{}})
        assistant = own['ai.assistant'].search([], limit=1)
        return own['discuss.channel']._create_ai_conversation(assistant).id

def seconds(channel_id):
    begun = time.monotonic()
    with env.registry.cursor() as cr:
        turn = Environment(cr, user.id, {{}})['discuss.channel'].browse(channel_id)._ask(Question('Hi'))
        turn_id = turn.id
    runner.wake(env.cr.dbname)
    state = ''
    while state not in ('done', 'failed', 'stopped'):
        if time.monotonic() > begun + 60:
            raise TimeoutError(state)
        time.sleep(0.001)
        env.cr.rollback()
        env.cr.execute('SELECT state FROM woow_paas_platform_ai_turn WHERE id = %s', [turn_id])
        (state,) = env.cr.fetchone()
    states.append(state)
    asked.append(turn_id)
    return time.monotonic() - begun

states, asked, found = [], [], {{True: [], False: []}}
for pair in range(-3, {pairs}):
    if pair % {chat} == 0 or pair == -3:
        channel = conversation()
    for is_on in (True, False) if pair % 2 else (False, True):
        switch(is_on)
        took = seconds(channel)
        if pair >= 0:
            found[is_on].append(took)
switch(True)
env.cr.rollback()
env.cr.execute(
    'SELECT COUNT(*), COUNT(*) FILTER (WHERE state = %s) FROM woow_paas_platform_cost WHERE turn_id = ANY(%s)',
    ['settled', asked],
)
rows = env.cr.fetchone()
process.shutdown()
result = {{'with': found[True], 'without': found[False], 'failed': len(states) - states.count('done'), 'rows': rows}}
"""


def fill(odoo, name, count, age, days):
    """Put down settled rows, the youngest `age` days old, spread over so many days before."""
    odoo.sql(FILL.format(name=name, count=count, age=age, days=days))
    odoo.sql(f"VACUUM ANALYZE {TABLE}")


def ledger(odoo, _llm, _browser):
    """Rows of old turns become daily sums, and no sum changes in the ninth place."""
    fill(odoo, "ledger", 2 * TURNS, age=100, days=60)
    before, total = odoo.sql(LEDGER), odoo.sql(TOTAL)
    seconds, longest = odoo.shell(FOLD)
    after, shown = odoo.sql(LEDGER), odoo.sql(TOTAL)
    kept = int(odoo.sql(f"SELECT COUNT(*) FROM {TABLE} WHERE is_sum IS NOT TRUE"))
    odoo.sql(f"DELETE FROM {TABLE}")
    odoo.sql(f"VACUUM FULL {TABLE}")
    (rows, *sums), (left, *same) = total.split(), shown.split()
    row(f"the ledger of {TURNS} turns is the same", str(before == after and sums == same), sums[1])
    row("rows, before and after", f"{rows} → {left}")
    row("folded in", f"{seconds:.1f} s", f"the longest transaction {ms(longest)}")
    none_of(ledgers_changed=int(before != after or sums != same), rows_kept=kept)


def pages(odoo, _llm, browser):
    """Pages, and their data alone, empty and with a year of rows."""
    odoo.sql(f"DELETE FROM {TABLE}")
    empty = opened(odoo, browser)
    fill(odoo, "pages", ROWS, age=0, days=365)
    full = opened(odoo, browser)
    count = odoo.rpc(COST, "search_count", [])
    odoo.sql(f"DELETE FROM {TABLE}")
    for name, seconds in full.items():
        beside = f"empty {ms(empty[name])}, ratio {seconds / empty[name]:.2f}"
        aim = f"≤ {PAGES_AIM}" if name in SHOWN else ""
        row(f"{name}, {ROWS} costs", ms(seconds), beside, aim)
    none_of(rows_not_seen=ROWS - count)


def update(odoo, _llm, _browser):
    """Update of the addon, empty and with a year of rows."""
    odoo.sql(f"DELETE FROM {TABLE}")
    odoo.process.stop()
    empty = took(odoo.update)
    fill(odoo, "update", ROWS, age=0, days=365)
    full = took(odoo.update)
    kept = int(odoo.sql(f"SELECT COUNT(*) FROM {TABLE}"))
    odoo.sql(f"DELETE FROM {TABLE}")
    odoo.restart()
    row(f"update, {ROWS} costs", f"{full:.1f} s", f"empty {empty:.1f} s, ratio {full / empty:.2f}")
    none_of(rows_lost=ROWS - kept)


def opened(odoo, browser):
    """``{page: median of its seconds}``; the last ones are data alone, asked for as by the web client."""
    with tab(odoo, browser, "admin") as page:
        found = {
            address: median_of(partial(until_seen, page, address, what), ROUNDS + 1)
            for address, what in SHOWN.items()
        }
    return {**found, **asked(odoo)}


def until_seen(page, address, what):
    """Seconds from the navigation to the data."""
    page.goto("about:blank")

    def look():
        page.goto(address, wait_until="commit")
        page.locator(what).first.wait_for()

    return took(look)


def asked(odoo):
    """``{name: median of its seconds}`` of requests for data, with the default filter."""
    domain = [("date", ">=", "today -30d")]
    measures = ["company_amount", "request_count", "input_tokens", "output_tokens"]
    shown = {name: {} for name in ("date", "kind", "model", *measures)}
    shown |= {name: {"fields": {"display_name": {}}} for name in ("user_id", "assistant_id")}
    read = partial(odoo.rpc, COST)
    found = {
        "data of the list": lambda: read(
            "web_search_read", domain, shown, limit=50, offset=0, count_limit=10001
        ),
        "data of the pivot": lambda: read(
            "formatted_read_grouping_sets",
            domain,
            [[], ["assistant_id"]],
            ["__count", *(f"{name}:sum" for name in measures)],
        ),
        "data of the overview": lambda: odoo.rpc("woow_paas_platform.overview", "get_overview"),
    }
    for request in found.values():
        request()
    return {name: median_of(partial(took, request), ROUNDS) for name, request in found.items()}


def turns(odoo, llm, _browser):
    """Question → end, with cost rows and without, by turns."""
    llm.answer = lambda _body: Reply("Hello.")
    told = odoo.shell(ASK.format(cost=COST, pairs=PAIRS, chat=CHAT))
    with_them, without = (statistics.median(told[kind]) for kind in ("with", "without"))
    row(f"{PAIRS} turns with costs", ms(with_them), f"without {ms(without)}")
    row("ratio", f"{with_them / without:.3f}", "", f"≤ {TURN_AIM}")
    rows, settled = told["rows"]
    none_of(
        turns_failed=told["failed"], rows_missing=PAIRS + 3 - rows, rows_not_settled=rows - settled
    )


PARTS = {"ledger": ledger, "pages": pages, "update": update, "turns": turns}


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"No such part: {', '.join(sorted(unknown))}. There are {', '.join(PARTS)}.")
    with (
        deployment() as (llm, new_odoo),
        # the turns are taken by the process that asks
        new_odoo("money", {"in_process_runner": False}) as odoo,
        chromium() as browser,
    ):
        parts = {name: partial(PARTS[name], odoo, llm, browser) for name in chosen or PARTS}
        failed = run(parts)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main(sys.argv[1:])
