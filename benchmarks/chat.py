"""How fast the chat is in a real Chromium: ``make bench-chat``.

It weighs what pages load first, opens an empty conversation, then one of a thousand messages, and watches the frames
of the page while an answer of five thousand tokens streams in, beside the same page idle.
"""

import contextlib
import statistics

from playwright.sync_api import sync_playwright

from dev.setup import chromium as setup_chromium
from services.testing.scripted_llm import Reply

from .bed import TIME, TURN_TABLE, Person, deployment
from .figures import none_of, row

MESSAGES = 1_000
TOKENS = 5_000
TOKEN = 4  # characters
GAP = 0.002  # s between two tokens
OPENINGS = 7
IDLE = 5  # s
PART = """## A part of the answer

A paragraph with **bold**, *italic* and `code`, a [link](https://example.com/page) and some more words to read.

| harbour | depth | open |
|---|---|---|
| Keelung | 15.5 m | yes |
| Kaohsiung | 16.5 m | yes |

- [x] read the table
- [ ] read the code

```python
def depth(harbour: str) -> float:
    # what the table says
    return {"Keelung": 15.5, "Kaohsiung": 16.5}[harbour]
```

"""
LONG = PART * (TOKENS * TOKEN // len(PART) + 1)

# Copies a conversation's only turn, each with its two messages and its calls; ids of calls are made unique.
COPY = f"""
CREATE TEMP TABLE copies AS SELECT g, t.id AS turn, t.message_id AS question, t.answer_message_id AS answer
  FROM {TURN_TABLE} t, generate_series(1, %(copies)s) g WHERE t.channel_id = %(channel)s;
CREATE TEMP TABLE bases AS SELECT (SELECT MAX(id) FROM mail_message) AS message,
       (SELECT MAX(id) FROM {TURN_TABLE}) AS turn, (SELECT MAX(id) FROM woow_paas_platform_tool_call) AS call;
INSERT INTO mail_message SELECT new.* FROM copies, bases, mail_message m, LATERAL jsonb_populate_record(m,
       jsonb_build_object('id', bases.message + 2 * g - (m.id = question)::int)) new
 WHERE m.id IN (question, answer);
INSERT INTO {TURN_TABLE} SELECT new.* FROM copies, bases, {TURN_TABLE} t, LATERAL jsonb_populate_record(t,
       replace(to_jsonb(t)::text, '%(call)s', '%(call)s-' || g)::jsonb || jsonb_build_object('id', bases.turn + g,
       'message_id', bases.message + 2 * g - 1, 'answer_message_id', bases.message + 2 * g, 'client_token', NULL)) new
 WHERE t.id = copies.turn;
INSERT INTO woow_paas_platform_tool_call SELECT new.* FROM copies, bases, woow_paas_platform_tool_call c,
       LATERAL jsonb_populate_record(c, jsonb_build_object('id', bases.call + g, 'turn_id', bases.turn + g,
       'call_id', c.call_id || '-' || g)) new
 WHERE c.turn_id = copies.turn;
SELECT setval('mail_message_id_seq', (SELECT MAX(id) FROM mail_message)),
       setval('{TURN_TABLE}_id_seq', (SELECT MAX(id) FROM {TURN_TABLE})),
       setval('woow_paas_platform_tool_call_id_seq', (SELECT MAX(id) FROM woow_paas_platform_tool_call));
"""

# Pages with an empty cache: who opens them, and what is there when they are drawn.
FIRST = {
    "/web/login": (None, "form.oe_login_form"),
    "/my/ai": ("user", ".o_ai_chat_input:enabled"),
    "/odoo/ai-chat": ("admin", ".o_ai_chat_input:enabled"),
}
LAST_MESSAGE = ".o_ai_chat_message, .o_ai_chat_nothing"
# When the last message is in the view for the first time, in ms since the navigation began.
SEEN = """
(() => {
    const look = () => {
        const found = [...document.querySelectorAll("%s")].at(-1);
        const box = found?.getBoundingClientRect();
        if (box?.height && box.bottom > 0 && box.top < innerHeight) {
            window.seenAt = performance.now();
        } else {
            requestAnimationFrame(look);
        }
    };
    requestAnimationFrame(look);
})();
"""
FRAMES = """
() => {
    window.seenFrames = [];
    window.longTasks = [];
    new PerformanceObserver((list) => {
        window.longTasks.push(...list.getEntries().map(({duration}) => duration));
    }).observe({type: "longtask"});
    let last = performance.now();
    const tick = (now) => {
        window.seenFrames.push(now - last);
        last = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}
"""


def thousand_messages(odoo, llm):
    """A conversation of `MESSAGES`, each answer with a call, a table, code and a list; its id."""
    llm.answer = lambda body: (
        Reply(PART) if body["messages"][-1]["role"] == "tool" else Reply(calls=[TIME])
    )
    person = Person(odoo)
    events = [event for _at, event in person.events(person.ask("How deep is it?"))]
    (call,) = [event["id"] for event in events if event["type"] == "tool_call"]
    odoo.sql(COPY % {"copies": MESSAGES // 2 - 1, "channel": person.id, "call": call})
    return person.id


@contextlib.contextmanager
def chromium():
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=setup_chromium.ensure(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def tab(odoo, browser, login="user"):
    """A page of a user, or of nobody; ``window.seenAt`` tells when the last message was seen first."""
    context = browser.new_context(base_url=odoo.url, viewport={"width": 1280, "height": 800})
    context.add_init_script(SEEN % LAST_MESSAGE)
    if login:
        session = odoo.session(login).cookies["session_id"]
        context.add_cookies([{"name": "session_id", "value": session, "url": odoo.url}])
    page = context.new_page()
    page.set_default_timeout(60_000)
    try:
        yield page
    finally:
        context.close()


def opening(page, url):
    """Milliseconds from the navigation to the last message."""
    page.goto(url)
    page.wait_for_function("window.seenAt")
    return page.evaluate("window.seenAt")


def openings(page, url):
    """Milliseconds of several openings; the first one fills the browser's cache and does not count."""
    return [opening(page, url) for _opening in range(OPENINGS + 1)][1:]


def frames(page, work):
    """Longest frame, 95th percentile and longest task in ms while `work` goes on."""
    page.evaluate(FRAMES)
    work()
    seen, tasks = page.evaluate("[window.seenFrames, window.longTasks]")
    return max(seen), statistics.quantiles(seen, n=20)[-1], max(tasks, default=0)


def stream(page):
    page.locator(".o_ai_chat_input").fill("Tell me all")
    page.keyboard.press("Enter")
    running = page.locator(".o_ai_chat_stop")
    running.wait_for()
    running.wait_for(state="detached", timeout=180_000)


def loaded(odoo, browser, address):
    """``[(kind, bytes)]`` of what a page asks for until it is drawn, as Odoo sends it, not compressed."""
    login, drawn = FIRST[address]
    done = []

    def note(request):
        done.append(request)

    with tab(odoo, browser, login) as page:
        page.on("requestfinished", note)
        page.goto(address)
        page.locator(drawn).wait_for()
        return [(one.resource_type, len(one.response().body())) for one in list(done)]


def weigh(odoo, browser):
    for address in FIRST:
        found = loaded(odoo, browser, address)
        kinds = {
            kind: sum(size for one, size in found if one == kind) / 1000
            for kind in ("script", "stylesheet")
        }
        parts = ", ".join(f"{kind} {size:,.0f} kB" for kind, size in kinds.items())
        row(
            f"{address} loads first",
            f"{sum(kinds.values()):,.0f} kB",
            parts,
            f"{len(found)} requests",
        )


def measure(odoo, llm, browser):
    weigh(odoo, browser)
    with tab(odoo, browser) as page:
        long_id, empty_id = thousand_messages(odoo, llm), Person(odoo).id

        empty = statistics.median(openings(page, f"/my/ai/{empty_id}"))
        times = openings(page, f"/my/ai/{long_id}")
        opened, slowest = statistics.median(times), max(times)
        beside = f"empty {empty:.0f} ms, ratio {opened / empty:.2f}, slowest {slowest:.0f} ms"
        parts = page.locator(LAST_MESSAGE).last.locator("h2").count()
        none_of(messages_not_shown=int(parts != 1))
        row(
            f"{MESSAGES} messages, navigation → last one seen",
            f"{opened:.0f} ms",
            beside,
            "≤ 1000 ms",
        )

        llm.answer = lambda _body: Reply(LONG, piece=TOKEN, gap=GAP)
        idle = frames(page, lambda: page.wait_for_timeout(IDLE * 1000))
        busy = frames(page, lambda: stream(page))
        for name, at in (("longest frame", 0), ("frame p95", 1), ("longest task", 2)):
            row(
                f"{TOKENS} tokens stream in, {name}",
                f"{busy[at]:.0f} ms",
                f"idle {idle[at]:.0f} ms",
            )
        shown = page.locator(LAST_MESSAGE).last.locator("h2").count()
        none_of(parts_of_the_answer_not_shown=LONG.count(PART) - shown)


def main():
    with deployment() as (llm, new_odoo), new_odoo("chat") as odoo, chromium() as browser:
        measure(odoo, llm, browser)


if __name__ == "__main__":
    main()
